"""A file with the number of links of every row, for who asks for it by name; only its owner may read it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cvpl.errors import UsageError
from cvpl.files import write_whole
from cvpl.workflows.trial.assembly import Ran
from cvpl.workflows.trial.readings import Strongest, linked_people

HEADER = "row,rounds_in,linked_in,rounds_out,linked_out"


def write_per_person(file: Path, ran: Ran, strongest: Strongest) -> None:
    """Write a CSV file: for each row, counted from 0, in how many rounds it was in and linked, and out and linked.

    A round in which the strongest attacker did not search for a row, or used it as a reference, is not counted.
    """
    headline = strongest.headline
    if headline is None:
        raise UsageError(f"{file}: no attacker counts, so there are no links to write.")
    real = ran.rounds.real
    linked, known = linked_people(ran.rounds, headline, strongest.false_rate)
    inside = ran.rounds.inside[real]
    columns = [
        ran.rounds.rows[real],
        *((role & known & whom).sum(axis=1) for role in (inside, ~inside) for whom in (known, linked)),
    ]
    rows = [",".join(map(str, row)) for row in sorted(np.stack(columns, axis=1).tolist())]
    write_whole(file, "\n".join([HEADER, *rows]) + "\n", owner_only=True)
