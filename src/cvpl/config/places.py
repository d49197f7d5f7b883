"""Where settings can be written, read from the models themselves: the keys of a place, and the places of a key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

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
