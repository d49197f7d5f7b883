"""The settings file: what a person writes (`written`), and what it means (`resolved`)."""
