"""Whether the attackers would have seen somebody: without proof of that, a low figure comforts for the wrong reason.

Three things are asked of a release whose risk is based on a control:

columns      is it known how the release writes each column that is compared (`operators.recoding`)? Values that match
             nothing, or whose change is unknown, are unread.
originals    do the attackers find the originals in their own table, well above chance? If not, the columns say too
             little about anybody.
change       originals are brought through the release's own column-wise change, as it is estimated, and planted among
             the released records. Do the attackers that decide find them? If they find far fewer than an attacker who
             looks for the changed rows themselves, they are blind. If such an attacker finds hardly anybody either, the
             classes are too coarse to tell people apart, and that is protection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cvpl import result as out
from cvpl.assessment.combined import COMBINED
from cvpl.assessment.diagnostics.validity import SHIFT
from cvpl.assessment.disclosure import disclosure_of
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.assessment.preflight.renamed import renamed_findings
from cvpl.assessment.preflight.unmatched import unmatched_findings
from cvpl.attack.attack import attack
from cvpl.attack.attacker import Attacker
from cvpl.attack.people_draw import Drawn
from cvpl.attack.prepared_attack import rank_form
from cvpl.config.resolved import ResolvedConfig
from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.rates import attributable_rate, power_at
from cvpl.operators.alignment import RankForm
from cvpl.operators.recoding import ColumnSight
from cvpl.randomness import stream
from cvpl.result.verdict import ALIKE, ALONE, COARSE, DECLARED, DISTURBED, SHIFTED, UNREAD, UNSEEN, blind_spots
from cvpl.tables.columns import Pair, Table
from cvpl.tables.keys import row_keys
from cvpl.tables.pair import Inputs

Floats = NDArray[np.float64]

PLANTED = 300
"""The largest number of originals that are planted."""
CONTROLS = 600
"""The largest number of controls that planted originals are compared with."""
RELEASED = 10_000
"""The largest number of released records among which originals are planted."""
FEWEST_TO_PLANT = 50
"""With fewer originals or controls nothing is planted."""
WELL_ABOVE_CHANCE = 0.15
"""People count as found if this share of them is, beyond the controls that are linked by mistake."""
HALF = 0.5
"""People also count as found only if these are at least this part of those whom a search for the changed rows finds."""
NOT_RECODED = (
    "if a synthesizer or noise made these values, and no key, code or other unit changed them, say so in the "
    "configuration (`recoded: false`)"
)
TRIED = ("ranks", "fellegi_sunter_em", "nearest_unprojected", "contained", "rarity", "ranks_fellegi_sunter")
"""The members to try after the headline; the first that finds the planted people is proof enough."""


@dataclass(frozen=True)
class PlantedPeople:
    """The share of planted people whom an attacker finds beyond chance, and the share that can be found.

    `disturbed` is the largest share that attackers find if the planted rows have the release's noise and gaps too; None
    if it has none.
    """

    attacker: str
    found: float
    attainable: float
    disturbed: float | None = None

    @property
    def seen(self) -> bool:
        """Whether the attacker finds enough of those who can be found."""
        return self.found >= max(WELL_ABOVE_CHANCE, HALF * self.attainable)

    @property
    def coarse(self) -> bool:
        """Whether hardly anybody can be found by anybody."""
        return self.attainable < WELL_ABOVE_CHANCE


def add_sight_findings(
    findings: Sequence[out.Finding], ensemble: EnsembleOutcome, resolved: ResolvedConfig, inputs: Inputs
) -> list[out.Finding]:
    """The findings of the checks before the attack, and those on what the attackers cannot see."""
    found = [*findings, *sight_findings(ensemble, resolved, inputs)]
    return sorted(found, key=lambda finding: not finding.closes_gate)


def sight_findings(ensemble: EnsembleOutcome, resolved: ResolvedConfig, inputs: Inputs) -> list[out.Finding]:
    """The findings on what the attackers cannot see; without a control, those on columns alone."""
    form = _form(ensemble, resolved, inputs.pair)
    if not _compared_with_control(ensemble, inputs):
        columns = (
            *_unread(form, resolved),
            *_unrelated_columns_findings(form, resolved, ensemble, inputs),
        )
        return [*columns, *_declared_columns_findings(form, resolved)]
    found = [*_unread(form, resolved), *_originals(ensemble, inputs.pair.original), *_shift_findings(ensemble)]
    planted = planted_people(ensemble, form, resolved, inputs.pair)
    if planted is not None and not planted.coarse and not planted.seen:
        message = "the attackers do not find people whose rows were changed as the release changes its columns"
        found.append(out.Finding(check=UNSEEN, closes_gate=True, message=message))
    elif planted is not None and not found and not _links_somebody(ensemble):
        found += _protection(planted, form)
    return [
        *found,
        *_unrelated_columns_findings(form, resolved, ensemble, inputs),
        *_declared_columns_findings(form, resolved),
    ]


def _protection(planted: PlantedPeople, form: RankForm) -> list[out.Finding]:
    """What hides people from attackers who see how the release writes its columns, if it can be told."""
    if planted.coarse:
        message = "even an attacker who knows how the compared columns were changed cannot tell people apart by them"
        return [out.Finding(check=COARSE, closes_gate=False, message=message)]
    if planted.disturbed is None or planted.disturbed >= WELL_ABOVE_CHANCE:
        return []
    parts = form.recoding.disturbed.values()
    kinds = {"noise": any(part.noise > 0 for part in parts), "empty cells": any(part.gaps > 0 for part in parts)}
    much = " and as many ".join(kind for kind, there in kinds.items() if there)
    much = f"as {'much' if kinds['noise'] else 'many'} {much}"
    message = f"attackers hardly find people whose values got, at random, {much} as the release seems to have"
    return [out.Finding(check=DISTURBED, closes_gate=False, message=message)]


def _shift_findings(ensemble: EnsembleOutcome) -> list[out.Finding]:
    """Whether attackers that compare values at the release's granularity do not count since both tables lie apart."""
    apart = [
        name
        for name, outcome in ensemble.outcomes.items()
        if outcome.measured.attack.attacker.alignment == "release" and SHIFT in outcome.valid.reasons
    ]
    if not apart:
        return []
    message = "the values of the release lie elsewhere than those of the original, so that some attackers do not count"
    return [out.Finding(check=SHIFTED, closes_gate=True, message=message, count=len(apart))]


def _links_somebody(ensemble: EnsembleOutcome) -> bool:
    """Whether somebody is linked by the originals' own rows, so that classes are not too coarse."""
    return ensemble.certain is not None or (ensemble.risk is not None and (ensemble.risk.low or 0.0) > 0)


def unseen_findings(ensemble: EnsembleOutcome, resolved: ResolvedConfig, inputs: Inputs) -> list[out.Finding]:
    """All that an audit finds on what the attackers cannot see, and what is declared, without its other checks.

    The tables must have been read with checks.
    """
    found = [*_table_findings(resolved, inputs), *sight_findings(ensemble, resolved, inputs)]
    return [*blind_spots(found), *(finding for finding in found if finding.check == DECLARED)]


def unread_findings(ensemble: EnsembleOutcome, resolved: ResolvedConfig, inputs: Inputs) -> list[out.Finding]:
    """The findings that hold for any attacker: columns that cannot be read, or that stand under another name."""
    form = _form(ensemble, resolved, inputs.pair)
    columns = (*_unread(form, resolved), *_unrelated_columns_findings(form, resolved, ensemble, inputs))
    return blind_spots([*_table_findings(resolved, inputs), *columns])


def _table_findings(resolved: ResolvedConfig, inputs: Inputs) -> list[out.Finding]:
    """The findings of the checks before the attack, of which some are on what no attacker sees."""
    return [*unmatched_findings(inputs, disclosure_of(resolved, inputs)), *renamed_findings(resolved, inputs)]


def _compared_with_control(ensemble: EnsembleOutcome, inputs: Inputs) -> bool:
    return ensemble.basis == "control" and inputs.pair.control is not None


def _form(ensemble: EnsembleOutcome, resolved: ResolvedConfig, pair: Pair) -> RankForm:
    """The estimated change of every column: that of an attacker by ranks, or estimated now."""
    for outcome in ensemble.outcomes.values():
        form = outcome.measured.attack.form
        if isinstance(form, RankForm) and outcome.measured.attack.attacker.knows is None:
            return form
    tables = [
        table if table is None or table.rows <= RELEASED else _sample_rows(table, RELEASED)
        for table in (pair.original, pair.protected, pair.control)
    ]
    original, protected, control = tables
    assert original is not None  # noqa: S101 - every pair has both
    assert protected is not None  # noqa: S101
    return rank_form(original, protected, control, resolved.config.seed)


def _sample_rows(table: Table, most: int) -> Table:
    return table.take(np.linspace(0, table.rows - 1, min(most, table.rows)).astype(np.intp))


def _unread(form: RankForm, resolved: ResolvedConfig) -> list[out.Finding]:
    unread = _unread_columns(form, resolved)
    if not unread:
        return []
    reasons: dict[str, list[str]] = {}
    for sight in unread:
        reasons.setdefault(sight.why, []).append(sight.column)
    parts = [
        _unread_for(why, columns, "it" if at else "the release") for at, (why, columns) in enumerate(reasons.items())
    ]
    message = f"no attacker can read {', or '.join(parts)}"
    advice = NOT_RECODED if any(sight.seen == "unlike" for sight in unread) else None
    return [out.Finding(check=UNREAD, closes_gate=True, message=message, count=len(unread), advice=advice)]


def _unread_columns(form: RankForm, resolved: ResolvedConfig) -> list[ColumnSight]:
    """The columns that are unlike the original's, unread, or recoded by declaration without its being known how."""
    known, unlike = resolved.config.columns, _columns_as_declared(form, resolved)
    found = []
    for sight in form.recoding.sights:
        if sight.seen in ("unlike", "unread") and sight.column not in unlike:
            found.append(sight)
        elif sight.seen in ("as_is", "alone") and known[sight.column].recoded:
            found.append(replace(sight, why="a key or a code changed its values, as declared"))
    return found


def _unrelated_columns_findings(
    form: RankForm, resolved: ResolvedConfig, ensemble: EnsembleOutcome, inputs: Inputs
) -> list[out.Finding]:
    """The columns that no longer have any relation to others; none of them may hide people behind a secret key.

    If there is none, and there is a control, the columns that never had one, where the rest tells few people apart and
    hardly anybody is linked. The owner of the release knows whether a key changed them, and can declare that none did
    (`recoded: false`).
    """
    known = resolved.config.columns
    read = {sight.column for sight in _unread_columns(form, resolved)}
    open_ = [
        sight
        for sight in form.recoding.sights
        if sight.column not in read and resolved.keyed and known[sight.column].recoded is not False
    ]
    alone = [sight.column for sight in open_ if sight.seen == "alone"]
    if alone:
        has, were, them = ("has", "it was", "it") if len(alone) == 1 else ("have", "they were", "them")
        message = (
            f"{_columns(alone)} of the release no longer {has} any relation to other columns: {were} drawn without "
            f"regard to them, or a secret key changed {them}, which no attacker here can see"
        )
        return [out.Finding(check=ALONE, closes_gate=True, message=message, count=len(alone), advice=NOT_RECODED)]
    if not _compared_with_control(ensemble, inputs):
        return []
    original = inputs.pair.original
    wider = {spec.name for spec in original.specs if spec.type == "category"} & set(form.granularity.grains)
    silent = [
        sight.column
        for sight in open_
        if sight.seen == "as_is" and not sight.telling and sight.column not in wider  # wider labels hold the originals'
    ]
    telling = tuple(
        sight.column
        for sight in form.recoding.sights
        if sight.seen in ("as_is", "recoded") and sight.column not in {*silent, *read}
    )
    linked = 0.0 if ensemble.risk is None else ensemble.risk.low or 0.0
    if not silent or max(linked, _unique_share(original, telling)) >= WELL_ABOVE_CHANCE:
        return []
    message = (
        f"too little relates {_columns(silent)} to other columns for it to show if a secret key had exchanged "
        f"{'its' if len(silent) == 1 else 'their'} values, and hardly anybody is told apart by the rest"
    )
    return [out.Finding(check=ALONE, closes_gate=True, message=message, count=len(silent), advice=NOT_RECODED)]


def _names(table: Table) -> tuple[str, ...]:
    return tuple(spec.name for spec in table.specs)


def _unique_share(table: Table, names: tuple[str, ...]) -> float:
    """The share of records that are the only ones with their values in these columns."""
    if not names:
        return 0.0
    counts = np.unique(row_keys(_sample_rows(table, RELEASED).only(names)), return_counts=True)[1]
    return float((counts == 1).sum() / counts.sum())


def _declared_columns_findings(form: RankForm, resolved: ResolvedConfig) -> list[out.Finding]:
    """The columns that no attacker could read if they were recoded, and which are declared not to be."""
    names = _columns_as_declared(form, resolved)
    if not names or not resolved.keyed:
        return []
    message = f"it is declared, and cannot be checked here, that no key or code changed {_columns(names)}"
    return [out.Finding(check=DECLARED, closes_gate=False, message=message, count=len(names))]


def _columns_as_declared(form: RankForm, resolved: ResolvedConfig) -> list[str]:
    """The columns that are unlike the original's or alone, and were not recoded: so is it declared, or known.

    Built-in mechanisms recode nothing.
    """
    known = resolved.config.columns
    return [
        sight.column
        for sight in form.recoding.sights
        if sight.seen in ("unlike", "alone") and (not resolved.keyed or known[sight.column].recoded is False)
    ]


def _columns(names: Sequence[str]) -> str:
    return f"column{'' if len(names) == 1 else 's'} " + ", ".join(f"'{name}'" for name in names)


def _unread_for(why: str, columns: Sequence[str], table: str) -> str:
    """The columns that cannot be read for one reason, and the reason."""
    return f"{_columns(columns)} of {table} ({why if len(columns) == 1 else why.replace('its ', 'their ', 1)})"


def _originals(ensemble: EnsembleOutcome, original: Table) -> list[out.Finding]:
    """Whether the originals are found in their own table, by the attacker that finds most.

    Without canaries, whether their rows are different from each other.
    """
    known = [outcome.canaries for outcome in ensemble.qualified.values() if outcome.canaries is not None]
    power = [one.figures.identity.power for one in known if one.figures.identity.power is not None]
    apart = attributable_rate(max(power), FALSE_RATE) if power else _unique_share(original, _names(original))
    if (apart or 0.0) >= WELL_ABOVE_CHANCE:
        return []
    message = "the columns that are compared hardly tell people apart, even in the original itself"
    return [out.Finding(check=ALIKE, closes_gate=True, message=message)]


def planted_people(
    ensemble: EnsembleOutcome, form: RankForm, resolved: ResolvedConfig, pair: Pair
) -> PlantedPeople | None:
    """The first attacker that finds the planted people, or the one that finds most; None if there are too few."""
    assert pair.control is not None  # noqa: S101 - checked by the caller
    rng = stream(resolved.config.seed, "planted people")
    draw, asked = ensemble.chosen.measured.attack.draw, []
    for role, table, most in _sampled_tables(pair):
        rows = draw.sample(role, np.arange(table.rows, dtype=np.int64), most, rng)
        draw = draw.of_rows(role, rows)
        asked.append(table.take(rows.astype(np.intp)))
    people, control = asked
    if min(people.rows, control.rows) < FEWEST_TO_PLANT:
        return None
    kept = _columns_as_declared(form, resolved)
    changed, others = (form.recoding.to_release(form.granularity.apply(table), kept) for table in (people, control))
    size = min(RELEASED, pair.protected.rows)
    rest = pair.protected.take(np.sort(rng.choice(pair.protected.rows, size, replace=False)).astype(np.intp))
    released = _mix_records(changed, rest, rng)
    attainable = _beyond_chance(*(_rarity(table, released) for table in (changed, others)))
    attackers = [
        (name, attacker)
        for name, attacker in _deciding(ensemble)
        if not attacker.needs_reference or control.rows >= 2 * FEWEST_TO_PLANT
    ]

    def found_by(attacker: Attacker, released: Table) -> float | None:
        asked = Pair(people, released, control)
        done = attack(asked, attacker, seed=resolved.config.seed, budget=resolved.budget, draw=draw)
        base = done.search_control()
        return None if base is None else _beyond_chance(done.scores, done.evidence("control", base))

    best: PlantedPeople | None = None
    for name, attacker in attackers:
        share = found_by(attacker, released)
        if share is None:
            continue
        found = PlantedPeople(name, share, attainable)
        if best is None or found.found > best.found:
            best = found
        if found.seen or found.coarse:
            break
    if best is None or not best.seen or _links_somebody(ensemble) or not form.recoding.disturbed:
        return best
    noise = stream(resolved.config.seed, "noise on planted people")
    released = _mix_records(form.recoding.with_disturbances(changed, noise), rest, noise)
    disturbed = 0.0
    for _, attacker in attackers:
        disturbed = max(disturbed, found_by(attacker, released) or 0.0)
        if disturbed >= WELL_ABOVE_CHANCE:
            break
    return replace(best, disturbed=disturbed)


def _sampled_tables(pair: Pair) -> list[tuple[Drawn, Table, int]]:
    """The tables that are sampled, and how many of each."""
    assert pair.control is not None  # noqa: S101 - checked by the caller
    return [("original", pair.original, PLANTED), ("control", pair.control, CONTROLS)]


def _deciding(ensemble: EnsembleOutcome) -> Sequence[tuple[str, Attacker]]:
    """The attackers that count, the headline first, then those that see most kinds of change."""
    names = [name for name in (ensemble.headline, *TRIED, *ensemble.counted) if name in ensemble.counted]
    distinct = [name for name in dict.fromkeys(names) if name != COMBINED][: len(TRIED) + 1]
    attackers = [(name, ensemble.outcomes[name].measured.attack.attacker) for name in distinct]
    return [(name, one.model_copy(update={"errors": 0.0, "knows_people": 1.0})) for name, one in attackers]


def _mix_records(planted: Table, rest: Table, rng: np.random.Generator) -> Table:
    """The planted records among the released ones, in no order."""
    order = rng.permutation(planted.rows + rest.rows)
    columns = {spec.name: planted.columns[spec.name].joined(rest.columns[spec.name]).take(order) for spec in rest.specs}
    return Table("protected", len(order), rest.specs, columns)


def _rarity(changed: Table, released: Table) -> Floats:
    """One over the number of released records that are equal to each changed record; 0 if there is none."""
    there, counts = np.unique(row_keys(released), return_counts=True)
    mine = row_keys(changed)
    place = np.minimum(np.searchsorted(there, mine), len(there) - 1)
    return np.where(there[place] == mine, 1 / counts[place], 0.0)


def _beyond_chance(originals: Floats, controls: Floats) -> float:
    return attributable_rate(power_at(originals, controls, FALSE_RATE), FALSE_RATE) or 0.0
