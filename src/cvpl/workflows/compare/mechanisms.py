"""The mechanisms of a comparison: each is drawn several times, attacked, and read over all its draws."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cvpl import result as out
from cvpl.assessment.decision import (
    bound_risk,
    closing_reasons,
    control_fault,
    control_hides,
    copied_rows,
    findings_of_draws,
)
from cvpl.assessment.ensemble import run_attackers
from cvpl.assessment.planning.progress import Phase, ProgressCallback, WholeProgress, parts, prefix_progress
from cvpl.assessment.planning.work import Work
from cvpl.config.loading import ConfigLike
from cvpl.config.resolved import ResolvedConfig
from cvpl.config.written import PolicyConfig
from cvpl.errors import InputError, UsageError
from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.control_likeness import ControlTests
from cvpl.evaluation.intervals.intervals import attributable_from_power
from cvpl.evaluation.intervals.paired import attributable_by_power
from cvpl.evaluation.measurement import RiskReading, certain_risk
from cvpl.evaluation.trials.rounds import Floats, Groups, MeanOverDraws, power_over_draws, share_over_draws
from cvpl.result.publishing import Disclosure
from cvpl.result.verdict import TOO_FEW, blind, caveats
from cvpl.tables.pair import Inputs
from cvpl.wording import count_phrase, share_in, with_full_stop
from cvpl.workflows.compare.one_release import (
    AttackedRelease,
    NamedRelease,
    control_likeness,
    judged_policies,
    measure_release,
    publish_figures,
    utility_section,
)
from cvpl.workflows.compare.ranking import ReleaseFigures
from cvpl.workflows.draws.mechanism import (
    Draw,
    MechanismRunner,
    ReleaseNotMade,
    changed_columns,
    copied_table,
    find_mechanism,
    is_command,
    keeping_output,
    mechanism_seed,
    where_output_is,
)
from cvpl.workflows.draws.strongest import (
    StrongestOverDraws,
    confidence_among,
    config_of_draw,
    draw_policies,
    faults_of,
    measure_powers,
    objections,
    place_in_rows,
    scores_by_row,
)
from cvpl.workflows.made_tables import FAMILIES, Strength

FEWEST_DRAWS, MOST_DRAWS = 2, 1000


@dataclass(frozen=True, eq=False)
class NamedMechanism:
    """A mechanism and its name. Each draw is made from a copy of the original, with a seed of its own.

    What a failing command prints is kept in a folder in `output`, which only this user can enter.
    """

    name: str
    mechanism: MechanismRunner
    output: Path | None = None

    def draw(self, number: int, original: object, resolved: ResolvedConfig, folder: Path) -> NamedRelease:
        """The release of a draw, counted from 0, made in a new folder in `folder`.

        The seed follows from the configuration's, the mechanism's name and the draw, so that other mechanisms change
        nothing. Raises UsageError if there is no release, and LimitError if the command took too long.
        """
        place = folder / f"{number + 1}"
        table = copied_table(original, resolved.reading, place / "in")
        kept = None if self.output is None else self.output / f"{self.name}_draw_{number + 1:02d}"
        seed = mechanism_seed(resolved.config.seed, f"compare {self.name} {number}")
        try:
            with keeping_output(place, kept):
                made = self.mechanism.make(Draw(table, place, seed, threading.Event()))
        except ReleaseNotMade as failed:
            text = f"mechanism '{self.name}', draw {number + 1}: {with_full_stop(str(failed))}"
            if self.mechanism.kind == "command":
                text += where_output_is(kept, "folder")
            raise failed.error(text) from failed
        if isinstance(made, str | Path) and Path(made).is_file() and not Path(made).is_relative_to(place):
            # A function may write every release to the same file.
            made = Path(shutil.copyfile(made, place / Path(made).name))
        shutil.rmtree(place / "in")
        return NamedRelease(self.name, made, self.mechanism.identity)


def named_mechanisms(
    mechanisms: Mapping[str, object] | None,
    releases: Sequence[NamedRelease],
    config: ConfigLike,
    timeout: float | None,
    draws: int,
    output: Path | None,
) -> list[NamedMechanism]:
    """The mechanisms that a caller names. Raises UsageError if one is none, or has the name of another release.

    A mechanism is a command, a function, or a built-in one with its strength, such as "mondrian 10".
    """
    if not mechanisms:
        return []
    if not isinstance(mechanisms, Mapping):
        raise UsageError("mechanisms: give a mapping from names to commands or functions, such as {'noise': command}.")
    if not FEWEST_DRAWS <= draws <= MOST_DRAWS:
        raise UsageError(f"draws is {draws}; allowed is a whole number from {FEWEST_DRAWS} to {MOST_DRAWS:,}.")
    taken = {release.name for release in releases}
    found = []
    for name, mechanism in mechanisms.items():
        if not isinstance(name, str) or not name.strip() or "/" in name:
            raise UsageError("mechanisms: each needs a name without a slash, such as noise.")
        if name in taken:
            raise UsageError(f"mechanisms: a release has the name '{name}' too. Choose another name.")
        text, strength = _split_strength(mechanism)
        found.append(NamedMechanism(name, find_mechanism(text, strength, config, timeout), output))
    return found


def _split_strength(mechanism: object) -> tuple[object, Strength | None]:
    """A built-in mechanism and its strength, which follows the name; everything else as it is."""
    if not isinstance(mechanism, str) or is_command(mechanism):
        return mechanism, None
    first, _, rest = mechanism.strip().partition(" ")
    method = first.replace("_", "-")
    if method not in FAMILIES or not rest.strip():
        return mechanism, None
    value = rest.strip()
    try:
        number = float(value)
    except ValueError:
        return method, value
    return method, int(number) if number == int(number) and "." not in value else number


@dataclass(frozen=True, eq=False)
class MechanismRun:
    """A mechanism with what all its draws share. Its releases are made in `folder`."""

    mechanism: NamedMechanism
    original: object
    control: object | None
    resolved: ResolvedConfig
    draws: int
    folder: Path

    def make(self, number: int) -> NamedRelease:
        """Make the release of a draw, counted from 0."""
        return self.mechanism.draw(number, self.original, self.resolved, self.folder)

    def attack(
        self, number: int, release: NamedRelease, likeness: ControlTests | None, progress: WholeProgress
    ) -> AttackedRelease:
        """Attack a draw. The likeness of the control is that of the first draw, since no draw changes it."""
        progress(Phase.READING, None)
        made = self.mechanism.mechanism
        keyed = replace(release.resolved(self.resolved), keyed=made.kind != "built_in")
        resolved = config_of_draw(keyed, number)
        inputs = self._read(number, release)
        progress.expect(Work(resolved, inputs).attackers())
        ensemble = run_attackers(resolved, inputs, progress)
        alike = likeness if number else control_likeness(resolved, inputs)
        return AttackedRelease(release, resolved, inputs, ensemble, alike, draws=True)

    def remove(self, number: int) -> None:
        """Remove the files of a draw."""
        shutil.rmtree(self.folder / f"{number + 1}", ignore_errors=True)

    def _read(self, number: int, release: NamedRelease) -> Inputs:
        try:
            return release.read(self.original, self.resolved, self.control)
        except InputError as error:
            where = f"mechanism '{release.name}', draw {number + 1}"
            raise InputError(
                [replace(problem, where=f"{problem.where}, {where}") for problem in error.problems]
            ) from None


def measure_mechanism(run: MechanismRun, made: NamedRelease, progress: ProgressCallback) -> ReleaseFigures:
    """The figures of a mechanism over all draws; `made` is the release of the first one."""
    tells = [
        WholeProgress(prefix_progress(part, f"draw {number + 1}"))
        for number, part in enumerate(parts(progress, [1.0] * run.draws))
    ]
    first = run.attack(0, made, None, tells[0])
    found = [DrawFindings.of(first, run.draws)]
    tells[0].finish()
    for number, tell in enumerate(tells[1:], start=1):
        tell("making the release", None)
        attacked = run.attack(number, run.make(number), first.likeness, tell)
        _check_columns(run, number, first.inputs, attacked.inputs)
        found.append(DrawFindings.of(attacked, run.draws))
        run.remove(number)
        if number < run.draws - 1:
            tell.finish()
    reading = read_draws(found, first.groups)
    if reading.headline is not None:
        ensemble = replace(first.ensemble, headline=reading.headline, reading=RiskReading(reading.false_rate))
        first = replace(first, ensemble=ensemble)
    shown = figures_over_draws(measure_release(first, tells[-1]), run.mechanism.mechanism, reading, found)
    run.remove(0)
    tells[-1].finish()
    return judge_figures(publish_figures(shown), judged_policies(run.resolved, draws=True))


def _check_columns(run: MechanismRun, number: int, first: Inputs, other: Inputs) -> None:
    """Refuse a draw whose release has other columns than the first: their mean would describe different releases."""
    changed = changed_columns(*(item.whole.present["protected"] for item in (first, other)))
    if changed is not None:
        raise UsageError(
            f"mechanism '{run.mechanism.name}', draw {number + 1}: its release has {changed[0]} more and {changed[1]} "
            "fewer columns than that of the first draw. Make the mechanism release the same columns in every draw."
        )


@dataclass(frozen=True, eq=False)
class DrawFindings:
    """What one draw found out, by attacker; arrays have an entry for every row, NaN for rows that do not count.

    `originals` and `controls` are scores, `hits` say how far the best candidate is the right person. `faults` say why
    an attacker's representation is not valid for this release, `canary_faults` why its canaries fail. `certain` is a
    risk of people who are linked for certain in this draw, corrected for the number of draws.
    """

    originals: Mapping[str, Floats]
    controls: Mapping[str, Floats]
    hits: Mapping[str, Floats]
    faults: Mapping[str, tuple[str, ...]]
    canary_faults: Mapping[str, tuple[str, ...]]
    reading: RiskReading
    certain: out.Risk | None
    utility: out.ComparedUtility
    preflight: Sequence[out.Finding]
    disclosure: Disclosure
    exact: bool

    @classmethod
    def of(cls, attacked: AttackedRelease, draws: int) -> DrawFindings:
        """What is kept of a draw; its tables are not."""
        ensemble, pair = attacked.ensemble, attacked.inputs.pair
        strangers = 0 if pair.control is None else pair.control.rows
        originals, controls, hits = {}, {}, {}
        for name, outcome in ensemble.outcomes.items():
            measured = outcome.measured
            scores = scores_by_row(measured, pair.original.rows, strangers)
            if scores is not None:
                originals[name], controls[name] = scores
            if measured.truth is not None and measured.truth.has_match.any():
                hit = np.where(measured.truth.has_match, measured.truth.hit, np.nan)
                hits[name] = place_in_rows(hit, measured.attack.people, pair.original.rows)
        faults, canary_faults = faults_of(ensemble)
        rate, certain = ensemble.reading.false_rate, None
        if rate is not None and ensemble.qualified:
            certain = certain_risk(ensemble.counted, "", rate, ensemble.picked_among * draws)
        return cls(
            originals=originals,
            controls=controls,
            hits=hits,
            faults=faults,
            canary_faults=canary_faults,
            reading=ensemble.reading,
            certain=certain,
            utility=utility_section(attacked),
            preflight=attacked.findings,
            disclosure=attacked.disclosure,
            exact=all(item.measured.attack.exact for item in ensemble.outcomes.values()),
        )


@dataclass(frozen=True, eq=False)
class DrawsReading(StrongestOverDraws[MeanOverDraws]):
    """The strongest attacker over draws, with the top-1 hit rates of attackers that count if true matches are known.

    `false_rate` is None, with the reason in `unread`, if the control is too small in some draw.
    """

    false_rate: float | None
    unread: str
    hits: Mapping[str, MeanOverDraws]

    @property
    def reasons(self) -> list[str]:
        """Why the mechanism is not assessable; empty if an attacker counts, or if the control is only too small."""
        if self.powers or self.false_rate is None:
            return []
        return list(dict.fromkeys(reason for reasons in self.refused.values() for reason in reasons))


def read_draws(found: Sequence[DrawFindings], groups: Groups | None) -> DrawsReading:
    """The power of every attacker that counts, at the largest false-positive rate that a draw needs."""
    names = tuple(dict.fromkeys(name for item in found for name in (*item.originals, *item.hits)))
    refused = {name: reasons for name in names if (reasons := _faults(name, found))}
    able = [name for name in names if name not in refused]
    rates = [item.reading.false_rate for item in found]
    known = [rate for rate in rates if rate is not None]
    rate = max(known) if len(known) == len(found) else None
    unread = next((item.reading.refused for item in found if item.reading.false_rate is None), "")

    def power(name: str) -> MeanOverDraws:
        mine, base = (
            np.stack([getattr(item, side)[name] for item in found], axis=1) for side in ("originals", "controls")
        )
        return power_over_draws(mine, base, rate or 0.0, groups)

    scored = [name for name in able if rate is not None and all(name in item.originals for item in found)]
    powers, without = measure_powers(scored, power, refused)
    hits = {
        name: share_over_draws(np.stack([item.hits[name] for item in found], axis=1), groups)
        for name in able
        if all(name in item.hits for item in found)
    }
    return DrawsReading(powers, without, rate, unread, hits)


def _faults(name: str, found: Sequence[DrawFindings]) -> tuple[str, ...]:
    """Why an attacker does not count; empty if it does. It must run in every draw."""
    count = sum(name in item.originals or name in item.hits for item in found)
    if count < len(found):
        return (f"attacker '{name}' could run in {count} of {len(found)} draws only",)
    return objections(name, found)


_MEANS = (
    "correlation_preservation",
    "marginal_similarity",
    "downstream_accuracy_ratio",
    "distance_preservation",
    "accuracy_of_originals",
    "accuracy_of_release",
    "accuracy_of_guessing",
)


def figures_over_draws(
    first: ReleaseFigures, mechanism: MechanismRunner, reading: DrawsReading, found: Sequence[DrawFindings]
) -> ReleaseFigures:
    """The figures of a mechanism, not yet rounded, from those of its first draw and what all draws say."""
    disclosure = _disclosure(found)
    preflight = findings_of_draws(draw.preflight for draw in found)
    small = [finding.message for finding in preflight if finding.check == TOO_FEW]
    reasons = [*reading.reasons, *small]
    power = None if reading.headline is None or reasons else reading.powers[reading.headline]
    risk = None if power is None else _risk(power, reading)
    right = _best_candidate(reading)
    exact = all(item.exact for item in found)
    figures = out.VerdictFigures(
        reasons=reasons,
        risk=disclosure.published_or_none(risk),
        certain=None if power is None else disclosure.published_or_none(_certain(found, risk, reading)),
        best_candidate=disclosure.published_or_none(right),
        missing=f"no interval is offered ({reading.unread or 'unmeasured'})",
        copies=copied_rows(preflight, disclosure.k),
        control_fault=control_fault(preflight),
        blind=blind(preflight),
        caveats=caveats(preflight),
        control_hides=control_hides(preflight),
        lower_bound=not exact,
    )
    section = first.section.model_copy(
        update={
            "input": first.section.input.model_copy(update={"name": first.section.name}),
            "assessable": not reasons,
            "reasons": reasons,
            "verdict": _verdict(figures, len(found)),
            "risk": bound_risk(risk, preflight),
            "power": _power(power, reading),
            "picked": out.Picked(among=reading.picked_among, confidence=reading.confidence)
            if reading.picked_among > 1
            else None,
            "best_candidate": right,
            "preflight": preflight,
            "utility": _utility([item.utility for item in found]),
            "lower_bound": not exact,
            "draws": _draws(mechanism, power, reading, len(found)),
            **_top1(reading, first.section.attacker),
        }
    )
    compared = None
    if power is not None and reading.false_rate is not None:
        compared = attributable_by_power(power.power, reading.false_rate)
    return replace(
        first,
        section=section,
        risk=compared,
        attributable=None,
        picked_among=reading.picked_among,
        disclosure=disclosure,
    )


def judge_figures(found: ReleaseFigures, policies: tuple[PolicyConfig, ...]) -> ReleaseFigures:
    """The published figures of a mechanism with its policies, judged by them."""
    section = found.section
    closing = closing_reasons(section.preflight)
    doubts = (*closing, *section.reasons)

    def power_at(false_rate: float) -> out.Power | None:
        return section.power if section.power is not None and section.power.false_rate == false_rate else None

    outcomes = draw_policies(policies, section.risk, power_at, section.attacker, doubts)
    return replace(found, section=section.model_copy(update={"policies": outcomes}))


def _risk(power: MeanOverDraws, reading: DrawsReading) -> out.Risk:
    """The risk over draws, (power - α) / (1 - α)."""
    assert reading.headline is not None  # noqa: S101 - there is a power
    assert reading.false_rate is not None  # noqa: S101
    rate = reading.false_rate
    found = attributable_from_power(power.interval(reading.confidence), rate)
    return out.Risk.of(
        found,
        power=power.estimate,
        false_rate=rate,
        basis="control",
        attacker=reading.headline,
        among=reading.picked_among,
    )


def _power(power: MeanOverDraws | None, reading: DrawsReading) -> out.Power | None:
    if power is None or reading.false_rate != FALSE_RATE:
        return None
    return out.Power.of(power.interval(reading.confidence), false_rate=FALSE_RATE)


def _certain(found: Sequence[DrawFindings], risk: out.Risk | None, reading: DrawsReading) -> out.Risk | None:
    """The risk of people who are linked for certain in some draw, although the mean may be 0; else None."""
    known = [item.certain for item in found if item.certain is not None]
    if risk is None or risk.low is None or risk.low > 0 or not known:
        return None
    largest = max(known, key=lambda item: item.low or 0.0)
    confidence = confidence_among(2 * reading.picked_among * len(found))
    return largest.model_copy(update={"among": reading.picked_among, "confidence": confidence})


def _verdict(figures: out.VerdictFigures, draws: int) -> out.Verdict:
    """The verdict over draws. People who are linked for certain in one draw are linkable, whatever the mean."""
    mean, certain = figures.risk, figures.certain
    if certain is None:
        found = out.verdict_of(figures)
        return found.model_copy(update={"sentence": f"Over {count_phrase(draws, 'draw')}: {_inner(found.sentence)}"})
    found = out.verdict_of(figures.model_copy(update={"risk": certain, "certain": None}))
    most = "" if mean is None or mean.high is None or figures.blind is not None else f" (at most {share_in(mean.high)})"
    sentence = f"In one of {draws} draws: {_inner(found.sentence).rstrip('.')}"
    return found.model_copy(update={"sentence": f"{sentence}; the mean over draws cannot be told from 0{most}."})


def _inner(sentence: str) -> str:
    """A sentence after a colon."""
    return sentence[:1].lower() + sentence[1:]


def _best_candidate(reading: DrawsReading) -> out.BestCandidate | None:
    """The highest mean top-1 hit rate over attackers."""
    if not reading.hits:
        return None
    name = max(reading.hits, key=lambda item: reading.hits[item].estimate)
    among = len(reading.hits)
    interval = reading.hits[name].interval(confidence_among(among))
    return out.BestCandidate(
        estimate=reading.hits[name].estimate, low=interval.low, high=interval.high, attacker=name, among=among
    )


def _top1(reading: DrawsReading, attacker: str) -> dict[str, float | None]:
    hits = reading.hits.get(attacker)
    if hits is None:
        return {"top1_hit_rate": None, "top1_low": None, "top1_high": None}
    interval = hits.interval(reading.confidence)
    return {"top1_hit_rate": hits.estimate, "top1_low": interval.low, "top1_high": interval.high}


def _draws(
    mechanism: MechanismRunner, power: MeanOverDraws | None, reading: DrawsReading, count: int
) -> out.ComparedDraws:
    by = mechanism.described
    if power is None or reading.false_rate is None:
        return out.ComparedDraws(mechanism=by, count=count, degrees=count - 1)
    left = 1 - reading.false_rate
    return out.ComparedDraws(
        mechanism=by,
        count=count,
        risks=[(value - reading.false_rate) / left for value in power.by_draw],
        deviation=power.deviation / left,
        people_error=power.error.people / left,
        draws_error=power.error.draws / left,
        degrees=power.error.degrees,
    )


def _utility(found: Sequence[out.ComparedUtility]) -> out.ComparedUtility:
    """The mean of each figure over draws; null if a draw lacks it."""
    update: dict[str, object] = {}
    for name in _MEANS:
        values = [getattr(item, name) for item in found]
        update[name] = None if any(value is None for value in values) else float(np.mean(values))
    if any(item.distance_basis != "same_people" for item in found):
        update["distance_basis"] = "distributions"
    update["columns"] = [name for name in found[0].columns if all(name in item.columns for item in found)]
    return found[0].model_copy(update=update)


def _disclosure(found: Sequence[DrawFindings]) -> Disclosure:
    """The rounding by the smallest numbers of people in any draw."""
    sizes: dict[str, int] = {}
    for draw in found:
        for name, size in draw.disclosure.sizes.items():
            sizes[name] = min(size, sizes.get(name, size))
    return Disclosure(min(draw.disclosure.k for draw in found), sizes)
