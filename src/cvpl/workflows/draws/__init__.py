"""Several releases of one mechanism: how each is made, and what they say together."""
