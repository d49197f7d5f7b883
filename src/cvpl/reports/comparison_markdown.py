"""A comparison for a pull request: the order, what is said of each release, and what to doubt, in Markdown."""

from __future__ import annotations

from cvpl.reports.comparison import compared_risk, comparison_headline, own_verdict
from cvpl.reports.markdown import code, text
from cvpl.result import ComparedRelease, ComparisonResult
from cvpl.wording import UNKNOWN, percent, places, printable, sentence, span


def comparison_markdown(result: ComparisonResult) -> str:
    """The order of the releases, their verdicts and the warnings."""
    lines = [
        f"## Releases of {code(result.inputs['original'].name)} compared",
        "",
        f"**{text(comparison_headline(result))}**",
        "",
        "| place | release | risk | 95% interval | linked | control | top-1 | utility |",
        "|---|---|---|---|---|---|---|---|",
        *(_line(release) for release in result.releases),
        "",
        text(compared_risk(result)),
        "",
    ]
    for release in result.releases:
        lines += [f"- {code(release.name)}: {text(line)}" for _, line in own_verdict(release)]
    lines.append("")
    warned: dict[str, list[str]] = {}
    for release in result.releases:
        for warning in release.warnings:
            warned.setdefault(warning.message, []).append(release.name)
    if warned:
        lines += ["### Warnings", ""]
        for message, names in warned.items():
            where = "" if len(names) == len(result.releases) else f" ({', '.join(code(name) for name in names)})"
            lines.append(f"- {text(sentence(printable(message)))}{where}")
        lines.append("")
    lines.append("Estimates under the stated attackers, no guarantee; a stronger attacker may do better.")
    return "\n".join(lines) + "\n"


def _line(release: ComparedRelease) -> str:
    risk, low, high = release.shown
    place = release.risk_places
    cells = (
        UNKNOWN if place is None else places(place.first, place.last),
        code(release.name),
        percent(risk) if release.assessable else "not assessable",
        span(low, high) if release.assessable else "",
        percent(release.linkage_rate.estimate),
        percent(release.control_rate),
        percent(release.top1_hit_rate),
        UNKNOWN if release.utility.score is None else f"{release.utility.score:.3f}",
    )
    return f"| {' | '.join(cells)} |"
