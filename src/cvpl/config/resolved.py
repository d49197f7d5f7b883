"""The resolved configuration: checked as a whole, with every shorthand expanded (`loading` makes it)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from cvpl.attack.attacker import Attacker
from cvpl.attack.interpolation import FEWEST_FEATURES
from cvpl.attack.shared_words import text_columns
from cvpl.config.attackers import FAMILY, SCENARIOS, drawn_attackers
from cvpl.config.written import AuditConfig, InferenceConfig
from cvpl.errors import InputError, Problem, UsageError
from cvpl.evaluation.intervals.intervals import FEWEST_RECORDS
from cvpl.evaluation.truth import population_size
from cvpl.operators.alignment import compared_differences, compared_ratios
from cvpl.operators.similarity import generalized_columns
from cvpl.operators.vectorization import Vectorization
from cvpl.search.levers import Levers
from cvpl.search.machine import Budget
from cvpl.tables.columns import ColumnSpec, Pair
from cvpl.tables.evaluation_only import IdentityKeys
from cvpl.tables.source.reading_settings import Reading
from cvpl.wording import unknown_names

WHERE = "configuration"

FEWEST_WITH_REFERENCE = 2 * FEWEST_RECORDS
"""The smallest control for a member of the family that uses half of it as a reference sample."""


@dataclass(frozen=True)
class ResolvedConfig:
    """A configuration with every shorthand expanded: what the audit runs."""

    config: AuditConfig
    specs: tuple[ColumnSpec, ...]
    declared: tuple[str, ...]
    reading: Reading
    identity: IdentityKeys | None
    attackers: dict[str, Attacker]
    control: Path | None
    budget: Budget
    levers: Levers
    groups: tuple[str, ...] = ()
    subgroups: tuple[ColumnSpec, ...] = ()
    sensitive: tuple[ColumnSpec, ...] = ()
    """Columns whose values the release should not give away."""
    drawn: tuple[str, ...] = ()
    """The names of those attackers that were drawn beyond the configuration."""
    quick: bool = False
    """Whether only a sample of people is searched, without canaries and sensitivity analyses."""
    quick_people: int = 0
    """The most originals, and the most controls, of a quick look."""
    keyed: bool = True
    """Whether a secret key may have changed the release; a built-in mechanism has none."""

    @property
    def is_family(self) -> bool:
        """Whether the attackers are the family of `attacker: default`."""
        return self.config.attacker is not None and self.config.attacker.preset == "default"

    @property
    def is_whole_family(self) -> bool:
        """Whether the attackers are the family, and none of its members was left out by name."""
        return self.is_family and set(FAMILY) <= set(self.attackers)

    @property
    def control_is_absent(self) -> bool:
        """Whether the originals without a match in the release are the control."""
        return self.config.control == "absent"

    @property
    def has_control(self) -> bool:
        """Whether the configuration gives a control: a file, or the originals without a match."""
        return self.control is not None or self.control_is_absent

    @property
    def runs_canaries(self) -> bool:
        """Whether every attacker runs on canaries: as set, or by default in the family."""
        return not self.quick and (self.is_family if self.config.canaries is None else self.config.canaries)

    @property
    def runs_sensitivity(self) -> bool:
        """Whether alternative choices are tried: as set, or by default in the family."""
        return not self.quick and (self.is_family if self.config.sensitivity is None else self.config.sensitivity)

    @property
    def runs_singling_out(self) -> bool:
        """Whether sets of columns and predicates are tried: as set, or by default in the family."""
        return not self.quick and (self.is_family if self.config.singling_out is None else self.config.singling_out)

    @property
    def inference(self) -> InferenceConfig:
        """What is asked of attribute inference."""
        written = self.config.inference
        return written if isinstance(written, InferenceConfig) else InferenceConfig()

    @property
    def runs_inference(self) -> bool:
        """Whether sensitive attributes are inferred: as set, or by default in the family; never without one."""
        asked = self.config.inference
        wanted = self.is_family if asked is None else asked is not False
        return not self.quick and wanted and bool(self.sensitive or self.inference.columns)

    @property
    def inferred_columns(self) -> tuple[ColumnSpec, ...]:
        """The sensitive columns, if they are inferred; other columns to infer are compared anyway."""
        return self.sensitive if self.runs_inference else ()

    @property
    def weights(self) -> ColumnSpec | None:
        """The column of the release with sampling weights; None if there is none."""
        name = self.config.criteria.weights
        return None if name is None else ColumnSpec(name, "ignore", "numeric")

    @property
    def first_vectorization(self) -> Vectorization:
        """The first attacker's vectorization: its features are used to compare several releases."""
        return next(iter(self.attackers.values())).vectorization

    @property
    def bounds_subgroups(self) -> bool:
        """Whether a policy bounds the largest rate over subgroups."""
        policy = self.config.policy
        policies = policy if isinstance(policy, tuple) else () if policy is None else (policy,)
        return any(one.figure == "maximum_subgroup_rate" for one in policies)

    @property
    def ignored(self) -> tuple[str, ...]:
        """Sentences on settings that are accepted for old configurations and have no effect."""
        written = self.config.intervals.replicates is not None
        return ("intervals are computed in closed form; `intervals.replicates` is ignored",) if written else ()

    def refuse_absent(self, what: str) -> None:
        """Refuse `control: absent` if releases are compared: each would have a different control."""
        if self.control_is_absent:
            cure = "Audit each release by itself, or name a control file of people who are in none of them."
            raise InputError([Problem(WHERE, f"{what} needs the same control for every release, not `absent`", cure)])

    def able(self, control: int, pair: Pair) -> dict[str, Attacker]:
        """The attackers that can run on these tables with a control of this size: some need a reference sample from it.

        Members of the family are left out if the remaining half of the control is too small for an interval, and those
        that compare what the tables do not have: cells if every released cell is a single value, differences without
        two columns of one unit, points between people without two numbers, words without texts. Evidence that no single
        record gives needs a control. Other attackers that need a reference sample raise InputError.
        """
        asked = dict(self.attackers)
        if self.is_family:
            asked = {name: attacker for name, attacker in asked.items() if _has_what_is_compared(attacker, pair)}
            if not asked:
                what = "the attackers compare what these tables do not have: cells of several values, or differences"
                raise InputError([Problem(WHERE, what, "Name other attackers, such as `rarity`.")])
        if control >= (FEWEST_WITH_REFERENCE if self.is_family else 2):
            return asked
        unable = [name for name, attacker in asked.items() if attacker.needs_reference]
        rest = {name: attacker for name, attacker in asked.items() if name not in unable}
        if unable and (not self.is_family or not rest):
            cure = "Pass a control (`--control FILE`); half of it serves as the reference. Or remove its `evidence`."
            what = f"attacker '{unable[0]}' needs a reference sample of people outside the release, and there is none"
            raise InputError([Problem(WHERE, what, cure)])
        return rest

    def max_queries(self, attacker: Attacker, released: int) -> int | None:
        """The most originals, and the most controls, that the attacker searches in `released` records; None: all."""
        quick = self.quick_people if self.quick else None
        return max_queries(attacker, released, family=self.is_family, quick=quick)

    def only(self, names: Sequence[str]) -> ResolvedConfig:
        """The same plan with some of its attackers, in the given order."""
        unknown = [name for name in names if name not in self.attackers]
        if unknown or not names:
            raise UsageError(unknown_names("attacker", unknown, self.attackers))
        return replace(self, attackers={name: self.attackers[name] for name in names})

    def with_quick_look(self, people: int | None = None) -> ResolvedConfig:
        """The same plan for a quick look at so many originals, and controls, at most; by default `QUICK_PEOPLE`."""
        return replace(self, quick=True, quick_people=QUICK_PEOPLE if people is None else people)

    def with_memory(self, memory: int | None) -> ResolvedConfig:
        """The same plan with a memory limit in bytes; None keeps the limit."""
        return self if memory is None else replace(self, budget=replace(self.budget, memory=memory))

    def identified_by(self, identity: IdentityKeys | None) -> ResolvedConfig:
        """The same plan with a release's own identity keys; None keeps those of the configuration."""
        if identity is None:
            return self
        known = replace(identity, simulated=self.identity is not None and self.identity.simulated)
        return replace(self, identity=known, declared=(*self.declared, known.protected))

    def with_population(self, population: float | None) -> ResolvedConfig:
        """The same plan with another population: a number of people, or a share below 1; None keeps the population."""
        if population is None:
            return self
        try:
            config = AuditConfig.model_validate({**self.config.model_dump(), "population": population})
        except ValidationError:
            raise UsageError(
                f"population is {population:g}; allowed is a whole number of people, such as 1000000, or the share of "
                "them that is in the table, such as 0.01"
            ) from None
        return replace(self, config=config)

    def check_population(self, people: int) -> None:
        """Refuse a population that is smaller than the table of originals."""
        stated = self.config.population
        if stated is not None and population_size(stated, people) < people:
            what = f"the population has {stated:,.0f} people, and the table of originals {people:,}"
            raise InputError([Problem(WHERE, what, "State the number of people that the originals are drawn from.")])

    def check_scenario(self, *, has_control: bool) -> None:
        """Refuse a scenario whose answer needs people who are not in the release, if there are none."""
        name = None if self.config.attacker is None else self.config.attacker.scenario
        if name is None or has_control or not SCENARIOS[name].needs_control:
            return
        what = f"the scenario {name} does not know who is in the release, so it needs people who are not, and has none"
        raise InputError([Problem(WHERE, what, "Pass a control (`--control FILE`), or choose another scenario.")])

    def with_drawn(self, seed: int, *, reference: bool) -> ResolvedConfig:
        """The same plan with attackers drawn by `seed` as well."""
        more = drawn_attackers(self.config, seed, reference=reference)
        return replace(self, attackers=self.attackers | more, drawn=tuple(more))


def _has_what_is_compared(attacker: Attacker, pair: Pair) -> bool:
    """Whether the tables have the cells, the pairs of columns or the numbers that an attacker compares."""
    original, protected = (attacker.view(table) for table in (pair.original, pair.protected))
    compared = attacker.vectorization.compared(original)
    if attacker.alignment == "cells":
        return bool(generalized_columns(original, protected))
    if attacker.alignment == "differences":
        return bool(compared_differences(original, compared))
    if attacker.alignment == "ratios":
        return bool(compared_ratios(original, compared))
    if attacker.evidence in ("between", "values", "words") and pair.control is None:
        return False  # the own match cannot be left out of evidence that no single record gives
    if attacker.evidence == "words":
        return bool(text_columns(original, protected, compared))
    if attacker.evidence == "between":
        ordered = [spec for spec in original.specs if spec.name in compared and spec.type != "category"]
        return len(ordered) >= FEWEST_FEATURES
    return True


MOST_PAIRS = 2_500_000_000
"""The most pairs that a member of the family without blocking compares; it searches fewer people if needed, ..."""
MOST_DENSITIES = 400_000_000
"""Densities are summed over every pair, so fewer of them, ..."""
MOST_DISTANCES = 250_000_000
"""... and distances are computed one by one, so still fewer, ..."""
FEWEST_QUERIES = 1_000
"""... but it searches at least this many people."""
QUICK_PEOPLE = 4_000
"""The most originals, and the most controls, of a quick look: the 95% interval of the strongest attacker
then has a half-width of at most 6 points."""
FIRST_ANSWER_PEOPLE = 2_000
"""The same for the quick look with which a long audit begins, since the audit then refines it."""
FEWEST_QUICK = 2_000
QUICK_PAIRS = 400_000_000
"""In a release that makes more pairs, from 100,000 records on, fewer people are searched, but at least these."""
FEWEST_SCORED = 250
SCORED_PAIRS = 500_000_000
"""The most pairs of a quick look by a member that has to score every pair, and the fewest people: in more than 250,000
released records it searches fewer people than the others."""


def max_queries(attacker: Attacker, released: int, *, family: bool, quick: int | None) -> int | None:
    """The most originals, and the most controls, that an attacker searches in `released` records; None: all.

    `family` says whether it is a member of the family, `quick` is the most people of a quick look, None for an audit.
    """
    limits = [] if quick is None else [min(quick, max(FEWEST_QUICK, QUICK_PAIRS // max(1, released)))]
    if family and attacker.blocking.compares_everybody:
        pairs = MOST_DENSITIES if attacker.evidence == "density" else MOST_PAIRS
        pairs = MOST_DISTANCES if attacker.similarity_operator.by_distance else pairs
        limits.append(max(FEWEST_QUERIES, pairs // max(1, released)))
        if quick is not None and attacker.scores_every_pair:
            limits.append(max(FEWEST_SCORED, SCORED_PAIRS // max(1, released)))
    return min(limits, default=None)
