"""The day that a report names: given, of the environment, or today. Results hold no date."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime

import typer

from cvpl.errors import UsageError
from cvpl.wording import printable

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
