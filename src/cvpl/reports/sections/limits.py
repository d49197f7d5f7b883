"""What an audit assumed, and what it does not promise."""

from __future__ import annotations

from typing import NamedTuple

from cvpl.result import AuditResult
from cvpl.wording import percent, printable


class Part(NamedTuple):
    """A title, and the lines under it."""

    title: str
    lines: tuple[str, ...]


def limits(result: AuditResult) -> list[Part]:
    """The threat model of this audit, the guarantees it does not give, and the limits of the method."""
    return [
        Part("The attackers", _threat_model(result)),
        Part(
            "No guarantee",
            (
                "The figures are estimates of what the stated attackers achieve. They bound no other attacker.",
                'No differential privacy, no information-theoretic bound, no proof of anonymity, no verdict "safe".',
                "A policy is met or not met under the stated attackers; a stronger one may do better.",
                "Low figures can mean weak attackers, high ones can hold look-alikes: read them beside the control.",
            ),
        ),
        Part(
            "Limits of the method",
            (
                "It asks whether a record could pass for a person. It finds nobody's name, and says nothing of what "
                "could be learnt about a person without a link.",
                "Blocking, encoding, scaling, projection, similarity and threshold all move the figures. They are "
                "assumptions, and stand below under the configuration.",
                "A column's part is a part in a comparison, not a cause: correlated columns stand in for each other.",
                "Intervals cover the draw of people under the same attackers and release process, nothing else.",
                "Several releases of the same people, and data that attackers have from elsewhere, are not looked at.",
                "It complements formal criteria, such as k-anonymity or differential privacy, and replaces none.",
                "It is made for auditing a release before it leaves the house, never for finding people in one.",
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
        f"They hold the release and, as background knowledge, the originals themselves: {people}, {columns}.",
        "They know neither the true matches nor how the release was made, and no sensitive column.",
        "They compare records, within blocks or everybody with everybody, and take the best candidate.",
    ]
    if any(setting.get("evidence") in ("reference", "density") for setting in settings):
        lines.append("Some also know of people who are not in the release: half of the control.")
    if any(setting.get("alignment") == "release" for setting in settings):
        lines.append("Some coarsen their own data as they see the release coarsened.")
    return tuple(lines)
