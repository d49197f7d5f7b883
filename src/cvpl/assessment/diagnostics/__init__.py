"""What needs further attacks: self-linkage, removal of columns, validity, progressive evaluation."""
