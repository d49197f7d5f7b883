"""Input tables: column roles and types, reading, spellings of protected values, and the checked pair."""
