"""Diagnostics that need further attacks: self-linkage, column removal, validity, progressive evaluation."""
