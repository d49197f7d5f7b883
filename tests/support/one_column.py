"""Tables of one column, read as files are."""

from __future__ import annotations

import pandas as pd

from cvpl.tables.pair import read_inputs


def read(spec, **tables):
    """The tables of one column, read as files are; `expected` takes the place of a control."""
    made = {name: pd.DataFrame({spec.name: [str(value) for value in values]}) for name, values in tables.items()}
    pair = read_inputs(made["original"], made["protected"], [spec], control=made.get("expected"), checks=False).pair
    return pair.original, pair.protected, pair.control
