"""The base class of results that are files, how they become dataframes, and how those of earlier versions are read.

Results of earlier versions, upgraded to the current schema when they are read. Version 1 of an audit (`cvpl/audit/1`)
has no verdict. Earlier results of every kind state why an interval is refused, and the measured coverage, as sentences
in `method` and `coverage`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from pydantic import ModelWrapValidatorHandler, ValidationInfo, model_validator

from cvpl.errors import UsageError
from cvpl.estimates import FALSE_RATE, beyond_chance
from cvpl.files import write_whole
from cvpl.result.publishing import Section
from cvpl.result.verdict import BestCandidate, Risk, VerdictFigures, verdict_of
from cvpl.wording import is_unseen

if TYPE_CHECKING:
    from numpy.typing import NDArray
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


EARLIER = "cvpl/audit/1"
PRESENT = "cvpl/audit/2"
UNLIKE = "the control is unlike the originals"
_REFUSED = "refused: "
_COVERAGE = re.compile(r"(\d(?:\.\d+)?)(?: measured at 95%, (\d(?:\.\d+)?) at 99\.9%)?")


def with_interval_fields(data: Any) -> Any:
    """Return `data` with earlier sentences on intervals parsed into `refused` and the measured coverage."""
    if isinstance(data, list):
        return [with_interval_fields(item) for item in data]
    if not isinstance(data, Mapping):
        return data
    found = {key: with_interval_fields(item) for key, item in data.items()}
    if not {"low", "high"} <= found.keys():
        return found
    method, coverage = found.get("method"), found.get("coverage")
    if isinstance(method, str) and method.startswith(_REFUSED):
        found |= {"method": "none", "refused": method.removeprefix(_REFUSED)}
    if isinstance(coverage, str):
        shares = measured.groups() if (measured := _COVERAGE.fullmatch(coverage)) else (None, None)
        at_95, at_999 = (None if share is None else float(share) for share in shares)
        found |= {"coverage": at_95, "coverage_at_999": at_999}
    return found


def upgrade(data: Any) -> Any:
    """Add the verdict to an audit result of version 1, from its own figures; return anything else unchanged.

    Version 1 has no checks before the attack and no figure at 1% for the other attackers, so `preflight` is empty and
    `certain` is null.
    """
    if not isinstance(data, Mapping) or data.get("schema") != EARLIER:
        return data
    try:
        figures = _figures(data)
    except (KeyError, TypeError, ValueError, AttributeError):
        return data  # not an audit result; validation will report it
    found = {
        "attackers": [_with_risk(row, data.get("control") is not None) for row in data.get("attackers") or []],
        "verdict": verdict_of(figures).model_dump(),
        "risk": None if figures.risk is None else figures.risk.model_dump(),
        "best_candidate": None if figures.best_candidate is None else figures.best_candidate.model_dump(),
    }
    return {**data, **found, "schema": PRESENT}


def _figures(data: Mapping[str, Any]) -> VerdictFigures:
    attacker, picked, truth = data["attacker"], data.get("picked") or {}, data.get("truth")
    among = picked.get("among", 1)
    best = None
    if truth is not None and truth.get("top1_hit_rate") is not None:
        ends = truth.get("top1_low"), truth.get("top1_high")
        best = BestCandidate(estimate=truth["top1_hit_rate"], low=ends[0], high=ends[1], attacker=attacker, among=among)
    risk = None
    if data.get("control") is not None:
        risk = _risk(data.get("power"), attacker, among, picked.get("confidence", 0.95))
    missing = "there is no control"
    if data.get("control") is not None:
        missing = "the power at a false-positive rate of 5% " + ("is not known" if risk is None else "has no interval")
    validity, likeness = data["validity"], data.get("control_likeness")
    return VerdictFigures(
        reasons=[] if validity["assessable"] else list(validity["reasons"]),
        risk=risk,
        best_candidate=best,
        missing=missing,
        control_fault=None if likeness is None or likeness.get("alike", True) else UNLIKE,
        checked=False,
        lower_bound=bool(data.get("lower_bound")),
    )


def _risk(powers: Any, attacker: str, among: int = 1, confidence: float = 0.95) -> Risk | None:
    """The risk at a false-positive rate of 5%; None if the powers do not include that rate."""
    power = next((point for point in powers or [] if point["false_rate"] == FALSE_RATE), None)
    if power is None:
        return None
    low, high = (None if power.get(end) is None else beyond_chance(power[end], FALSE_RATE) for end in ("low", "high"))
    return Risk(
        estimate=beyond_chance(power["power"], FALSE_RATE),
        low=low,
        high=high,
        power=power["power"],
        false_rate=FALSE_RATE,
        basis="control",
        attacker=attacker,
        among=among,
        confidence=confidence,
        method=power.get("method", "none"),
        refused=power.get("refused"),
        coverage=power.get("coverage"),
        coverage_at_999=power.get("coverage_at_999"),
    )


def _with_risk(row: Mapping[str, Any], with_control: bool) -> Mapping[str, Any]:
    risk = _risk(row.get("power"), row["name"]) if with_control else None
    return {**row, "risk": None if risk is None else risk.model_dump()}


def data_frame(columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> DataFrame:
    """The columns as a pandas dataframe. Raises UsageError if pandas is not installed."""
    try:
        # Imported by name, because pandas is not a dependency of cvpl.
        pandas = import_module("pandas")
    except ImportError:
        raise UsageError("to_frame: pandas is not installed. Install it with `pip install pandas`.") from None
    frame: DataFrame = pandas.DataFrame(dict(columns))
    return frame


def interval_columns(name: str, figures: Sequence[Any], value: str = "estimate") -> dict[str, list[float | None]]:
    """The columns NAME, NAME_low and NAME_high: a figure of every row with the ends of its interval.

    `figures` has one section per row, with the fields `low`, `high` and `value`, or None if the row has no figure.
    """
    return {
        name: [getattr(figure, value, None) for figure in figures],
        f"{name}_low": [getattr(figure, "low", None) for figure in figures],
        f"{name}_high": [getattr(figure, "high", None) for figure in figures],
    }
