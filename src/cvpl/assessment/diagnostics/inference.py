"""Attribute inference in an audit: what attackers learn of each sensitive column, for originals and for controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from cvpl.assessment.combined import AttackerOutcome
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.attack.attack import Attack, attack
from cvpl.attack.attacker import Attacker
from cvpl.attack.combined_attack import CombinedAttack
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.groups.clusters import people_draw
from cvpl.evaluation.inference import models
from cvpl.evaluation.inference.attackers import (
    BEST,
    CLASS,
    JOINED,
    NEAREST_RECORD,
    VOTE,
    AlignedPeople,
    BothBeliefs,
    LinkGuesses,
)
from cvpl.evaluation.inference.columns import columns_by_information, draw_folds, gains, most_ranking, nested_sets
from cvpl.evaluation.inference.figures import (
    NO_CONTROL,
    Queries,
    ScoredAttack,
    baseline_rows,
    control_model,
    inference_rate,
    inference_rows,
    refusal,
    score_beliefs,
    scored_by_choice,
    simultaneous,
    weights_of,
)
from cvpl.evaluation.inference.sensitive_attribute import DAY, SensitiveAttribute
from cvpl.evaluation.measurement import choose_reading
from cvpl.operators.blocking import Blocking
from cvpl.operators.similarity import Rarity
from cvpl.randomness import stream
from cvpl.result import AttributeInference, Finding, Inference, Reconstruction, ReleaseInference
from cvpl.result.questions import AttackerName
from cvpl.result.verdict import blind
from cvpl.search.machine import BackgroundWorker
from cvpl.tables.columns import Pair
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
    """Infer every sensitive attribute that original and release have; None if there is none, or nothing is known."""
    return _InferenceRun(ensemble, resolved, inputs).figures()


@dataclass(eq=False)
class _InferenceRun:
    """The attackers on every sensitive attribute of one audit."""

    ensemble: EnsembleOutcome
    resolved: ResolvedConfig
    inputs: Inputs

    def figures(self) -> Inference | None:
        """All figures."""
        attributes = self._sensitive_rows()
        known = {attribute.name: self._searches.known([attribute.name]) for attribute in attributes}
        attributes = [attribute for attribute in attributes if known[attribute.name] and attribute.size]
        if not attributes:
            return None
        attacks, baselines = {}, {}
        for attribute in attributes:
            columns = known[attribute.name]
            self._searches.attack(columns)  # both need it
            with BackgroundWorker(self.resolved.budget.workers) as background:
                learned = background.start(partial(self._baselines, attribute, columns))
                attacks[attribute.name] = self._attacks_on(attribute, columns)
                baselines[attribute.name] = learned()
        confidence = simultaneous(sum(map(len, attacks.values())))
        found = [
            self._figures_of(
                attribute, known[attribute.name], attacks[attribute.name], baselines[attribute.name], confidence
            )
            for attribute in attributes
        ]
        counts = [self._counts(attribute, known[attribute.name]) for attribute in attributes]
        controls = [base for _, base in counts if base is not None]
        named = [spec.name for spec in self.resolved.sensitive] + list(self.resolved.inference.columns)
        not_run = () if models.available() else (*models.MODELS, JOINED)
        return Inference(
            rate=inference_rate(found),
            secrets=found,
            together=reconstruction(self._searches, attributes, attacks),
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

    def _sensitive_rows(self) -> list[SensitiveAttribute]:
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
        return [attribute for attribute in found.values() if attribute.original.known.any()]

    def _attacks_on(self, attribute: SensitiveAttribute, known: tuple[str, ...]) -> list[ScoredAttack]:
        """Every attacker on one sensitive attribute, by both scores."""
        kept, queries = attribute.released >= 0, self._searches.queries(known)
        told = columns_by_information(
            self.inputs.pair.protected, known, attribute, stream(self._searches.seed, f"columns of {attribute.name}")
        )
        people = self._searches.people(known)
        found: list[ScoredAttack] = []
        rankings = self._by_gain(attribute, known, told, queries)
        for sets in zip(*(nested_sets(known, ranked, (1, 3 / 4, 1 / 2, 1 / 4)) for ranked in rankings), strict=True):

            def best(columns: tuple[str, ...]) -> BothBeliefs:
                return self._searches.links(columns, kept).best(attribute)

            def vote(columns: tuple[str, ...]) -> BothBeliefs:
                return self._searches.links(columns, kept).vote(attribute)

            found += scored_by_choice(BEST, sets, best, attribute, queries)
            found += scored_by_choice(VOTE, sets, vote, attribute, queries)
        if self._searches.nearest is not None:
            links = self._searches.links(known, kept, nearest=True)
            found += score_beliefs(NEAREST_RECORD, known, links.best(attribute), attribute, queries)
        for columns in nested_sets(known, told, (1, 1 / 2, 1 / 4)):
            found += score_beliefs(CLASS, columns, people.compatible_class(columns, attribute), attribute, queries)
        predicted = self._models(attribute, known, people)
        for name, beliefs in predicted.items():
            found += score_beliefs(name, known, beliefs, attribute, queries)
        if predicted:
            joined = self._searches.links(known, kept).joined(attribute, list(predicted.values()))
            found += score_beliefs(JOINED, known, joined, attribute, queries)
        return found

    def _by_gain(
        self, attribute: SensitiveAttribute, known: tuple[str, ...], told: tuple[str, ...], queries: Queries
    ) -> list[tuple[str, ...]]:
        """For each fold the columns in the order of what the linkage attacker gains by them.

        If that is not known, one order for everybody, as in `told`.
        """
        if queries.folds is None:
            return [told]
        small = self.inputs.pair.protected.rows <= SEARCHED_AGAIN

        def again(column: str) -> Attack:
            return self._searches.attack(tuple(name for name in known if name != column))

        links = self._searches.links(known, attribute.released >= 0)
        rankings, both = [], queries.truths(attribute)
        for rows in queries.folds.ranking:
            truths = [None if truth is None else truth.take(some) for truth, some in zip(both, rows, strict=True)]
            found = gains(links, attribute, rows, truths, again if small else None)
            if found is None:
                return [told]
            rankings.append(_order_by_gain(told, found))
        return rankings

    def _models(
        self, attribute: SensitiveAttribute, known: tuple[str, ...], people: AlignedPeople
    ) -> dict[str, BothBeliefs]:
        if not models.available():
            return {}
        workers = self.resolved.budget.workers
        found = {
            name: people.model(name, known, attribute, seed=self._searches.seed, workers=workers)
            for name in models.MODELS
        }
        return {name: beliefs for name, beliefs in found.items() if beliefs is not None}

    def _baselines(self, attribute: SensitiveAttribute, known: tuple[str, ...]) -> BothBeliefs | None:
        """The model trained on controls alone; None without a control, or without the library."""
        pair, queries, codes = self.inputs.pair, self._searches.queries(known), self.inputs.evaluation.groups.codes
        if pair.control is None or queries.control is None or attribute.control is None or not models.available():
            return None
        return control_model(
            attribute,
            known,
            self._searches.attack(known).held,
            pair.control.only(known),
            queries.control,
            None if codes is None else codes["control"],
            seed=self._searches.seed,
            workers=self.resolved.budget.workers,
        )

    def _counts(self, attribute: SensitiveAttribute, known: tuple[str, ...]) -> tuple[int, int | None]:
        """The numbers of originals and of controls with a value that can be guessed."""
        mine, base = weights_of(attribute, self._searches.queries(known), "accuracy")
        return int(mine.sum()), None if base is None else int(base.sum())

    def _figures_of(
        self,
        attribute: SensitiveAttribute,
        known: tuple[str, ...],
        attacks: list[ScoredAttack],
        trained: BothBeliefs | None,
        confidence: float,
    ) -> AttributeInference:
        absolute, share = attribute.tolerance.absolute, attribute.tolerance.share
        rows = inference_rows(attacks, confidence, alike=self._searches.alike)
        return AttributeInference(
            column=attribute.name,
            kind=attribute.kind,
            known=list(known),
            tolerance=None
            if attribute.kind == "category" or share
            else absolute / (DAY if attribute.kind == "time" else 1.0),
            relative_tolerance=share or None,
            refused=refusal(rows),
            baselines=baseline_rows(attribute, self._searches.queries(known), trained),
            attackers=rows,
        )


def _order_by_gain(told: tuple[str, ...], gained: Mapping[str, float]) -> tuple[str, ...]:
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
    attributes = [one.column for one in found.secrets]
    doubt = NOT_ASSESSABLE if not assessable else None if blind(findings) is None else UNSEEN
    reasons = [*refused, *([] if doubt is None or found.rate is None else [doubt])]
    return ReleaseInference(rate=found.rate, secrets=attributes, reason="; ".join(reasons) or None)


def _why_not(resolved: ResolvedConfig, *, draws: bool) -> str:
    """Why no sensitive attribute was inferred in a release."""
    if resolved.runs_inference:
        return OF_DRAWS if draws else NOT_THERE
    return NOT_ASKED if resolved.sensitive or resolved.inference.columns else NO_COLUMN


Floats = NDArray[np.float64]


def reconstruction(
    searches: SensitiveSearches, attributes: list[SensitiveAttribute], attacks: Mapping[str, list[ScoredAttack]]
) -> Reconstruction | None:
    """All sensitive attributes at once, by attackers that know none of them; None with fewer than two."""
    known = searches.known([attribute.name for attribute in attributes])
    if len(attributes) < 2 or not known:
        return None
    queries = searches.queries(known)
    weights = _everybody(attributes, queries)
    found = {BEST: _best_together(searches, attributes, known, queries)}
    for name, hits in _hits_by_attacker(searches, attributes, known, queries, attacks).items():
        found[name] = [np.prod(parts, axis=0) for parts in zip(*hits, strict=True)]
    rows = []
    for name, both in found.items():
        mine, base = queries.hits(both, weights)
        if mine.total > 0:
            rows.append(ScoredAttack(name, (known,), "accuracy", mine, base))
    return Reconstruction(
        columns=[attribute.name for attribute in attributes],
        known=list(known),
        attackers=inference_rows(rows, simultaneous(len(rows)), alike=searches.alike),
    )


def _best_together(
    searches: SensitiveSearches, attributes: list[SensitiveAttribute], known: tuple[str, ...], queries: Queries
) -> list[Floats]:
    kept = np.all([attribute.released >= 0 for attribute in attributes], axis=0)
    truths = [queries.truths(attribute) for attribute in attributes]
    return searches.links(known, kept).together(attributes, [[pair[at] for pair in truths] for at in (0, 1)])


def _hits_by_attacker(
    searches: SensitiveSearches,
    attributes: list[SensitiveAttribute],
    known: tuple[str, ...],
    queries: Queries,
    attacks: Mapping[str, list[ScoredAttack]],
) -> dict[str, list[list[Floats]]]:
    """The hits of attackers that guess each attribute by itself, for originals and controls, by attacker and attribute.

    Attacks that know the same columns are taken as they are; else the vote and the class are run again.
    """
    found: dict[str, list[list[Floats]]] = {}
    for attribute in attributes:
        own = {
            one.attacker: one
            for one in attacks[attribute.name]
            if one.sets == (known,) and one.score == "accuracy" and one.attacker != BEST
        }
        if not own:
            links = searches.links(known, attribute.released >= 0)
            again = {VOTE: links.vote(attribute), CLASS: searches.people(known).compatible_class(known, attribute)}
            own = {name: score_beliefs(name, known, both, attribute, queries)[0] for name, both in again.items()}
        for name, one in own.items():
            parts = [one.originals.hit] + ([] if one.controls is None else [one.controls.hit])
            found.setdefault(name, []).append(parts)
    return {name: hits for name, hits in found.items() if len(hits) == len(attributes)}


def _everybody(attributes: Sequence[SensitiveAttribute], queries: Queries) -> tuple[Floats, Floats | None]:
    """1 for who has every sensitive attribute, else 0."""
    weights = [weights_of(attribute, queries, "accuracy") for attribute in attributes]
    mine = np.prod([one[0] for one in weights], axis=0)
    if any(one[1] is None for one in weights):
        return mine, None
    return mine, np.prod([one[1] for one in weights if one[1] is not None], axis=0)


Flags = NDArray[np.bool_]

MOST_QUERIES, FEWEST_QUERIES, MOST_PAIRS = 5_000, 1_000, 1_000_000_000
"""The most originals, and the most controls, who are queried: fewer in a large release, but at least these."""


def max_queries(released: int) -> int:
    """The most originals, and the most controls, who are queried in a release of so many records."""
    return max(FEWEST_QUERIES, min(MOST_QUERIES, MOST_PAIRS // max(1, released)))


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
        """Whether rows of one cluster are alike, so that intervals count clusters."""
        return not self.inputs.evaluation.groups.is_row

    @cached_property
    def linker(self) -> tuple[str, Attacker]:
        """The linkage attacker whose candidates tell of sensitive attributes, with its name."""
        return linkage_attacker(self.ensemble, family=self.resolved.is_family)

    @cached_property
    def nearest(self) -> Attacker | None:
        """The attacker that finds the nearest record by distance; None if there is none."""
        return nearest_record_attacker(self.ensemble, self.linker[1])

    def known(self, attributes: Sequence[str]) -> tuple[str, ...]:
        """The columns that the attacker knows: those under `knows`, without the sensitive attributes."""
        seen = [spec.name for spec in self.inputs.pair.original.specs]
        known = self.resolved.inference.knows
        if known is None:
            by_attacker = [attacker.knows for attacker in self.resolved.attackers.values()]
            if by_attacker and all(names is not None for names in by_attacker):
                known = tuple(name for names in by_attacker for name in names or ())
        return tuple(name for name in seen if name not in attributes and (known is None or name in known))

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
                draw=people_draw(self.inputs.evaluation.groups.codes),
            )
        return self._attacks[columns, nearest]

    def links(self, columns: tuple[str, ...], kept: Flags, *, nearest: bool = False) -> LinkGuesses:
        """The candidates by these columns, among the released records that are `kept`."""
        key = columns, b"" if kept.all() else np.packbits(kept).tobytes(), nearest
        if key not in self._linked:
            self._linked[key] = LinkGuesses.of(self.attack(columns, nearest=nearest), kept)
        return self._linked[key]

    def queries(self, columns: tuple[str, ...]) -> Queries:
        """The people who are queried, and the folds in which they choose columns."""
        done, codes = self.attack(columns), self.inputs.evaluation.groups.codes
        control = None if done.control is None else done.control_rows
        clusters = None
        if codes is not None:
            clusters = codes["original"][done.people], None if control is None else codes["control"][control]
        folds = None
        if control is not None:
            rng, most = stream(self.seed, "folds of people"), most_ranking(done.protected.rows)
            folds = draw_folds(len(done.people), len(control), clusters, most, rng)
        return Queries(done.people, control, clusters, folds)

    def people(self, known: tuple[str, ...]) -> AlignedPeople:
        """The people who are queried and the release, with the known columns."""
        done = self.attack(known)
        # Not the release as an attacker by ranks or differences compares it.
        return AlignedPeople.of(done.held, self.inputs.pair.protected.only(known), done.held_control)


_CHANGES = {"evidence": "best", "blocking": Blocking(), "ladder": None}


def linkage_attacker(ensemble: EnsembleOutcome, *, family: bool) -> tuple[str, Attacker]:
    """The strongest attacker whose candidates can be listed, without blocking; rarity if there is none.

    The strongest has the largest power, then the largest top-1 hit rate. In the `family`, members that block come last:
    their power is that with blocking, and others without it are as good. Attackers that a person wrote are taken by
    power alone, since the only strong one may block. The combined attacker has the candidates of one of the others, so
    it is passed over: the choice is the same whether it was run or not. Evidence against others does not change which
    record is the best candidate.
    """
    running = _running(ensemble)
    rate = choose_reading(outcome.measured for outcome in running.values()).false_rate

    def order(name: str) -> tuple[bool, float, float]:
        outcome = running[name]
        everybody = outcome.measured.attack.attacker.blocking.compares_everybody
        return everybody or not family, outcome.power_at(rate), outcome.top1

    for name in sorted(running, key=order, reverse=True):
        done = running[name].measured.attack
        saved = done.attacker.projects and done.attacker.projection_operator.saved_file is not None
        if done.representation.maps_others and not saved:
            return name, done.attacker.model_copy(update=_CHANGES)
    return "rarity", Attacker(alignment="release", similarity=Rarity())


def nearest_record_attacker(ensemble: EnsembleOutcome, linker: Attacker) -> Attacker | None:
    """An attacker of the ensemble that compares whole rows by distance, without projection; None if there is none.

    The strongest linkage attacker recognizes records of a person by rare values. A synthetic record that was made from
    a person may have other rare values, and still be the nearest. None also if `linker` is this attacker already.
    """
    for outcome in _running(ensemble).values():
        attacker = outcome.measured.attack.attacker
        if attacker.similarity_operator.by_distance and attacker.projection == "identity":
            found = attacker.model_copy(update=_CHANGES)
            return None if found == linker else found
    return None


def _running(ensemble: EnsembleOutcome) -> dict[str, AttackerOutcome]:
    return {
        name: outcome
        for name, outcome in (ensemble.qualified or ensemble.outcomes).items()
        if not isinstance(outcome.measured.attack, CombinedAttack)
    }
