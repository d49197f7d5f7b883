"""The ranking of releases: paired differences, ranks with ties, the efficient frontier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cvpl import result as out
from cvpl.evaluation.intervals.paired import Difference, FigureEstimate, SearchedRows, confidence_of_picked, difference
from cvpl.evaluation.ordering import RankRange, beaten_by, places, places_by_value
from cvpl.result.publishing import Disclosure
from cvpl.result.verdict import blind
from cvpl.utility.combined import mean_of, shared_figures

Ints = NDArray[np.int64]
Figure = Literal["risk", "attributable_rate"]


@dataclass(frozen=True, eq=False)
class ReleaseFigures:
    """The figures of one release, and each person's contribution to them.

    `risk` is None without a control; the section may then have one based on the true matches. `attributable` is the
    rate at the threshold, None without a base. `disclosure` says how differences are rounded; `section` is already.
    """

    section: out.ComparedRelease
    risk: FigureEstimate | None
    attributable: FigureEstimate | None
    searched_rows: SearchedRows
    picked_among: int
    groups: tuple[Ints, Ints | None] | None
    disclosure: Disclosure


@dataclass(frozen=True)
class Ranking:
    """The releases from the highest risk to the lowest, their differences, and the efficient frontier."""

    releases: list[out.ComparedRelease]
    differences: list[out.PairedDifference]
    frontier: list[str]
    utility_figures: list[str]


def rank(found: Sequence[ReleaseFigures]) -> Ranking:
    """Rank releases by risk; those that cannot be ranked come last, in the given order.

    Risks are ranked only if all have the same basis: the control at one false-positive rate or, without a control, the
    true matches.
    """
    reading = _reading(found)
    text = sorted((item for item in found if _risk_basis(item) == reading is not None), key=lambda item: -_risk(item))
    rest = [item for item in found if item not in text]
    differences: list[out.PairedDifference] = []
    above = np.zeros((len(text), len(text)), dtype=bool)
    for i, j in combinations(range(len(text)), 2):
        if text[i].risk is None or text[j].risk is None:
            above[i, j] = _clearly_above(text[i], text[j])
            continue
        by_risk = _difference(text[i], text[j], "risk")
        above[i, j] = not by_risk.tied and (by_risk.estimate or 0) > 0
        # Of two releases with the same published risk, the second may be clearly above the first.
        above[j, i] = not by_risk.tied and (by_risk.estimate or 0) < 0
        differences.append(by_risk)
        if text[i].attributable is not None and text[j].attributable is not None:
            differences.append(_difference(text[i], text[j], "attributable_rate"))
    risk_places = dict(zip(map(_name, text), places(above), strict=True))
    scores, figures = _scores(found)
    known = [item for item in found if scores[_name(item)] is not None]
    utility_places = dict(
        zip(map(_name, known), places_by_value([scores[_name(item)] or 0.0 for item in known]), strict=True)
    )
    compared = [item for item in text if item in known]
    beaten = beaten_by([_risk(item) for item in compared], [scores[_name(item)] or 0.0 for item in compared])
    better = {_name(item): [_name(compared[j]) for j in by] for item, by in zip(compared, beaten, strict=True)}
    clear = {(_name(text[i]), _name(text[j])) for i, j in np.argwhere(above)}
    releases = []
    for item in (*text, *rest):
        name, score = _name(item), scores[_name(item)]
        releases.append(
            item.section.model_copy(
                update={
                    "utility": item.section.utility.model_copy(
                        update={"score": score, "reason": _reason_not_compared(item, found) if score is None else None}
                    ),
                    "risk_places": _places(risk_places.get(name)),
                    "unranked": _reason_unranked(item, reading),
                    "utility_places": _places(utility_places.get(name)),
                    "on_frontier": not better[name] if name in better else None,
                    "beaten_by": better.get(name, []),
                    "clearly_beaten_by": [by for by in better.get(name, []) if (name, by) in clear],
                }
            )
        )
    frontier = [_name(item) for item in reversed(compared) if not better[_name(item)]]
    return Ranking(releases, differences, frontier, figures)


def _name(figures: ReleaseFigures) -> str:
    return figures.section.name


def _risk(figures: ReleaseFigures) -> float:
    assert figures.section.risk is not None  # noqa: S101 - called only for releases with a risk
    return figures.section.risk.estimate


def _risk_basis(figures: ReleaseFigures) -> tuple[str, float | None] | None:
    """The basis of the risk and its false-positive rate; None if there is no risk, or if attackers are blind to it."""
    risk = figures.section.risk
    return None if risk is None or blind(figures.section.preflight) is not None else (risk.basis, risk.false_rate)


def _reading(found: Sequence[ReleaseFigures]) -> tuple[str, float | None] | None:
    """The most common reading; ties go to the control, then to the smallest false-positive rate."""
    readings = [reading for item in found if (reading := _risk_basis(item)) is not None]
    if not readings:
        return None
    return max(readings, key=lambda reading: (readings.count(reading), reading[0] == "control", -(reading[1] or 0.0)))


def _reason_unranked(figures: ReleaseFigures, reading: tuple[str, float | None] | None) -> str | None:
    """Why a release has no rank; None if it has one."""
    own = _risk_basis(figures)
    if own is None:
        unseen, reasons = blind(figures.section.preflight), figures.section.reasons
        if unseen is not None and not reasons:
            return f"its risk is not known: {unseen}"
        return f"not assessable: {reasons[0]}" if reasons else "its risk is unknown"
    if own == reading:
        return None
    words = [_words(one) for one in (own, reading) if one is not None]
    return f"its risk is read {words[0]}, that of the others {words[1]}"


def _words(reading: tuple[str, float | None]) -> str:
    basis, rate = reading
    return "by the true matches" if basis != "control" or rate is None else f"where {rate:.0%} of the control is linked"


def _clearly_above(first: ReleaseFigures, second: ReleaseFigures) -> bool:
    """Whether the whole interval of one risk is above the other's; false without an interval."""
    one, other = first.section.risk, second.section.risk
    assert one is not None  # noqa: S101 - called only for releases with a risk
    assert other is not None  # noqa: S101
    return one.low is not None and other.high is not None and one.low > other.high


def _places(found: RankRange | None) -> out.Places | None:
    return None if found is None else out.Places(first=found.first, last=found.last)


def _difference(first: ReleaseFigures, second: ReleaseFigures, figure: Figure) -> out.PairedDifference:
    sides = [item.risk if figure == "risk" else item.attributable for item in (first, second)]
    one, other = sides
    assert one is not None  # noqa: S101 - called only for releases with the figure
    assert other is not None  # noqa: S101
    confidence = confidence_of_picked(first.picked_among, second.picked_among, by_this_figure=figure == "risk")
    found: Difference = difference(one, other, confidence, first.groups)
    originals, controls = first.searched_rows.both(second.searched_rows)
    paired = out.PairedDifference.of(
        found.estimate,
        figure=figure,
        first=_name(first),
        second=_name(second),
        correlation=found.correlation,
        originals=originals,
        controls=controls if one.basis == "control" else 0,
        tied=found.tied,
    )
    return _published_difference(paired, first, second)


def _published_difference(
    paired: out.PairedDifference, first: ReleaseFigures, second: ReleaseFigures
) -> out.PairedDifference:
    """The difference rounded, with the estimate as the difference of what is published, if the interval allows that."""
    rounded = Disclosure(min(first.disclosure.k, second.disclosure.k)).published(paired)
    one, other = (
        item.section.risk if paired.figure == "risk" else item.section.attributable_rate for item in (first, second)
    )
    if rounded is paired or one is None or other is None or one.estimate is None or other.estimate is None:
        return rounded
    shown = round(one.estimate - other.estimate, 9)
    outside = rounded.low is None or rounded.high is None or not rounded.low <= shown <= rounded.high
    return rounded if outside else rounded.model_copy(update={"estimate": shown})


def _scores(found: Sequence[ReleaseFigures]) -> tuple[dict[str, float | None], list[str]]:
    """The comparable utility of each release, and the figures that it averages.

    A release that withholds a column which others have has none: the figures do not include that loss. For the rest,
    only figures that all of them have are used.
    """
    whole = [item for item in found if _reason_not_compared(item, found) is None]
    names = shared_figures([item.section.utility for item in whole])
    scores = {_name(item): mean_of(item.section.utility, names) if item in whole else None for item in found}
    return scores, names


def _reason_not_compared(figures: ReleaseFigures, found: Sequence[ReleaseFigures]) -> str | None:
    """Why the utility of a release cannot be compared; None if it can."""
    missing = {name for other in found for name in other.section.utility.columns} - set(figures.section.utility.columns)
    if not missing:
        return None
    listed = ", ".join(f"'{name}'" for name in sorted(missing))
    return f"no value of {listed} is released, and the figures do not include that loss"
