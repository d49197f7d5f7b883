"""The sections of a report as Markdown, as for a pull request. Names are code, so Markdown in them has no effect."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cvpl.reports.sections.section import TITLE, Output, Remark, ReportSection, ReportTable, sections_for
from cvpl.wording import marked_parts, printable

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+!|~$-])")


def sections_markdown(sections: Sequence[ReportSection], output: Output = Output.MARKDOWN) -> str:
    """The sections of an output as one Markdown text."""
    blocks = [block for section in sections_for(sections, output) for block in _blocks(section)]
    return "\n\n".join(blocks) + "\n"


def _blocks(section: ReportSection) -> list[str]:
    """A section as a list of paragraphs, tables and lists; empty if it has no content."""
    if section.anchor == TITLE:
        return [f"## {text(section.heading)}", *(f"**{text(remark.text)}**" for remark in section.sentences)]
    blocks = [block for remark in section.sentences for block in _remark(remark)]
    blocks += [markdown_table(table) for table in section.tables]
    if section.items:
        blocks.append("\n".join(_items(section)))
    if section.code:
        blocks.append(code_block(section.code))
    blocks += [text(note) for note in section.notes]
    if not blocks or not section.heading:
        return blocks
    if Output.MARKDOWN in section.folded:
        return [f"<details><summary>{text(section.heading)}</summary>", *blocks, "</details>"]
    return [f"{'#' * (section.level + 1)} {text(section.heading)}", *blocks]


def _remark(remark: Remark) -> list[str]:
    if remark.tone in ("plain", "quiet") and not remark.label:
        first = text(remark.text)
    elif remark.label:
        first = f"**{text(remark.label)}:** {text(remark.text)}"
    else:
        first = f"**{text(remark.text)}**"
    return [first, *(["\n".join(f"- {text(line)}" for line in remark.points)] if remark.points else [])]


def _items(section: ReportSection) -> list[str]:
    lines = []
    for at, item in enumerate(section.items, start=1):
        mark = f"{at}." if section.items_as == "steps" else "-"
        lines.append(" ".join([mark, text(item.text), *map(text, item.more)]))
    return lines


def markdown_table(table: ReportTable) -> str:
    """A table in Markdown, with figures right-aligned."""
    table = table.filled()
    heads = " | ".join(text(column.name) for column in table.heads)
    sides = "".join("---:|" if column.side == "right" else "---|" for column in table.heads)
    rows = [f"| {' | '.join(text(cell) for cell in row)} |" for row in table.rows]
    return "\n".join([f"| {heads} |", f"|{sides}", *rows])


def text(words: str) -> str:
    """Return `words` with Markdown escaped, @ mentions disabled, and marked text as code."""
    return "".join(_plain(part) if kind == "plain" else code(part) for kind, part in marked_parts(words))


def _plain(words: str) -> str:
    return _SPECIAL.sub(r"\\\1", printable(words)).replace("@", "@\u200b")


def code(name: str) -> str:
    """A name as inline code, safe for any content and inside a table."""
    shown = printable(name)
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    padded = f" {shown} " if shown.startswith("`") or shown.endswith("`") or not shown.strip() else shown
    return f"{fence}{padded}{fence}".replace("|", "\\|")


def code_block(words: str) -> str:
    """A fenced code block."""
    fence = "`" * max(3, max((len(run) for run in re.findall("`+", words)), default=0) + 1)
    return f"{fence}\n{words}\n{fence}"
