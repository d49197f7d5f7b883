"""A file that ranks every original by its exposure, for who asks for it by name; only its owner may read it.

    row, id, rank, share_of_others, linked, unit, unit_rank, unit_share, columns

`id` is there only if it is asked for, the three columns of units only if rows belong together. The file holds no other
cell of a table.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.assessment.exposing_columns import exposing_columns
from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import UsageError
from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.contradictions import AuditWarning
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.rates import Roc
from cvpl.evaluation.record_exposure import Exposures, exposures, exposures_of_units
from cvpl.files import check_outputs, write_whole
from cvpl.tables.evaluation_only import id_values
from cvpl.tables.pair import Inputs
from cvpl.wording import counted

Ints = NDArray[np.int64]

_LINKED, _TIED, _NOT_LINKED = "yes", "tied", "no"


@dataclass(frozen=True)
class PerPersonFile:
    """The file that was asked for; `with_ids` adds the values of the id column, `overwrite` may replace a file."""

    file: Path
    with_ids: bool = False
    overwrite: bool = False

    @classmethod
    def asked(cls, file: str | Path | None, *, with_ids: bool, overwrite: bool) -> PerPersonFile | None:
        """The file that a call names; None if it names none."""
        if file is not None:
            return cls(Path(file), with_ids, overwrite)
        if with_ids:
            raise UsageError(
                "ids are asked for, and no file for them. Name one with --per-person (in Python per_person=...)."
            )
        return None

    def check(self, read: Sequence[object]) -> None:
        """Refuse, before any work, a file that is an input, that exists, or that cannot be made."""
        check_outputs([self.file], read, overwrite=self.overwrite)
        if not self.file.parent.is_dir() or not os.access(self.file.parent, os.W_OK | os.X_OK):
            raise UsageError(f"{self.file}: there is no such folder, or it is not writable. Name another file.")

    def ids(self, original: object, resolved: ResolvedConfig, inputs: Inputs) -> list[str] | None:
        """The ids of all rows if they are asked for, else None.

        Refuses, before the attack, tables in which nobody can be ranked or named.
        """
        if inputs.pair.control is None and inputs.evaluation.matches is None:
            raise UsageError(
                "a file of exposed records needs somebody to compare them with, and there is neither a control nor a "
                "true match. Pass a control with --control (in Python control=...)."
            )
        if not self.with_ids:
            return None
        ids = id_values(original, "" if resolved.identity is None else resolved.identity.original, resolved.reading)
        if len(ids) <= int(inputs.order["original"].max()):
            raise UsageError("the table of the originals changed while it was read. Start again.")
        return ids

    def write(self, inputs: Inputs, ensemble: EnsembleOutcome, ids: Sequence[str] | None) -> None:
        """Write a line for every original, the most exposed first; those who were not searched for come last.

        Rows are counted from 0. Equal evidence has one rank, the smallest. The file is whole or not there, and from its
        creation only this user may read it.
        """
        measured = ensemble.chosen.measured
        done = measured.attack
        rows, people = inputs.order["original"], done.people
        alone = exposures(done.scores, measured.base_scores)
        units = inputs.evaluation.unit.codes
        unit_of, together = None, None
        if units is not None:
            unit_of = _first_rows(units["original"], rows)
            base = units["control"][done.control_rows] if measured.has_control else units["original"][people]
            together = exposures_of_units(done.scores, units["original"][people], measured.base_scores, base)
        linked, columns = _linked(measured, ensemble.reading.false_rate), exposing_columns(done, inputs.pair)
        listed = []
        for at, person in enumerate(people.tolist()):
            row = int(rows[person])
            line = [row, *([] if ids is None else [ids[row]]), *_cells(alone, at), linked[at]]
            if unit_of is not None and together is not None:
                line += [int(unit_of[person]), *_cells(together, at)]
            first = 0 if together is None else int(together.rank[at])
            listed.append(((first, int(alone.rank[at]), row), [*line, ";".join(columns[at])]))
        found = [line for _, line in sorted(listed, key=lambda item: item[0])]
        for person in np.setdiff1d(np.arange(len(rows)), people).tolist():
            row = int(rows[person])
            line = [row, *([] if ids is None else [ids[row]]), "", "", ""]
            found.append([*line, *([] if unit_of is None else [int(unit_of[person]), "", ""]), ""])
        head = ["row", *([] if ids is None else ["id"]), "rank", "share_of_others", "linked"]
        head += [*([] if unit_of is None else ["unit", "unit_rank", "unit_share"]), "columns"]
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([head, *found])
        write_whole(self.file, text.getvalue(), owner_only=True)


def per_person_warning(ensemble: EnsembleOutcome, inputs: Inputs) -> AuditWarning:
    """The warning that there is such a file; where it is stays with its owner."""
    done = ensemble.chosen.measured.attack
    asked, rows = len(done.people), inputs.pair.original.rows
    some = "" if asked == rows else f"; it ranks the {asked:,} of {counted(rows, 'original')} that were searched for"
    doubt = "" if ensemble.qualified else "; no attacker counts, so the ranks may mean nothing"
    message = (
        "beside this result there is a file that ranks single originals by how exposed they are, as it was asked for; "
        f"only its owner can read it, and nothing of it is in this result{some}{doubt}: do not pass it on, and delete "
        "it when the records are protected"
    )
    return AuditWarning("per_person", message)


def _cells(found: Exposures, at: int) -> list[object]:
    return [int(found.rank[at]), "" if found.share is None else f"{found.share[at]:.6g}"]


def _linked(measured: Measurement, false_rate: float | None) -> list[str]:
    """Whether each original is linked where this share of the base is; those tied at the threshold are so in part."""
    scores = measured.attack.scores
    if measured.base_scores is None:
        return [""] * len(scores)
    counts = Roc.of(scores, measured.base_scores).counted(FALSE_RATE if false_rate is None else false_rate)[0]
    return [_LINKED if count >= 1 else _TIED if count > 0 else _NOT_LINKED for count in counts]


def _first_rows(units: Ints, rows: Ints) -> Ints:
    """For every original the smallest row number in its unit."""
    place = np.unique(units, return_inverse=True)[1].reshape(-1)
    first = np.full(int(place.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, place, rows)
    return first[place]
