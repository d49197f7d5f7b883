"""Columns that are left out of the comparison, and the notices about them."""

from __future__ import annotations

from collections.abc import Sequence

from cvpl.errors import Problem
from cvpl.tables.columns import ColumnSpec, Fetch
from cvpl.tables.identity import IdentityKeys
from cvpl.tables.source import Source


def present(spec: ColumnSpec, sources: Sequence[Source], problems: list[Problem], notices: list[str]) -> bool:
    """Whether every table has the column; a column that some tables lack is left out with a notice."""
    lacking = [source.name for source in sources if spec.name not in source.types]
    if len(lacking) == len(sources):
        cure = "Correct the name, or remove the column from the configuration."
        problems.append(Problem("configuration", "no table has this column", cure, spec.name))
    elif lacking:
        notices.append(f"column '{spec.name}' is absent from {' and '.join(lacking)} and left out of the comparison")
    return not lacking


def has_values(spec: ColumnSpec, sources: Sequence[Source], read: Sequence[Fetch], notices: list[str]) -> bool:
    """Whether both tables have a value; a column that one of them suppresses fully is left out, like a missing one."""
    empty = [source.name for source, fetch in zip(sources[:2], read[:2], strict=True) if not fetch().known().any()]
    if empty:
        notices.append(f"column '{spec.name}' has no value in {' and '.join(empty)} and is left out of the comparison")
    return not empty


def undeclared(sources: Sequence[Source], declared: Sequence[str]) -> list[str]:
    """Report the columns of the tables that the configuration does not name."""
    names = dict.fromkeys(name for source in sources for name in source.types if name not in declared)
    if not names:
        return []
    listed = ", ".join(f"'{name}'" for name in names)
    return [f"not declared, so left out of the comparison: {listed}; declare the columns that an attacker could know"]


def nowhere(
    sources: Sequence[Source], declared: Sequence[str], specs: Sequence[ColumnSpec], identity: IdentityKeys | None
) -> list[str]:
    """Report declared columns that are not compared and in no table: perhaps a misspelled name."""
    text = {spec.name for spec in specs} | ({identity.original, identity.protected} if identity else set())
    there = {name for source in sources for name in source.types}
    names = [name for name in dict.fromkeys(declared) if name not in text | there]
    listed = ", ".join(f"'{name}'" for name in names)
    return [f"declared, but in no table: {listed}"] if names else []
