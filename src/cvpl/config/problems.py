"""Pydantic's validation errors as problems that users can act on, with the places where a key may be written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from cvpl.config.written import QUESTION
from cvpl.errors import Problem
from cvpl.wording import did_you_mean, likeness, nearest_name

SLIP = 0.75
"""Names at least this alike differ by a slip of the hand; less alike ones may be another word for the same thing."""
ELSEWHERE = 0.7
"""How alike a setting of another place must be to be named."""

MOST_LISTED = 8
"""The most allowed settings that are listed after a better answer."""


def problems_of(error: ValidationError, name: str, root: Any = None) -> list[Problem]:
    """One problem per location; of a union's many errors, the first of the innermost ones is kept.

    `root` is the model of the whole file. With it, an unknown setting is answered with the nearest one, with the place
    where it belongs, or with what is allowed there.
    """
    found: dict[tuple[Part, ...], Problem] = {}
    meant: set[tuple[Part, ...]] = set()
    missing: set[tuple[Part, ...]] = set()
    for item in error.errors(include_url=False):
        path = tuple(part for part in item["loc"] if not _is_type_name(part))
        if item["type"] == "extra_forbidden":
            cure, key = unknown_setting_advice(path, root)
            problem = Problem(name, f"unknown setting `{_join_parts(path)}`", cure)
            meant |= {(*path[:-1], key)} if key is not None else set()
        else:
            problem = _problem(name, path, item["type"], _whole_range(item, path, root) or item["msg"])
            if item["type"] == "literal_error":
                problem = replace(problem, cure=_value_meant(item["input"], item["ctx"]["expected"]) or problem.cure)
            missing |= {path} if item["type"] == "missing" else set()
        found.setdefault(path, problem)
    # A required setting that is misspelt is one problem, not two; so is a value with a fault inside.
    outer = {path[:end] for path in found for end in range(len(path))}
    return [problem for path, problem in found.items() if path not in meant & missing and path not in outer]


def _problem(name: str, path: Sequence[Part], kind: str, message: str) -> Problem:
    message = "this setting is required" if kind == "missing" else message.removeprefix("Value error, ")
    message, _, question = message.partition(QUESTION)
    cure = "Add the setting." if kind == "missing" else "Correct the setting."
    what = f"`{_join_parts(path)}`: {message[0].lower()}{message[1:]}" if path else message
    return Problem(name, what, question or cure)


def _whole_range(item: Mapping[str, Any], path: Sequence[Part], root: Any) -> str:
    """What is allowed in place of a number that is outside its range; empty if that is not the error."""
    bound = BROKEN.get(item["type"])
    found = None if bound is None or root is None else allowed_range(root, path, bound, item["ctx"][bound])
    return "" if found is None else f"input should be {found}"


def _value_meant(written: object, expected: str) -> str:
    """A question that names the nearest of the allowed values, which pydantic lists in quotes; empty if none is."""
    return did_you_mean(written, re.findall("'([^']*)'", expected)) if isinstance(written, str) else ""


def unknown_setting_advice(path: Sequence[Part], root: Any) -> tuple[str, str | None]:
    """What to do about an unknown setting, and the setting of the same place that is probably meant."""
    *above, last = path
    written, allowed = str(last), [] if root is None else keys_at(root, above)
    if not allowed:
        return "Remove it.", None
    known = places_of(root)
    near, elsewhere = nearest_name(written, allowed), nearest_name(written, known, ELSEWHERE)
    if near is not None and likeness(written, near) >= SLIP:
        return f"Did you mean `{near}`?", near
    names = f"Allowed here: {', '.join(f'`{key}`' for key in allowed)}."
    if written in known and (near is None or likeness(written, near) < ELSEWHERE):
        place = f"`{written}` belongs {_places_in_words(nearest_places(root, written, above))}."
        return f"{place} {names}" if len(allowed) <= MOST_LISTED else place, None
    if near is not None and (elsewhere in (None, written) or likeness(written, near) >= likeness(written, elsewhere)):
        places = same_meaning(root, near, above)
        more = f" It can be set {_places_in_words(places)}." if len(places) > 1 else ""
        return f"Did you mean `{near}`?{more}", near
    if elsewhere is not None:
        return (
            f"Did you mean `{elsewhere}`? It belongs {_places_in_words(nearest_places(root, elsewhere, above))}.",
            None,
        )
    return names, None


def _places_in_words(places: Sequence[Sequence[str]]) -> str:
    return " or ".join(f"under `{'.'.join(place)}`" if place else "at the top level" for place in places)


def _join_parts(parts: Sequence[Part]) -> str:
    return ".".join(str(part) for part in parts)


_UNION_MEMBERS = (
    "AttackerConfig",
    "EnsembleConfig",
    "Lsh",
    "Calibrate",
    "Agreement",
    "Rarity",
    "Pca",
    "RobustPca",
    "PolicyConfig",
    "float",
    "str",
)


def _is_type_name(part: object) -> bool:
    """Whether a path part is a union member added by pydantic; the user did not write it."""
    tried = ("literal[", "function-", "list[", "tuple[", "dict[", "constrained-", "nullable[")
    return isinstance(part, str) and (part.startswith(tried) or part in _UNION_MEMBERS)


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


Part = str | int
NAME = "NAME"
"""Stands for a name that the user chooses, such as that of a column."""


def keys_at(root: Any, path: Sequence[Part]) -> list[str]:
    """The keys that can be written at a path below `root`, which is a model or another annotation."""
    return list(dict.fromkeys(key for model in models_at(root, path) for key in model.model_fields))


def models_at(root: Any, path: Sequence[Part]) -> list[type[BaseModel]]:
    """The models whose keys can be written at a path: several if there are several forms."""
    here = _members(root)
    for part in path:
        here = _annotations_below(here, part)
    return [item for item in here if _is_model(item)]


@cache
def places_of(root: Any) -> Mapping[str, tuple[tuple[tuple[str, ...], type[BaseModel]], ...]]:
    """For every key below `root`, the paths of the settings that contain it and their models; () is the top level."""
    found: dict[str, dict[tuple[tuple[str, ...], type[BaseModel]], None]] = {}
    for path, model in _walk(root, (), ()):
        for key in model.model_fields:
            found.setdefault(key, {})[path, model] = None
    return {key: tuple(places) for key, places in found.items()}


def nearest_places(root: Any, key: str, path: Sequence[Part]) -> list[tuple[str, ...]]:
    """The places of a key, one for each model that has it: the one that shares the longest beginning with `path`."""
    chosen: dict[type[BaseModel], tuple[str, ...]] = {}
    for place, model in places_of(root).get(key, ()):
        if model not in chosen or shared_beginning(place, path) > shared_beginning(chosen[model], path):
            chosen[model] = place
    return list(dict.fromkeys(chosen.values()))


def same_meaning(root: Any, key: str, path: Sequence[Part]) -> list[tuple[str, ...]]:
    """The places of a key of the settings at `path` where it takes the same values."""
    taken = [_values(model, key) for model in models_at(root, path) if key in model.model_fields]
    chosen = nearest_places(root, key, path)
    alike = {place for place, model in places_of(root)[key] if _values(model, key) in taken}
    return [place for place in chosen if place in alike]


def _values(model: type[BaseModel], key: str) -> list[Any]:
    return [item for item in _members(model.model_fields[key].annotation) if item is not type(None)]


def shared_beginning(place: Sequence[str], path: Sequence[Part]) -> int:
    """How many parts a place and a path have in common from their beginning."""
    count = 0
    for one, other in zip(place, path, strict=False):
        if one not in (other, NAME):
            break
        count += 1
    return count


def _walk(annotation: Any, path: tuple[str, ...], above: tuple[Any, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every model below an annotation with its path, outer ones first."""
    for item in _members(annotation):
        if _is_model(item) and item not in above:
            yield path, item
            for key, field in item.model_fields.items():
                yield from _walk(field.annotation, (*path, key), (*above, item))
        elif _is_mapping(item):
            yield from _walk(get_args(item)[1], (*path, NAME), above)
        elif _is_sequence(item):
            for inner in get_args(item):
                yield from _walk(inner, path, above)


def _annotations_below(annotations: Sequence[Any], part: Part) -> list[Any]:
    """The annotations of what is written under `part`; empty if nothing can be."""
    found = []
    for item in annotations:
        if _is_model(item) and part in item.model_fields:
            found += _members(item.model_fields[part].annotation)
        elif _is_mapping(item) and isinstance(part, str):
            found += _members(get_args(item)[1])
        elif _is_sequence(item) and isinstance(part, int):
            found += [member for inner in get_args(item) if inner is not ... for member in _members(inner)]
    return found


def _members(annotation: Any) -> list[Any]:
    """The forms of an annotation, each without its constraints."""
    if get_origin(annotation) is Annotated:
        return _members(get_args(annotation)[0])
    if get_origin(annotation) is Union or isinstance(annotation, _UNION):
        return [item for member in get_args(annotation) for item in _members(member)]
    return [annotation]


_UNION = type(int | str)


def _is_model(item: Any) -> bool:
    return isinstance(item, type) and issubclass(item, BaseModel)


def _is_mapping(item: Any) -> bool:
    origin = get_origin(item)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _is_sequence(item: Any) -> bool:
    return get_origin(item) in (list, tuple)
