"""Tables that are made: split, planted with people, handed to a mechanism, counted again."""
