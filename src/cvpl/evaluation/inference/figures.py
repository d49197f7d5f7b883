"""The figures of attribute inference: the score of every attacker on originals and controls, with baselines.

    attributable = (originals - controls) / (1 - controls)

The strongest attacker is the one with the largest attributable score of N figures (attackers, numbers of columns,
sensitive attributes and scores). The largest of N is above the expected figure of the one that was picked; its estimate
is not corrected for that. Its interval is: intervals hold together, each with a confidence of 1 - 0.05 / N.

The share of people who are guessed right, weighted by rarity or not, and the intervals of such shares.

    score = sum of w hit / sum of w        w = 1 (accuracy), or -log of the share of the person's value

A weighted share has as many independent records as its weights allow, (sum of w)^2 / sum of w^2. Its design effect is
the variance of the score over clusters divided by that of a share of so many records; from there the intervals are
those of `intervals/shares`.

The baseline of a model that never saw the release: trained on controls alone, and cross-fitted on them. The controls
are split into two halves, by clusters. A model is trained on each half. A control is predicted by the model of the
other half, an original by one of the two at random, so that both are predicted from equally many people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from cvpl.estimates import CONFIDENCE, beyond_chance
from cvpl.evaluation.inference import models
from cvpl.evaluation.inference.attackers import BothBeliefs
from cvpl.evaluation.inference.columns import Folds, choice_error, read_apart, widen_for_choice
from cvpl.evaluation.inference.sensitive_attribute import Beliefs, SensitiveAttribute, SensitiveTruth, commonest_hits
from cvpl.evaluation.intervals.bounds import FEW_CLUSTERS, LEAST_EFFECT, SamplingDesign, ratio_bounds
from cvpl.randomness import stream
from cvpl.result.questions import (
    AttackerName,
    AttributeInference,
    BaselineName,
    InferenceBaseline,
    InferenceRate,
    InferenceRow,
    ScoreName,
)
from cvpl.tables.columns import Table
from cvpl.wording import percent

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


Ends = tuple[float, float]

FEWEST_PEOPLE = 20
"""With fewer people there is no interval."""
NOTHING_LEFT = 0.98
"""If controls are right more often than this, next to nothing is left to attribute, and the figure is refused."""


@dataclass(frozen=True, eq=False)
class Hits:
    """How right the guess of each person is (0 to 1), the weight of each, and their clusters (None: each person).

    People of weight 0 do not count.
    """

    hit: Floats
    weight: Floats
    cluster: Ints | None = None

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.weight.sum())

    @property
    def score(self) -> float | None:
        """The weighted share of people who are guessed right; None without a weight."""
        return min(1.0, float(self.weight @ self.hit) / self.total) if self.total > 0 else None

    @property
    def size(self) -> float:
        """The number of people of equal weight that give the same variance."""
        return self.total**2 / float(self.weight @ self.weight) if self.total > 0 else 0.0

    @property
    def people(self) -> int:
        """The number of people who count."""
        return int((self.weight > 0).sum())

    @property
    def heaviest(self) -> int:
        """The number of people whose weights make the total, if all have the largest weight: rounding goes by it."""
        return int(self.total / float(self.weight.max())) if self.total > 0 else 0

    def deviation(self) -> Floats:
        """What each person adds to the deviation of the score."""
        found: Floats = self.weight * (self.hit - (self.score or 0.0)) / max(self.total, 1e-300)
        return found


def score_ends(hits: Hits, confidence: float, *, alike: bool = False) -> Ends | None:
    """Ends for the score; None with fewer than 20 people."""
    score = hits.score
    if score is None or hits.people < FEWEST_PEOPLE:
        return None
    return design([(hits, 1.0)], alike=alike).cautious_ends(score, hits.size, confidence)


def attributable(originals: Hits, controls: Hits | None) -> float | None:
    """(originals - controls) / (1 - controls); None without a control, or if more than 98% of it is right."""
    mine, base = originals.score, None if controls is None else controls.score
    if mine is None or base is None or base > NOTHING_LEFT:
        return None
    return beyond_chance(mine, base)


def attributable_ends(originals: Hits, controls: Hits, confidence: float, *, alike: bool = False) -> Ends | None:
    """Ends for 1 - (1 - originals) / (1 - controls), from the ends of the two scores; None if refused.

    A sampled cluster brings its originals and its controls.
    """
    mine, base = originals.score, controls.score
    if mine is None or base is None or base > NOTHING_LEFT or min(originals.people, controls.people) < FEWEST_PEOPLE:
        return None
    drawn = design([(originals, 1.0), (controls, -(1 - mine) / (1 - base))], alike=alike)
    ends = drawn.cautious_ends(mine, originals.size, confidence), drawn.ends(base, controls.size, confidence)
    top, bottom = ((1 - item, 1 - high, 1 - low) for item, (low, high) in zip((mine, base), ends, strict=True))
    low, high = ratio_bounds(top, bottom)
    return 1 - high, 1 - low


def design(parts: Sequence[tuple[Hits, float]], *, alike: bool) -> SamplingDesign:
    """The sampling design of a sum of scores with factors f; d_i is the deviation of person i.

        effect = U / (U - 1) · Σ_u (Σ over i in u of f d_i)² / Σ f² p (1 - p) / size        at least 1.1

    Without clusters every person is one. `alike` clusters hold people who are right or wrong together: if fewer than 10
    clusters have somebody who is right, or somebody who is wrong, the effect is at least their mean size per person.
    """
    least, clusters, plain = LEAST_EFFECT, math.inf, 0.0
    size = 1 + max((int(hits.cluster.max(initial=0)) for hits, _ in parts if hits.cluster is not None), default=-1)
    together, inside, alone = np.zeros(max(0, size)), np.zeros(max(0, size), dtype=bool), 0.0
    singles = 0
    for hits, factor in parts:
        score = hits.score or 0.0
        plain += factor**2 * score * (1 - score) / max(hits.size, 1e-300)
        deviation = factor * hits.deviation()
        counted = hits.weight > 0
        if hits.cluster is None:
            alone += float(deviation @ deviation)
            singles += int(counted.sum())
            clusters = min(clusters, hits.size)
            continue
        cluster = hits.cluster[counted]
        together += np.bincount(hits.cluster, deviation, minlength=size)
        weights = np.bincount(cluster, hits.weight[counted], minlength=size)
        right = np.bincount(cluster, hits.hit[counted], minlength=size)
        sizes = np.bincount(cluster, minlength=size)
        inside |= sizes > 0
        effective = hits.total**2 / max(float(weights @ weights), 1e-300)
        clusters = min(clusters, effective)
        if alike and min(int((right > 0).sum()), int((right < sizes).sum())) < FEW_CLUSTERS:
            least = max(least, hits.size / max(effective, 1e-300))
    count = singles + int(inside.sum())
    if plain <= 0 or count < 2:
        return SamplingDesign(clusters, least)
    varied = count / (count - 1) * (alone + float(together @ together))
    return SamplingDesign(clusters, max(least, varied / plain))


SCORES: tuple[ScoreName, ...] = ("accuracy", "rarity_weighted")
COMMONEST: BaselineName = "commonest_value"
CONTROL_MODEL: BaselineName = "control_model"
NO_CONTROL = "there is no control"
NOTHING = f"people who are not in the release are guessed right for more than {percent(NOTHING_LEFT)}"


@dataclass(frozen=True, eq=False)
class Queries:
    """The people who are queried: rows of the originals and of the controls, and their clusters.

    `folds` are those in which columns are chosen; None without a control.
    """

    original: Ints
    control: Ints | None
    clusters: tuple[Ints, Ints | None] | None = None
    folds: Folds | None = None

    def truths(self, attribute: SensitiveAttribute) -> tuple[SensitiveTruth, SensitiveTruth | None]:
        """The sensitive attributes of these people."""
        control = None
        if self.control is not None and attribute.control is not None:
            control = attribute.control.take(self.control)
        return attribute.original.take(self.original), control

    def hits(self, found: Sequence[Floats], weights: tuple[Floats, Floats | None]) -> tuple[Hits, Hits | None]:
        """The hits of originals and controls with the weights of these people."""
        clusters = self.clusters or (None, None)
        mine = Hits(found[0], weights[0], clusters[0])
        if len(found) < 2 or weights[1] is None:
            return mine, None
        return mine, Hits(found[1], weights[1], clusters[1])


@dataclass(frozen=True, eq=False)
class ScoredAttack:
    """One attacker's hits by one score.

    `sets` are the columns that it knows: one set, or the one that each fold of the people chose. Then `choices` are the
    hits of everybody by each of these.
    """

    attacker: str
    sets: tuple[tuple[str, ...], ...]
    score: ScoreName
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


def score_beliefs(
    attacker: str, columns: Sequence[str], beliefs: BothBeliefs, attribute: SensitiveAttribute, queries: Queries
) -> list[ScoredAttack]:
    """The hits of one attacker by both scores; none by a score in which nobody has a weight."""
    truths, found = queries.truths(attribute), []
    for score in SCORES:
        hits = beliefs.hits(attribute, *truths, by_rarity=score == "rarity_weighted")
        mine, base = queries.hits(hits, weights_of(attribute, queries, score))
        if mine.total > 0:
            found.append(ScoredAttack(attacker, (tuple(columns),), score, mine, base))
    return found


def scored_by_choice(
    attacker: str,
    sets: Sequence[tuple[str, ...]],
    beliefs: Callable[[tuple[str, ...]], BothBeliefs],
    attribute: SensitiveAttribute,
    queries: Queries,
) -> list[ScoredAttack]:
    """The hits of one attacker by both scores, everybody by the columns that the other folds chose.

    `sets` has the columns of each fold's choice, or one set that was chosen without the people.
    """
    if len(set(sets)) == 1 or queries.folds is None:
        return score_beliefs(attacker, sets[0], beliefs(sets[0]), attribute, queries)
    truths, found = queries.truths(attribute), []
    believed = {columns: beliefs(columns) for columns in dict.fromkeys(sets)}
    for score in SCORES:
        rare, weights = score == "rarity_weighted", weights_of(attribute, queries, score)
        hits = {columns: one.hits(attribute, *truths, by_rarity=rare) for columns, one in believed.items()}
        by_choice = [hits[columns] for columns in sets]
        apart = [
            read_apart([one[at] for one in by_choice], fold)
            for at, fold in enumerate((queries.folds.original, queries.folds.control))
        ]
        mine, base = queries.hits(apart, weights)
        if mine.total > 0:
            choices = tuple(queries.hits(one, weights) for one in by_choice)
            found.append(ScoredAttack(attacker, tuple(sets), score, mine, base, choices))
    return found


def weights_of(attribute: SensitiveAttribute, queries: Queries, score: ScoreName) -> tuple[Floats, Floats | None]:
    """The weights of the people: 1 for who has a sensitive attribute, or how rare it is."""
    if score == "accuracy":
        mine, base = attribute.original.known.astype(np.float64), None
        if attribute.control is not None:
            base = attribute.control.known.astype(np.float64)
    else:
        mine, base = attribute.weights()
    own = mine[queries.original]
    other = None if base is None or queries.control is None else base[queries.control]
    return own, other


def baseline_rows(
    attribute: SensitiveAttribute, queries: Queries, trained: BothBeliefs | None
) -> list[InferenceBaseline]:
    """The commonest value and, if there is one, the model trained on controls, by both scores."""
    mine, base = queries.truths(attribute)
    rows = []
    for score in SCORES:
        rare = score == "rarity_weighted"
        weights = weights_of(attribute, queries, score)
        hits = {COMMONEST: [commonest_hits(attribute, one, by_rarity=rare) for one in (mine, base) if one is not None]}
        if trained is not None:
            hits[CONTROL_MODEL] = trained.hits(attribute, mine, base, by_rarity=rare)
        for name, found in hits.items():
            originals, controls = queries.hits(found, weights)
            if originals.score is not None:
                people, fewest = rounded_by(originals, controls)
                rows.append(
                    InferenceBaseline(
                        baseline=name,
                        score=score,
                        people=people,
                        fewest=fewest,
                        originals=originals.score,
                        controls=None if controls is None else controls.score,
                    )
                )
    return rows


def inference_rows(attacks: Sequence[ScoredAttack], confidence: float, *, alike: bool) -> list[InferenceRow]:
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
                low, high = widen_for_choice(ends, gain, errors[1], fewer, confidence)
                ends = low, min(1.0, high)
        mine = one.originals.score
        assert mine is not None  # noqa: S101 - attacks without weights were left out
        own = score_ends(one.originals, confidence, alike=alike)
        if own is not None:
            low, high = widen_for_choice(own, mine, errors[0], one.originals.size, confidence)
            own = max(0.0, low), min(1.0, high)
        people, fewest = rounded_by(one.originals, one.controls)
        rows.append(
            InferenceRow(
                attacker=cast("AttackerName", one.attacker),
                columns=one.columns,
                score=one.score,
                people=people,
                fewest=fewest,
                originals=mine,
                low=None if own is None else own[0],
                high=None if own is None else own[1],
                controls=base,
                attributable=gain,
                attributable_low=None if ends is None else ends[0],
                attributable_high=None if ends is None else ends[1],
            )
        )
    return sorted(rows, key=_strength, reverse=True)


def rounded_by(originals: Hits, controls: Hits | None) -> tuple[int, int]:
    """The numbers of people by which figures of originals, and of both tables, are rounded."""
    mine = originals.heaviest
    return mine, mine if controls is None else min(mine, controls.heaviest)


def _strength(row: InferenceRow) -> tuple[float, float]:
    return -np.inf if row.attributable is None else row.attributable, row.originals


def simultaneous(figures: int) -> float:
    """The confidence of each of so many intervals that hold together at 95%."""
    return 1 - (1 - CONFIDENCE) / max(1, figures)


def refusal(rows: Sequence[InferenceRow]) -> str | None:
    """Why nothing can be attributed to the release; None if something can."""
    if any(row.attributable is not None for row in rows):
        return None
    # Then controls are right nearly always, or there are none.
    known = any(row.controls is not None and row.controls > NOTHING_LEFT for row in rows)
    return NOTHING if known else NO_CONTROL


def strongest(figures: Mapping[str, Sequence[InferenceRow]]) -> tuple[str, InferenceRow] | None:
    """The column and the row with the largest attributable score; None if there is none."""
    rows = [(name, row) for name, found in figures.items() for row in found if row.attributable is not None]
    return max(rows, key=lambda pair: _strength(pair[1])) if rows else None


def inference_rate(found: Sequence[AttributeInference]) -> InferenceRate | None:
    """The largest attributable score, and of how many it is the largest; None without one.

    A column that is refused has no figure, and the upper end is unknown if any other figure lacks its interval.
    """
    best = strongest({one.column: one.attackers for one in found})
    if best is None:
        return None
    name, row = best
    rows = [item for one in found for item in one.attackers if item.attributable is not None]
    known = [item.attributable_high for item in rows if item.attributable_high is not None]
    return InferenceRate(
        estimate=row.attributable or 0.0,
        low=row.attributable_low,
        high=max(known) if len(known) == len(rows) else None,
        column=name,
        attacker=row.attacker,
        score=row.score,
        fewest=min(item.fewest for item in rows),
        among=len(rows),
    )


FEWEST_CONTROLS = 40
"""The fewest controls with a sensitive attribute; half of them train a model."""


def control_model(
    attribute: SensitiveAttribute,
    names: Sequence[str],
    original: Table,
    control: Table,
    queries: Ints,
    clusters: Ints | None,
    *,
    seed: int,
    workers: int,
) -> BothBeliefs | None:
    """The beliefs of the table `original`, and of some rows of the whole control, `queries`; None with fewer than 40.

    `clusters` are those of all controls, None if each person is one. At most 100,000 controls train a model.
    """
    assert attribute.control is not None  # noqa: S101 - there is a control
    codes = models.truth_codes(attribute, attribute.control)
    known = codes >= 0
    if int(known.sum()) < FEWEST_CONTROLS:
        return None
    rng = stream(seed, f"control model {attribute.name}")
    cluster = np.arange(control.rows) if clusters is None else np.unique(clusters, return_inverse=True)[1].reshape(-1)
    fold = rng.integers(0, 2, int(cluster.max(initial=0)) + 1)[cluster]
    mine = rng.integers(0, 2, original.rows)
    features = models.Features.of(control, names)
    people, others = features(original), features(control)
    parts: list[tuple[Beliefs, Beliefs]] = []
    for half in (0, 1):
        rows = np.flatnonzero(known & (fold != half))
        if len(rows) > models.MOST_ROWS:
            rows = np.sort(rng.permutation(rows)[: models.MOST_ROWS])
        number = int(rng.integers(1 << 31))
        found = models.train(
            "boosted_trees",
            others[rows],
            codes[rows],
            attribute,
            categorical=features.categorical,
            seed=number,
            workers=workers,
        )
        if found is None:
            return None
        parts.append((found.beliefs(people), found.beliefs(others[queries])))
    return BothBeliefs(
        beliefs_by_half(parts[0][0], parts[1][0], mine), beliefs_by_half(parts[0][1], parts[1][1], fold[queries])
    )


def beliefs_by_half(first: Beliefs, second: Beliefs, half: Ints) -> Beliefs:
    """The rows of the first beliefs for half 0, of the second for half 1."""
    from scipy.sparse import diags  # noqa: PLC0415 - loaded when sensitive attributes are inferred

    one = (half == 0).astype(np.float64)
    return (diags(one) @ first + diags(1 - one) @ second).tocsr()
