"""Random split of people into a release and a control, before a table is protected.

A control shows how many look-alikes people outside the release find in it. It is valid only if its people are a random
sample of the same population, and if none of their data enters the release: so people are drawn before protecting.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from cvpl.config.loading import LimitsLike, limits_of
from cvpl.errors import InputError, Problem, UsageError
from cvpl.files import check_outputs, whole_files
from cvpl.randomness import stream
from cvpl.tables.making.parting import check_parts, part, read_people

USUAL_SHARE = 0.5
"""The default share set aside: for a given table it gives the narrowest interval of a difference."""


@dataclass(frozen=True)
class Split:
    """The files written, and all that is needed to repeat the split: the table's SHA-256, the seed and the settings."""

    release: Path
    control: Path
    record: Path
    people_release: int
    people_control: int
    rows_release: int
    rows_control: int
    by: str | None
    seed: int
    sha256: str | None


def split(
    table: str | Path,
    *,
    share: float | None = None,
    people: int | None = None,
    by: str | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    overwrite: bool = False,
    limits: LimitsLike | None = None,
) -> Split:
    """Draw people of `table` at random as a control; write them and the rest to separate files.

    NAME_release gets everybody else and is to be protected; NAME_control gets round(share x people) people (half of
    them by default), or `people` of them; NAME_split.json records the split. Rows with equal `by` are one person or
    household and stay together; without it every row is a person. Files are CSV, gzipped CSV or Parquet like the table,
    and are written next to it or to the folder `out`, with unchanged cells in their order. The same table and seed give
    the same bytes. `limits` are those of `reading.limits` that are not the default. Raises UsageError for a side
    without people, or existing files (unless `overwrite`), InputError for a table or column that cannot be used, and
    LimitError for a table beyond a limit.
    """
    path = Path(table)
    if share is not None and people is not None:
        raise UsageError("both a share and a number of people are given. Keep one of them.")
    if share is not None and not (math.isfinite(share) and 0 < share < 1):
        raise UsageError(f"the share of people set aside is {share}; allowed is a number between 0 and 1, such as 0.5.")
    if people is not None and people < 1:
        raise UsageError(f"the number of people set aside is {people}; allowed is a whole number from 1.")
    if seed < 0:
        raise UsageError(f"the seed is {seed}; allowed is a whole number from 0.")
    folder = path.parent if out is None else Path(out)
    name, ending = _parts_of_name(path)
    targets = folder / f"{name}_release{ending}", folder / f"{name}_control{ending}"
    record = folder / f"{name}_split.json"
    check_outputs([*targets, record], [table], overwrite=overwrite)
    found = read_people(path, by, None if limits is None else limits_of(limits))
    wanted = _wanted(found.people, share, people, path.name)
    aside = np.zeros(found.people, dtype=bool)
    aside[stream(seed, "split").permutation(found.people)[:wanted]] = True
    mine = aside[found.person]
    rows = int((~mine).sum()), int(mine.sum())
    done = Split(*targets, record, found.people - wanted, wanted, *rows, by, seed, found.sha256)
    folder.mkdir(parents=True, exist_ok=True)
    with whole_files(*targets, record) as (release, control, its_record):
        part(path, found.reading, mine, (release, control))
        if found.state is not None:
            found.state.check()
        check_parts((release, control), found.reading, rows, by)
        its_record.write_bytes(_record(done, path.name).encode())
    return done


def _parts_of_name(path: Path) -> tuple[str, str]:
    """A file's name and its extension, as written: people.csv.gz is ("people", ".csv.gz")."""
    ending = path.suffix
    if ending.lower() == ".gz":
        ending = Path(path.stem).suffix + ending
    return path.name.removesuffix(ending), ending


def _wanted(there: int, share: float | None, people: int | None, name: str) -> int:
    """The number of people to set aside; at least one must be on either side."""
    if there < 2:
        what = "the table has only one person, who cannot be on both sides"
        raise InputError([Problem(name, what, "Check the column that identifies people.")])
    wanted = round(there * (USUAL_SHARE if share is None else share)) if people is None else people
    if not 0 < wanted < there:
        side = "the control" if wanted < 1 else "the release"
        raise UsageError(
            f"{wanted:,} of {there:,} people would be set aside, which leaves {side} empty. "
            f"Set aside from 1 to {there - 1:,} of them."
        )
    return wanted


def _record(done: Split, table: str) -> str:
    """The record as JSON: names of files and columns, numbers, no cell."""
    files = {"release": done.release.name, "control": done.control.name}
    left = {key: value for key, value in asdict(done).items() if key not in ("release", "control", "record")}
    return json.dumps({"schema": "cvpl/split/1", "table": table, **files, **left}, indent=2) + "\n"
