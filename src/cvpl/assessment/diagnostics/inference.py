"""Attribute inference in an audit: what attackers learn of each secret column, for originals and for controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import cast

from cvpl.assessment.diagnostics.sensitive_searches import SensitiveSearches
from cvpl.assessment.diagnostics.several_attributes import reconstruction
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.attack.attack import Attack
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.inference import models
from cvpl.evaluation.inference.attackers import BEST, CLASS, JOINED, NEAREST_RECORD, VOTE, AlignedPeople, BothBeliefs
from cvpl.evaluation.inference.columns import by_information, gains, nested_sets
from cvpl.evaluation.inference.figures import (
    NO_CONTROL,
    Queries,
    ScoredAttack,
    baseline_rows,
    control_model,
    inference_rate,
    inference_rows,
    refusal,
    scored,
    scored_by_choice,
    simultaneous,
    weights_of,
)
from cvpl.evaluation.inference.sensitive_attribute import DAY, SensitiveAttribute
from cvpl.randomness import stream
from cvpl.result import Finding, Inference, ReleaseInference, SecretInference
from cvpl.result.questions import AttackerName
from cvpl.result.verdict import blind
from cvpl.search.machine import BackgroundWorker
from cvpl.tables.pair import Inputs

NOT_ASKED = "not asked for; set `inference: true`"
NO_COLUMN = "no column has the role sensitive"
NOT_THERE = "no sensitive column is in both tables with a value, or the attacker knows no column"
OF_DRAWS = "not measured over draws, only for one release"
NOT_ASSESSABLE = "the release is not assessable, so the inference rate may be too low"
UNSEEN = "the attackers cannot see part of the release, so the inference rate may be too low"
SEARCHED_AGAIN = 100_000
"""In larger releases an attacker that does not sum over columns is not run again without each column."""


def inference(ensemble: EnsembleOutcome, resolved: ResolvedConfig, inputs: Inputs) -> Inference | None:
    """Infer every secret that original and release have; None if there is none, or nothing is known."""
    return _InferenceRun(ensemble, resolved, inputs).figures()


@dataclass(eq=False)
class _InferenceRun:
    """The attackers on every secret of one audit."""

    ensemble: EnsembleOutcome
    resolved: ResolvedConfig
    inputs: Inputs

    def figures(self) -> Inference | None:
        """All figures."""
        secrets = self._secrets()
        known = {secret.name: self._searches.known([secret.name]) for secret in secrets}
        secrets = [secret for secret in secrets if known[secret.name] and secret.size]
        if not secrets:
            return None
        attacks, baselines = {}, {}
        for secret in secrets:
            columns = known[secret.name]
            self._searches.attack(columns)  # both need it
            with BackgroundWorker(self.resolved.budget.workers) as background:
                learned = background.start(partial(self._baselines, secret, columns))
                attacks[secret.name] = self._attacks_on(secret, columns)
                baselines[secret.name] = learned()
        confidence = simultaneous(sum(map(len, attacks.values())))
        found = [
            self._figures_of(secret, known[secret.name], attacks[secret.name], baselines[secret.name], confidence)
            for secret in secrets
        ]
        counts = [self._counts(secret, known[secret.name]) for secret in secrets]
        controls = [base for _, base in counts if base is not None]
        named = [spec.name for spec in self.resolved.sensitive] + list(self.resolved.inference.columns)
        not_run = () if models.available() else (*models.MODELS, JOINED)
        return Inference(
            rate=inference_rate(found),
            secrets=found,
            together=reconstruction(self._searches, secrets, attacks),
            link=self._searches.linker[0],
            asked_originals=max(mine for mine, _ in counts),
            asked_controls=max(controls) if controls else None,
            trained_on=min(models.MOST_ROWS, self.inputs.pair.protected.rows) if models.available() else None,
            not_run=[cast("AttackerName", name) for name in not_run],
            left_out=[name for name in dict.fromkeys(named) if name not in attacks],
            confidence=confidence,
        )

    @cached_property
    def _searches(self) -> SensitiveSearches:
        return SensitiveSearches(self.ensemble, self.resolved, self.inputs)

    def _secrets(self) -> list[SensitiveAttribute]:
        """The sensitive columns, and other columns that are named."""
        pair, tolerance = self.inputs.pair, self.resolved.inference.tolerance
        specs = {spec.name: spec for spec in (*self.resolved.sensitive, *pair.original.specs)}
        found = {
            name: SensitiveAttribute.of(
                name, column.original, column.released, column.control, tolerance.get(name), specs.get(name)
            )
            for name, column in self.inputs.evaluation.sensitive.items()
            if pair.control is None or column.control is not None
        }
        for name in self.resolved.inference.columns:
            if name in pair.original.columns and name not in found:
                control = None if pair.control is None else pair.control.columns[name]
                columns = pair.original.columns[name], pair.protected.columns[name], control
                found[name] = SensitiveAttribute.of(name, *columns, tolerance.get(name), specs[name])
        return [secret for secret in found.values() if secret.original.known.any()]

    def _attacks_on(self, secret: SensitiveAttribute, known: tuple[str, ...]) -> list[ScoredAttack]:
        """Every attacker on one secret, by both scores."""
        kept, asked = secret.released >= 0, self._searches.asked(known)
        told = by_information(
            self.inputs.pair.protected, known, secret, stream(self._searches.seed, f"columns of {secret.name}")
        )
        people = self._searches.people(known)
        found: list[ScoredAttack] = []
        rankings = self._by_gain(secret, known, told, asked)
        for sets in zip(*(nested_sets(known, ranked, (1, 3 / 4, 1 / 2, 1 / 4)) for ranked in rankings), strict=True):

            def best(columns: tuple[str, ...]) -> BothBeliefs:
                return self._searches.links(columns, kept).best(secret)

            def vote(columns: tuple[str, ...]) -> BothBeliefs:
                return self._searches.links(columns, kept).vote(secret)

            found += scored_by_choice(BEST, sets, best, secret, asked)
            found += scored_by_choice(VOTE, sets, vote, secret, asked)
        if self._searches.nearest is not None:
            links = self._searches.links(known, kept, nearest=True)
            found += scored(NEAREST_RECORD, known, links.best(secret), secret, asked)
        for columns in nested_sets(known, told, (1, 1 / 2, 1 / 4)):
            found += scored(CLASS, columns, people.compatible_class(columns, secret), secret, asked)
        predicted = self._models(secret, known, people)
        for name, beliefs in predicted.items():
            found += scored(name, known, beliefs, secret, asked)
        if predicted:
            joined = self._searches.links(known, kept).joined(secret, list(predicted.values()))
            found += scored(JOINED, known, joined, secret, asked)
        return found

    def _by_gain(
        self, secret: SensitiveAttribute, known: tuple[str, ...], told: tuple[str, ...], asked: Queries
    ) -> list[tuple[str, ...]]:
        """For each fold the columns in the order of what the linkage attacker gains by them.

        If that is not known, one order for everybody, as in `told`.
        """
        if asked.folds is None:
            return [told]
        small = self.inputs.pair.protected.rows <= SEARCHED_AGAIN

        def again(column: str) -> Attack:
            return self._searches.attack(tuple(name for name in known if name != column))

        links = self._searches.links(known, secret.released >= 0)
        rankings, both = [], asked.truths(secret)
        for rows in asked.folds.ranking:
            truths = [None if truth is None else truth.take(some) for truth, some in zip(both, rows, strict=True)]
            found = gains(links, secret, rows, truths, again if small else None)
            if found is None:
                return [told]
            rankings.append(_ordered(told, found))
        return rankings

    def _models(
        self, secret: SensitiveAttribute, known: tuple[str, ...], people: AlignedPeople
    ) -> dict[str, BothBeliefs]:
        if not models.available():
            return {}
        workers = self.resolved.budget.workers
        found = {
            name: people.model(name, known, secret, seed=self._searches.seed, workers=workers) for name in models.MODELS
        }
        return {name: beliefs for name, beliefs in found.items() if beliefs is not None}

    def _baselines(self, secret: SensitiveAttribute, known: tuple[str, ...]) -> BothBeliefs | None:
        """The model trained on controls alone; None without a control, or without the library."""
        pair, asked, codes = self.inputs.pair, self._searches.asked(known), self.inputs.evaluation.unit.codes
        if pair.control is None or asked.control is None or secret.control is None or not models.available():
            return None
        return control_model(
            secret,
            known,
            self._searches.attack(known).held,
            pair.control.only(known),
            asked.control,
            None if codes is None else codes["control"],
            seed=self._searches.seed,
            workers=self.resolved.budget.workers,
        )

    def _counts(self, secret: SensitiveAttribute, known: tuple[str, ...]) -> tuple[int, int | None]:
        """The numbers of originals and of controls with a value that can be guessed."""
        mine, base = weights_of(secret, self._searches.asked(known), "accuracy")
        return int(mine.sum()), None if base is None else int(base.sum())

    def _figures_of(
        self,
        secret: SensitiveAttribute,
        known: tuple[str, ...],
        attacks: list[ScoredAttack],
        trained: BothBeliefs | None,
        confidence: float,
    ) -> SecretInference:
        absolute, share = secret.tolerance.absolute, secret.tolerance.share
        rows = inference_rows(attacks, confidence, alike=self._searches.alike)
        return SecretInference(
            column=secret.name,
            kind=secret.kind,
            known=list(known),
            tolerance=None
            if secret.kind == "category" or share
            else absolute / (DAY if secret.kind == "time" else 1.0),
            relative_tolerance=share or None,
            refused=refusal(rows),
            baselines=baseline_rows(secret, self._searches.asked(known), trained),
            attackers=rows,
        )


def _ordered(told: tuple[str, ...], gained: Mapping[str, float]) -> tuple[str, ...]:
    """The columns by what is gained by them, the largest first; those that gain as much as in `told`."""
    return tuple(sorted(told, key=lambda name: -gained.get(name, 0.0)))


def release_inference(
    resolved: ResolvedConfig,
    found: Inference | None,
    findings: Sequence[Finding],
    *,
    assessable: bool,
    draws: bool = False,
) -> ReleaseInference:
    """The inference rate of one of several releases, and the reason if it is missing or may be too low.

    `found` is the section of an audit of the release, and `findings` are those of its checks. `assessable` says whether
    some linkage attacker counts: the one that finds candidates is taken from them. With `draws` the release stands for
    a mechanism.
    """
    if found is None:
        return ReleaseInference(rate=None, reason=_why_not(resolved, draws=draws))
    refused = [f"nothing is attributed for '{one.column}': {one.refused}" for one in found.secrets if one.refused]
    if found.asked_controls is None:
        refused = [NO_CONTROL]
    secrets = [one.column for one in found.secrets]
    doubt = NOT_ASSESSABLE if not assessable else None if blind(findings) is None else UNSEEN
    reasons = [*refused, *([] if doubt is None or found.rate is None else [doubt])]
    return ReleaseInference(rate=found.rate, secrets=secrets, reason="; ".join(reasons) or None)


def _why_not(resolved: ResolvedConfig, *, draws: bool) -> str:
    """Why no secret was inferred in a release."""
    if resolved.runs_inference:
        return OF_DRAWS if draws else NOT_THERE
    return NOT_ASKED if resolved.sensitive or resolved.inference.columns else NO_COLUMN
