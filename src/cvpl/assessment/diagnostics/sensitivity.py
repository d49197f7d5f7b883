"""What the figures depend on: other settings, looser blocking, and each single column.

The same attack is repeated with other blocking granularities, encodings and scalings, on a sample of the people. A
figure that varies with such a choice reflects the choice.

The drop of power at 5% when a column is removed: the figure that shows which column to coarsen.

    drop = power of the attacker - power of the same attacker without the column

Power at 5% is the true-positive rate at a 5% false-positive rate. Both use the same people, at most 2,000 originals and
2,000 controls, in the same blocks; fewer if densities are summed over a large release. The linkage rate may rise when
a column is removed, since fewer features make more look-alikes; power is relative to the control, where this cancels
out. The spread comes from resampling people with their scores fixed.

Without a control the power is relative to the originals without their own match, which is blind to releases of equal
records. The drop of the top-1 hit rate is computed beside it:

    drop = top-1 hit rate of the attacker - that of the same attacker without the column

Progressive evaluation: the rate along a ladder of increasingly loose blockings (paper, Algorithm 2). Each rung's
candidates contain those of the rung before it, so the rate never falls (paper, theorem monotonicity) and stopping early
leaves a valid lower bound.

The same work for several attackers, some of them at the same time. A search of few people is too short to keep several
threads busy, so several attackers search at the same time, each with its share of the threads. A search in a large
release keeps all threads busy by itself, and two at the same time would need twice the memory. What is found does not
depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from cvpl.assessment.diagnostics.validity import sampled_originals
from cvpl.attack.attack import Attack, attack
from cvpl.attack.attacker import Attacker
from cvpl.attack.embedding import linear
from cvpl.attack.people_draw import EACH_ROW, Drawn, PeopleDraw
from cvpl.attack.representation import fit_representation
from cvpl.attack.shared_work import SharedWork, WorkKeys
from cvpl.attack.table_blocks import assign_blocks
from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.columns import link, structural, structural_spread
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.rates import AttackRates, attack_rates, linkage_rate, power_at, searched_base
from cvpl.evaluation.truth import evaluate_truth
from cvpl.operators.blocking import Bin, Blocking, Key, Level, Lsh, Prefix, Truncate
from cvpl.operators.vectorization import ColumnChoice
from cvpl.randomness import stream
from cvpl.result import Contribution, Contributions, Ladder, RungRate, Sensitivity, Variation
from cvpl.search.machine import Budget, threads
from cvpl.tables.columns import Pair
from cvpl.tables.evaluation_only import TrueMatches
from cvpl.tables.pair import Inputs

MOST_SEARCHED = 2_000
"""The most originals, and the most controls, that are searched."""
_COARSER = {"hour": "day", "day": "month", "week": "month", "month": "year"}
_FINER = {"year": "month", "month": "day", "week": "day", "day": "hour"}

Choice = Literal["blocking", "encoding and scaling"]


def sensitivity(
    name: str,
    pair: Pair,
    attacker: Attacker,
    threshold: float,
    matches: TrueMatches | None,
    *,
    seed: int,
    budget: Budget,
    draw: PeopleDraw = EACH_ROW,
) -> Sensitivity:
    """Run the variations of the named attacker, whose score is on the scale; `threshold` is where its rates are read.

    Without a control, the originals with their own match left out replace it if all matches are known.
    """

    def search(other: Attacker, shared: SharedWork, own: Budget) -> tuple[AttackRates, int]:
        done = attack(pair, other, seed=seed, budget=own, most=MOST_SEARCHED, shared=shared, draw=draw)
        return attack_rates(done.scores, searched_base(done, matches), threshold), done.original.rows

    varied, found = list(variations(pair, attacker)), []
    attackers = [other for _, _, other in varied]
    searched = list(
        for_each(attackers, search, most=lambda _: MOST_SEARCHED, released=pair.protected.rows, budget=budget)
    )
    for (choice, form, _), (rates, _) in zip(varied, searched, strict=True):
        assert rates.rate is not None  # noqa: S101 - there is a threshold
        found.append(
            Variation(
                choice=choice,
                name=form,
                linkage_rate=rates.rate,
                control_rate=rates.base_rate,
                attributable_rate=rates.attributable,
                power=rates.power,
            )
        )
    return Sensitivity(
        attacker=name,
        asked=searched[0][1],
        variations=found,
        spread_by_blocking=spread(found, "blocking"),
        spread_by_encoding=spread(found, "encoding and scaling"),
    )


def spread(varied: Sequence[Variation], choice: Choice) -> float | None:
    """Largest minus smallest power over one kind of choice (linkage rate if power is unknown); None with one figure."""
    values = [item.linkage_rate if item.power is None else item.power for item in varied if item.choice == choice]
    return max(values) - min(values) if len(values) > 1 else None


def variations(pair: Pair, attacker: Attacker) -> Iterator[tuple[Choice, str, Attacker]]:
    """The attacker itself under each kind of choice, and the alternatives."""
    for name, blocking in blockings(attacker.blocking):
        yield "blocking", name, attacker.model_copy(update={"blocking": blocking})
    levels = any(spec.separator is not None or spec.parents is not None for spec in pair.original.specs)
    encodings: Sequence[str] = ("one_hot", "frequency", "hierarchical") if levels else ("one_hot", "frequency")
    for encode in encodings:
        for scale in ("z_score", "robust", "none"):
            chosen = attacker.vectorization.model_copy(update={"encode": encode, "scale": scale})
            other = attacker.model_copy(update={"vectorization": chosen})
            yield "encoding and scaling", f"{encode}, {scale}", other


def blockings(blocking: Blocking) -> Iterator[tuple[str, Blocking]]:
    """The blocking as configured, no blocking, each key left out, and each key coarser and finer if possible."""
    yield "as configured", blocking
    keys = [scheme for scheme in blocking.any_of if not isinstance(scheme, Lsh)]
    if blocking.compares_everybody:
        return
    yield "none", Blocking()
    if len(blocking.any_of) != 1 or not keys:
        return
    scheme = keys[0]
    for at, key in enumerate(scheme):
        others = scheme[:at], scheme[at + 1 :]
        if len(scheme) > 1:
            yield f"without '{key.column}'", _blocking_of_scheme(blocking, (*others[0], *others[1]))
        for word, changed in _other_granularities(key):
            yield f"'{key.column}' {word}", _blocking_of_scheme(blocking, (*others[0], changed, *others[1]))


def _blocking_of_scheme(blocking: Blocking, scheme: tuple[Key, ...]) -> Blocking:
    """A blocking of one scheme that matches keys in the same way."""
    return Blocking(match=blocking.match, any_of=(scheme,))


def _other_granularities(key: Key) -> Iterator[tuple[str, Key]]:
    """The key with half and with double the granularity."""
    rule = key.rule
    if isinstance(rule, Bin):
        yield "in half the width", Key(column=key.column, rule=Bin(bin=rule.bin / 2))
        yield "in double the width", Key(column=key.column, rule=Bin(bin=rule.bin * 2))
    elif isinstance(rule, Level):
        yield "a level finer", Key(column=key.column, rule=Level(level=rule.level + 1))
        if rule.level > 1:
            yield "a level coarser", Key(column=key.column, rule=Level(level=rule.level - 1))
    elif isinstance(rule, Prefix):
        yield "a character longer", Key(column=key.column, rule=Prefix(prefix=rule.prefix + 1))
        if rule.prefix > 1:
            yield "a character shorter", Key(column=key.column, rule=Prefix(prefix=rule.prefix - 1))
    elif isinstance(rule, Truncate):
        for word, units in (("finer", _FINER), ("coarser", _COARSER)):
            if rule.truncate in units:
                yield word, Key(column=key.column, rule=Truncate.model_validate({"truncate": units[rule.truncate]}))


def column_contributions(
    measured: Measurement, drops: PowerDrops | None, progress: Callable[[float], None] | None = None
) -> Contributions:
    """The contribution of every compared column; `drops` are the power drops, if they were computed.

    Rate and hits without a column are measured for the first 40 columns.

    `progress` is called with the share of the columns.
    """
    done, threshold = measured.attack, measured.threshold
    space, fitted = done.representation.space, linear(done.representation.projection)
    shares: dict[str, float] = {}
    bounds: dict[str, tuple[float, float]] = {}
    if fitted is not None and fitted.variances is not None:
        shares = structural(space, fitted.loadings, fitted.variances)
        bounds = structural_spread(done, stream(done.seed, "structural"))
    linked = measured.linked
    links = None if linked is None else link(done, np.flatnonzero(linked[0] > 0), stream(done.seed, "links"))
    columns = dict.fromkeys([*done.attacker.vectorization.compared(done.original), *space.owners])
    removals: dict[str, float] = {}
    asked = None
    # A map of both tables at once would have to be refitted, and a saved one is not fitted at all.
    refitted = done.representation.maps_others and done.attacker.projection_operator.saved_file is None
    if threshold is not None and len(columns) > 1 and refitted:
        tried = list(columns)[:MOST_COLUMNS]
        for number, column in enumerate(tried):
            if progress is not None:
                progress(number / len(tried))
            removals[column], rows = removal(done, column, threshold, stream(done.seed, "removal"))
            asked = len(rows)
    roles = {spec.name: spec.role for spec in done.original.specs}
    found = []
    for column in columns:
        low, high = bounds.get(column, (None, None))
        drop = None if drops is None else drops.by_column.get(column)
        hits = None if drops is None else drops.hits.get(column)
        found.append(
            Contribution(
                column=column,
                role=roles[column],
                structural=shares.get(column),
                structural_low=low,
                structural_high=high,
                link=None if links is None else links.get(column),
                removal=removals.get(column),
                power_drop=None if drop is None else drop.drop,
                power_drop_low=None if drop is None else drop.low,
                power_drop_high=None if drop is None else drop.high,
                top1_drop=None if hits is None else hits.drop,
                top1_drop_low=None if hits is None else hits.low,
                top1_drop_high=None if hits is None else hits.high,
            )
        )
    return Contributions(
        columns=found,
        removal_asked=asked,
        power_asked=None if drops is None else drops.asked,
        top1_asked=None if drops is None else drops.matched,
    )


def removal(attack: Attack, column: str, threshold: float, rng: np.random.Generator) -> tuple[float, NDArray[np.int64]]:
    """The drop of the rate without `column`: rate with it - rate without it, over the same (sampled) originals.

    The blocks stay the same, so that every record keeps its candidates and the drop measures only the column's part in
    the similarity; a column used only for blocking has no part in it. Returns the drop and the rows that were searched.
    """
    rows = sampled_originals(attack, rng)
    vectorization = attack.attacker.vectorization
    choices = {**vectorization.columns, column: ColumnChoice(vectorize=False)}
    without = attack.attacker.model_copy(
        update={"vectorization": vectorization.model_copy(update={"columns": choices})}
    )
    representation = attack.representation.without(column) or fit_representation(
        attack.original, attack.protected, without, attack.seed, engine=attack.engine
    )
    scorer = representation.scorer(attack.original, attack.protected, rows)
    found = attack.find(scorer, attack.searched.partitions("original", "protected", rows))
    return linkage_rate(attack.found.best[rows], threshold) - linkage_rate(found.best, threshold), rows


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scores = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class _Found:
    """The scores of originals and of those that they are compared with, and the hits; None with a control.

    `people` are the tables and rows of both sides, `matched` the rows whose hits are known.
    """

    sides: Scores
    hits: Floats | None
    people: tuple[tuple[Drawn, Ints], tuple[Drawn, Ints]]
    matched: Ints


FEWEST_SEARCHED = 500
DENSITIES = 100_000_000
"""The most pairs whose densities are summed for one column; fewer people are asked if needed, but at least 500: a
power then has a standard error of about two points, and that of a difference over the same people is smaller."""
REPLICATES = 100
MOST_COLUMNS = 40
"""Columns beyond this number are not tried."""


@dataclass(frozen=True)
class PowerDrop:
    """One column's drop, and the middle 95% of it over resampled people."""

    drop: float
    low: float
    high: float


@dataclass(frozen=True)
class PowerDrops:
    """Every column's drop, over `asked` originals.

    Without a control, `hits` has the drops of the top-1 hit rate, over the `matched` of them whose match is known.
    """

    by_column: Mapping[str, PowerDrop]
    asked: int
    hits: Mapping[str, PowerDrop]
    matched: int | None


def max_queries(attacker: Attacker, released: int) -> int:
    """The most originals, and the most controls, that are searched in `released` records without each column."""
    if attacker.evidence != "density":
        return MOST_SEARCHED
    return min(MOST_SEARCHED, max(FEWEST_SEARCHED, DENSITIES // max(1, released)))


def power_drops(
    measured: Measurement, inputs: Inputs, progress: Callable[[float], None] | None = None
) -> PowerDrops | None:
    """The drops of the measured attacker; None without power, with a single column, and if nothing can be refitted.

    A column used only for blocking is not compared and has no drop. `progress` is called with the share of the columns.
    """
    done = measured.attack
    compared = done.attacker.vectorization.compared(done.original)
    refitted = done.representation.maps_others and done.attacker.projection_operator.saved_file is None
    if measured.power is None or len(compared) < 2 or not refitted:
        return None
    tried = compared[:MOST_COLUMNS]
    attackers = [done.attacker, *(_attacker_without(done.attacker, column) for column in tried)]
    released = inputs.pair.protected.rows
    searched = for_each(
        attackers,
        lambda attacker, shared, budget: _scores(done, attacker, inputs, shared, budget),
        most=lambda attacker: max_queries(attacker, released),
        released=released,
        budget=done.budget,
    )
    whole = next(searched)
    if whole is None:
        return None
    rng = stream(done.seed, "power drops")
    drawn = [tuple(done.draw.resample(*side, rng) for side in whole.people) for _ in range(REPLICATES)]
    powers = [_power(whole.sides, rows) for rows in drawn]
    rng = stream(done.seed, "top-1 drops")
    again = (
        [] if whole.hits is None else [done.draw.resample("original", whole.matched, rng) for _ in range(REPLICATES)]
    )
    found, hits = {}, {}
    for number, (column, without) in enumerate(zip(tried, searched, strict=True), start=2):
        if progress is not None:
            progress(number / len(attackers))
        assert without is not None  # noqa: S101 - as with the column
        spread = [power - _power(without.sides, rows) for power, rows in zip(powers, drawn, strict=True)]
        found[column] = _drop(_power(whole.sides) - _power(without.sides), spread)
        if whole.hits is not None and without.hits is not None:
            lost = whole.hits - without.hits
            hits[column] = _drop(float(lost.mean()), [float(lost[rows].mean()) for rows in again])
    return PowerDrops(found, len(whole.sides[0]), hits, None if whole.hits is None else len(whole.hits))


def _drop(drop: float, spread: Sequence[float]) -> PowerDrop:
    low, high = np.quantile(spread, (0.025, 0.975))
    return PowerDrop(drop, float(low), float(high))


def _attacker_without(attacker: Attacker, column: str) -> Attacker:
    choices = {**attacker.vectorization.columns, column: ColumnChoice(vectorize=False)}
    vectorization = attacker.vectorization.model_copy(update={"columns": choices})
    return attacker.model_copy(update={"vectorization": vectorization})


def _scores(done: Attack, attacker: Attacker, inputs: Inputs, shared: SharedWork, budget: Budget) -> _Found | None:
    """The evidence of some originals, and of the controls or, without any, of the originals without their match.

    Without a control also whether the best candidate is right, for the originals with a known match.
    """
    most = max_queries(attacker, inputs.pair.protected.rows)
    again = attack(
        inputs.pair,
        attacker,
        seed=done.seed,
        budget=budget,
        levers=done.levers,
        most=most,
        shared=shared,
        draw=done.draw,
    )
    base = searched_base(again, inputs.evaluation.matches)
    if base is None:
        return None
    hits, matched = None, again.people[:0]
    if again.control is None and inputs.evaluation.matches is not None:
        truth = evaluate_truth(again, inputs.evaluation.matches)
        hits, matched = truth.hit[truth.has_match], again.people[truth.has_match]
    others: tuple[Drawn, Ints] = ("original", again.people)
    if again.control is not None:
        others = "control", again.control_rows
    return _Found((again.scores, base), hits, (("original", again.people), others), matched)


def _power(scores: Scores, rows: tuple[NDArray[np.int64], ...] | None = None) -> float:
    mine, base = scores if rows is None else (scores[0][rows[0]], scores[1][rows[1]])
    return power_at(mine, base, FALSE_RATE)


def climb(attack: Attack, threshold: float) -> Ladder | None:
    """Run the attacker's ladder; None if it has none. Never stops before the second rung."""
    ladder = attack.attacker.ladder
    if ladder is None:
        return None
    rungs: list[RungRate] = []
    tables = [attack.original, attack.protected]
    for number, blocking in enumerate(ladder.rungs, start=1):
        blocks = assign_blocks(blocking, tables, attack.representation.space, attack.seed)
        found = attack.engine.find_best(attack.scorer, blocks.partitions("original", "protected"))
        rate = linkage_rate(found.best, threshold)
        gain = rate - (rungs[-1].linkage_rate if rungs else 0.0)
        pairs = int(found.candidates.sum())
        rungs.append(RungRate(number=number, linkage_rate=rate, gain=gain, pairs=pairs))
        if number >= 2 and gain < ladder.stop_below:
            return Ladder(rungs=rungs, stopped_early=number < len(ladder.rungs))
    return Ladder(rungs=rungs, stopped_early=False)


T = TypeVar("T")
Work = Callable[[Attacker, SharedWork, Budget], T]

LARGE = 100_000
"""In a release of more records, one attacker searches at a time."""


def for_each(
    attackers: Sequence[Attacker], work: Work[T], *, most: Callable[[Attacker], int], released: int, budget: Budget
) -> Iterator[T]:
    """The results of `work` for each attacker, in their order; `released` is the number of records searched.

    `most` is the number of originals that an attacker searches for at most. Attackers that follow one another in a
    thread share work.
    """
    at_once = min(budget.workers, len(attackers)) if released <= LARGE else 1
    own = replace(budget, threads=max(1, budget.workers // at_once))
    idle: SimpleQueue[SharedWork] = SimpleQueue()
    for _ in range(at_once):
        idle.put(SharedWork())

    def run(attacker: Attacker) -> T:
        shared = idle.get()
        try:
            shared.keep_for([WorkKeys.of(attacker, most(attacker))])
            return work(attacker, shared, own)
        finally:
            idle.put(shared)

    with threads(at_once) as pool:
        yield from pool.map(run, attackers)
