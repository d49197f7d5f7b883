"""The report of a trial as a list of sections: the answer, the figures, the rounds, the people, the budget."""

from __future__ import annotations

from cvpl.answers.trial_answer import answer, bin_words, mechanism_name, setting
from cvpl.estimates import FALSE_RATE
from cvpl.reports.preflight import finding_lines
from cvpl.reports.sections.assumptions import assumptions_section
from cvpl.reports.sections.audit import NO_GUARANTEE, steps_section
from cvpl.reports.sections.provenance import REPRODUCE, SAME, configuration_section, inputs_table, shell, versions
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
    Section,
    Table,
    chart_of,
)
from cvpl.reports.sections.top import policy_sentence
from cvpl.reports.sections.trial_figures import trial_figures
from cvpl.reports.sections.trial_steps import trial_steps
from cvpl.reports.sections.warnings import pointer_section, warning_item, warnings_section
from cvpl.result import TrialResult
from cvpl.wording import (
    UNKNOWN,
    in_words,
    named,
    percent,
    printable,
    rounding_in_words,
    sentence,
    span,
    stopped,
)

_WIDE = 90


def trial_sections(result: TrialResult) -> list[Section]:
    """All sections of the report, from the answer to the provenance."""
    return [
        Section(
            TITLE,
            f"Trial of {mechanism_name(result)} on {named(result.inputs['original'].name)}",
            sentences=(Remark(answer(result)),),
            outputs=EVERYWHERE,
        ),
        Section("setting", sentences=(Remark(setting(result), "quiet"),), outputs=REPORTS),
        _alarm(result),
        _unseen(result),
        _policies(result),
        pointer_section(result.warnings, len(result.warnings)),
        assumptions_section(result.assumptions),
        trial_figures(result),
        _curves(result),
        _rounds(result),
        _exposure(result),
        _budget(result),
        _attackers(result),
        warnings_section([warning_item(warning) for warning in result.warnings]),
        steps_section(trial_steps(result)),
        _provenance(result),
        _repeat(result),
        configuration_section(result.provenance.config),
        Section(CLOSING, sentences=(Remark(NO_GUARANTEE),), outputs=REPORTS),
    ]


def _alarm(result: TrialResult) -> Section:
    """What shows that a stated budget is not kept."""
    budget = result.budget
    if budget is None or not budget.alarm:
        return Section("alarm")
    found = []
    if budget.lower_bound is not None and budget.epsilon is not None and budget.lower_bound > budget.epsilon:
        found.append("the lower bound on epsilon is above the stated epsilon")
    rates = [f"{item.false_rate:.0%}" for item in budget.allowed if item.exceeded]
    if rates:
        listed = ", ".join(rates)
        found.append(f"at a false-positive rate of {listed} the power is above what the budget allows, beyond error")
    text = f"The stated budget is not kept: {'; '.join(found)}."
    return Section("alarm", sentences=(Remark(text, "alarm"),), outputs=EVERYWHERE)


def _unseen(result: TrialResult) -> Section:
    """What the attackers cannot see in the releases, and what to do."""
    lines = finding_lines(result.preflight, result.suppress_below)
    remarks = tuple(Remark(line, "alarm" if closes else "plain") for closes, line in lines)
    return Section("unseen", sentences=remarks, outputs=EVERYWHERE)


def _policies(result: TrialResult) -> Section:
    remarks = tuple(
        Remark(f"{policy_sentence(policy)} A trial closes no gate.", "plain" if policy.met else "notice")
        for policy in result.policies
    )
    return Section("policies", sentences=remarks, outputs=REPORTS)


def _curves(result: TrialResult) -> Section:
    text = "Each line is one release. Above the dashed line, people who are in it are linked more often than others."
    if result.budget is not None and result.budget.region:
        text += " If the stated budget is kept, the lines stay in the shaded region, apart from chance."
    return Section(
        "curves",
        "The power of every round",
        sentences=(Remark(text),),
        figures=(Figure(chart_of("round_curves", result)), Figure(chart_of("round_powers", result))),
        without_figure="There are no curves: no attacker counts.",
    )


def _rounds(result: TrialResult) -> Section:
    """One row per round, and the reasons of those that failed."""
    rates = [power.false_rate for power in result.power]
    known = any(item.top1_hit_rate is not None for item in result.rounds)
    columns = [
        Column("round"),
        Column("in"),
        Column("out"),
        Column("released", least_width=_WIDE),
        *(Column(f"at {rate:.0%}") for rate in rates),
        *([Column("top-1")] if known else []),
    ]
    k, rows = result.suppress_below, []
    for item in result.finished:
        powers = {one.false_rate: one.power for one in item.power}
        rows.append(
            (
                str(item.number),
                f"{item.inside:,}",
                f"{item.outside:,}",
                UNKNOWN if item.released is None else f"{item.released:,}",
                *(percent(powers.get(rate), k=k) for rate in rates),
                *([percent(item.top1_hit_rate, k=k)] if known else []),
            )
        )
    failed = tuple(
        Item(stopped(f"Round {item.number} failed: {printable(item.failed.reason)}"))
        for item in result.rounds
        if item.failed is not None
    )
    text = f"The power of '{printable(result.attacker or '')}' at each false-positive rate."
    table = Table("Rounds", tuple(columns), tuple(rows))
    remarks = (Remark(text, "quiet"),) if rates else ()
    return Section("rounds", "Round by round", sentences=remarks, tables=(table,), items=failed, outputs=REPORTS)


def _exposure(result: TrialResult) -> Section:
    found, k = result.exposure, result.suppress_below
    if found is None:
        return Section("exposure")
    text = "How often single people are linked over the rounds: an average can hide a few who are linked every time."
    if found.top_inside is not None:
        text += (
            f" The tenth who are linked most often in one half of the rounds are linked in "
            f"{in_words(found.top_inside, k=k, of='')} of the others when they are in, and in "
            f"{in_words(found.top_outside, k=k, of='')} when they are out."
        )
    columns = (Column("linked", "left"), Column("when in"), Column("when out"))
    rows = tuple((bin_words(item), percent(item.inside, k=k), percent(item.outside, k=k)) for item in found.shares)
    return Section(
        "exposure",
        "How often people are linked",
        sentences=(Remark(text),),
        figures=(Figure(chart_of("exposure", result), tabled=True),),
        tables=(Table("How often people are linked", columns, rows),),
        outputs=SCREENS,
    )


def _budget(result: TrialResult) -> Section:
    """What the budget allows beside what was measured, and how the bound was found."""
    budget, k = result.budget, result.suppress_below
    if budget is None:
        return Section("budget")
    unit = "one row" if budget.unit == "row" else "one unit (all rows of a group)"
    text = f"The unit of privacy is {unit}, added or removed."
    if budget.lower_bound is not None:
        text += (
            f" The bound rests on {budget.guesses:,} guesses who is in, among {budget.examples:,} coins; at least "
            f"{budget.right:,} were right."
        )
    columns = (Column("false-positive rate", "left"), *map(Column, ("allowed", "measured", "lower end", "")))
    rows = tuple(
        (
            f"{item.false_rate:.0%}",
            percent(item.allowed),
            percent(item.power, k=k),
            percent(item.low),
            "above" if item.exceeded else "",
        )
        for item in budget.allowed
    )
    tables = (Table("The largest power that the budget allows", columns, rows),) if rows else ()
    return Section("budget", "The privacy budget", sentences=(Remark(text),), tables=tables, outputs=REPORTS)


def _attackers(result: TrialResult) -> Section:
    if len(result.attackers) < 2 and not any(row.disqualified for row in result.attackers):
        return Section("attackers")
    rate = result.risk.false_rate if result.risk is not None else FALSE_RATE
    columns = (
        Column("attacker", "name"),
        Column(f"power at {rate:.0%}"),
        Column("interval"),
        Column("top-1", least_width=_WIDE),
        Column("does not count", "left"),
    )
    k = result.suppress_below
    rows = tuple(
        (
            named(row.name),
            percent(row.power, k=k),
            span(row.low, row.high),
            percent(row.top1_hit_rate, "", k=k),
            sentence(printable("; ".join(row.disqualified))) if row.disqualified else "",
        )
        for row in result.attackers
    )
    return Section("attackers", "The attackers", tables=(Table("Attackers", columns, rows),), outputs=SCREENS)


def _provenance(result: TrialResult) -> Section:
    text = f"Seed {result.provenance.seed}. {versions(result.provenance.versions)} "
    text += rounding_in_words(result.suppress_below)
    return Section(
        "provenance",
        "Provenance",
        sentences=(Remark(text),),
        tables=(inputs_table(result.inputs.items()),),
        starts_sheet=True,
    )


def _repeat(result: TrialResult) -> Section:
    command = _command(result)
    text = f"{SAME}, if the mechanism gives the same release for the same seed"
    text += ":" if command else "; it was a user-defined function."
    return Section("repeat", REPRODUCE, level=3, sentences=(Remark(text),), code=command or "")


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
