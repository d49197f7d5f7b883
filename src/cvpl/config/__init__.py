"""The settings file: what users write (`written`), and what it means (`resolved`)."""
