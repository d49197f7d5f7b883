"""The sections of every report, worded once for all outputs."""
