"""Intervals: their bounds, measured coverage, and paired differences."""
