"""What a result says, section by section, worded once for every output."""
