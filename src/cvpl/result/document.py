"""A result that is a file of its own."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from cvpl.files import write_whole
from cvpl.result.data_frame import data_frame
from cvpl.result.section import Section

if TYPE_CHECKING:
    from pandas import DataFrame


class Document(Section):
    """A section that is written to a JSON file, whole or not at all, and read back."""

    FILE: ClassVar[str]

    def to_json(self) -> str:
        """The result as JSON, the same bytes for the same result."""
        return json.dumps(self.model_dump(mode="json", by_alias=True), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a result, of this version or an earlier one."""
        return cls.model_validate_json(text)

    def write(self, directory: str | Path) -> Path:
        """Write the file into `directory`, whole or not at all; returns its path."""
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.FILE
        write_whole(path, self.to_json())
        return path

    def to_html(self) -> str:
        """The report as one HTML page, without a script or a request to anywhere; what `report.html` holds."""
        text: str = _reports().report_html(self)
        return text

    def to_markdown(self) -> str:
        """The report in Markdown, short, as for a pull request."""
        text: str = _reports().report_markdown(self)
        return text

    def to_frame(self) -> DataFrame:
        """The result's rows as a pandas dataframe. Raises UsageError where pandas is not installed.

        There is a row for each attacker of an audit, release of a comparison or a benchmark, or setting of a surface,
        in the order of the result. The ends of a figure's interval stand beside it, in columns that end in `_low` and
        `_high`. What is not known is missing.
        """
        return data_frame(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        raise NotImplementedError


def _reports() -> Any:
    """The module that makes reports, looked up by name: reports are made from results, so results import none."""
    return import_module("cvpl.reports.files")
