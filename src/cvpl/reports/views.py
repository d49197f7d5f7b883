"""Attaches pages, notebook views and charts to results. Each is loaded when it is asked for."""

from __future__ import annotations

from typing import Any

from cvpl.result.document import Document


class LazyViews:
    """The views of every kind of result."""

    def page(self, result: Any) -> str:
        """The report as one HTML page."""
        from cvpl.reports.page import report_page  # noqa: PLC0415

        return report_page(result)

    def markdown(self, result: Any) -> str:
        """The short report as Markdown."""
        from cvpl.reports.files import report_markdown  # noqa: PLC0415

        return report_markdown(result)

    def notebook_html(self, result: Any) -> str:
        """The answer and the main figures as HTML."""
        from cvpl.reports.page import notebook_html  # noqa: PLC0415

        return notebook_html(result)

    def notebook_markdown(self, result: Any) -> str:
        """The answer and the main figures as Markdown."""
        from cvpl.reports.page import notebook_markdown  # noqa: PLC0415

        return notebook_markdown(result)

    def chart(self, result: Any, name: str | None, group: str | None) -> Any:
        """One chart by its name, the main one without a name."""
        from cvpl.charts.of_result import chart_of_result  # noqa: PLC0415

        return chart_of_result(result, name, group)

    def chart_names(self, result: Any) -> list[str]:
        """The names of the charts, the main one first."""
        from cvpl.charts.of_result import chart_names  # noqa: PLC0415

        return chart_names(result)


Document.views = LazyViews()
