"""What attackers infer of secret columns in several releases: in a comparison and in a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from cvpl.reports.inferred_releases import INFERENCE, inference_cells
from cvpl.reports.leaderboard import as_code
from cvpl.reports.sections.section import EVERYWHERE, SCREENS, Head, Output, Remark, ReportSection, ReportTable
from cvpl.result import ReleaseInference
from cvpl.wording import named, printable, sentence

_NOTE = (
    "Inference rate: how much more often a secret is guessed right for originals than for controls, relative to the "
    "share of controls that are not guessed right; the largest over secrets, attackers and scores. The upper end is "
    "the largest of all of them."
)


def compared_inference_section(
    releases: Sequence[tuple[str, ReleaseInference | None, int]],
    anchor: str = "inference",
    heading: str = "Attribute inference",
    folded: frozenset[Output] = frozenset(),
) -> ReportSection:
    """The inference rate of each release with its secret, or why there is none; one sentence if no release has one.

    Each release has its name, what was inferred, and the k of its rounding. Releases without any word on inference are
    left out, as in old results.
    """
    known = [(name, found, k) for name, found, k in releases if found is not None]
    reasons = {found.reason for _, found, _ in known}
    level: Literal[2, 3] = 3 if folded else 2
    if not known or (len(reasons) == 1 and all(found.rate is None for _, found, _ in known)):
        what = "no rate" if any(found.secrets for _, found, _ in known) else "not measured"
        remarks = tuple(Remark(sentence(f"{what}: {as_code(printable(why))}")) for why in reasons if why)
        return ReportSection(anchor, heading, level=level, sentences=remarks, outputs=SCREENS, folded=folded)
    rows = tuple((named(name), *map(as_code, inference_cells(found, k))) for name, found, k in known)
    columns = (Head("release", "name"), *(Head(head, side) for head, side in INFERENCE))
    return ReportSection(
        anchor,
        heading,
        level=level,
        tables=(ReportTable(heading, columns, rows, "stacked").filled(),),
        notes=(_NOTE,),
        outputs=EVERYWHERE,
        folded=folded,
    )
