"""A result in a notebook: the answer, what must not be missed, and the main figures."""

from __future__ import annotations

from cvpl.reports.markdown import sections_markdown
from cvpl.reports.page import sections_markup
from cvpl.reports.sections.results import sections_of
from cvpl.reports.sections.section import Output
from cvpl.result.file import AnyResult


def notebook_html(result: AnyResult) -> str:
    """The view for a notebook, as HTML."""
    return sections_markup(sections_of(result))


def notebook_markdown(result: AnyResult) -> str:
    """The same as Markdown."""
    return sections_markdown(sections_of(result), Output.NOTEBOOK)
