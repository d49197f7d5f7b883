"""A comparison on the terminal: the order, the figures behind it, the differences, the columns, what to doubt.

Whatever comes from outside (names of columns, files and attackers) is printed as Text, never as markup, and with
anything that a terminal would obey spelled out.
"""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from cvpl.reports.layout import bullets, hanging, heading, plain_table
from cvpl.reports.preflight import finding_lines
from cvpl.result import ComparedRelease, ComparisonResult, Contribution, Places
from cvpl.wording import UNKNOWN, percent, places, points, printable, sentence, span

_REFUSED = "refused: "
_KEPT = ("correlation_preservation", "marginal_similarity", "downstream_accuracy_ratio", "distance_preservation")


def show_comparison(result: ComparisonResult, console: Console) -> None:
    """The whole page."""
    console.print(Text(comparison_headline(result), style="bold"))
    _show_order(result, console)
    _show_figures(result, console)
    _show_differences(result, console)
    _show_columns(result, console)
    _show_utility(result, console)
    _show_doubts(result, console)
    console.print()
    text = (
        "These are estimates under the stated attackers, no guarantee; a stronger attacker may do better. Each "
        "interval holds by itself: among many pairs, some differ by chance."
    )
    console.print(Text(text, style="dim"))


def comparison_headline(result: ComparisonResult) -> str:
    """The order in one sentence."""
    told = [it for it in result.releases if it.risk_places is not None]
    count = len(result.releases)
    if not told:
        return "The releases cannot be put in order: no risk is known of any of them."
    most = [it for it in told if it.risk_places is not None and it.risk_places.first == 1]
    least = [it for it in told if it.risk_places is not None and it.risk_places.last == len(told)]
    if len(told) == 1:
        risk, low, high = told[0].shown
        ends = span(low, high)
        text = f"'{printable(told[0].name)}' has a risk of {percent(risk)} (95% interval {ends})."
        if not ends:
            text = f"The risk of '{printable(told[0].name)}' has no interval."
    elif len(most) == len(told) and len(least) == len(told):
        text = f"The risks of {len(told)} releases cannot be told apart."
    else:
        text = f"{_named(most)} has the highest risk, {_named(least)} the lowest."
    if len(told) < count:
        text += f" Of {count - len(told)} nothing can be said."
    if all(it.risk is not None and it.risk.basis == "true_matches" for it in told):
        why = "The control is too small" if "control" in result.inputs else "There is no control"
        text += f" {why}: the risks rest on the true matches, by how often the best candidate is right."
    return text


def compared_risk(result: ComparisonResult) -> str:
    """What the column of risks holds, and how much of it is chance; nothing where no risk is known."""
    risks = [it.risk for it in result.releases if it.risk is not None]
    rates = sorted({risk.false_rate for risk in risks if risk.false_rate is not None})
    if not risks and any(it.power is not None for it in result.releases):
        rates = [result.false_rate]
    if rates:
        chance = " or ".join(f"{rate:.0%}" for rate in rates)
        text = f"Risk: people linked because of the release, beyond chance, which is {chance} of the control."
        return text if len(rates) == 1 else f"{text} Risks that are read at different shares are not ranked together."
    return "Risk: how often the best candidate is the right person, beyond a blind guess." if risks else ""


def own_verdict(release: ComparedRelease) -> list[tuple[bool, str]]:
    """What is said of one release by itself: its verdict, why it has no place, and whatever closes a gate.

    Each line goes with whether it closes a gate.
    """
    lines = [] if release.verdict is None else [(False, printable(release.verdict.sentence))]
    if release.unranked is not None and release.risk is not None:
        lines.append((False, sentence(f"no place: {printable(release.unranked)}")))
    closing = [finding for finding in release.preflight if finding.closes_gate]
    lines += [(True, f"{line} A gate stays closed.") for _, line in finding_lines(closing)]
    return lines


def drop_or_share(result: ComparisonResult) -> tuple[str, str]:
    """Which figure of the columns is shown: drops of power where any is known, else shares of the links."""
    columns = [it for release in result.releases for it in release.feature_contribution.columns]
    if any(it.power_drop is not None for it in columns):
        return "power_drop", "Change of the power at 5%, in points, if the column is left out."
    if any(it.link is not None for it in columns):
        return "link", "Shares of the similarity of the links found."
    return "structural", "Shares of the space in which records are compared."


def _show_order(result: ComparisonResult, console: Console) -> None:
    heading("From the highest risk to the lowest", console)
    heads = [("place", "right"), ("release", "left"), ("risk", "right"), ("95% interval", "right")]
    table = plain_table(*heads, ("utility", "right"), ("by utility", "right"), ("efficient", "left"))
    for it in result.releases:
        risk, low, high = it.shown
        efficient = UNKNOWN if it.on_frontier is None else "yes" if it.on_frontier else "no"
        table.add_row(
            _place(it.risk_places),
            Text(printable(it.name)),
            percent(risk) if it.assessable else "not assessable",
            span(low, high) if it.assessable else "",
            UNKNOWN if it.utility.score is None else f"{it.utility.score:.3f}",
            _place(it.utility_places),
            efficient,
        )
    console.print(table)
    note = "Places such as 2-3 are tied: the difference is within error. Efficient: no other has less risk and more "
    console.print(Text(f"{compared_risk(result)} {note}utility.".lstrip(), style="dim"))
    for it in result.releases:
        for closes, line in own_verdict(it):
            mark, style = ("!", "bold red") if closes else ("-", "")
            hanging(mark, f"'{printable(it.name)}': {line}", console, style=style)
    for it in result.releases:
        if it.beaten_by:
            clear = " (risk lower beyond error)" if it.clearly_beaten_by else ""
            by = ", ".join(f"'{printable(name)}'" for name in it.clearly_beaten_by or it.beaten_by)
            hanging("-", f"'{printable(it.name)}' is beaten by {by}{clear}.", console)


def _show_figures(result: ComparisonResult, console: Console) -> None:
    heading("The strongest attacker of each", console)
    names = ("attributable", "95% interval", "linked", "control", "top-1")
    table = plain_table(("release", "left"), ("attacker", "left"), *((name, "right") for name in names))
    for it in result.releases:
        found = it.attributable_rate
        table.add_row(
            Text(printable(it.name)),
            Text(printable(it.attacker)),
            percent(None if found is None else found.estimate),
            "" if found is None else span(found.low, found.high),
            percent(it.linkage_rate.estimate),
            percent(it.control_rate),
            percent(it.top1_hit_rate),
        )
    console.print(table)
    if len({it.attacker for it in result.releases}) > 1:
        text = "Attackers differ: compare releases by risk. A threshold means something else to each of them."
        console.print(Text(text, style="dim"))


def _show_differences(result: ComparisonResult, console: Console) -> None:
    found = [it for it in result.differences if it.figure in ("risk", "power")]
    if not found:
        return
    heading("Differences of risk, in points, paired person by person", console)
    table = plain_table(
        ("release", "left"), ("minus", "left"), ("points", "right"), ("interval", "right"), ("", "left")
    )
    for it in found:
        ends = "" if it.low is None or it.high is None else f"{points(it.low)} to {points(it.high)}"
        names = Text(printable(it.first)), Text(printable(it.second))
        table.add_row(*names, points(it.estimate), ends, "tied" if it.tied else "differ")
    console.print(table)
    for reason in dict.fromkeys(it.method for it in found if it.low is None):
        hanging("-", sentence(f"no interval: {printable(reason.removeprefix(_REFUSED))}"), console)


def _show_columns(result: ComparisonResult, console: Console) -> None:
    figure, meaning = drop_or_share(result)
    told = {it.name: {c.column: c for c in it.feature_contribution.columns} for it in result.releases}
    columns = dict.fromkeys(column for found in told.values() for column in found)
    if not columns:
        return
    heading("What makes records alike, release by release", console)
    names = [printable(it.name) for it in result.releases]
    short = sum(map(len, names)) + 2 * len(names) + max(map(len, columns)) > console.width
    heads = [str(at) for at in range(1, len(names) + 1)] if short else names
    table = plain_table(("column", "left"), *((head, "right") for head in heads))
    for column in sorted(columns, key=lambda name: -max(_value(it.get(name), figure) or 0.0 for it in told.values())):
        cells = [_value(found.get(column), figure) for found in told.values()]
        shown = [points(None if it is None else -it) if figure == "power_drop" else percent(it) for it in cells]
        table.add_row(Text(printable(column)), *shown)
    console.print(table)
    if short:
        console.print(Text(", ".join(f"{head}: {name}" for head, name in zip(heads, names, strict=True)), style="dim"))
    console.print(Text(meaning, style="dim"))


def _show_utility(result: ComparisonResult, console: Console) -> None:
    heading("Utility", console)
    names = ("correlations", "marginals", "prediction", "distances")
    table = plain_table(("release", "left"), *((name, "right") for name in names))
    for it in result.releases:
        kept = {figure: getattr(it.utility, figure) for figure in _KEPT}
        if it.utility.distance_basis == "distributions":  # close to 1 for almost anything, and not to be compared
            kept["distance_preservation"] = None
        values = kept.values()
        table.add_row(Text(printable(it.name)), *(UNKNOWN if value is None else f"{value:.3f}" for value in values))
    console.print(table)
    counted = [name for name, figure in zip(names, _KEPT, strict=True) if figure in result.utility_figures]
    text = f"Compared is the mean of {', '.join(counted)}." if counted else "No figure is known of all releases."
    console.print(Text(text, style="dim"))
    for it in result.releases:
        if it.utility.reason is not None:
            hanging("-", f"'{printable(it.name)}' has no place: {printable(it.utility.reason)}.", console)


def _show_doubts(result: ComparisonResult, console: Console) -> None:
    """Warnings, those that stand for every release once."""
    told: dict[str, list[str]] = {}
    for it in result.releases:
        for warning in it.warnings:
            told.setdefault(warning.message, []).append(it.name)
    if not told:
        return
    heading("Read this before using a figure", console, style="bold yellow")
    everywhere = len(result.releases)
    lines = []
    for message, names in told.items():
        whose = "" if len(names) == everywhere else _quoted(names)
        lines.append(f"{whose}{message if whose else sentence(message)}" + ("." if whose else ""))
    bullets(lines, console)


def _value(found: Contribution | None, figure: str) -> float | None:
    if found is None:
        return None
    value: float | None = getattr(found, figure)
    return value


def _named(found: list[ComparedRelease]) -> str:
    """One of them, where several are tied."""
    return (
        " or ".join(f"'{printable(it.name)}'" for it in found) if len(found) <= 3 else f"one of {len(found)} releases"
    )


def _place(found: Places | None) -> str:
    return UNKNOWN if found is None else places(found.first, found.last)


def _quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) + ": "
