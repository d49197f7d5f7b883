"""Several secrets at once: for how many people all of them are guessed, by attackers that know none of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cvpl.assessment.diagnostics.sensitive_searches import SensitiveSearches
from cvpl.evaluation.inference.attackers import BEST, CLASS, VOTE
from cvpl.evaluation.inference.figures import Queries, ScoredAttack, inference_rows, scored, simultaneous, weights_of
from cvpl.evaluation.inference.sensitive_attribute import SensitiveAttribute
from cvpl.result import Reconstruction

Floats = NDArray[np.float64]


def reconstruction(
    searches: SensitiveSearches, secrets: list[SensitiveAttribute], attacks: Mapping[str, list[ScoredAttack]]
) -> Reconstruction | None:
    """All secrets at once, by attackers that know none of them; None with fewer than two."""
    known = searches.known([secret.name for secret in secrets])
    if len(secrets) < 2 or not known:
        return None
    asked = searches.asked(known)
    weights = _everybody(secrets, asked)
    found = {BEST: _best_together(searches, secrets, known, asked)}
    for name, hits in _alone(searches, secrets, known, asked, attacks).items():
        found[name] = [np.prod(parts, axis=0) for parts in zip(*hits, strict=True)]
    rows = []
    for name, both in found.items():
        mine, base = asked.hits(both, weights)
        if mine.total > 0:
            rows.append(ScoredAttack(name, (known,), "accuracy", mine, base))
    return Reconstruction(
        columns=[secret.name for secret in secrets],
        known=list(known),
        attackers=inference_rows(rows, simultaneous(len(rows)), alike=searches.alike),
    )


def _best_together(
    searches: SensitiveSearches, secrets: list[SensitiveAttribute], known: tuple[str, ...], asked: Queries
) -> list[Floats]:
    kept = np.all([secret.released >= 0 for secret in secrets], axis=0)
    truths = [asked.truths(secret) for secret in secrets]
    return searches.links(known, kept).together(secrets, [[pair[at] for pair in truths] for at in (0, 1)])


def _alone(
    searches: SensitiveSearches,
    secrets: list[SensitiveAttribute],
    known: tuple[str, ...],
    asked: Queries,
    attacks: Mapping[str, list[ScoredAttack]],
) -> dict[str, list[list[Floats]]]:
    """The hits of attackers that guess each secret by itself, for originals and controls, by attacker and secret.

    Attacks that know the same columns are taken as they are; else the vote and the class are asked again.
    """
    found: dict[str, list[list[Floats]]] = {}
    for secret in secrets:
        own = {
            one.attacker: one
            for one in attacks[secret.name]
            if one.sets == (known,) and one.score == "accuracy" and one.attacker != BEST
        }
        if not own:
            links = searches.links(known, secret.released >= 0)
            again = {VOTE: links.vote(secret), CLASS: searches.people(known).compatible_class(known, secret)}
            own = {name: scored(name, known, both, secret, asked)[0] for name, both in again.items()}
        for name, one in own.items():
            parts = [one.originals.hit] + ([] if one.controls is None else [one.controls.hit])
            found.setdefault(name, []).append(parts)
    return {name: hits for name, hits in found.items() if len(hits) == len(secrets)}


def _everybody(secrets: Sequence[SensitiveAttribute], asked: Queries) -> tuple[Floats, Floats | None]:
    """1 for who has every secret, else 0."""
    weights = [weights_of(secret, asked, "accuracy") for secret in secrets]
    mine = np.prod([one[0] for one in weights], axis=0)
    if any(one[1] is None for one in weights):
        return mine, None
    return mine, np.prod([one[1] for one in weights if one[1] is not None], axis=0)
