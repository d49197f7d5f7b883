"""Trials of a mechanism: it is run several times, each time on half of the people."""
