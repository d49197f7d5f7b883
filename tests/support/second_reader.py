"""A second reader of CSV files, in plain Python: what cvpl reads must equal what it reads, cell by cell.

Numbers and days are parsed by Python itself. Nothing here is taken from the package.
"""

import csv
import gzip
import io
import re
from datetime import datetime, timedelta
from math import nan

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
csv.field_size_limit(1 << 30)
TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[ T]([0-9]{2}:[0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?Z?)?", re.ASCII
)


class NotCsvError(Exception):
    """The text is not CSV."""


def text_of(path, encoding="utf-8"):
    """The text of a file, without its byte-order mark; UTF-8 if it can be, whatever `encoding` says."""
    content = path.read_bytes()
    if path.name.lower().endswith(".gz"):
        content = gzip.decompress(content)
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        if encoding == "utf-8":
            raise
        return content.decode(encoding, "replace")


def records(text, delimiter=","):
    """The header and the records of a CSV text. Lines without a character are no records.

    One blank before a quoted field and all behind it are no part of it. If there are none, the csv module says the
    same. More blanks before the quote are refused: they could be a part of the field.
    """
    if not re.search(r' "|" ', text):
        try:
            return [
                record
                for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
                if record
            ]
        except csv.Error:
            raise NotCsvError from None
    found, at = [], 0
    while at < len(text):
        if text[at] in "\r\n":
            at += 1
            continue
        record = []
        while True:
            field, at = _field(text, at, delimiter)
            record.append(field)
            if at < len(text) and text[at] == delimiter:
                at += 1
                continue
            break
        found.append(record)
    return found


def _field(text, at, delimiter):
    """One field from a place on, and the place of what ends it: the delimiter, a line end or the end of the text."""
    start = at
    while at < len(text) and text[at] == " ":
        at += 1
    if at - start > 1 and text[at : at + 1] == '"':
        raise NotCsvError
    if at == len(text) or text[at] != '"':
        at = start
        while at < len(text) and text[at] not in (delimiter, "\r", "\n"):
            at += 1
        return text[start:at], at
    field, at = [], at + 1
    while True:
        end = text.find('"', at)
        if end < 0:
            raise NotCsvError
        field.append(text[at:end])
        at = end + 1
        if text[at : at + 1] != '"':
            break
        field.append('"')
        at += 1
    while at < len(text) and text[at] == " ":
        at += 1
    if at < len(text) and text[at] not in (delimiter, "\r", "\n"):
        raise NotCsvError
    return "".join(field), at


def number(cell):
    """A plain number as Python reads it, None for any other text; NaN where the cell is empty."""
    cell = cell.strip(" ")
    return nan if cell == "" else float(cell) if NUMBER.fullmatch(cell) else None


def time(cell):
    """A plain time, to the microsecond; None for any other text, and for a day that does not exist."""
    match = TIME.fullmatch(cell)
    if match is None:
        return None
    day, clock, seconds, fraction = match.groups()
    if (clock, int(seconds or 0), int(fraction or 0)) == ("24:00", 0, 0):
        return time(day) + timedelta(days=1)
    written = f"{day} {clock or '00:00'}:{seconds or '00'}.{(fraction or '0')[:6]:0<6}"
    try:
        return datetime.strptime(written, "%Y-%m-%d %H:%M:%S.%f")
    except ValueError:
        return None
