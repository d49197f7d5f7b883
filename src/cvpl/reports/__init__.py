"""From a result to something a person reads."""
