"""Option values shared by several commands."""

from __future__ import annotations

import math
import os
from datetime import UTC, date, datetime

import typer

from cvpl.errors import UsageError
from cvpl.wording import printable

READ_FORMATS = ".csv, .tsv, .csv.gz, .tsv.gz, .parquet, .xlsx, FILE.duckdb#TABLE"
"""The tables that every command reads, for help texts."""
SPLIT_FORMATS = ".csv, .tsv, .csv.gz, .tsv.gz, .parquet"
"""The tables that can be written back as they are."""
OVERWRITE = typer.Option(False, "--overwrite", help="Replace existing files.")
"""The option of every command that writes."""
DETAILS = typer.Option(
    False, "--details", help="Print everything that the page shows, not only a summary of at most 40 lines."
)
"""The option of the commands that print the summary of an audit."""
LIMITS = typer.Option(
    None,
    "--limits",
    metavar="LIMITS",
    help="Larger limits for a table, such as rows=2000000000,bytes=200GB; bytes, rows, columns, labels, expansion.",
)
"""The option of every command that reads tables without a configuration."""
ORIGINAL_HELP = f"The table before protection ({READ_FORMATS})."


def finite_rate(value: float | None) -> float | None:
    """Check a rate, if given; Typer itself would accept NaN."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter("a number from 0 to 1 is needed, such as 0.05.")
    return value


def given_limits(text: str | None) -> dict[str, int | str] | None:
    """The limits of `--limits`; None if it is not given."""
    if text is None:
        return None
    from cvpl.config.loading import parse_limits  # noqa: PLC0415 - only if needed

    return parse_limits(text)


def memory_bytes(size: str | None) -> int | None:
    """The bytes of `--memory`; None if it is not given."""
    if size is None:
        return None
    from cvpl.config.written import parse_size  # noqa: PLC0415 - only if needed

    try:
        return parse_size(size)
    except ValueError as error:
        raise UsageError(f"--memory {size}: {error}.") from None


DATE = typer.Option(
    None,
    "--date",
    metavar="YYYY-MM-DD",
    help="The date on the report's first page; by default today, or that of SOURCE_DATE_EPOCH. result.json holds none.",
)
"""The option of the commands that write the report of an audit."""
VARIABLE = "SOURCE_DATE_EPOCH"
"""Seconds since 1970 in UTC: the variable by which builds that are reproducible fix their date."""


def report_date(given: str | None) -> date:
    """The day of `--date`, else that of SOURCE_DATE_EPOCH, else today."""
    if given is not None:
        try:
            return date.fromisoformat(given)
        except ValueError:
            raise UsageError(f"--date {printable(given)}: not a day. Write it as 2026-05-31.") from None
    seconds = os.environ.get(VARIABLE)
    if not seconds:
        return datetime.now().astimezone().date()
    try:
        return datetime.fromtimestamp(int(seconds), UTC).date()
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{VARIABLE}: seconds since 1970 are needed. Unset it, or pass --date.") from None
