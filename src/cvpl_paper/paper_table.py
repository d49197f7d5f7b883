"""A table of the paper: its figures, ours, and the difference."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass

Pairs = Mapping[str, tuple[float | None, float | None]]


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper: for each row, each figure in the paper and in this run; None is unknown."""

    name: str
    title: str
    rows: Mapping[str, Pairs]
    note: str = ""

    @property
    def figures(self) -> list[str]:
        """The names of the figures, in order."""
        return list(dict.fromkeys(what for row in self.rows.values() for what in row))

    def markdown(self) -> str:
        """The table as a section of a page."""
        lines = [f"### {self.title}", ""]
        if self.note:
            lines += [self.note, ""]
        known = {
            what: any(row.get(what, (None,))[0] is not None for row in self.rows.values()) for what in self.figures
        }
        heads = [""]
        for what in self.figures:
            heads += [f"{what}, paper", f"{what}, here", "difference"] if known[what] else [what]
        lines += ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
        for label, row in self.rows.items():
            cells = [label]
            for what in self.figures:
                theirs, ours = row.get(what, (None, None))
                cells += [_shown(theirs), _shown(ours), _difference(theirs, ours)] if known[what] else [_shown(ours)]
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join([*lines, ""])

    def csv(self) -> str:
        """The table as a file: a line for each figure, with all digits."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["table", "row", "figure", "paper", "here", "difference"])
        for label, row in self.rows.items():
            for what, (theirs, ours) in row.items():
                apart = None if theirs is None or ours is None else ours - theirs
                cells = ["" if item is None else repr(item) for item in (theirs, ours, apart)]
                writer.writerow([self.name, label, what, *cells])
        return text.getvalue()


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3f}"


def _difference(theirs: float | None, ours: float | None) -> str:
    return (
        "-"
        if theirs is None or ours is None
        else f"{ours - theirs:+,.0f}"
        if abs(theirs) >= 100
        else f"{ours - theirs:+.3f}"
    )
