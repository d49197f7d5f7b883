"""How the fields of a table are read, as the configuration says."""

from __future__ import annotations

from dataclasses import dataclass, field

from cvpl.tables.meaning.local_spellings import Dates, Decimal
from cvpl.tables.source.encoding import Encoding
from cvpl.tables.source.limits import Limits

BLANKS = " \t\r\n\f\v\u00a0"
"""The characters that `reading.strip` removes, from cells and from the header."""


@dataclass(frozen=True)
class Reading:
    """How fields are read: by default nothing is stripped, and only an empty field is missing.

    `missing` is the complete list of texts, after stripping: without "" in it an empty field is a value. `decimal` and
    `dates` say how numbers and days are written in text; `encoding` is that of CSV files that are not UTF-8. `limits`
    bound the size of a table.
    """

    strip: bool = False
    missing: tuple[str, ...] = ("",)
    delimiter: str = ","
    decimal: Decimal = "."
    dates: Dates = "iso"
    encoding: Encoding = "utf-8"
    limits: Limits = field(default_factory=Limits)
