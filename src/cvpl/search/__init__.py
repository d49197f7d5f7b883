"""The search for every original's best candidates inside its blocks."""
