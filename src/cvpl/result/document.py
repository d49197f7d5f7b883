"""The base class of results that are files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from pydantic import ModelWrapValidatorHandler, ValidationInfo, model_validator

from cvpl.errors import UsageError
from cvpl.files import write_whole
from cvpl.result.data_frame import data_frame
from cvpl.result.earlier import with_interval_fields
from cvpl.result.section import Section
from cvpl.wording import is_unseen

if TYPE_CHECKING:
    from pandas import DataFrame


FROM_FILE = "from a file"
"""The context of validation for a result that was read, which somebody may have changed."""
LARGEST = 1e18
_FREE = ("config", "seed", "settings")
"""Keys with numbers that somebody chose: they are shown as text, and may be of any size."""


@contextmanager
def refused_as_invalid() -> Iterator[None]:
    """Report what cannot be brought to the present form as invalid, like any other fault of a file."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ArithmeticError):
        raise ValueError("the result of an earlier version is not complete") from None


def visible_json(text: str) -> str:
    """JSON with every sign escaped that would be obeyed or not be seen, as a terminal or an editor shows the file."""
    if text.isascii():
        return text
    return "".join(json.dumps(sign)[1:-1] if sign != "\n" and is_unseen(sign) else sign for sign in text)


class Views(Protocol):
    """The views of a result. Pages and charts know results; a result knows only that it has such views."""

    def page(self, result: Any) -> str:
        """The report as one HTML page."""

    def markdown(self, result: Any) -> str:
        """The short report as Markdown."""

    def notebook_html(self, result: Any) -> str:
        """The answer and the main figures as HTML."""

    def notebook_markdown(self, result: Any) -> str:
        """The answer and the main figures as Markdown."""

    def chart(self, result: Any, name: str | None, group: str | None) -> Any:
        """One chart by its name."""

    def chart_names(self, result: Any) -> list[str]:
        """The names of the charts."""


class Document(Section):
    """A result that can be written to a JSON file, read back and shown.

    `views` is attached by `cvpl.reports.views`, which the public names of `cvpl` load.
    """

    views: ClassVar[Views | None] = None
    FILE: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _from_earlier(cls, data: Any) -> Any:
        with refused_as_invalid():
            return with_interval_fields(data)

    @model_validator(mode="wrap")
    @classmethod
    def _of_file(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        """Refuse a file with a figure beyond all bounds, which no chart could show."""
        if info.context is FROM_FILE and _has_giants(data):
            raise ValueError("a number is larger than any figure of a result")
        return handler(data)

    def _repr_html_(self) -> str:
        """The answer and the main figures as HTML, for a notebook."""
        return _views().notebook_html(self)

    def _repr_markdown_(self) -> str:
        """The answer and the main figures as Markdown, for a notebook."""
        return _views().notebook_markdown(self)

    def chart(self, name: str | None = None, *, group: str | None = None) -> Any:
        """One chart of the result as a `cvpl.charts.Drawing`, which displays itself; the main one without a name.

        It needs no script and no network, and `chart.save("chart.png")` or `.svg` writes it to a file. `chart_names`
        lists the names. `group` is a data set of a benchmark; without it, the first. None if there is nothing to draw.
        Raises UsageError for a name that this kind of result does not have.
        """
        return _views().chart(self, name, group)

    def chart_names(self) -> list[str]:
        """The names of the charts that this kind of result has, the main one first."""
        return _views().chart_names(self)

    def to_json(self) -> str:
        """The result as JSON; equal results give equal bytes. Signs that a reader would not see are escaped."""
        text = json.dumps(self.model_dump(mode="json", by_alias=True), indent=2, ensure_ascii=False)
        return visible_json(text) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a result of this version or an earlier one.

        Raises ValidationError if it is none, or if a number in it is larger than any figure can be.
        """
        return cls.model_validate_json(text, context=FROM_FILE)

    def write(self, directory: str | Path) -> Path:
        """Write the JSON file to `directory`, atomically, and return its path."""
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.FILE
        write_whole(path, self.to_json())
        return path

    def to_html(self) -> str:
        """The report as one HTML page, without scripts or network requests, as in `report.html`."""
        return _views().page(self)

    def to_markdown(self) -> str:
        """The short report as Markdown, as for a pull request."""
        return _views().markdown(self)

    def to_frame(self) -> DataFrame:
        """The rows of the result as a pandas dataframe. Raises UsageError if pandas is not installed.

        There is one row per attacker of an audit, release of a comparison or a benchmark, or setting of a surface, in
        the order of the result. The ends of intervals are in columns that end in `_low` and `_high`. Unknown values
        are missing.
        """
        return data_frame(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        raise NotImplementedError


def _views() -> Views:
    if Document.views is None:
        raise UsageError("nothing shows results yet; import `cvpl.reports.views`, or a public name of `cvpl`")
    return Document.views


def _has_giants(data: Any) -> bool:
    """Whether a number anywhere in a JSON value is beyond the largest figure, or is none."""
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [inner for key, inner in value.items() if key not in _FREE]
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, int | float) and not abs(value) <= LARGEST:
            return True
    return False
