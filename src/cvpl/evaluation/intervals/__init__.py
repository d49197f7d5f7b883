"""Intervals: their bounds, their measured coverage, and paired differences."""
