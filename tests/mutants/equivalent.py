"""Changes that no figure can show, judged by reading the code: `equivalent.yaml`, with their reasons."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import yaml

LIST = Path(__file__).with_name("equivalent.yaml")


class PlaceInWords(NamedTuple):
    """What is changed and where, without the number of the line, which moves."""

    file: str
    function: str
    statement: str
    expression: str
    what: str
    nth: int


def reasons() -> dict[PlaceInWords, str]:
    """The list as it is committed: why no figure can show the change at a place."""
    listed = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    return {PlaceInWords(*(entry[name] for name in PlaceInWords._fields)): entry["reason"] for entry in listed}


def as_entries(found: dict[PlaceInWords, str]) -> str:
    """Places and reasons in the form of the list."""
    entries = [place._asdict() | {"reason": found[place]} for place in sorted(found)]
    return yaml.safe_dump(entries, sort_keys=False, width=118, allow_unicode=True)
