"""What an attacker achieves on average, over people, release and reference people drawn anew.

The threshold is where a share a of the population outside the release is linked. In each world it is set by 20,000
fresh controls, so that its own error hardly counts; the share of that world's people who reach it is then averaged over
worlds. A reference is as large as in the audit: half of the audit's control.

Some evidence on a person depends on who else is asked: how common a value is, or whose points a record lies between.
There the fresh controls come in pools as large as the audit's control, each asked together with the originals, and
fewer of them where pools are small.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from cvpl.assessment.combined import COMBINED, FOLDS, Standardization, assign_folds, logistic_regression
from cvpl.attack.attack import Attack, attack
from cvpl.attack.attacker import Attacker
from cvpl.attack.shared_work import SharedWork
from cvpl.attack.table_blocks import assign_blocks, narrow_blocks
from cvpl.config.loading import load
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.rates import Roc
from cvpl.tables.columns import Table
from verdict_worlds import Floats, Setting, config_of, draw, people, table_of

FALSE_RATES = (0.05, 0.10, 0.20, 0.30)
CONTROLS = 20_000
"""Fresh controls of each world, ..."""
POOLS = {"values": 100, "between": 10}
"""... in at most so many pools, where the evidence depends on who else is asked."""
WORLDS = 5
"""Worlds of each setting: 100,000 controls in all."""


@dataclass(frozen=True)
class Truth:
    """The expected (power - a) / (1 - a) at each false rate a, with its standard error, and what stands behind it."""

    expected: dict[float, float]
    error: dict[float, float]
    worlds: int
    controls: int

    def at(self, false_rate: float) -> tuple[float, float]:
        """The expected figure at a false rate, and its standard error."""
        return self.expected[false_rate], self.error[false_rate]

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a file."""
        return {"expected": self.expected, "error": self.error, "worlds": self.worlds, "controls": self.controls}

    @classmethod
    def from_dict(cls, kept: dict[str, Any]) -> Truth:
        """From what stands in a file."""
        expected, error = ({float(rate): value for rate, value in kept[name].items()} for name in ("expected", "error"))
        return cls(expected, error, kept["worlds"], kept["controls"])


def expected_figure(setting: Setting, name: str, worlds: int = WORLDS, controls: int = CONTROLS) -> Truth:
    """What the attacker `name` of the family achieves in this setting, from so many worlds with so many controls."""
    figures = []
    for number in range(worlds):
        seed = zlib.crc32(f"{setting.key}/truth/{number}".encode())
        resolved = load(config_of(setting.kind, seed, canaries=False))
        with threadpool_limits(limits=1, user_api="blas"):
            mine, base = scores_of(setting, resolved, name, np.random.default_rng(seed), controls)
        roc = Roc.of(mine, base)
        figures.append([(roc.power(rate) - rate) / (1 - rate) for rate in FALSE_RATES])
    found = np.array(figures)
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(worlds)
    return Truth(
        dict(zip(FALSE_RATES, mean.tolist(), strict=True)),
        dict(zip(FALSE_RATES, error.tolist(), strict=True)),
        worlds,
        worlds * controls,
    )


def scores_of(
    setting: Setting, resolved: ResolvedConfig, name: str, rng: np.random.Generator, controls: int
) -> tuple[Floats, Floats]:
    """The evidence for the originals of one fresh world, and for so many fresh controls of it."""
    if name == COMBINED:
        return combined_scores_of(setting, resolved, rng, controls)
    attacker = resolved.attackers[name]
    done = attack_as_audited(draw(setting, rng).pair(), resolved, attacker)
    mine, base = [], []
    for asked in asked_of_fresh_controls(done, setting, people(setting.kind, controls, rng)):
        mine.append(asked.evidence("original", asked.found))
        base.append(asked.evidence("control", asked.search_control()))
    return np.concatenate(mine), np.concatenate(base)


def asked_of_fresh_controls(
    done: Attack, setting: Setting, fresh: Floats, shared: SharedWork | None = None
) -> list[Attack]:
    """The same attack on fresh controls: on all at once, or in pools if its evidence depends on who else is asked."""
    most = POOLS.get(done.attacker.evidence)
    size = len(fresh) if most is None else max(1, len(done.control_rows))
    starts = range(0, max(1, len(fresh) - size + 1), size)[:most]
    pools = [table_of(setting.kind, "control", fresh[start : start + size]) for start in starts]
    return [with_control(done, pool, shared if most is None else None) for pool in pools]


def combined_scores_of(
    setting: Setting, resolved: ResolvedConfig, rng: np.random.Generator, controls: int
) -> tuple[Floats, Floats]:
    """The same for the combined attacker, fitted on the world's own people and controls as in an audit.

    A fold of the fresh controls is scored by the model that scores the same fold of the originals. Where a member asks
    in pools, no member is asked of more people than fill them.
    """
    pair = draw(setting, rng).pair()
    fresh = people(setting.kind, controls, rng)
    mine, base, others, asked = [], [], [], np.arange(pair.control.rows)
    shared, shared_later = SharedWork(), SharedWork()
    for attacker in resolved.able(pair.control.rows, pair).values():
        done = attack_as_audited(pair, resolved, attacker, shared)
        mine.append(done.scores)
        base.append((done.control_rows, done.evidence("control", done.search_control())))
        pools = asked_of_fresh_controls(done, setting, fresh, shared_later)
        others.append(np.concatenate([later.evidence("control", later.search_control()) for later in pools]))
        asked = np.intersect1d(asked, done.control_rows)
    members = (
        np.column_stack(mine),
        np.column_stack([found[np.searchsorted(rows, asked)] for rows, found in base]),
    )
    strangers = np.column_stack([scores[: min(map(len, others))] for scores in others])
    folds = assign_folds(len(members[0]), len(members[1]), rng)
    scores, beyond = np.zeros(len(members[0])), np.zeros(len(strangers))
    for fold in range(FOLDS):
        fitted_on = [side[own != fold] for side, own in zip(members, folds, strict=True)]
        model = Standardization.of(np.vstack(fitted_on))
        weights = logistic_regression(
            model(np.vstack(fitted_on)), np.repeat([1.0, 0.0], [len(side) for side in fitted_on])
        )
        scores[folds[0] == fold] = weights[0] + model(members[0][folds[0] == fold]) @ weights[1:]
        beyond[fold::FOLDS] = weights[0] + model(strangers[fold::FOLDS]) @ weights[1:]
    return scores, beyond


def attack_as_audited(
    pair: Any, resolved: ResolvedConfig, attacker: Attacker, shared: SharedWork | None = None
) -> Attack:
    """The attack as an audit runs it."""
    most = resolved.max_queries(attacker, pair.protected.rows)
    settings = {"seed": resolved.config.seed, "budget": resolved.budget, "levers": resolved.levers, "most": most}
    return attack(pair, attacker, **settings, shared=shared)


def with_control(done: Attack, control: Table, shared: SharedWork | None = None) -> Attack:
    """The same attack, fitted on the same tables and with the same reference, that asks other people as controls."""
    held = done.attacker.view(control)
    seen = held if done.form is None else done.form.apply(held)
    tables = [table for table in (done.original, done.protected, seen, done.reference) if table is not None]
    space = done.representation.space
    blocks = assign_blocks(done.attacker.blocking, tables, space, done.seed)
    return replace(
        done,
        control=seen,
        held_control=held,
        control_rows=np.arange(seen.rows, dtype=np.int64),
        blocks=blocks,
        searched=narrow_blocks(blocks, done.levers, tables, space, done.seed),
        shared=shared or SharedWork(),
    )
