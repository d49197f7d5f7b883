"""The report of a trial as a list of sections: the answer, the figures, the rounds, the people, the budget."""

from __future__ import annotations

from functools import partial

from cvpl.answers.sentences import bin_words, mechanism_name, stated_budget, trial_answer, trial_setting
from cvpl.estimates import FALSE_RATE
from cvpl.reports.sections.attackers import Fact, figures_table
from cvpl.reports.sections.audit import NO_GUARANTEE, steps_section
from cvpl.reports.sections.reviewers import REPRODUCE, SAME, configuration_section, inputs_table, shell, versions
from cvpl.reports.sections.section import (
    CLOSING,
    EVERYWHERE,
    REPORTS,
    SCREENS,
    TITLE,
    Column,
    Figure,
    Item,
    Remark,
    ReportSection,
    chart_of,
    table_of,
)
from cvpl.reports.sections.top import assumptions_section, policy_sentence
from cvpl.reports.sections.warnings import finding_lines, pointer_section, warning_item, warnings_section
from cvpl.result import TrialResult, TrialRound
from cvpl.wording import (
    UNKNOWN,
    mark_name,
    mark_typed,
    percent,
    points,
    printable,
    rounding_in_words,
    sentence,
    share_words,
    span,
    with_full_stop,
)

_WIDE_COLUMN = 90
"""Terminals at least this wide show all columns."""
_FEW_ROUNDS = 8
_WIDE_INTERVAL = 0.2
"""An interval of the risk that is wider than this says little."""
_UNEVEN = 0.2
"""A group that is linked this much more often than everybody needs more protection."""


def trial_sections(result: TrialResult) -> list[ReportSection]:
    """All sections of the report, from the answer to the provenance."""
    return [
        ReportSection(
            TITLE,
            f"Trial of {mechanism_name(result)} on {mark_name(result.inputs['original'].name)}",
            sentences=(Remark(trial_answer(result)),),
            outputs=EVERYWHERE,
        ),
        ReportSection("setting", sentences=(Remark(trial_setting(result), "quiet"),), outputs=REPORTS),
        _alarm(result),
        _unseen_section(result),
        _policies(result),
        pointer_section(result.warnings, len(result.warnings)),
        assumptions_section(result.assumptions),
        _trial_figures(result),
        _curves(result),
        _rounds(result),
        _exposure(result),
        _budget(result),
        _attackers(result),
        warnings_section([warning_item(warning) for warning in result.warnings]),
        steps_section(_trial_steps(result)),
        _provenance(result),
        _repeat(result),
        configuration_section(result.provenance.config),
        ReportSection(CLOSING, sentences=(Remark(NO_GUARANTEE),), outputs=REPORTS),
    ]


def _alarm(result: TrialResult) -> ReportSection:
    """What shows that a stated budget is not kept."""
    budget = result.budget
    if budget is None or not budget.alarm:
        return ReportSection("alarm")
    found = []
    if budget.lower_bound is not None and budget.epsilon is not None and budget.lower_bound > budget.epsilon:
        found.append("the lower bound on epsilon is above the stated epsilon")
    rates = [f"{item.false_rate:.0%}" for item in budget.allowed if item.exceeded]
    if rates:
        listed = ", ".join(rates)
        found.append(f"at a false-positive rate of {listed} the power is above what the budget allows, beyond error")
    text = f"The stated budget is not kept: {'; '.join(found)}."
    return ReportSection("alarm", sentences=(Remark(text, "alarm"),), outputs=EVERYWHERE)


def _unseen_section(result: TrialResult) -> ReportSection:
    """What the attackers cannot see in the releases, and what to do."""
    lines = finding_lines(result.preflight, result.suppress_below)
    remarks = tuple(Remark(line, "alarm" if closes else "plain") for closes, line in lines)
    return ReportSection("unseen", sentences=remarks, outputs=EVERYWHERE)


def _policies(result: TrialResult) -> ReportSection:
    remarks = tuple(
        Remark(f"{policy_sentence(policy)} A trial closes no gate.", "plain" if policy.met else "notice")
        for policy in result.policies
    )
    return ReportSection("policies", sentences=remarks, outputs=REPORTS)


def _curves(result: TrialResult) -> ReportSection:
    text = "Each line is one release. Above the dashed line, people who are in it are linked more often than others."
    if result.budget is not None and result.budget.region:
        text += " If the stated budget is kept, the lines stay in the shaded region, apart from chance."
    return ReportSection(
        "curves",
        "The power of every round",
        sentences=(Remark(text),),
        figures=(Figure(chart_of("round_curves", result)), Figure(chart_of("round_powers", result))),
        without_figure="There are no curves: no attacker counts.",
    )


def _rounds(result: TrialResult) -> ReportSection:
    """One row per round, and the reasons of those that failed."""
    rates = [power.false_rate for power in result.power]
    known = any(item.top1_hit_rate is not None for item in result.rounds)
    k = result.suppress_below
    columns: tuple[Column[TrialRound], ...] = (
        Column("round", lambda item: str(item.number)),
        Column("in", lambda item: f"{item.inside:,}"),
        Column("out", lambda item: f"{item.outside:,}"),
        Column(
            "released",
            lambda item: UNKNOWN if item.released is None else f"{item.released:,}",
            least_width=_WIDE_COLUMN,
        ),
        *(Column(f"at {rate:.0%}", partial(_power_at, rate, k)) for rate in rates),
        Column("top-1", lambda item: percent(item.top1_hit_rate, k=k), shown=known),
    )
    failed = tuple(
        Item(with_full_stop(f"Round {item.number} failed: {printable(item.failed.reason)}"))
        for item in result.rounds
        if item.failed is not None
    )
    text = f"The power of '{printable(result.attacker or '')}' at each false-positive rate."
    table = table_of("Rounds", result.finished, columns)
    remarks = (Remark(text, "quiet"),) if rates else ()
    return ReportSection("rounds", "Round by round", sentences=remarks, tables=(table,), items=failed, outputs=REPORTS)


def _power_at(rate: float, k: int, item: TrialRound) -> str:
    return percent(next((one.power for one in item.power if one.false_rate == rate), None), k=k)


def _exposure(result: TrialResult) -> ReportSection:
    found, k = result.exposure, result.suppress_below
    if found is None:
        return ReportSection("exposure")
    text = "How often single people are linked over the rounds: an average can hide a few who are linked every time."
    if found.top_inside is not None:
        text += (
            f" The tenth who are linked most often in one half of the rounds are linked in "
            f"{share_words(found.top_inside, k=k, of='')} of the others when they are in, and in "
            f"{share_words(found.top_outside, k=k, of='')} when they are out."
        )
    heading = "How often people are linked"
    table = table_of(
        heading,
        found.shares,
        (
            Column("linked", bin_words, "left"),
            Column("when in", lambda item: percent(item.inside, k=k)),
            Column("when out", lambda item: percent(item.outside, k=k)),
        ),
    )
    return ReportSection(
        "exposure",
        heading,
        sentences=(Remark(text),),
        figures=(Figure(chart_of("exposure", result), tabled=True),),
        tables=(table,),
        outputs=SCREENS,
    )


def _budget(result: TrialResult) -> ReportSection:
    """What the budget allows beside what was measured, and how the bound was found."""
    budget, k = result.budget, result.suppress_below
    if budget is None:
        return ReportSection("budget")
    unit = "one row" if budget.unit == "row" else "one unit (all rows of a group)"
    text = f"The unit of privacy is {unit}, added or removed."
    if budget.lower_bound is not None:
        text += (
            f" The bound rests on {budget.guesses:,} guesses who is in, among {budget.examples:,} coins; at least "
            f"{budget.right:,} were right."
        )
    table = table_of(
        "The largest power that the budget allows",
        budget.allowed,
        (
            Column("false-positive rate", lambda item: f"{item.false_rate:.0%}", "left"),
            Column("allowed", lambda item: percent(item.allowed)),
            Column("measured", lambda item: percent(item.power, k=k)),
            Column("lower end", lambda item: percent(item.low)),
            Column("", lambda item: "above" if item.exceeded else ""),
        ),
    )
    tables = (table,) if table.rows else ()
    return ReportSection("budget", "The privacy budget", sentences=(Remark(text),), tables=tables, outputs=REPORTS)


def _attackers(result: TrialResult) -> ReportSection:
    if len(result.attackers) < 2 and not any(row.disqualified for row in result.attackers):
        return ReportSection("attackers")
    rate = result.risk.false_rate if result.risk is not None else FALSE_RATE
    k = result.suppress_below
    table = table_of(
        "Attackers",
        result.attackers,
        (
            Column("attacker", lambda row: mark_name(row.name), "name"),
            Column(f"power at {rate:.0%}", lambda row: percent(row.power, k=k)),
            Column("interval", lambda row: span(row.low, row.high)),
            Column("top-1", lambda row: percent(row.top1_hit_rate, "", k=k), least_width=_WIDE_COLUMN),
            Column(
                "does not count",
                lambda row: sentence(printable("; ".join(row.disqualified))) if row.disqualified else "",
                "left",
            ),
        ),
    )
    return ReportSection("attackers", "The attackers", tables=(table,), outputs=SCREENS)


def _provenance(result: TrialResult) -> ReportSection:
    text = f"Seed {result.provenance.seed}. {versions(result.provenance.versions)} "
    text += rounding_in_words(result.suppress_below)
    return ReportSection(
        "provenance",
        "Provenance",
        sentences=(Remark(text),),
        tables=(inputs_table(result.inputs.items()),),
        starts_sheet=True,
    )


def _repeat(result: TrialResult) -> ReportSection:
    command = _command(result)
    text = f"{SAME}, if the mechanism gives the same release for the same seed"
    text += ":" if command else "; it was a user-defined function."
    return ReportSection("repeat", REPRODUCE, level=3, sentences=(Remark(text),), code=command or "")


def _command(result: TrialResult) -> str | None:
    """The command that repeats the trial, with the configuration in audit.yaml; None for a user-defined function."""
    if result.mechanism.kind == "function":
        return None
    words = ["cvpl", "trial", result.inputs["original"].name, "--mechanism", result.mechanism.name]
    if result.mechanism.strength is not None:
        words += ["--strength", str(result.mechanism.strength)]
    words += ["--rounds", str(len(result.rounds)), "--config", "audit.yaml"]
    if result.asked_for is not None:
        words += ["--attackers", ",".join(result.asked_for)]
    budget = result.budget
    if budget is not None and budget.epsilon is not None:
        words += ["--epsilon", f"{budget.epsilon:g}"]
    elif budget is not None and budget.noise is not None:
        words += ["--noise-multiplier", f"{budget.noise.multiplier:g}", "--noise-steps", str(budget.noise.steps)]
        words += ["--sampling", f"{budget.noise.sampling:g}"]
    elif budget is not None:
        words.append("--bound")
    if budget is not None and budget.delta:
        words += ["--delta", f"{budget.delta:g}"]
    if result.planted is not None:
        words += ["--plant", str(result.planted.planted)]
    if any(item.failed is not None for item in result.rounds):
        words += ["--on-failure", "continue"]
    return shell(words)


def _trial_figures(result: TrialResult) -> ReportSection:
    """The risk, the spread, the most exposed, the planted, and the bound on epsilon."""
    k, risk, found = result.suppress_below, result.risk, []
    if risk is not None:
        at = f"{risk.false_rate:.0%}"
        found.append(
            Fact(
                "risk",
                percent(risk.estimate, k=k),
                span(risk.low, risk.high),
                f"linked because of the release, beyond the {at} who would be linked anyway",
            )
        )
        power = result.power_at(risk.false_rate)
        ends = "" if power is None else span(power.low, power.high)
        found.append(
            Fact(f"power at {at}", percent(risk.power, k=k), ends, f"linked when {at} of those who are out are linked")
        )
    if result.spread is not None:
        found.append(
            Fact(
                "spread",
                f"{points(result.spread.deviation).removeprefix('+')} points",
                "",
                "the standard deviation of the power from draw to draw; the rounds go from "
                f"{percent(result.spread.smallest, k=k)} to {percent(result.spread.largest, k=k)}",
            )
        )
    exposed = result.exposure
    if exposed is not None and exposed.top_inside is not None:
        found.append(
            Fact(
                "most exposed tenth",
                percent(exposed.top_inside, k=k),
                span(exposed.top_inside_low, exposed.top_inside_high),
                f"how often they are linked when in; when out {percent(exposed.top_outside, k=k)}",
            )
        )
    if result.planted is not None:
        made = result.planted
        found.append(
            Fact(
                "planted people",
                percent(made.power),
                span(made.low, made.high),
                f"the power over {made.planted} made-up people with unusual values; everybody: "
                f"{percent(made.everybody, k=k)}",
            )
        )
    if result.budget is not None:
        bound = result.budget.lower_bound
        stated = stated_budget(result.budget) or "none was stated"
        value = UNKNOWN if bound is None else f"at least {bound:.2f}"
        what = f"with {result.budget.confidence:.0%} confidence; {stated}"
        found.append(Fact("epsilon", value, "", what))
    return ReportSection(
        "figures", "The figures", tables=(figures_table("Figures", found, "cards"),), outputs=EVERYWHERE
    )


def _trial_steps(result: TrialResult) -> list[str]:
    """What to do next, the most urgent first."""
    risk = result.risk
    if risk is None:
        return [
            "Do not base a decision on this trial: no attacker can distinguish people in the releases. Compare "
            "only columns that they have, and let attackers coarsen their data like them "
            f"({mark_typed('alignment: release')})."
        ]
    steps = [*_budget_steps(result), *_failure_steps(result)]
    if result.preflight:
        steps.append(
            "Do not take the risk for low: attackers cannot see through these releases, and whoever can may find more "
            "people. Let the mechanism keep the names, the units and the labels of columns, or leave such columns out."
        )
    if risk.low > 0:
        steps.append(
            "Strengthen the mechanism, or release fewer columns, and run the trial again with the same seed. "
            f"{mark_typed('cvpl audit')} of one release shows which columns give people away."
        )
    if risk.high - risk.low > _WIDE_INTERVAL:
        more = "more rounds" if len(result.finished) < _FEW_ROUNDS else "more people or more rounds"
        steps.append(f"The interval is wide: {more} narrow it.")
    steps += _people_steps(result)
    steps.append(
        "These figures are for releases made from half of the people. Audit the release that you will publish as well "
        f"({mark_typed('cvpl audit')}): it is one more draw, and made from all of them."
    )
    if result.budget is None:
        steps.append(
            f"If the mechanism states a privacy budget, hold it against the rounds: {mark_typed('--epsilon NUMBER')}."
        )
    return steps


def _budget_steps(result: TrialResult) -> list[str]:
    budget = result.budget
    if budget is None or budget.alarm is None:
        return []
    if budget.alarm:
        return [
            "Do not rely on the stated budget: look for a bug in the mechanism, for preprocessing on the data itself "
            "(bounds, categories, scaling), or for a budget that counts another unit than a row."
        ]
    return ["A bound below the stated budget proves nothing: rely on the mechanism's proof, and review its code."]


def _failure_steps(result: TrialResult) -> list[str]:
    if len(result.finished) == len(result.rounds):
        return []
    return ["Find out why rounds failed before you use the figures: the mechanism may fail for certain people."]


def _people_steps(result: TrialResult) -> list[str]:
    k, steps = result.suppress_below, []
    risk, exposed, planted = result.risk, result.exposure, result.planted
    if risk is not None and exposed is not None and (exposed.top_inside_low or 0.0) > risk.power + _UNEVEN:
        steps.append(
            f"Protect some people more than others: the most exposed tenth are linked in "
            f"{percent(exposed.top_inside, k=k)} of the rounds, everybody in {percent(risk.power, k=k)}."
        )
    if planted is not None and (planted.low or 0.0) > planted.everybody + _UNEVEN:
        steps.append(
            "Treat rare and extreme values: people with unusual values are linked far more often than others. Suppress "
            "or coarsen them, or bound numbers."
        )
    return steps
