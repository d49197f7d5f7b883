"""The assumptions and limits of an audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cvpl.result import AuditResult
from cvpl.wording import percent, printable


class Part(NamedTuple):
    """A title and the lines below it."""

    title: str
    lines: tuple[str, ...]


def limits(result: AuditResult) -> list[Part]:
    """The threat model of this audit, the missing guarantees, and the limits of the method."""
    return [
        Part("The attackers", _threat_model(result)),
        Part(
            "No guarantee",
            (
                "The figures are estimates of what the stated attackers achieve. They do not bound other attackers.",
                "No differential privacy, no information-theoretic bound, no proof of anonymity, no clearance.",
                "A policy is met or not met under the stated attackers; a stronger one may do better.",
                "Low figures can mean weak attackers, high ones may be look-alikes: compare them with the control.",
            ),
        ),
        Part(
            "Limits of the method",
            (
                "It measures whether records can be linked to people. It does not find names, and does not measure "
                "what can be learned about a person without a link.",
                "Blocking, encoding, scaling, projection, similarity and threshold all affect the figures. They are "
                "assumptions, listed below in the configuration.",
                "A column's contribution is not a cause: correlated columns can replace each other.",
                "Intervals cover the sampling of people under the same attackers and release process, nothing else.",
                "Several releases of the same people, and data that attackers have from elsewhere, are not covered.",
                "It complements formal criteria such as k-anonymity or differential privacy; it does not replace them.",
                "It is for auditing a table before it is released, never for finding people in a release.",
            ),
        ),
    ]


def _threat_model(result: AuditResult) -> tuple[str, ...]:
    settings = [row.settings for row in result.attackers]
    known = {tuple(setting.get("knows") or ()) for setting in settings}
    named = sorted({printable(column) for some in known for column in some})
    columns = "every observable column"
    if () not in known and named:
        columns = f"at most these columns: {', '.join(named)}"
    shares = {float(setting.get("knows_people", 1.0)) for setting in settings}
    people = "every person" if shares <= {1.0} else f"{percent(max(shares))} of the people"
    lines = [
        f"They have the release and, as background knowledge, the originals themselves: {people}, {columns}.",
        *_errors(settings),
        "They do not know the true matches, how the release was made, or any sensitive column.",
        "They compare records, within blocks or all with all, and take the best candidate.",
    ]
    if any(setting.get("evidence") in ("reference", "density") for setting in settings):
        lines.append("Some also know people who are not in the release: half of the control.")
    if any(setting.get("alignment") == "release" for setting in settings):
        lines.append("Some coarsen their own data to match the release.")
    return tuple(lines)


def _errors(settings: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    shares = {float(setting.get("errors", 0.0)) for setting in settings}
    return (f"Up to {percent(max(shares))} of the values that they know are wrong.",) if max(shares, default=0) else ()
