"""The figures of attribute inference: the score of every attacker on originals and controls, with baselines.

    attributable = (originals - controls) / (1 - controls)

The strongest attacker is the one with the largest attributable score of N figures (attackers, numbers of columns,
secrets and scores). The largest of N is above the expected figure of the one that was picked; its estimate is not
corrected for that. Its interval is: intervals hold together, each with a confidence of 1 - 0.05 / N.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.inference.attackers import BothBeliefs
from cvpl.evaluation.inference.beliefs import commonest_hits
from cvpl.evaluation.inference.column_choices import Folds, choice_error, read_apart, with_choice
from cvpl.evaluation.inference.scores import NOTHING_LEFT, Ends, Hits, attributable, attributable_ends, score_ends
from cvpl.evaluation.inference.secret import Secret, SensitiveTruth, Tolerance
from cvpl.evaluation.intervals.shares import CONFIDENCE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Score = Literal["accuracy", "rarity_weighted"]
SCORES: tuple[Score, ...] = ("accuracy", "rarity_weighted")
COMMONEST, CONTROL_MODEL = "commonest_value", "control_model"


@dataclass(frozen=True, eq=False)
class Asked:
    """The people who are asked about: rows of the originals and of the controls, and their units.

    `folds` are those in which columns are chosen; None without a control.
    """

    original: Ints
    control: Ints | None
    units: tuple[Ints, Ints | None] | None = None
    folds: Folds | None = None

    def truths(self, secret: Secret) -> tuple[SensitiveTruth, SensitiveTruth | None]:
        """The secrets of these people."""
        control = None
        if self.control is not None and secret.control is not None:
            control = secret.control.take(self.control)
        return secret.original.take(self.original), control

    def hits(self, found: Sequence[Floats], weights: tuple[Floats, Floats | None]) -> tuple[Hits, Hits | None]:
        """The hits of originals and controls with the weights of these people."""
        units = self.units or (None, None)
        mine = Hits(found[0], weights[0], units[0])
        if len(found) < 2 or weights[1] is None:
            return mine, None
        return mine, Hits(found[1], weights[1], units[1])


@dataclass(frozen=True, eq=False)
class ScoredAttack:
    """One attacker's hits by one score.

    `sets` are the columns that it knows: one set, or the one that each fold of the people chose. Then `choices` are the
    hits of everybody by each of these.
    """

    attacker: str
    sets: tuple[tuple[str, ...], ...]
    score: Score
    originals: Hits
    controls: Hits | None
    choices: tuple[tuple[Hits, Hits | None], ...] = ()

    @property
    def gain(self) -> float | None:
        """The attributable score; None if it is refused, or there is no control."""
        return attributable(self.originals, self.controls)

    @property
    def columns(self) -> int:
        """The number of columns that it knows."""
        return len(self.sets[0])

    @property
    def choice_errors(self) -> tuple[float, float]:
        """The standard errors of the score on originals, and of the attributable score, by the choice of columns."""
        mine = [one.score for one, _ in self.choices]
        gains = [attributable(one, base) for one, base in self.choices]
        return (
            choice_error([item for item in mine if item is not None]),
            choice_error([item for item in gains if item is not None]),
        )


@dataclass(frozen=True)
class InferenceRow:
    """The figures of one attacker by one score; the attributable ones are None without a control, or if refused.

    `people` and `fewest` are the numbers of people by which figures of originals, and of both tables, are rounded.
    """

    attacker: str
    columns: int
    score: Score
    people: int
    fewest: int
    originals: float
    interval: Ends | None
    controls: float | None
    attributable: float | None
    attributable_interval: Ends | None


@dataclass(frozen=True)
class BaselineRow:
    """What a guess without the release, or without knowledge of the person, reaches by one score."""

    baseline: str
    score: Score
    people: int
    fewest: int
    originals: float
    controls: float | None


@dataclass(frozen=True)
class SecretFigures:
    """What attackers learn of one secret. `refused` says why nothing can be attributed by a score, if so."""

    name: str
    kind: Literal["category", "number", "time"]
    tolerance: Tolerance
    known: tuple[str, ...]
    people: int
    controls: int | None
    rows: tuple[InferenceRow, ...]
    baselines: tuple[BaselineRow, ...]


@dataclass(frozen=True)
class Reconstruction:
    """How many people have all of several secrets guessed right."""

    secrets: tuple[str, ...]
    known: tuple[str, ...]
    people: int
    controls: int | None
    rows: tuple[InferenceRow, ...]


@dataclass(frozen=True)
class Inference:
    """What attackers learn of secret columns.

    `link` is the linkage attacker, `not_run` are attackers that need a library that is not installed, `left_out`
    secrets that could not be asked. `trained` is the most records that a model was trained on, None without models.
    `confidence` is that of each interval.
    """

    secrets: tuple[SecretFigures, ...]
    together: Reconstruction | None
    link: str
    not_run: tuple[str, ...]
    left_out: tuple[str, ...]
    trained: int | None
    confidence: float


def scored(
    attacker: str, columns: Sequence[str], beliefs: BothBeliefs, secret: Secret, asked: Asked
) -> list[ScoredAttack]:
    """The hits of one attacker by both scores; none by a score in which nobody has a weight."""
    truths, found = asked.truths(secret), []
    for score in SCORES:
        hits = beliefs.hits(secret, *truths, by_rarity=score == "rarity_weighted")
        mine, base = asked.hits(hits, weights_of(secret, asked, score))
        if mine.total > 0:
            found.append(ScoredAttack(attacker, (tuple(columns),), score, mine, base))
    return found


def scored_by_choice(
    attacker: str,
    sets: Sequence[tuple[str, ...]],
    beliefs: Callable[[tuple[str, ...]], BothBeliefs],
    secret: Secret,
    asked: Asked,
) -> list[ScoredAttack]:
    """The hits of one attacker by both scores, everybody by the columns that the other folds chose.

    `sets` has the columns of each fold's choice, or one set that was chosen without the people.
    """
    if len(set(sets)) == 1 or asked.folds is None:
        return scored(attacker, sets[0], beliefs(sets[0]), secret, asked)
    truths, found = asked.truths(secret), []
    believed = {columns: beliefs(columns) for columns in dict.fromkeys(sets)}
    for score in SCORES:
        rare, weights = score == "rarity_weighted", weights_of(secret, asked, score)
        hits = {columns: one.hits(secret, *truths, by_rarity=rare) for columns, one in believed.items()}
        by_choice = [hits[columns] for columns in sets]
        apart = [
            read_apart([one[at] for one in by_choice], fold)
            for at, fold in enumerate((asked.folds.original, asked.folds.control))
        ]
        mine, base = asked.hits(apart, weights)
        if mine.total > 0:
            choices = tuple(asked.hits(one, weights) for one in by_choice)
            found.append(ScoredAttack(attacker, tuple(sets), score, mine, base, choices))
    return found


def weights_of(secret: Secret, asked: Asked, score: Score) -> tuple[Floats, Floats | None]:
    """The weights of the people: 1 for who has a secret, or how rare it is."""
    if score == "accuracy":
        mine, base = secret.original.known.astype(np.float64), None
        if secret.control is not None:
            base = secret.control.known.astype(np.float64)
    else:
        mine, base = secret.weights()
    own = mine[asked.original]
    other = None if base is None or asked.control is None else base[asked.control]
    return own, other


def baseline_rows(secret: Secret, asked: Asked, trained: BothBeliefs | None) -> tuple[BaselineRow, ...]:
    """The commonest value and, if there is one, the model trained on controls, by both scores."""
    mine, base = asked.truths(secret)
    rows = []
    for score in SCORES:
        rare = score == "rarity_weighted"
        weights = weights_of(secret, asked, score)
        hits = {COMMONEST: [commonest_hits(secret, one, by_rarity=rare) for one in (mine, base) if one is not None]}
        if trained is not None:
            hits[CONTROL_MODEL] = trained.hits(secret, mine, base, by_rarity=rare)
        for name, found in hits.items():
            originals, controls = asked.hits(found, weights)
            if originals.score is not None:
                share = None if controls is None else controls.score
                rows.append(BaselineRow(name, score, *rounded_by(originals, controls), originals.score, share))
    return tuple(rows)


def inference_rows(attacks: Sequence[ScoredAttack], confidence: float, *, alike: bool) -> tuple[InferenceRow, ...]:
    """The figures of attackers, each interval with this confidence; the largest attributable score first.

    Intervals are over people and over the choice of columns.
    """
    rows = []
    for one in attacks:
        base = None if one.controls is None else one.controls.score
        gain, ends, errors = one.gain, None, one.choice_errors
        if gain is not None and one.controls is not None:
            ends = attributable_ends(one.originals, one.controls, confidence, alike=alike)
            if ends is not None:
                fewer = min(one.originals.size, one.controls.size)
                low, high = with_choice(ends, gain, errors[1], fewer, confidence)
                ends = low, min(1.0, high)
        mine = one.originals.score
        assert mine is not None  # noqa: S101 - attacks without weights were left out
        own = score_ends(one.originals, confidence, alike=alike)
        if own is not None:
            low, high = with_choice(own, mine, errors[0], one.originals.size, confidence)
            own = max(0.0, low), min(1.0, high)
        people = rounded_by(one.originals, one.controls)
        rows.append(InferenceRow(one.attacker, one.columns, one.score, *people, mine, own, base, gain, ends))
    return tuple(sorted(rows, key=_strength, reverse=True))


def rounded_by(originals: Hits, controls: Hits | None) -> tuple[int, int]:
    """The numbers of people by which figures of originals, and of both tables, are rounded."""
    mine = originals.heaviest
    return mine, mine if controls is None else min(mine, controls.heaviest)


def _strength(row: InferenceRow) -> tuple[float, float]:
    return -np.inf if row.attributable is None else row.attributable, row.originals


def simultaneous(figures: int) -> float:
    """The confidence of each of so many intervals that hold together at 95%."""
    return 1 - (1 - CONFIDENCE) / max(1, figures)


def refused(row: InferenceRow) -> bool:
    """Whether nothing can be attributed because controls are right nearly always."""
    return row.controls is not None and row.controls > NOTHING_LEFT


def strongest(figures: Mapping[str, Sequence[InferenceRow]]) -> tuple[str, InferenceRow] | None:
    """The secret and the row with the largest attributable score; None if there is none."""
    rows = [(name, row) for name, found in figures.items() for row in found if row.attributable is not None]
    return max(rows, key=lambda pair: _strength(pair[1])) if rows else None
