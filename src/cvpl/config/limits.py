"""Limits on tables that are read without a configuration: `rows=2000000000,columns=20000`, or a mapping."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from cvpl.config.problems import problems_of
from cvpl.config.written import LimitsConfig
from cvpl.errors import UsageError
from cvpl.tables.source.reading_settings import Limits
from cvpl.wording import unknown_names

LimitsLike = Mapping[str, int | str]
"""Some of the limits of `reading.limits` by their names; bytes may be a size such as 200GB."""
_FORM = "Write such as rows=2000000000,bytes=200GB."


def limits_of(given: LimitsLike) -> Limits:
    """The limits, with the usual ones where none is given. Raises UsageError for one that is not allowed."""
    unknown = [name for name in given if name not in LimitsConfig.model_fields]
    if unknown:
        raise UsageError(f"limits: {unknown_names('limit', unknown, LimitsConfig.model_fields)}. {_FORM}")
    try:
        return Limits(**LimitsConfig.model_validate(dict(given)).model_dump())
    except ValidationError as error:
        problems = problems_of(error, "limits", LimitsConfig)
        raise UsageError(f"limits: {'; '.join(problem.what for problem in problems)}. {_FORM}") from None


def parse_limits(text: str) -> dict[str, int | str]:
    """The limits that are written as NAME=NUMBER, separated by commas. Raises UsageError for another form."""
    found: dict[str, int | str] = {}
    for part in text.split(","):
        name, sign, value = (word.strip() for word in part.partition("="))
        if not name or not sign or not value or name in found:
            raise UsageError(f"limits: expected NAME=NUMBER, each name once, separated by commas. {_FORM}")
        found[name] = int(value) if value.isascii() and value.isdecimal() else value
    limits_of(found)
    return found
