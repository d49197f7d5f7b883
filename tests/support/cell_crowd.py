"""People and released cells around them, and attacks that compare cells."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cvpl.attack.attack import attack
from cvpl.config.loading import load
from cvpl.tables.pair import read_inputs

CELLS = {"alignment": "cells", "blocking": "none"}
AGE = {"role": "quasi_identifier", "type": "numeric"}
LABEL = {"role": "attribute", "type": "category"}


def read(columns, frames):
    """The tables as an attacker gets them."""
    specs = load({"columns": columns, "attacker": "paper"}).specs
    return read_inputs(*frames[:2], specs, control=frames[2] if len(frames) > 2 else None).pair


def attacked(columns, frames, settings, pair=None):
    """The attack of an attacker that compares cells."""
    attacker = load({"columns": columns, "attacker": CELLS | settings}).attackers["main"]
    return attack(pair or read(columns, frames), attacker)


def crowd(rng, count, distinct=80):
    """People, and cells around others like them: intervals, masks, gaps and plain values."""
    low, width = rng.integers(18, 80, count), rng.integers(1, 20, count)
    codes = [f"{code:03}" for code in rng.integers(100, 140, count)]
    amount = rng.integers(distinct, size=count) / 4
    own = pd.DataFrame(
        {"age": low.astype(float), "code": codes, "amount": amount, "colour": rng.integers(6, size=count)}
    )
    own.loc[rng.random(count) < 0.1, "age"] = np.nan
    intervals = np.where(rng.random(count) < 0.1, "*", [f"[{a}, {a + b}]" for a, b in zip(low, width, strict=True)])
    masks = [code[:2] + "*" if hide else code for code, hide in zip(codes, rng.random(count) < 0.7, strict=True)]
    released = own.assign(age=intervals, code=masks)
    released.loc[rng.random(count) < 0.1, "colour"] = None
    return own, released


CROWD = {"age": AGE, "code": LABEL, "amount": AGE, "colour": LABEL}
