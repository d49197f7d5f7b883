"""What an input is: roles and types, reading, the spellings of protected values, the checked pair."""
