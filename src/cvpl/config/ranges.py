"""The range of numbers that a setting allows, read from the models themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from pydantic.fields import FieldInfo

from cvpl.config.places import Part, places_of, shared_beginning

BROKEN = {"greater_than": "gt", "greater_than_equal": "ge", "less_than": "lt", "less_than_equal": "le"}
"""Pydantic's names for the error of a number outside its range, with the bound that is broken."""
_WORDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


@dataclass(frozen=True)
class AllowedRange:
    """The bounds of a number by their names in pydantic: `ge` and `gt` from below, `le` and `lt` from above."""

    bounds: Mapping[str, float]

    def __str__(self) -> str:
        if self.bounds.keys() == {"ge", "le"}:
            return f"from {_number(self.bounds['ge'])} to {_number(self.bounds['le'])}"
        return " and ".join(f"{_WORDS[name]} {_number(self.bounds[name])}" for name in _WORDS if name in self.bounds)


def allowed_range(root: Any, path: Sequence[Part], bound: str, limit: float) -> AllowedRange | None:
    """The whole range of the setting at a path below `root`, of which one bound is known to be broken.

    A short form can write a setting at another path than its model has, so the setting is found by its name and that
    bound; among several, the one whose path is most like `path`.
    """
    for key in reversed([part for part in path if isinstance(part, str)]):
        found = [
            (shared_beginning(place, path), found)
            for place, model in places_of(root).get(key, ())
            for found in _ranges(model.model_fields[key])
            if found.bounds.get(bound) == limit
        ]
        if found:
            return max(found, key=lambda item: item[0])[1]
    return None


def _ranges(annotation: Any) -> Iterator[AllowedRange]:
    """The ranges in a field or annotation: one for each part of it that has bounds."""
    if isinstance(annotation, FieldInfo):
        metadata, inner = annotation.metadata, [annotation.annotation]
    elif get_origin(annotation) is Annotated:
        first, *written = get_args(annotation)
        metadata, inner = [part for item in written for part in getattr(item, "metadata", [item])], [first]
    else:
        metadata, inner = [], list(get_args(annotation))
    bounds = {name: getattr(item, name) for item in metadata for name in _WORDS if hasattr(item, name)}
    if bounds:
        yield AllowedRange(bounds)
    for part in inner:
        yield from _ranges(part)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,g}"
