"""The package against the oracle, which is written from the equations as plain loops and shares no code with it.

Every operator variant is tried on random pairs of tables: 10 in `make test`, 300 in `make test-full`. All indicators
must be equal, except for records whose similarity lies within 1e-6 of a threshold, where rounding may decide.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings

from attack_variants import GRID, VARIANTS
from cvpl.assessment.diagnostics.validity import leave_one_out
from cvpl.attack.attack import attack
from cvpl.attack.embedding import linear
from cvpl.attack.table_blocks import hyperplanes
from cvpl.estimates import FALSE_RATES
from cvpl.evaluation import rates, truth
from cvpl.evaluation.attack_figures import growth_law
from cvpl.evaluation.columns import split_links, structural
from cvpl.evaluation.measurement import measure
from cvpl.evaluation.rates import attributable_rate, power_at, smallest_threshold
from cvpl.evaluation.truth import exceedance
from cvpl.search.machine import Budget
from examples import TIMES, examples
from oracle import figures
from oracle.attack import attack as oracle_attack
from worlds import BASE, World, package_attacker, worlds

EXAMPLES = examples(15) if TIMES > 1 else 10
CLOSE = 1e-6
TAUS = (0.0, 0.5, 0.7, 0.9, 0.99)


CHUNKS = 8
"""The variants are dealt out in so many hands, which cores can play at the same time; a hand shares its worlds."""


@pytest.mark.parametrize("hand", range(CHUNKS))
def test_every_variant_finds_what_the_oracle_finds(hand):
    """Similarities, candidates and ties, rates, recalls, false links, hits, control and calibration agree."""
    names = list(VARIANTS)[hand::CHUNKS]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(worlds())
    def agree(world: World) -> None:
        for name in names:
            note(f"variant: {name}")
            written = BASE | VARIANTS[name]
            mine = attack(world.pair, package_attacker(written), seed=7, budget=Budget(threads=1))
            found = oracle_attack(
                world.original,
                world.protected,
                world.columns,
                written,
                control=world.control,
                draws=_draws(mine, written),
            )
            compare_search(mine.found, found)
            compare_figures(mine, found, world)

    agree()


def _draws(mine, written):
    """The random numbers that the package drew, handed over."""
    space = mine.representation.space
    draws = {}
    bits = [scheme[1] for scheme in written["schemes"] if isinstance(scheme, tuple)]
    if bits:
        planes = hyperplanes(space, mine.original, max(bits), mine.seed)
        keys = space.restricted([s.name for s in mine.original.specs if s.role == "quasi_identifier"])
        draws["planes"] = planes[keys].T.tolist()
    if written["projection"]["kind"] == "random":
        draws["projection"] = mine.representation.projection.loadings.tolist()
    return draws


def compare_search(mine, found):
    for i, best in enumerate(found.best):
        assert mine.candidates[i] == len(found.candidates[i])
        if best is None:
            assert (mine.best[i], mine.row[i], mine.ties[i]) == (-np.inf, -1, 0)
            continue
        assert _close(mine.best[i], best)
        assert _close(found.similarity(i, int(mine.row[i])), best)
        assert mine.ties[i] == len(found.ties[i]) or _near_tie(found, i, best)
        if found.second[i] is None:
            assert (mine.second[i], mine.second_row[i]) == (-np.inf, -1)
        else:
            assert _close(mine.second[i], found.second[i])
            assert mine.second_row[i] in found.candidates[i] and mine.second_row[i] != mine.row[i]


def _close(mine, theirs):
    return abs(mine - theirs) <= CLOSE


def _near_tie(found, i, best):
    """Whether a candidate lies so close to the edge of the tie that rounding may decide."""
    return any(abs(best - 1e-6 - found.similarity(i, j)) < 1e-9 for j in found.candidates[i])


def _undecided(scores, tau):
    return any(s is not None and abs(s - tau) <= CLOSE for s in scores)


def compare_figures(mine, found, world):
    control = mine.search_control()
    compare_search(control, found.control)
    weighed = truth.evaluate_truth(mine, world.matches)
    measured = measure(mine, world.matches, control, grid=GRID, method="people")
    best, keys = mine.found.best, world.truth
    wrong = figures.best_wrong(found, keys)
    everything = [*found.best, *found.control.best, *figures.match_similarities(found, keys), *wrong]
    non_matches = sorted(figures.non_match_similarities(found, keys))
    assert measured.pairs.values == pytest.approx(non_matches, abs=CLOSE)
    assert np.where(np.isneginf(weighed.best_wrong), np.nan, weighed.best_wrong) == pytest.approx(
        [np.nan if s is None else s for s in wrong], abs=CLOSE, nan_ok=True
    )
    tied_edge = any(b is not None and _near_tie(found, i, b) for i, b in enumerate(found.best))
    if not tied_edge:
        assert _same(truth.top1_hit_rate(weighed), figures.top1_hit_rate(found, keys))
    assert _same(truth.blocking_recall(weighed), figures.blocking_recall(found, keys))
    if mine.attacker.on_scale and not any(_undecided(found.best, tau) for tau in GRID):
        assert rates.risk_curve(best, GRID) == pytest.approx([rate for _, rate in figures.risk_curve(found)])
        assert rates.worst_case_risk(best, GRID) == pytest.approx(figures.worst_case_risk(found))
    if mine.attacker.on_scale:
        assert rates.integrated_risk(best, GRID) == pytest.approx(figures.integrated_risk(found), abs=1e-5)
    for tau in TAUS:
        if _undecided([*everything, *non_matches], tau):
            continue
        assert _same(rates.linkage_rate(best, tau), figures.linkage_rate(found, tau))
        assert truth.recall_counts(weighed, tau) == figures.recall_counts(found, keys, tau)
        assert _same(truth.matching_recall(weighed, tau), figures.matching_recall(found, keys, tau))
        assert _same(truth.total_recall(weighed, tau), figures.total_recall(found, keys, tau))
        assert _same(truth.false_link_rate(weighed, tau), figures.false_link_rate(found, keys, tau))
        assert _same(exceedance(measured.pairs.values, tau), figures.pairwise_false_link_rate(found, keys, tau))
        if not tied_edge:
            assert _same(truth.precision_at_1(weighed, best, tau), figures.precision_at_1(found, keys, tau))
        base = rates.linkage_rate(control.best, tau)
        assert _same(base, figures.control_rate(found, tau))
        expected, basis = figures.attributable_rate(found, tau)
        assert basis == "control" and _same(attributable_rate(rates.linkage_rate(best, tau), base), expected)
        chance, predicted, observed = figures.growth_law(found, keys, tau)
        if chance is not None:
            overall, groups = growth_law(weighed.best_wrong, weighed.wrong_candidates, chance, tau)
            assert _same(overall.predicted, predicted) and _same(overall.observed, observed)
            assert sum(group.records for group in groups) == len(best)
    compare_calibration(mine, weighed, measured, found, keys)
    scores = [_listed(best), _listed(control.best)]
    for rate in FALSE_RATES:
        assert _same(power_at(best, control.best, rate), figures.power_of_scores(*scores, rate))
    if mine.attacker.projects or mine.attacker.similarity == "jaccard":
        compare_self_linkage(mine, found)
    compare_contribution(mine, found)


def compare_calibration(mine, weighed, measured, found, keys):
    """From the package's own scores, so that the last bit of a similarity does not decide."""
    maximum = found.maximum
    wrong, pairs = _listed(weighed.best_wrong), measured.pairs.values.tolist()
    mean = float(mine.found.candidates.mean())
    for alpha in (0.05, 0.3, 0.9):
        forms = [(weighed.best_wrong, alpha, wrong), (measured.pairs.values, alpha, pairs)]
        if mean > 0:
            forms.append((measured.pairs.values, alpha / mean, pairs))
        for values, level, listed in forms:
            if not len(values):
                continue
            expected = figures.smallest_threshold(listed, level, maximum)
            assert smallest_threshold(values, level, maximum) == expected
            if expected is not None and math.isfinite(expected):
                # The rate is met there, and no longer a float below; α n is rounded, hence the slack.
                assert np.mean(values >= expected) <= level + 1e-12
                assert np.mean(values >= np.nextafter(expected, -np.inf)) >= level - 1e-12


def compare_self_linkage(mine, found):
    for name in ("original", "protected"):
        if not _undecided(found.within(name).best, 0.7):
            rate = leave_one_out(mine, name, 0.7, np.random.default_rng(0)).rate
            assert _same(rate, figures.self_linkage_rate(found, name, 0.7))


def compare_contribution(mine, found):
    projection = linear(mine.representation.projection)
    if projection is None:
        return
    if projection.variances is not None:
        expected = figures.structural_contribution(found) or {}
        shares = structural(mine.representation.space, projection.loadings, projection.variances)
        for column, share in expected.items():  # a column without a single value has no features, hence no share
            assert shares.get(column, 0.0) == pytest.approx(share or 0.0, abs=CLOSE)
    if mine.attacker.similarity == "cosine":
        linked = np.flatnonzero(mine.found.best > 0.5)
        pairs = [(int(i), int(mine.found.row[i])) for i in linked]
        split = split_links(mine, projection, linked, mine.found.row[linked]) if len(linked) else None
        expected = figures.link_contribution(found, pairs) if pairs else None
        assert (split is None) == (expected is None) or not pairs
        if split is not None:
            assert {column: split.get(column, 0.0) for column in expected} == pytest.approx(expected, abs=1e-5)
            assert sum(split.values()) == pytest.approx(1)


def _same(mine, theirs):
    """Both not defined, or the same ratio of counts."""
    if mine is None or theirs is None:
        return mine is theirs
    return math.isclose(mine, theirs, rel_tol=1e-9, abs_tol=1e-12)


def _listed(scores):
    return [None if np.isneginf(score) else float(score) for score in scores]
