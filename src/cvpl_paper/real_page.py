"""The page on the protocol of appendix E: its releases, the attackers' figures, and the three findings."""

from __future__ import annotations

from collections.abc import Sequence

from cvpl_paper.real_cells import SET_ASIDE
from cvpl_paper.real_findings import ASIDE, STRONGEST, all_findings, contributions, shown
from cvpl_paper.real_run import RealRun
from cvpl_paper.real_tables import RealTable

EVERYBODY = "everybody"
NOTABLY = 0.02
"""A figure that is higher by this much is reported."""

HOW = f"""\
Made by `cvpl reproduce --data FOLDER`. Every release is made here, by `cvpl protect`'s mechanisms: full-domain
generalization (at most 5% of the rows removed) and Mondrian (nobody removed). All other columns are untouched, and all
of them are compared. Truth is the row number. The threshold is 0.90.

- *everybody*: the whole table is protected and attacked; strangers are the originals with their own match left out.
- *people set aside*: {SET_ASIDE:.0%} of the people are drawn and set aside before protecting; they are the strangers.
- *paper* is the paper's attacker, whose blocks are decades of age (and sex, on Adult), by equality. *compatible* is
  the same attacker with blocks by what the released values can mean.
- *Fellegi-Sunter* weighs the pairs of *compatible*: with EM, and with the weights at which EM starts.
- *family* is `attacker: default` with the people set aside as control, without canaries; the headline is the strongest
  by power. Power at 5% is the true-positive rate at a 5% false-positive rate.
"""


def page(run: RealRun) -> str:
    """The whole page."""
    parts = ["# The paper's protocol on real data\n", HOW]
    for table in run.tables:
        if table.expected:
            parts.append(_verdicts(run, table))
    for table in run.tables:
        parts += [f"## {table.title}\n", _about(run, table), _everybody(run, table), _aside(run, table)]
        parts += [_kept(run, table)]
        if table.expected:
            parts += [finding.markdown() for finding in all_findings(run, table)]
        else:
            parts.append(_likewise(run, table))
    return "\n".join([*parts, _unknown(run)])


def _verdicts(run: RealRun, table: RealTable) -> str:
    rows = [[all_finding.number, all_finding.claim, all_finding.verdict] for all_finding in all_findings(run, table)]
    return _table(["finding", f"what the paper expects of {table.title}", "here"], rows)


def _about(run: RealRun, table: RealTable) -> str:
    seeds = "one draw" if len(table.seeds) == 1 else f"means of {len(table.seeds)} draws"
    return (
        f"Protected: {', '.join(table.protected)}. Untouched: {', '.join((*table.numbers, *table.labels))}. Left out: "
        f"{', '.join(table.kept_out)}. Figures are {seeds}.\n"
    )


def _everybody(run: RealRun, table: RealTable) -> str:
    rows = []
    for release in run.releases(table.name):

        def get(*path: str, release: str = release) -> str:
            return shown(run.mean(table.name, release, EVERYBODY, *path))

        paper, compatible = ("attackers", "paper"), ("attackers", "compatible")
        rows.append(
            [
                release,
                _levels(run, table, release),
                f"{run.mean(table.name, release, EVERYBODY, 'removed') or 0:,.0f}",
                get("utility"),
                get(*paper, "linkage_rate"),
                get(*paper, "false_link_rate"),
                get(*paper, "blocking_recall"),
                get(*paper, "top1_hit_rate"),
                get(*compatible, "linkage_rate"),
                get(*compatible, "blocking_recall"),
                get(*compatible, "top1_hit_rate"),
                shown(1 / int(release.split()[-1])) if " " in release else "1.000",
            ]
        )
    heads = ["release", "levels", "removed", "utility", "linkage rate", "false link rate", "blocking recall", "top-1"]
    heads += ["compatible: linkage rate", "blocking recall", "top-1", "1/k"]
    return f"### {table.title}, everybody\n\n{_table(heads, rows)}\n{not_assessable(run, table, EVERYBODY)}\n"


def not_assessable(run: RealRun, table: RealTable, people: str) -> str:
    """The paper's attackers that an audit would disqualify on a release, in any draw, and why."""
    found: dict[str, list[str]] = {}
    for release in run.releases(table.name):
        for who in ("paper", "compatible"):
            for fault in dict.fromkeys(
                fault
                for faults in run.values(table.name, release, people, "attackers", who, "faults")
                for fault in faults or ()
            ):
                found.setdefault(fault, []).append(f"{who} on {release}")
    text = "; ".join(f"{', '.join(who)}, since {fault}" for fault, who in found.items())
    return f"Not assessable by an audit's own rules: {text or 'none'}."


def _levels(run: RealRun, table: RealTable, release: str, people: str = EVERYBODY) -> str:
    levels = (run.values(table.name, release, people, "levels") or [None])[0]
    return "-" if levels is None else ", ".join(f"{name} {level}" for name, level in levels.items())


def _aside(run: RealRun, table: RealTable) -> str:
    rows = []
    for release in run.releases(table.name):

        def get(*path: str, release: str = release) -> str:
            return shown(run.mean(table.name, release, ASIDE, *path))

        row = [release]
        for who in ("paper", "compatible"):
            at = ("attackers", who)
            row += [get(*at, "linkage_rate"), get(*at, "base_rate"), get(*at, "attributable_rate")]
            row += [get(*at, "power", "0.05"), get(*at, "top1_hit_rate")]
        for estimate in ("start", "em"):
            at = ("fellegi_sunter", estimate)
            row += [get(*at, "power", "0.05"), get(*at, "top1_hit_rate")]
        names = dict.fromkeys(run.values(table.name, release, ASIDE, "family", "headline"))
        row += [", ".join(str(name) for name in names), get("family", "attributable_rate")]
        power, low, high = (get("family", name) for name in ("power", "power_low", "power_high"))
        row += [f"{power} ({low} to {high})", get("family", "top1_hit_rate")]
        who, most = most_found(run, table, release)
        rows.append([*row, f"{shown(most)} ({who})"])
    one = ["linkage rate", "strangers", "attributable", "power at 5%", "top-1"]
    heads = ["release", *(f"paper: {item}" if item == one[0] else item for item in one)]
    heads += [f"compatible: {item}" if item == one[0] else item for item in one]
    heads += ["Fellegi-Sunter at its start: power at 5%", "top-1", "by EM: power at 5%", "top-1"]
    heads += ["family: headline", "attributable", "power at 5%", "top-1", "highest top-1 of all"]
    chosen = [(item, _levels(run, table, item, ASIDE)) for item in run.releases(table.name)]
    levels = "; ".join(f"{release}: {item}" for release, item in chosen if item != "-")
    text = f"With fewer people other levels may lose least. Here (first draw): {levels}."
    text = f"{not_assessable(run, table, ASIDE)} {text}"
    return f"### {table.title}, people set aside\n\n{_table(heads, rows)}\n{text}\n"


def beyond_the_family(run: RealRun, table: RealTable, release: str) -> str | None:
    """The releases on which agreement by containment, a baseline, beats the family; None if it does not."""
    at = (table.name, release, ASIDE)
    members = next(run.all(*at))["family"]["members"]
    family = [run.mean(*at, "family", "members", name, "top1_hit_rate") or 0.0 for name in members]
    mine = [
        max(run.mean(*at, "fellegi_sunter", item, *path) or 0.0 for item in ("start", "em"))
        for path in (("top1_hit_rate",), ("power", "0.05"))
    ]
    theirs = [max(family), run.mean(*at, "family", "power") or 0.0]
    if all(one <= other + NOTABLY for one, other in zip(mine, theirs, strict=True)):
        return None
    return (
        f"{table.title}, {release}: Fellegi-Sunter by containment has a top-1 of {shown(mine[0])} and a power of "
        f"{shown(mine[1])}, the family at most {shown(theirs[0])} and {shown(theirs[1])}. Its members map a value to "
        "one released group and agree by equality; local recoding writes one value in several ways. The family's "
        "figures are too low there."
    )


def most_found(run: RealRun, table: RealTable, release: str) -> tuple[str, float]:
    """The attacker with the highest top-1 hit rate, and that rate; a headline is chosen by power instead."""
    members = next(run.all(table.name, release, ASIDE))["family"]["members"]
    ways = {name: ("family", "members", name) for name in members} | {
        "compatible": ("attackers", "compatible"),
        "Fellegi-Sunter at its start": ("fellegi_sunter", "start"),
        "Fellegi-Sunter by EM": ("fellegi_sunter", "em"),
    }
    found = {name: run.mean(table.name, release, ASIDE, *way, "top1_hit_rate") for name, way in ways.items()}
    known = {name: value for name, value in found.items() if value is not None}
    best = max(known, key=lambda name: known[name])
    return best, known[best]


def _kept(run: RealRun, table: RealTable) -> str:
    """The disclosure of a release that keeps a column which should stay out."""
    rows = []
    for release in STRONGEST:
        for column in ("", *table.kept_out):

            def get(*path: str, release: str = release, column: str = column) -> str:
                changed = {"changed": f"kept {column}"} if column else {}
                return shown(run.mean(table.name, release, ASIDE, *path, **changed))

            rarity = ("attackers", "rarity_reference") if column else ("family", "members", "rarity_reference")
            row = [release, column or "none", get("attackers", "paper", "linkage_rate")]
            row += [get("attackers", "paper", "base_rate"), get("attackers", "compatible", "top1_hit_rate")]
            rows.append([*row, get(*rarity, "power", "0.05"), get(*rarity, "top1_hit_rate")])
    heads = ["release", "kept besides", "paper: linkage rate", "strangers", "compatible: top-1"]
    heads += ["rarity_reference: power at 5%", "top-1"]
    return f"### {table.title}, a column kept that should not be\n\n{_table(heads, rows)}"


def _likewise(run: RealRun, table: RealTable) -> str:
    """The findings on a table for which the paper expects none."""
    lines = []
    for release in STRONGEST:
        power = contributions(run, table, release, "power_drop")[:2]
        rate, base = (
            shown(run.mean(table.name, release, ASIDE, "attackers", "paper", item))
            for item in ("linkage_rate", "base_rate")
        )
        lines.append(
            f"- {release}: {rate} linked, {base} of the strangers; the columns whose removal costs most power are "
            f"{' and '.join(f'{name} ({value:+.3f})' for name, value in power)}."
        )
    text = "\n".join(lines)
    return (
        f"### {table.title}, the findings likewise\n\n{text}\n\nThere is no income and no education here, so that the "
        "correlation of E1 cannot be broken. Labels that Mondrian writes as sets are read as sets by blocking and by "
        "the family's alignment; Fellegi-Sunter takes a set for a label of its own, which agrees with nobody's.\n"
    )


def _unknown(run: RealRun) -> str:
    """What cannot be seen without a control, alignment and column contributions."""
    lines = ["## What the paper could not have known\n"]
    for table in run.tables:
        for release in STRONGEST:
            top1 = run.mean(table.name, release, ASIDE, "attackers", "paper", "top1_hit_rate")
            who, best = most_found(run, table, release)
            rate = run.mean(table.name, release, ASIDE, "attackers", "paper", "linkage_rate")
            lines.append(
                f"- {table.title}, {release}: the paper's rate is {shown(rate)} and its best candidate is right for "
                f"{shown(top1)}; that of {who} is right for {shown(best)}, and 1/k is {shown(1 / 20)}."
            )
        beyond = (beyond_the_family(run, table, release) for release in STRONGEST)
        lines += [f"- {text}" for text in beyond if text is not None]
        power = run.mean(table.name, "unprotected", ASIDE, "attackers", "compatible", "power", "0.05")
        if power is not None and 0 < power < 1:
            lines.append(
                f"- {table.title}, unprotected: power at 5% is only {shown(power)}, since {0.05 / power:.1%} of the "
                "strangers find a record equal to theirs. Power measures whether a person is in the release; top-1 "
                "measures which record is theirs, once that is known."
            )
    lines += [
        "- k counts only the protected columns. It does not limit an attacker who also knows the others.",
        "- The rate must be compared with that of strangers, who must not be in the table: among duplicates, an "
        "original with its own match left out finds an equal record.",
        "- An interval wider than a block loses every match beyond its middle under equality; this lowers the "
        "blocking recall, not the risk.",
        "- A census weight (fnlwgt) or a credit amount is nearly an id, and education-num is education as a number: "
        "one untouched column undoes the protection.",
    ]
    return "\n".join([*lines, ""])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows), ""])
