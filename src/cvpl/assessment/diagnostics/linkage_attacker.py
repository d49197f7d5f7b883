"""The linkage attackers whose candidates tell of secrets: the strongest of the ensemble, and the nearest record."""

from __future__ import annotations

from cvpl.assessment.attacker_outcome import AttackerOutcome
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.attack.attacker import Attacker
from cvpl.attack.combined_attack import CombinedAttack
from cvpl.evaluation.measurement import choose_reading
from cvpl.operators.blocking import Blocking
from cvpl.operators.similarity import Rarity

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
