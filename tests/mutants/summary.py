"""What was run: how many mutants were noticed, and the survivors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .draw import BY_RULE, PACKAGES, Mutant, drawn, in_random_order
from .equivalent import as_entries, reasons

_LONG = 60


def records(files: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """The last line of each mutant."""
    texts = [file.read_text(encoding="utf-8") for file in files if file.exists()]
    lines = [json.loads(line) for text in texts for line in text.splitlines()]
    return {f"{line['package']}:{line['file']}:{line['place']}": line for line in lines}


class _Draw:
    """The draw of one package: what was run of it, and what was noticed."""

    def __init__(self, package: str, known: dict[str, dict[str, Any]], count: int, seed: int) -> None:
        self.order = in_random_order(package, seed)
        self.wanted = drawn(package, count, seed)
        self.last = self.order.index(self.wanted[-1]) + 1
        self.dead = {
            one.key: bool(known[one.key]["dead"])
            for one in self.order[: self.last]
            if one.key in known and known[one.key]["source"] == one.source
        }

    def noticed(self, some: Sequence[Mutant]) -> int:
        return sum(self.dead.get(one.key, False) for one in some)

    def ran(self, some: Sequence[Mutant]) -> int:
        return sum(one.key in self.dead for one in some)

    @property
    def open(self) -> list[Mutant]:
        """What no test noticed and nobody has judged."""
        return [one for one in self.wanted if not self.dead.get(one.key, True)]


def _draws(files: Iterable[Path], count: int, seed: int) -> Iterator[tuple[str, _Draw]]:
    known = records(files)
    for package in PACKAGES:
        if any(line["package"] == package for line in known.values()):
            yield package, _Draw(package, known, count, seed)


def survivors(files: Iterable[Path], count: int, seed: int) -> str:
    """What no test noticed and nobody has judged, in the form of the list of equivalent changes."""
    found = {one.place_in_words: f"line {one.line}" for _, draw in _draws(files, count, seed) for one in draw.open}
    return as_entries(found)


def summary(files: Iterable[Path], count: int, seed: int) -> str:
    """In Markdown: the totals of each package, the survivors, and the changes that no figure can show."""
    draws = dict(_draws(files, count, seed))
    told = ["| Package | Places | First drawn | Noticed | No figure can show | Others run | Noticed |"]
    told += ["|---|---|---|---|---|---|---|"]
    for package, draw in draws.items():
        first = draw.order[:count]
        equal = sum(bool(one.reason) for one in first)
        noticed, ran = draw.noticed(draw.wanted), draw.ran(draw.wanted)
        told.append(
            f"| `{package}` | {len(draw.order):,} | {len(first)} | {draw.noticed(first)} | {equal} | {ran} of "
            f"{len(draw.wanted)} | {noticed} ({noticed / max(1, ran):.1%}) |"
        )
    for package, draw in draws.items():
        rows = [f"| {_where(one)} | {_what(one)} |" for one in sorted(draw.open, key=_in_source)]
        told += ["", f"## Survivors in `{package}`", ""]
        told += ["| File, function | Change |", "|---|---|", *rows] if rows else ["None."]
        told += ["", f"## Changes in `{package}` that no figure can show", ""]
        left = [one for one in draw.order[: draw.last] if one.reason]
        by_rule = sum(one.reason == BY_RULE for one in left)
        told += [f"Of the {draw.last} drawn, {len(left)} are left out, {by_rule} of them by rule.", ""]
        told += ["| File, function | Change | Reason |", "|---|---|---|"]
        judged = sorted((one for one in left if one.reason != BY_RULE), key=_in_source)
        told += [f"| {_where(one)} | {_what(one)} | {one.reason} |" for one in judged]
    every = {one.place_in_words for draw in draws.values() for one in draw.order}
    files_run = {place.file for place in every}
    stale = [place for place in reasons() if place.file in files_run and place not in every]
    told += [f"\nStands on the list, but not in the code: {place.file}, `{place.expression}`" for place in stale]
    return "\n".join(told)


def _in_source(mutant: Mutant) -> tuple[str, int, int]:
    return mutant.file, mutant.line, mutant.place


def _where(mutant: Mutant) -> str:
    function = f", `{mutant.function}`" if mutant.function else ""
    return f"`{mutant.file.removeprefix('cvpl/').split('/', maxsplit=1)[1]}`{function}"


def _what(mutant: Mutant) -> str:
    source = mutant.expression if mutant.what[:8] != "constant" else mutant.statement
    short = source if len(source) <= _LONG else f"{source[:_LONG]}..."
    which = f", number {mutant.nth}" if mutant.nth > 1 else ""
    return f"`{short.replace('|', chr(92) + '|')}`: {mutant.what}{which}"
