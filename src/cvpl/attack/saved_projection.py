"""A fitted linear projection as a file, so that a later audit compares records in the same space.

The file is JSON: for each feature its column, its part in it, its scale and its loadings. A category's labels are cells
of a table, so the file holds only salted hashes of them: enough to recognize a label, not to read it. Numbers are
rounded to four digits, and the share of a label to tens of people, so that none of them counts single people: the space
is the same up to that rounding.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import InputError, Problem, UsageError
from cvpl.files import write_whole
from cvpl.files.reading import read_bounded
from cvpl.operators.projection import FittedProjection, LinearProjection
from cvpl.operators.vectorization import CategoryFeatures, FeatureSpace, NumberFeature

MOST_MEGABYTES = 1_000
"""The largest saved projection that is read."""
SCHEMA = "cvpl/projection/1"
_DIGITS = 4
_PEOPLE = 10
"""Shares are rounded to this many people; fewer count as none."""

Floats = NDArray[np.float64]


def save_projection(path: str | Path, space: FeatureSpace, projection: FittedProjection | None, records: int) -> None:
    """Write a linear projection with the scales of its features, fitted on so many records."""
    linear = None if projection is None else projection.linear
    if linear is None:
        raise UsageError("only a linear projection (pca, robust_pca, random) can be saved")
    salt = secrets.token_hex(16)
    parts: list[dict[str, Any]] = []
    for part in space.parts:
        entry: dict[str, Any] = {"column": part.spec.name, "start": part.start, "width": part.width}
        if isinstance(part, NumberFeature):
            numbers = {name: _round_digits(getattr(part, name)) for name in ("centre", "factor", "neutral", "median")}
            entry |= {"kind": "number", "feature": part.name, **numbers}
            entry["origin"] = None if part.origin is None else str(part.origin)
            if part.shares is not None:
                names = [_hash(salt, label) for label in part.labels]
                entry["shares"] = dict(zip(names, _round_to_tens(part.shares, records).tolist(), strict=True))
        else:
            entry |= {"kind": part.encoding, "mean": _round_to_tens(part.mean, records).tolist(), "table": {}}
            if part.encoding != "indicator":
                names = [_hash(salt, label) for label in part.labels]
                # Entries between 0 and 1 are shares of a level's labels.
                entry["table"] = dict(zip(names, np.round(part.table, 1).tolist(), strict=True))
        parts.append(entry)
    centre = _round_digits(linear.centre)
    for part in space.parts:
        if isinstance(part, CategoryFeatures):
            here = slice(part.start, part.start + part.width)
            centre[here] = _round_to_tens(linear.centre[here], records)
    content = {
        "schema": SCHEMA,
        "salt": salt,
        "parts": parts,
        "centre": centre.tolist(),
        "loadings": _round_digits(linear.loadings).tolist(),
        "variances": None if linear.variances is None else _round_digits(linear.variances).tolist(),
        "total_variance": None if linear.total_variance is None else float(_round_digits(linear.total_variance)),
    }
    write_whole(Path(path), json.dumps(content))


def load_projection(path: str, space: FeatureSpace) -> tuple[FeatureSpace, LinearProjection]:
    """Load the saved features and projection for the current columns.

    A label that the saved run did not have has no features; a column that it did not have, or encoded differently, is a
    problem.
    """
    name = Path(path).name
    cure = "Name a file that `cvpl audit --save-projection` wrote."
    text = read_bounded(Path(path), name, "saved projection", MOST_MEGABYTES, cure)
    try:
        content = json.loads(text)
        if content["schema"] != SCHEMA:
            raise KeyError("schema")  # noqa: TRY301 - reported like any other unreadable file
        saved = {(part["column"], part["kind"], part.get("feature")): part for part in content["parts"]}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError([Problem(name, "the saved projection cannot be read", cure)]) from None
    parts: list[NumberFeature | CategoryFeatures] = []
    problems = []
    for part in space.parts:
        kind = "number" if isinstance(part, NumberFeature) else part.encoding
        feature = part.name if isinstance(part, NumberFeature) else None
        found = saved.pop((part.spec.name, kind, feature), None)
        if found is None:
            what = "the saved projection was fitted without this column, or with another encoding of it"
            cure = "Use the same columns and encodings as the run that saved it."
            problems.append(Problem(name, what, cure, part.spec.name))
        elif isinstance(part, NumberFeature):
            parts.append(_number(part, found, content["salt"]))
        else:
            parts.append(_category(part, found, content["salt"]))
    for column, _, _ in saved:
        what, cure = "the saved projection needs this column", "Add it, or fit a new projection on these tables."
        problems.append(Problem(name, what, cure, column))
    if problems:
        raise InputError(problems)
    variances = None if content["variances"] is None else np.array(content["variances"])
    centre = np.array(content["centre"])
    loadings = np.array(content["loadings"]).reshape(len(centre), -1)
    return FeatureSpace(tuple(parts), len(centre)), LinearProjection(
        centre, loadings, variances, content["total_variance"]
    )


def _number(part: NumberFeature, found: dict[str, Any], salt: str) -> NumberFeature:
    shares = None
    if part.shares is not None:
        shares = np.array([found["shares"].get(_hash(salt, label), 0.0) for label in part.labels])
    origin = None if found["origin"] is None else np.datetime64(found["origin"], "us")
    numbers = {name: found[name] for name in ("start", "centre", "factor", "neutral", "median")}
    return replace(part, **numbers, origin=origin, shares=shares)


def _category(part: CategoryFeatures, found: dict[str, Any], salt: str) -> CategoryFeatures:
    mean = np.array(found["mean"])
    if part.encoding == "indicator":
        return replace(part, start=found["start"])
    unknown = np.zeros(found["width"])
    rows = [found["table"].get(_hash(salt, label)) for label in part.labels]
    table = np.array([unknown if row is None else row for row in rows]).reshape(len(rows), found["width"])
    return replace(part, start=found["start"], table=table, mean=mean, known=None)


def _round_digits(values: Any) -> Any:
    """Numbers rounded to four significant digits."""
    values = np.asarray(values, dtype=np.float64)
    places = np.where(values == 0, 1.0, np.abs(values))
    unit = 10.0 ** (np.floor(np.log10(places)) - (_DIGITS - 1))
    found = np.round(values / unit) * unit
    return found if found.ndim else float(found)


def _round_to_tens(shares: Floats, records: int) -> Floats:
    """Shares of so many records, rounded to tens of them; fewer than ten are none."""
    counts = shares * records
    tens = np.round(counts / _PEOPLE) * _PEOPLE
    return np.where(counts < _PEOPLE, 0.0, tens / max(1, records))


def _hash(salt: str, label: str) -> str:
    return hashlib.sha256(f"{salt}:{label}".encode()).hexdigest()[:24]
