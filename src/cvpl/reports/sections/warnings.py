"""The warnings of a result, each with advice, and the line at the top that links to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cvpl.reports.sections.section import EVERYWHERE, PAGE, REPORTS, Item, Output, Remark, ReportSection
from cvpl.result import Warning_
from cvpl.wording import counted, printable, sentence, typed

WARNINGS = "warnings"
"""The anchor of the warnings."""
_HOW = {
    "base_rate_unknown": (
        f"How: {typed('cvpl audit ... --control FILE')}, or {typed('control: {file: FILE}')} in the configuration."
    ),
    "top1_above_rate": "Do not rely on the linkage rate alone; use the top-1 hit rate here.",
    "blocking_recall_near_zero": (
        f"How: {typed('blocking: compatible')} if values are generalized, coarser {typed('block')} rules, or "
        f"{typed('blocking: none')}."
    ),
}


def pointer_section(warnings: Iterable[Warning_], count: int, outputs: frozenset[Output] = EVERYWHERE) -> ReportSection:
    """The number of warnings and their rules, for the top of reports that show the warnings further down or not."""
    rules = ", ".join(dict.fromkeys(printable(warning.rule) for warning in warnings))
    text = f"{counted(count, 'warning')} ({rules}): read {'it' if count == 1 else 'them'} before using a figure."
    remarks = (Remark(text, "notice", link=WARNINGS),) if count else ()
    return ReportSection("warned", sentences=remarks, outputs=outputs)


def warnings_section(items: Sequence[Item]) -> ReportSection:
    """All warnings; a page without warnings states that there are none."""
    return ReportSection(
        WARNINGS,
        "Warnings",
        sentences=() if items else (Remark("None."),),
        items=tuple(items),
        items_as="boxes",
        outputs=REPORTS if items else PAGE,
    )


def warning_item(warning: Warning_, where: str = "") -> Item:
    """A warning with advice and a link to the docs; `where` is appended to its sentence."""
    more = [_HOW[warning.rule]] if warning.rule in _HOW else []
    if warning.docs:
        more.append(printable(warning.docs))
    return Item(sentence(printable(warning.message)) + where, tuple(more))


def shared_items(warned: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> list[Item]:
    """The distinct messages of several releases with their docs, each with the releases it applies to."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, messages in warned:
        for message in messages:
            found.setdefault(message, []).append(f"'{printable(name)}'")
    whole = len(warned)
    return [
        Item(
            sentence(printable(message)),
            (f"{'All releases' if len(names) == whole else ', '.join(names)}. {printable(docs)}".rstrip(),),
        )
        for (message, docs), names in found.items()
    ]
