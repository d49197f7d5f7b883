"""Attribute inference in an audit: what attackers learn of each secret column, for originals and for controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cvpl.assessment.aside import Aside
from cvpl.assessment.diagnostics.linkage_attacker import linkage_attacker, nearest_record_attacker
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.attack.attack import Attack, attack
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.inference import models
from cvpl.evaluation.inference.attackers import (
    BEST,
    CLASS,
    JOINED,
    NEAREST_RECORD,
    VOTE,
    AlignedPeople,
    BothBeliefs,
    Linked,
)
from cvpl.evaluation.inference.column_gains import gains, ranking_people
from cvpl.evaluation.inference.control_model import control_model
from cvpl.evaluation.inference.figures import (
    Asked,
    Inference,
    Reconstruction,
    ScoredAttack,
    SecretFigures,
    baseline_rows,
    inference_rows,
    scored,
    simultaneous,
    weights_of,
)
from cvpl.evaluation.inference.known_columns import by_information, nested_sets
from cvpl.evaluation.inference.secret import Secret
from cvpl.randomness import stream
from cvpl.tables.columns import Pair
from cvpl.tables.pair import Inputs

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ASKED, FEWEST_ASKED, PAIRS = 5_000, 1_000, 1_000_000_000
"""The most originals, and the most controls, who are asked about: fewer in a large release, but at least these."""


SEARCHED_AGAIN = 100_000
"""In larger releases an attacker that does not sum over columns is not run again without each column."""


def most_asked(released: int) -> int:
    """The most originals, and the most controls, who are asked about in a release of so many records."""
    return max(FEWEST_ASKED, min(ASKED, PAIRS // max(1, released)))


def inference(ensemble: EnsembleOutcome, resolved: ResolvedConfig, inputs: Inputs) -> Inference | None:
    """Infer every secret that original and release have; None if there is none, or nothing is known."""
    return _Run(ensemble, resolved, inputs).figures()


@dataclass(eq=False)
class _Run:
    """One run, which keeps searches that several secrets have in common."""

    ensemble: EnsembleOutcome
    resolved: ResolvedConfig
    inputs: Inputs
    _attacks: dict[tuple[tuple[str, ...], bool], Attack] = field(default_factory=dict)
    _linked: dict[tuple[tuple[str, ...], bytes, bool], Linked] = field(default_factory=dict)

    def figures(self) -> Inference | None:
        """All figures."""
        secrets = self._secrets()
        known = {secret.name: self._known([secret.name]) for secret in secrets}
        secrets = [secret for secret in secrets if known[secret.name] and secret.size]
        if not secrets:
            return None
        self._name, self._linker = linkage_attacker(self.ensemble, family=self.resolved.is_family)
        self._nearest = nearest_record_attacker(self.ensemble, self._linker)
        attacks, baselines = {}, {}
        for secret in secrets:
            columns = known[secret.name]
            self._attack(columns)  # both need it
            with Aside(self.resolved.budget.workers) as aside:
                learned = aside.start(partial(self._baselines, secret, columns))
                attacks[secret.name] = self._attacks_on(secret, columns)
                baselines[secret.name] = learned()
        confidence = simultaneous(sum(map(len, attacks.values())))
        told = tuple(
            self._secret_figures(secret, known[secret.name], attacks[secret.name], baselines[secret.name], confidence)
            for secret in secrets
        )
        named = [spec.name for spec in self.resolved.sensitive] + list(self.resolved.inference.columns)
        trained = min(models.MOST_ROWS, self.inputs.pair.protected.rows) if models.available() else None
        return Inference(
            secrets=told,
            together=self._together(secrets, attacks),
            link=self._name,
            not_run=() if models.available() else (*models.MODELS, JOINED),
            left_out=tuple(name for name in dict.fromkeys(named) if name not in attacks),
            trained=trained,
            confidence=confidence,
        )

    @property
    def _seed(self) -> int:
        return self.resolved.config.seed

    @property
    def _alike(self) -> bool:
        return not self.inputs.evaluation.unit.is_row

    def _secrets(self) -> list[Secret]:
        """The sensitive columns, and other columns that are named."""
        pair, tolerance = self.inputs.pair, self.resolved.inference.tolerance
        specs = {spec.name: spec for spec in (*self.resolved.sensitive, *pair.original.specs)}
        found = {
            name: Secret.of(
                name, column.original, column.released, column.control, tolerance.get(name), specs.get(name)
            )
            for name, column in self.inputs.evaluation.secrets.items()
            if pair.control is None or column.control is not None
        }
        for name in self.resolved.inference.columns:
            if name in pair.original.columns and name not in found:
                control = None if pair.control is None else pair.control.columns[name]
                columns = pair.original.columns[name], pair.protected.columns[name], control
                found[name] = Secret.of(name, *columns, tolerance.get(name), specs[name])
        return [secret for secret in found.values() if secret.original.known.any()]

    def _known(self, secrets: Sequence[str]) -> tuple[str, ...]:
        """The columns that the attacker knows: those under `knows`, without the secrets."""
        seen = [spec.name for spec in self.inputs.pair.original.specs]
        known = self.resolved.inference.knows
        if known is None:
            by_attacker = [attacker.knows for attacker in self.resolved.attackers.values()]
            if by_attacker and all(names is not None for names in by_attacker):
                known = tuple(name for names in by_attacker for name in names or ())
        return tuple(name for name in seen if name not in secrets and (known is None or name in known))

    def _attack(self, columns: tuple[str, ...], *, nearest: bool = False) -> Attack:
        """The attack that compares these columns, by the linkage attacker or for the nearest record.

        The pair that it gets has no other columns. Both attackers have the same people.
        """
        attacker = self._nearest if nearest and self._nearest is not None else self._linker
        if (columns, nearest) not in self._attacks:
            pair = self.inputs.pair
            control = None if pair.control is None else pair.control.only(columns)
            seen = Pair(pair.original.only(columns), pair.protected.only(columns), control)
            self._attacks[columns, nearest] = attack(
                seen,
                attacker.model_copy(update={"knows": columns}),
                seed=self._seed,
                budget=self.resolved.budget,
                most=most_asked(pair.protected.rows),
            )
        return self._attacks[columns, nearest]

    def _links(self, columns: tuple[str, ...], kept: Flags, *, nearest: bool = False) -> Linked:
        key = columns, b"" if kept.all() else np.packbits(kept).tobytes(), nearest
        if key not in self._linked:
            self._linked[key] = Linked.of(self._attack(columns, nearest=nearest), kept)
        return self._linked[key]

    def _asked(self, columns: tuple[str, ...]) -> Asked:
        done, codes = self._attack(columns), self.inputs.evaluation.unit.codes
        control = None if done.control is None else done.control_rows
        units = None
        if codes is not None:
            units = codes["original"][done.people], None if control is None else codes["control"][control]
        ranking = None
        if control is not None:
            rng, released = stream(self._seed, "ranking people"), done.protected.rows
            ranking = ranking_people(len(done.people), len(control), released, units, rng)
        return Asked(done.people, control, units, ranking)

    def _attacks_on(self, secret: Secret, known: tuple[str, ...]) -> list[ScoredAttack]:
        """Every attacker on one secret, by both scores."""
        kept, asked = secret.released >= 0, self._asked(known)
        told = by_information(
            self.inputs.pair.protected, known, secret, stream(self._seed, f"columns of {secret.name}")
        )
        people = self._people(known)
        found: list[ScoredAttack] = []
        for columns in nested_sets(known, self._by_gain(secret, known, told, asked), (1, 3 / 4, 1 / 2, 1 / 4)):
            links = self._links(columns, kept)
            found += scored(BEST, columns, links.best(secret), secret, asked)
            found += scored(VOTE, columns, links.vote(secret), secret, asked)
        if self._nearest is not None:
            links = self._links(known, kept, nearest=True)
            found += scored(NEAREST_RECORD, known, links.best(secret), secret, asked)
        for columns in nested_sets(known, told, (1, 1 / 2, 1 / 4)):
            found += scored(CLASS, columns, people.compatible_class(columns, secret), secret, asked)
        predicted = self._models(secret, known, people)
        for name, beliefs in predicted.items():
            found += scored(name, known, beliefs, secret, asked)
        if predicted:
            joined = self._links(known, kept).joined(secret, list(predicted.values()))
            found += scored(JOINED, known, joined, secret, asked)
        return found

    def _by_gain(self, secret: Secret, known: tuple[str, ...], told: tuple[str, ...], asked: Asked) -> tuple[str, ...]:
        """The columns in the order of what the linkage attacker gains by them; if that is not known, as in `told`."""
        if asked.ranking is None:
            return told
        truths = [
            None if truth is None else truth.take(rows)
            for truth, rows in zip(asked.truths(secret), asked.ranking, strict=True)
        ]
        small = self.inputs.pair.protected.rows <= SEARCHED_AGAIN

        def again(column: str) -> Attack:
            return self._attack(tuple(name for name in known if name != column))

        links = self._links(known, secret.released >= 0)
        found = gains(links, secret, asked.ranking, truths, again if small else None)
        return told if found is None else tuple(sorted(told, key=lambda name: -found.get(name, 0.0)))

    def _people(self, known: tuple[str, ...]) -> AlignedPeople:
        done = self._attack(known)
        return AlignedPeople.of(done.held, done.protected, done.held_control)

    def _models(self, secret: Secret, known: tuple[str, ...], people: AlignedPeople) -> dict[str, BothBeliefs]:
        if not models.available():
            return {}
        workers = self.resolved.budget.workers
        found = {name: people.model(name, known, secret, seed=self._seed, workers=workers) for name in models.MODELS}
        return {name: beliefs for name, beliefs in found.items() if beliefs is not None}

    def _baselines(self, secret: Secret, known: tuple[str, ...]) -> BothBeliefs | None:
        """The model trained on controls alone; None without a control, or without the library."""
        pair, asked, codes = self.inputs.pair, self._asked(known), self.inputs.evaluation.unit.codes
        if pair.control is None or asked.control is None or secret.control is None or not models.available():
            return None
        return control_model(
            secret,
            known,
            self._attack(known).held,
            pair.control.only(known),
            asked.control,
            None if codes is None else codes["control"],
            seed=self._seed,
            workers=self.resolved.budget.workers,
        )

    def _secret_figures(
        self,
        secret: Secret,
        known: tuple[str, ...],
        attacks: list[ScoredAttack],
        trained: BothBeliefs | None,
        confidence: float,
    ) -> SecretFigures:
        asked = self._asked(known)
        mine, base = weights_of(secret, asked, "accuracy")
        return SecretFigures(
            name=secret.name,
            kind=secret.kind,
            tolerance=secret.tolerance,
            known=known,
            people=int(mine.sum()),
            controls=None if base is None else int(base.sum()),
            rows=inference_rows(attacks, confidence, alike=self._alike),
            baselines=baseline_rows(secret, asked, trained),
        )

    def _together(self, secrets: list[Secret], attacks: Mapping[str, list[ScoredAttack]]) -> Reconstruction | None:
        """All secrets at once, by attackers that know none of them; None with fewer than two."""
        known = self._known([secret.name for secret in secrets])
        if len(secrets) < 2 or not known:
            return None
        asked = self._asked(known)
        weights = _everybody(secrets, asked)
        found = {BEST: self._best_together(secrets, known, asked)}
        for name, hits in self._alone(secrets, known, asked, attacks).items():
            found[name] = [np.prod(parts, axis=0) for parts in zip(*hits, strict=True)]
        rows = []
        for name, both in found.items():
            mine, base = asked.hits(both, weights)
            if mine.total > 0:
                rows.append(ScoredAttack(name, known, "accuracy", mine, base))
        return Reconstruction(
            secrets=tuple(secret.name for secret in secrets),
            known=known,
            people=int((weights[0] > 0).sum()),
            controls=None if weights[1] is None else int((weights[1] > 0).sum()),
            rows=inference_rows(rows, simultaneous(len(rows)), alike=self._alike),
        )

    def _best_together(self, secrets: list[Secret], known: tuple[str, ...], asked: Asked) -> list[Floats]:
        kept = np.all([secret.released >= 0 for secret in secrets], axis=0)
        truths = [asked.truths(secret) for secret in secrets]
        return self._links(known, kept).together(secrets, [[pair[at] for pair in truths] for at in (0, 1)])

    def _alone(
        self, secrets: list[Secret], known: tuple[str, ...], asked: Asked, attacks: Mapping[str, list[ScoredAttack]]
    ) -> dict[str, list[list[Floats]]]:
        """The hits of attackers that guess each secret by itself, for originals and controls, by attacker and secret.

        Attacks that know the same columns are taken as they are; else the vote and the class are asked again.
        """
        found: dict[str, list[list[Floats]]] = {}
        for secret in secrets:
            own = {
                one.attacker: one
                for one in attacks[secret.name]
                if one.columns == known and one.score == "accuracy" and one.attacker != BEST
            }
            if not own:
                links = self._links(known, secret.released >= 0)
                again = {VOTE: links.vote(secret), CLASS: self._people(known).compatible_class(known, secret)}
                own = {name: scored(name, known, both, secret, asked)[0] for name, both in again.items()}
            for name, one in own.items():
                parts = [one.originals.hit] + ([] if one.controls is None else [one.controls.hit])
                found.setdefault(name, []).append(parts)
        return {name: hits for name, hits in found.items() if len(hits) == len(secrets)}


def _everybody(secrets: Sequence[Secret], asked: Asked) -> tuple[Floats, Floats | None]:
    """1 for who has every secret, else 0."""
    weights = [weights_of(secret, asked, "accuracy") for secret in secrets]
    mine = np.prod([one[0] for one in weights], axis=0)
    if any(one[1] is None for one in weights):
        return mine, None
    return mine, np.prod([one[1] for one in weights if one[1] is not None], axis=0)
