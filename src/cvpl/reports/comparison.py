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
    parts = [release for release in result.releases if release.risk_places is not None]
    count = len(result.releases)
    if not parts:
        return "The releases cannot be put in order: no risk is known of any of them."
    most = [item for item in parts if item.risk_places is not None and item.risk_places.first == 1]
    least = [item for item in parts if item.risk_places is not None and item.risk_places.last == len(parts)]
    if len(parts) == 1:
        risk, low, high = parts[0].shown
        ends = span(low, high)
        text = f"'{printable(parts[0].name)}' has a risk of {percent(risk)} (95% interval {ends})."
        if not ends:
            text = f"The risk of '{printable(parts[0].name)}' has no interval."
    elif len(most) == len(parts) and len(least) == len(parts):
        text = f"The risks of {len(parts)} releases cannot be told apart."
    else:
        text = f"{_named(most)} has the highest risk, {_named(least)} the lowest."
    if len(parts) < count:
        text += f" Of {count - len(parts)} nothing can be said."
    if all(item.risk is not None and item.risk.basis == "true_matches" for item in parts):
        why = "The control is too small" if "control" in result.inputs else "There is no control"
        text += f" {why}: the risks rest on the true matches, by how often the best candidate is right."
    return text


def compared_risk(result: ComparisonResult) -> str:
    """What the column of risks holds, and how much of it is chance; nothing where no risk is known."""
    risks = [release.risk for release in result.releases if release.risk is not None]
    rates = sorted({risk.false_rate for risk in risks if risk.false_rate is not None})
    if not risks and any(release.power is not None for release in result.releases):
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
    columns = [column for release in result.releases for column in release.feature_contribution.columns]
    if any(column.power_drop is not None for column in columns):
        return "power_drop", "Change of the power at 5%, in points, if the column is left out."
    if any(column.link is not None for column in columns):
        return "link", "Shares of the similarity of the links found."
    return "structural", "Shares of the space in which records are compared."


def _show_order(result: ComparisonResult, console: Console) -> None:
    heading("From the highest risk to the lowest", console)
    heads = [("place", "right"), ("release", "left"), ("risk", "right"), ("95% interval", "right")]
    table = plain_table(*heads, ("utility", "right"), ("by utility", "right"), ("efficient", "left"))
    for release in result.releases:
        risk, low, high = release.shown
        efficient = UNKNOWN if release.on_frontier is None else "yes" if release.on_frontier else "no"
        table.add_row(
            _place(release.risk_places),
            Text(printable(release.name)),
            percent(risk) if release.assessable else "not assessable",
            span(low, high) if release.assessable else "",
            UNKNOWN if release.utility.score is None else f"{release.utility.score:.3f}",
            _place(release.utility_places),
            efficient,
        )
    console.print(table)
    note = "Places such as 2-3 are tied: the difference is within error. Efficient: no other has less risk and more "
    console.print(Text(f"{compared_risk(result)} {note}utility.".lstrip(), style="dim"))
    for release in result.releases:
        for closes, line in own_verdict(release):
            mark, style = ("!", "bold red") if closes else ("-", "")
            hanging(mark, f"'{printable(release.name)}': {line}", console, style=style)
    for release in result.releases:
        if release.beaten_by:
            clear = " (risk lower beyond error)" if release.clearly_beaten_by else ""
            by = ", ".join(f"'{printable(name)}'" for name in release.clearly_beaten_by or release.beaten_by)
            hanging("-", f"'{printable(release.name)}' is beaten by {by}{clear}.", console)


def _show_figures(result: ComparisonResult, console: Console) -> None:
    heading("The strongest attacker of each", console)
    names = ("attributable", "95% interval", "linked", "control", "top-1")
    table = plain_table(("release", "left"), ("attacker", "left"), *((name, "right") for name in names))
    for release in result.releases:
        found = release.attributable_rate
        table.add_row(
            Text(printable(release.name)),
            Text(printable(release.attacker)),
            percent(None if found is None else found.estimate),
            "" if found is None else span(found.low, found.high),
            percent(release.linkage_rate.estimate),
            percent(release.control_rate),
            percent(release.top1_hit_rate),
        )
    console.print(table)
    if len({release.attacker for release in result.releases}) > 1:
        text = "Attackers differ: compare releases by risk. A threshold means something else to each of them."
        console.print(Text(text, style="dim"))


def _show_differences(result: ComparisonResult, console: Console) -> None:
    found = [difference for difference in result.differences if difference.figure in ("risk", "power")]
    if not found:
        return
    heading("Differences of risk, in points, paired person by person", console)
    table = plain_table(
        ("release", "left"), ("minus", "left"), ("points", "right"), ("interval", "right"), ("", "left")
    )
    for item in found:
        ends = "" if item.low is None or item.high is None else f"{points(item.low)} to {points(item.high)}"
        names = Text(printable(item.first)), Text(printable(item.second))
        table.add_row(*names, points(item.estimate), ends, "tied" if item.tied else "differ")
    console.print(table)
    for reason in dict.fromkeys(item.method for item in found if item.low is None):
        hanging("-", sentence(f"no interval: {printable(reason.removeprefix(_REFUSED))}"), console)


def _show_columns(result: ComparisonResult, console: Console) -> None:
    figure, meaning = drop_or_share(result)
    text = {release.name: {c.column: c for c in release.feature_contribution.columns} for release in result.releases}
    columns = dict.fromkeys(column for found in text.values() for column in found)
    if not columns:
        return
    heading("What makes records alike, release by release", console)
    names = [printable(release.name) for release in result.releases]
    short = sum(map(len, names)) + 2 * len(names) + max(map(len, columns)) > console.width
    heads = [str(at) for at in range(1, len(names) + 1)] if short else names
    table = plain_table(("column", "left"), *((head, "right") for head in heads))
    for column in sorted(
        columns, key=lambda name: -max(_value(item.get(name), figure) or 0.0 for item in text.values())
    ):
        cells = [_value(found.get(column), figure) for found in text.values()]
        shown = [points(None if cell is None else -cell) if figure == "power_drop" else percent(cell) for cell in cells]
        table.add_row(Text(printable(column)), *shown)
    console.print(table)
    if short:
        console.print(Text(", ".join(f"{head}: {name}" for head, name in zip(heads, names, strict=True)), style="dim"))
    console.print(Text(meaning, style="dim"))


def _show_utility(result: ComparisonResult, console: Console) -> None:
    heading("Utility", console)
    names = ("correlations", "marginals", "prediction", "distances")
    table = plain_table(("release", "left"), *((name, "right") for name in names))
    for release in result.releases:
        kept = {figure: getattr(release.utility, figure) for figure in _KEPT}
        if release.utility.distance_basis == "distributions":  # close to 1 for almost anything, and not to be compared
            kept["distance_preservation"] = None
        values = kept.values()
        table.add_row(
            Text(printable(release.name)), *(UNKNOWN if value is None else f"{value:.3f}" for value in values)
        )
    console.print(table)
    counted = [name for name, figure in zip(names, _KEPT, strict=True) if figure in result.utility_figures]
    text = f"Compared is the mean of {', '.join(counted)}." if counted else "No figure is known of all releases."
    console.print(Text(text, style="dim"))
    for release in result.releases:
        if release.utility.reason is not None:
            hanging("-", f"'{printable(release.name)}' has no place: {printable(release.utility.reason)}.", console)


def _show_doubts(result: ComparisonResult, console: Console) -> None:
    """Warnings, those that stand for every release once."""
    text: dict[str, list[str]] = {}
    for release in result.releases:
        for warning in release.warnings:
            text.setdefault(warning.message, []).append(release.name)
    if not text:
        return
    heading("Read this before using a figure", console, style="bold yellow")
    everywhere = len(result.releases)
    lines = []
    for message, names in text.items():
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
        " or ".join(f"'{printable(item.name)}'" for item in found)
        if len(found) <= 3
        else f"one of {len(found)} releases"
    )


def _place(found: Places | None) -> str:
    return UNKNOWN if found is None else places(found.first, found.last)


def _quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) + ": "
