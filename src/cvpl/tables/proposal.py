"""A first `audit.yaml`, guessed from two tables and written with its reasons, for the person to correct.

The only place where anything is guessed, and nothing is used before a person has seen it. Comments hold counts and
names of columns, never a cell.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from cvpl.errors import InputError, Problem
from cvpl.tables.protected_values import is_suppressed, read_number, read_time
from cvpl.tables.source import Reading, Source, open_source, quoted

if TYPE_CHECKING:
    import duckdb

_QUASI = re.compile(
    r"(^|[^a-z])(age|sex|gender|race|ethnic\w*|zip\w*|post\w*code|postal|region|state|country|county|city|birth\w*|dob|"
    r"marital\w*|married|education|occupation|job|nationality|native\w*|citizen\w*|language|household|plz)([^a-z]|$)"
)
_IDENTITY = re.compile(r"(^|[^a-z])(id|uuid|guid|key|index|number|nr|no)([^a-z]|$)")
_USUAL_MISSING = ("?", "NA", "N/A", "n/a", "null", "NULL", "None", "nan", "NaN", "-", ".")
_MOST_KEYS = 3
_FEW = 10


@dataclass(frozen=True)
class _Facts:
    """What was counted of one column in one table."""

    rows: int
    missing: int
    distinct: list[str]
    usual_missing: int


@dataclass(frozen=True)
class _Guess:
    """A column's settings, and why."""

    settings: dict[str, Any]
    reasons: tuple[str, ...]


def propose(original: object, protected: object) -> str:
    """The text of a commented `audit.yaml` for two tables."""
    import duckdb  # noqa: PLC0415 - loaded when a table is

    reading, why = _reading(original, protected)
    problems: list[Problem] = []
    sources: list[Source] = []
    con = duckdb.connect()
    try:
        for data, role in ((original, "original"), (protected, "protected")):
            try:
                sources.append(open_source(con, data, role, reading))
            except InputError as error:
                problems.extend(error.problems)
        if problems:
            raise InputError(problems)
        return _text(con, sources, reading, why)
    finally:
        con.close()


def _reading(original: object, protected: object) -> tuple[Reading, list[str]]:
    """Delimiter and stripping, from the first lines of the CSV files."""
    delimiter, strip, why = ",", False, []
    for data in (original, protected):
        if not isinstance(data, str | Path) or ".csv" not in Path(data).name.lower() or not Path(data).is_file():
            continue
        opener: Any = gzip.open if str(data).lower().endswith(".gz") else open
        try:
            with opener(data, "rt", encoding="utf-8-sig", newline="") as file:
                lines = [file.readline() for _ in range(50)]
        except (OSError, UnicodeDecodeError):
            continue
        found = max(",;\t|", key=lines[0].count)
        if found != "," and lines[0].count(found):
            delimiter = found
            why.append("the header is not separated by commas")
        rows = list(csv.reader(lines, delimiter=delimiter))
        blanks = sum(cell != cell.strip() for row in rows for cell in row)
        if blanks > len(rows):
            strip = True
            why.append(f"{blanks} of the first cells of {Path(data).name} have blanks around them")
    return Reading(strip=strip, delimiter=delimiter), why


def _text(con: duckdb.DuckDBPyConnection, sources: Sequence[Source], reading: Reading, why: list[str]) -> str:
    lines = [
        "# A first guess, made from the two tables. Check every line: what is left out here is not audited.",
        "# Roles: id (tells who is who, never used to link), quasi_identifier (an outsider may know it, may block),",
        "#        attribute (compared), sensitive (what is to be protected, never used), ignore.",
        "columns:",
    ]
    keys = 0
    names = list(dict.fromkeys(name for source in sources for name in source.types))
    width = max(len(_key(name)) for name in names) + 1
    for name in names:
        guess = _column(con, sources, name, reading, keys)
        keys += "block" in guess.settings
        lines.append(f"  {_key(name) + ':':<{width}} {_flow(guess.settings)}")
        lines.extend(f"    # {reason}" for reason in guess.reasons)
    if why:
        lines.append("reading:")
        lines.extend(f"  # {reason}" for reason in why)
        lines.append(f"  strip: {str(reading.strip).lower()}")
        if reading.delimiter != ",":
            lines.append(f"  delimiter: {_flow(reading.delimiter)}")
    lines += [
        "# Who is assumed to attack. `paper` blocks as stated above, compares z-scored numbers and one-hot categories",
        "# after PCA by cosine. Nothing is audited under an assumption that nobody saw, so this line is required.",
        "attacker: paper",
        "threshold: 0.90   # how alike two records must be to count as linked",
        "seed: 42",
        "# People known to be absent from the release tell how many look-alikes anybody finds:",
        "# control: {file: holdout.csv}",
    ]
    return "\n".join(lines) + "\n"


def _column(
    con: duckdb.DuckDBPyConnection, sources: Sequence[Source], name: str, reading: Reading, keys: int
) -> _Guess:
    present = [source for source in sources if name in source.types]
    facts = [_facts(con, source, name, reading) for source in present]
    if len(present) == 1:
        where = present[0].name
        reasons = [f"only in {where}, so it cannot be compared"]
        if present[0].table == "protected" and _points_at_rows(facts[0], sources[0].rows):
            reasons.append("its whole numbers fit row numbers of the original; if so, truth is known, write:")
            reasons.append(f"truth: {{original: row_number, protected: {_key(name)}}}")
        return _Guess({"role": "ignore"}, tuple(reasons))
    original, protected = facts
    reasons = []
    if original.missing or protected.missing:
        reasons.append(f"missing: {original.missing:,} in the original, {protected.missing:,} in the release")
    usual = original.usual_missing + protected.usual_missing
    if usual:
        reasons.append(f"{usual:,} cells are spelled like a missing value (?, NA, null, ...); if they are, list the")
        reasons.append('spelling: reading: {missing: ["", ...]}')
    if _is_identity(name, original, protected):
        return _Guess({"role": "id"}, ("every original value is different, and the release repeats them", *reasons))
    kind, why = _kind(original, protected)
    reasons.append(why)
    if kind == "category" and len(original.distinct) > max(50, original.rows // 2):
        reasons.append(
            f"{len(original.distinct):,} different values in {original.rows:,} rows: an identifier or free text?"
        )
        reasons.append("left out; make it a category if an attacker could compare it")
        return _Guess({"role": "ignore"}, tuple(reasons))
    settings: dict[str, Any] = {"role": "attribute", "type": kind}
    if _QUASI.search(name.lower().replace("_", " ")):
        settings["role"] = "quasi_identifier"
        reasons.append("a quasi-identifier by its name")
    if kind == "category":
        _add_levels(settings, original, protected, reasons)
    if kind == "datetime":
        settings["features"] = ["hour", "day_of_week"] if _has_clock(original) else ["month", "day_of_week"]
    if settings["role"] == "quasi_identifier":
        _add_block(settings, original, protected, keys, reasons)
    return _Guess(settings, tuple(reasons))


def _facts(con: duckdb.DuckDBPyConnection, source: Source, name: str, reading: Reading) -> _Facts:
    text = f"{quoted(name)}::VARCHAR"
    if source.types[name] in ("FLOAT", "DOUBLE"):
        text = f"CASE WHEN isnan({quoted(name)}) THEN NULL ELSE {text} END"
    if reading.strip:
        text = f"trim({text})"
    query = f"SELECT nullif({text}, '') AS value, count(*) FROM {quoted(source.table)} GROUP BY 1"
    counts = dict(con.execute(query).fetchall())
    missing = int(counts.pop(None, 0))
    usual = sum(int(counts.get(spelling, 0)) for spelling in _USUAL_MISSING)
    return _Facts(source.rows, missing, sorted(str(value) for value in counts), usual)


def _points_at_rows(facts: _Facts, rows: int) -> bool:
    whole = all(value.isdecimal() and int(value) < rows for value in facts.distinct)
    return bool(facts.distinct) and whole and len(facts.distinct) == facts.rows


def _is_identity(name: str, original: _Facts, protected: _Facts) -> bool:
    unique = len(original.distinct) == original.rows > 1
    shared = len(set(original.distinct) & set(protected.distinct))
    whole_or_text = not all(_fraction(value) for value in original.distinct[:100])
    named = bool(_IDENTITY.search(name.lower().replace("_", " ")))
    return (
        unique
        and whole_or_text
        and shared >= 0.5 * len(protected.distinct)
        and (named or shared > 0.99 * original.rows)
    )


def _fraction(value: str) -> bool:
    found = _number(value)
    return found is not None and found != int(found)


def _number(value: str) -> float | None:
    found = read_number(value, whole=False, smallest=0.0, largest=0.0)
    return found.middle if found is not None and re.fullmatch(r"[+-]?[\d.]+(?:[eE][+-]?\d+)?", value) else None


def _kind(original: _Facts, protected: _Facts) -> tuple[str, str]:
    values = [value for value in original.distinct if value not in _USUAL_MISSING]
    released = [value for value in protected.distinct if not is_suppressed(value) and value not in _USUAL_MISSING]
    generalized = sum(_number(value) is None for value in released)
    if values and all(_number(value) is not None for value in values):
        if any(re.fullmatch(r"0\d+", value) for value in values):
            return "category", "numbers with leading zeros are codes"
        readable = all(read_number(v, whole=True, smallest=0.0, largest=1e300) is not None for v in released)
        if not readable:
            return "category", "numbers in the original, other text in the release"
        if len(values) <= _FEW and all(value.lstrip("-").isdecimal() for value in values):
            return "category", f"only {len(values)} different whole numbers: codes, most likely"
        more = f"; {generalized} interval labels in the release" if generalized else ""
        return "numeric", f"numbers in both tables{more}"
    if values and all(read_time(value) is not None and len(value) > 7 for value in values):
        if all(read_time(value) is not None for value in released):
            return "datetime", "times in both tables"
        return "category", "times in the original, other text in the release"
    return "category", f"{len(values):,} different labels"


def _has_clock(facts: _Facts) -> bool:
    return any(len(value) > 10 and not value.endswith("00:00:00") for value in facts.distinct[:1000])


def _add_levels(settings: dict[str, Any], original: _Facts, protected: _Facts, reasons: list[str]) -> None:
    """A separator, where every label has it, or the release stars out what follows it."""
    for separator in ("/", "|", ">"):
        if original.distinct and all(separator in value for value in original.distinct):
            settings["separator"] = separator
            reasons.append(f"every label has levels, separated by '{separator}'")
    unknown = len([v for v in protected.distinct if v not in set(original.distinct) and not is_suppressed(v)])
    if unknown and "separator" not in settings:
        reasons.append(f"{unknown} labels of the release are not in the original: generalized? give a `hierarchy` file")


def _add_block(settings: dict[str, Any], original: _Facts, protected: _Facts, keys: int, reasons: list[str]) -> None:
    if keys >= _MOST_KEYS:
        reasons.append(f"not blocked by: {_MOST_KEYS} keys are enough to start with, each one parts true pairs")
        return
    kind = settings["type"]
    if kind == "numeric":
        settings["block"] = {"bin": _bin(original, protected)}
        reasons.append("blocked by bins about an eighth of the range wide")
    elif kind == "datetime":
        settings["block"] = {"truncate": "month"}
    elif "separator" in settings:
        settings["block"] = {"level": 1}
    elif len(original.distinct) <= 50 and set(protected.distinct) <= set(original.distinct) | {"*"}:
        settings["block"] = "exact"
    else:
        reasons.append("not blocked by: too many labels, or labels that only one table has")


def _bin(original: _Facts, protected: _Facts) -> float | int:
    """About an eighth of the range, at least as wide as the release's intervals, as 1, 2 or 5 times a power of ten."""
    numbers = [number for value in original.distinct if (number := _number(value)) is not None]
    wanted = (max(numbers) - min(numbers)) / 8
    for value in protected.distinct[:1000]:
        found = read_number(value, whole=True, smallest=min(numbers), largest=max(numbers))
        if found is not None and found.high - found.low < max(numbers) - min(numbers):
            wanted = max(wanted, found.high - found.low)
    if wanted <= 0:
        return 1
    power = 10.0
    while power > wanted:
        power /= 10
    while power * 10 <= wanted:
        power *= 10
    width = next(power * step for step in (1, 2, 5, 10) if power * step >= wanted * 0.999)
    return int(width) if width >= 1 else width


def _key(name: str) -> str:
    """A column name as a YAML key."""
    return yaml.safe_dump(name, allow_unicode=True, width=10**6, default_style=None).removesuffix("\n...\n").strip()


def _flow(value: Any) -> str:
    return (
        yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6)
        .strip()
        .removesuffix("\n...")
    )
