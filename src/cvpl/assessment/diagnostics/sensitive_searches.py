"""The searches by which secrets are inferred, kept where several secrets have them in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cvpl.assessment.diagnostics.linkage_attacker import linkage_attacker, nearest_record_attacker
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.attack.attack import Attack, attack
from cvpl.attack.attacker import Attacker
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.groups.units import people_draw
from cvpl.evaluation.inference.attackers import AlignedPeople, LinkGuesses
from cvpl.evaluation.inference.columns import draw_folds, most_ranking
from cvpl.evaluation.inference.figures import Queries
from cvpl.randomness import stream
from cvpl.tables.columns import Pair
from cvpl.tables.pair import Inputs

Flags = NDArray[np.bool_]

ASKED, FEWEST_ASKED, PAIRS = 5_000, 1_000, 1_000_000_000
"""The most originals, and the most controls, who are asked about: fewer in a large release, but at least these."""


def max_queries(released: int) -> int:
    """The most originals, and the most controls, who are asked about in a release of so many records."""
    return max(FEWEST_ASKED, min(ASKED, PAIRS // max(1, released)))


@dataclass(eq=False)
class SensitiveSearches:
    """The columns that the attacker knows, its searches by some of them, and whom it asks about."""

    ensemble: EnsembleOutcome
    resolved: ResolvedConfig
    inputs: Inputs
    _attacks: dict[tuple[tuple[str, ...], bool], Attack] = field(default_factory=dict)
    _linked: dict[tuple[tuple[str, ...], bytes, bool], LinkGuesses] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        """The seed of the audit."""
        return self.resolved.config.seed

    @property
    def alike(self) -> bool:
        """Whether rows of one unit are alike, so that intervals count units."""
        return not self.inputs.evaluation.unit.is_row

    @cached_property
    def linker(self) -> tuple[str, Attacker]:
        """The linkage attacker whose candidates tell of secrets, with its name."""
        return linkage_attacker(self.ensemble, family=self.resolved.is_family)

    @cached_property
    def nearest(self) -> Attacker | None:
        """The attacker that finds the nearest record by distance; None if there is none."""
        return nearest_record_attacker(self.ensemble, self.linker[1])

    def known(self, secrets: Sequence[str]) -> tuple[str, ...]:
        """The columns that the attacker knows: those under `knows`, without the secrets."""
        seen = [spec.name for spec in self.inputs.pair.original.specs]
        known = self.resolved.inference.knows
        if known is None:
            by_attacker = [attacker.knows for attacker in self.resolved.attackers.values()]
            if by_attacker and all(names is not None for names in by_attacker):
                known = tuple(name for names in by_attacker for name in names or ())
        return tuple(name for name in seen if name not in secrets and (known is None or name in known))

    def attack(self, columns: tuple[str, ...], *, nearest: bool = False) -> Attack:
        """The attack that compares these columns, by the linkage attacker or for the nearest record.

        The pair that it gets has no other columns. Both attackers have the same people.
        """
        attacker = self.nearest if nearest and self.nearest is not None else self.linker[1]
        if (columns, nearest) not in self._attacks:
            pair = self.inputs.pair
            control = None if pair.control is None else pair.control.only(columns)
            seen = Pair(pair.original.only(columns), pair.protected.only(columns), control)
            self._attacks[columns, nearest] = attack(
                seen,
                attacker.model_copy(update={"knows": columns}),
                seed=self.seed,
                budget=self.resolved.budget,
                most=max_queries(pair.protected.rows),
                draw=people_draw(self.inputs.evaluation.unit.codes),
            )
        return self._attacks[columns, nearest]

    def links(self, columns: tuple[str, ...], kept: Flags, *, nearest: bool = False) -> LinkGuesses:
        """The candidates by these columns, among the released records that are `kept`."""
        key = columns, b"" if kept.all() else np.packbits(kept).tobytes(), nearest
        if key not in self._linked:
            self._linked[key] = LinkGuesses.of(self.attack(columns, nearest=nearest), kept)
        return self._linked[key]

    def asked(self, columns: tuple[str, ...]) -> Queries:
        """Who is asked about, and in which folds they choose columns."""
        done, codes = self.attack(columns), self.inputs.evaluation.unit.codes
        control = None if done.control is None else done.control_rows
        units = None
        if codes is not None:
            units = codes["original"][done.people], None if control is None else codes["control"][control]
        folds = None
        if control is not None:
            rng, most = stream(self.seed, "folds of people"), most_ranking(done.protected.rows)
            folds = draw_folds(len(done.people), len(control), units, most, rng)
        return Queries(done.people, control, units, folds)

    def people(self, known: tuple[str, ...]) -> AlignedPeople:
        """The people who are asked about and the release, with the known columns."""
        done = self.attack(known)
        # Not the release as an attacker by ranks or differences compares it.
        return AlignedPeople.of(done.held, self.inputs.pair.protected.only(known), done.held_control)
