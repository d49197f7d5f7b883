"""The notebook view of a result: the answer, the main figures and the most important notices."""

from __future__ import annotations

from cvpl.reports.markdown import sections_markdown
from cvpl.reports.page import sections_markup
from cvpl.reports.sections.results import sections_of
from cvpl.reports.sections.section import Output
from cvpl.result.file import AnyResult


def notebook_html(result: AnyResult) -> str:
    """The notebook view as HTML."""
    return sections_markup(sections_of(result))


def notebook_markdown(result: AnyResult) -> str:
    """The notebook view as Markdown."""
    return sections_markdown(sections_of(result), Output.NOTEBOOK)
