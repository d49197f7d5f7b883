"""How to reproduce an audit: input checksums, seed, versions, command and configuration."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from cvpl.config.attackers import FAMILY
from cvpl.reports.sections.section import (
    PAGE,
    WRITTEN,
    Column,
    Output,
    Remark,
    ReportSection,
    ReportTable,
    table_of,
)
from cvpl.result import AuditResult, Input
from cvpl.wording import UNKNOWN, is_unseen, named, printable, rounding_in_words

REPRODUCE = "How to reproduce it"
SAME = "The same inputs, configuration and seed give the same figures"


def provenance_section(result: AuditResult) -> ReportSection:
    """The tables, the seed and the versions."""
    text = f"Seed {result.provenance.seed}"
    if result.provenance.randomization:
        text += f"; attackers drawn at audit time with seed {result.provenance.randomization.seed}"
    return ReportSection(
        "provenance",
        "Provenance",
        sentences=(
            Remark(f"{text}. {versions(result.provenance.versions)} {rounding_in_words(result.suppress_below)}"),
        ),
        tables=(inputs_table(result.inputs.items()),),
    )


def repeat_section(result: AuditResult) -> ReportSection:
    """The command that reproduces the figures."""
    return ReportSection(
        "repeat",
        REPRODUCE,
        level=3,
        sentences=(Remark(f"{SAME}:"),),
        code=command(result),
        outputs=WRITTEN,
        folded=frozenset({Output.MARKDOWN}),
    )


def configuration_section(config: Mapping[str, object]) -> ReportSection:
    """The configuration as YAML, folded on a page."""
    return ReportSection("configuration", "The configuration (audit.yaml)", level=3, code=_yaml(config), folded=PAGE)


def _yaml(config: Mapping[str, Any]) -> str:
    """The configuration as YAML; with a sign that a reader would not see, all beyond ASCII is escaped as YAML does."""
    style: dict[str, Any] = {"sort_keys": False, "width": 100, "default_flow_style": None}
    written = str(yaml.safe_dump(dict(config), allow_unicode=True, **style))
    if any(is_unseen(sign) for sign in written if sign != "\n"):
        return str(yaml.safe_dump(dict(config), allow_unicode=False, **style))
    return written


def versions(found: Mapping[str, str]) -> str:
    """A sentence with the versions of all software behind the figures."""
    return f"Versions: {', '.join(f'{printable(name)} {printable(found[name])}' for name in sorted(found))}."


def inputs_table(tables: Iterable[tuple[str, Input]]) -> ReportTable:
    """The input tables with their sizes and checksums."""
    columns: tuple[Column[tuple[str, Input]], ...] = (
        Column("table", lambda row: printable(row[0]), "left"),
        Column("name", lambda row: named(row[1].name), "left"),
        Column("rows", lambda row: f"{row[1].rows:,}"),
        Column("columns", lambda row: f"{row[1].columns:,}"),
        Column("SHA-256", lambda row: printable(row[1].sha256 or UNKNOWN), "left", breaks=True),
    )
    return table_of("Inputs", tables, columns, style="stacked")


def command(result: AuditResult) -> str:
    """The command that reproduces the audit, with the configuration saved as audit.yaml."""
    words = ["cvpl", "audit", result.inputs["original"].name, result.inputs["protected"].name]
    words += ["--config", "audit.yaml"]
    # With `control: absent` the control was split off from the originals and has no file of its own.
    split_off = result.provenance.config.get("control") == "absent"
    if "control" in result.inputs and not (split_off and _same_file(result, "control", "original")):
        words += ["--control", result.inputs["control"].name]
    drawn_at = result.provenance.randomization
    ran = [row.name for row in result.attackers if drawn_at is None or row.name not in drawn_at.attackers]
    written = result.provenance.config.get("attackers") or FAMILY
    # Attackers of the default family that need a control are left out silently.
    able = [item for item in written if "control" in result.inputs or not _needs_control(written[item])]
    family = (result.provenance.config.get("attacker") or {}).get("preset") == "default"
    if (family or len(written) > 1) and ran != able and not set(ran) - set(written):
        words += ["--attackers", ",".join(ran)]
    if drawn_at is not None:
        words += ["--randomize-seed", str(drawn_at.seed)]
    return shell(words)


def shell(words: Iterable[str]) -> str:
    """The words as a shell command, quoted where necessary."""
    return " ".join(shlex.quote(printable(word)) for word in words)


def _same_file(result: AuditResult, one: str, other: str) -> bool:
    return result.inputs[one].sha256 == result.inputs[other].sha256


def _needs_control(settings: Mapping[str, object]) -> bool:
    return settings.get("evidence") in ("reference", "density")
