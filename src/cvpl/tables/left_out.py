"""Columns that are left out of the comparison, and the notices about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cvpl.errors import Problem
from cvpl.tables.columns import ColumnSpec, Fetch
from cvpl.tables.evaluation_only.identity import IdentityKeys
from cvpl.tables.meaning.allowed_labels import allowed_labels
from cvpl.tables.source.source import Source
from cvpl.wording import did_you_mean, nearest

_FEW = 3
"""Up to this many columns have a problem of their own."""
MANY_TEXTS = 200_000
"""A column with fewer labels is compared, whatever they are: texts by their words."""
_OWN_TEXT = 0.9
"""The least share of labels among the cells of a column that holds free text."""
_RENAMED = 0.8
"""How alike the names must be to ask whether a table has a column under another name."""


def in_every_table(
    specs: Sequence[ColumnSpec],
    sources: Sequence[Source],
    declared: Sequence[str],
    problems: list[Problem],
    notices: list[str],
) -> list[ColumnSpec]:
    """The columns that every table has. Those that some tables lack are left out, with one notice for each such table.

    Columns that no table has are a problem, perhaps a misspelled name. `declared` are the names that are settled, so
    that none of them is proposed for another.
    """
    lacking: dict[tuple[str, ...], list[str]] = {}
    for spec in specs:
        lacking.setdefault(tuple(item.name for item in sources if spec.name not in item.types), []).append(spec.name)
    free = {item.name: names_of(item, declared) for item in sources}
    for tables, names in lacking.items():
        if len(tables) == len(sources):
            problems.extend(_in_no_table(names, [name for others in free.values() for name in others]))
        elif tables:
            what = f"{_columns(names)} absent from {' and '.join(tables)} and left out of the comparison"
            notices.append(what + _rename_hint(names, [name for table in tables for name in free[table]]))
    return [spec for spec in specs if all(spec.name in source.types for source in sources)]


def names_of(source: Source, declared: Sequence[str]) -> list[str]:
    """The undeclared columns of a table, as proposals for misspelled names.

    None if it has no declared column: the file may lack a header, and its "names" are then cells.
    """
    others = [name for name in source.types if name not in declared]
    return others if len(others) < len(source.types) else []


def _in_no_table(names: Sequence[str], free: Sequence[str]) -> list[Problem]:
    """One problem for a few columns each, or one for many; each name with the nearest column of the tables."""
    cure = "Correct the name, or remove the column from the configuration."
    if len(names) <= _FEW:
        return [
            Problem("configuration", "no table has this column", f"{did_you_mean(name, free)} {cure}".lstrip(), name)
            for name in names
        ]
    hints = [f"`{name}`: did you mean `{near}`?" for name in names if (near := nearest(name, free)) is not None]
    listed = ", ".join(f"'{name}'" for name in names)
    cure = "Correct the names, or remove the columns from the configuration."
    return [Problem("configuration", f"no table has the columns {listed}", " ".join([*hints, cure]))]


def _rename_hint(names: Sequence[str], free: Sequence[str]) -> str:
    """The columns that a table may have under another name."""
    hints = [f"'{near}' for '{name}'" for name in names if (near := nearest(name, free, _RENAMED)) is not None]
    return f"; did it get another name? It has {', '.join(hints)}" if hints else ""


def _columns(names: Sequence[str]) -> str:
    listed = ", ".join(f"'{name}'" for name in names)
    return f"column {listed} is" if len(names) == 1 else f"columns {listed} are"


def without_values(
    specs: Sequence[ColumnSpec], sources: Sequence[Source], read: Mapping[str, Sequence[Fetch]], notices: list[str]
) -> set[str]:
    """The columns that one of the two tables suppresses fully; they are left out, like missing ones."""
    empty: dict[tuple[str, ...], list[str]] = {}
    for spec in specs:
        pairs = zip(sources[:2], read[spec.name][:2], strict=True)
        if tables := tuple(source.name for source, fetch in pairs if not fetch().known().any()):
            empty.setdefault(tables, []).append(spec.name)
    for tables, names in empty.items():
        listed = ", ".join(f"'{name}'" for name in names)
        one = len(names) == 1
        notices.append(
            f"column{'' if one else 's'} {listed} {'has' if one else 'have'} no value in {' and '.join(tables)} and "
            f"{'is' if one else 'are'} left out of the comparison"
        )
    return {name for names in empty.values() for name in names}


def free_texts(specs: Sequence[ColumnSpec], read: Mapping[str, Sequence[Fetch]], notices: list[str]) -> set[str]:
    """The categories of which nearly every cell is a text of its own, and no text is in both tables.

    No attacker can use them, but each text would be a label to compare, so they are left out; unless nothing else is
    compared.
    """
    found = [spec.name for spec in specs if spec.type == "category" and _is_free_text(spec, read[spec.name])]
    if not found or len(found) == len(specs):
        return set()
    listed = ", ".join(f"'{name}'" for name in found)
    one = len(found) == 1
    notices.append(
        f"column{'' if one else 's'} {listed} {'has' if one else 'have'} another text in nearly every record, and no "
        f"text is in both tables. No attacker can match {'it' if one else 'them'}, so {'it is' if one else 'they are'} "
        "left out of the comparison; if the text says something about people, make columns of what it says"
    )
    return set(found)


def _is_free_text(spec: ColumnSpec, read: Sequence[Fetch]) -> bool:
    used = []
    for fetch in read[:2]:
        column = fetch()
        counts = column.counts()
        texts = int(np.count_nonzero(counts))
        if texts < MANY_TEXTS or texts < _OWN_TEXT * int(counts.sum()):
            return False
        used.append((column.label_texts(), counts > 0))
    (labels, ours), (_, theirs) = used
    if spec.parents is not None or spec.separator is not None or bool(np.any(ours & theirs)):
        return False
    # A set or a mask of the release may allow a text of the original.
    allowed = allowed_labels(spec, labels)
    place = {label: code for code, label in enumerate(labels)}
    known = {at for at, leaf in enumerate(allowed.leaves) if leaf in place and ours[place[leaf]]}
    return all(known.isdisjoint(allowed.members[code]) for code in np.flatnonzero(theirs))


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
    there = dict.fromkeys(name for source in sources for name in source.types)
    names = [name for name in dict.fromkeys(declared) if name not in text and name not in there]
    free = [name for source in sources for name in names_of(source, declared)]
    nears = [(name, nearest(name, free)) for name in names]
    listed = ", ".join(f"'{name}'" + ("" if near is None else f" (did you mean '{near}'?)") for name, near in nears)
    return [f"declared, but in no table: {listed}"] if names else []
