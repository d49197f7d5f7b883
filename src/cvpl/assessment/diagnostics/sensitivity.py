"""Sensitivity: how much the figures vary with arbitrary choices.

The same attack is repeated with other blocking granularities, encodings and scalings, on a sample of the people. A
figure that varies with such a choice reflects the choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from cvpl.assessment.diagnostics.several_attackers import for_each
from cvpl.attack.attack import attack
from cvpl.attack.attacker import Attacker
from cvpl.attack.people_draw import EACH_ROW, PeopleDraw
from cvpl.attack.shared_work import SharedWork
from cvpl.evaluation.rates import AttackRates, attack_rates, searched_base
from cvpl.operators.blocking import Bin, Blocking, Key, Level, Lsh, Prefix, Truncate
from cvpl.result import Sensitivity, Variation
from cvpl.search.machine import Budget
from cvpl.tables.columns import Pair
from cvpl.tables.evaluation_only import TrueMatches

ASKED = 2_000
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
        done = attack(pair, other, seed=seed, budget=own, most=ASKED, shared=shared, draw=draw)
        return attack_rates(done.scores, searched_base(done, matches), threshold), done.original.rows

    varied, found = list(variations(pair, attacker)), []
    attackers = [other for _, _, other in varied]
    searched = list(for_each(attackers, search, most=lambda _: ASKED, released=pair.protected.rows, budget=budget))
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
            yield f"without '{key.column}'", _of(blocking, (*others[0], *others[1]))
        for word, changed in _changed(key):
            yield f"'{key.column}' {word}", _of(blocking, (*others[0], changed, *others[1]))


def _of(blocking: Blocking, scheme: tuple[Key, ...]) -> Blocking:
    """A blocking of one scheme that matches keys in the same way."""
    return Blocking(match=blocking.match, any_of=(scheme,))


def _changed(key: Key) -> Iterator[tuple[str, Key]]:
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
