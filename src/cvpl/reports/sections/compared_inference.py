"""What attackers infer of secret columns in several releases: in a comparison and in a benchmark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from cvpl.reports.inferred_releases import INFERENCE, InferredRelease
from cvpl.reports.leaderboard import as_code
from cvpl.reports.sections.section import EVERYWHERE, SCREENS, Column, Output, Remark, ReportSection, table_of
from cvpl.wording import named, printable, sentence

_NOTE = (
    "Inference rate: how much more often a secret is guessed right for originals than for controls, relative to the "
    "share of controls that are not guessed right; the largest over secrets, attackers and scores. The upper end is "
    "the largest of all of them."
)


def compared_inference_section(
    releases: Sequence[InferredRelease],
    anchor: str = "inference",
    heading: str = "Attribute inference",
    folded: frozenset[Output] = frozenset(),
) -> ReportSection:
    """The inference rate of each release with its secret, or why there is none; one sentence if no release has one.

    Releases without any word on inference are left out, as in old results.
    """
    rows = [row for row in releases if row.found is not None]
    known = [row.found for row in rows if row.found is not None]
    reasons = {found.reason for found in known}
    level: Literal[2, 3] = 3 if folded else 2
    if not known or (len(reasons) == 1 and all(found.rate is None for found in known)):
        what = "no rate" if any(found.secrets for found in known) else "not measured"
        remarks = tuple(Remark(sentence(f"{what}: {as_code(printable(why))}")) for why in reasons if why)
        return ReportSection(anchor, heading, level=level, sentences=remarks, outputs=SCREENS, folded=folded)
    columns: tuple[Column[InferredRelease], ...] = (
        Column("release", lambda row: named(row.name), "name"),
        *(replace(column, cell=_with_code(column.cell)) for column in INFERENCE),
    )
    return ReportSection(
        anchor,
        heading,
        level=level,
        tables=(table_of(heading, rows, columns, style="stacked").filled(),),
        notes=(_NOTE,),
        outputs=EVERYWHERE,
        folded=folded,
    )


def _with_code(cell: Callable[[InferredRelease], str]) -> Callable[[InferredRelease], str]:
    return lambda row: as_code(cell(row))
