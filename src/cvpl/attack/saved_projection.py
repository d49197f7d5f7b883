"""A fitted linear projection as a file, so that a later audit compares records in the same space.

The file is JSON: for each feature its column, its part in it, its scale and its loadings. A category's labels are cells
of a table, so the file holds only salted hashes of them: enough to recognize a label, not to read it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cvpl.errors import InputError, Problem, UsageError
from cvpl.files import write_whole
from cvpl.operators.projection import FittedProjection, LinearProjection
from cvpl.operators.vectorization import CategoryFeatures, FeatureSpace, NumberFeature

SCHEMA = "cvpl/projection/1"


def save_projection(path: str | Path, space: FeatureSpace, projection: FittedProjection | None) -> None:
    """Write a linear projection with the scales of its features."""
    linear = None if projection is None else projection.linear
    if linear is None:
        raise UsageError("only a linear projection (pca, robust_pca, random) can be saved")
    salt = secrets.token_hex(16)
    parts: list[dict[str, Any]] = []
    for part in space.parts:
        entry: dict[str, Any] = {"column": part.spec.name, "start": part.start, "width": part.width}
        if isinstance(part, NumberFeature):
            numbers = {name: getattr(part, name) for name in ("centre", "factor", "neutral", "median")}
            entry |= {"kind": "number", "feature": part.name, **numbers}
            entry["origin"] = None if part.origin is None else str(part.origin)
            if part.shares is not None:
                names = [_hash(salt, label) for label in part.labels]
                entry["shares"] = dict(zip(names, part.shares.tolist(), strict=True))
        else:
            entry |= {"kind": part.encoding, "mean": part.mean.tolist(), "table": {}}
            if part.encoding != "indicator":
                names = [_hash(salt, label) for label in part.labels]
                entry["table"] = dict(zip(names, part.table.tolist(), strict=True))
        parts.append(entry)
    variances = None if linear.variances is None else linear.variances.tolist()
    content = {
        "schema": SCHEMA,
        "salt": salt,
        "parts": parts,
        "centre": linear.centre.tolist(),
        "loadings": linear.loadings.tolist(),
        "variances": variances,
        "total_variance": linear.total_variance,
    }
    write_whole(Path(path), json.dumps(content))


def load_projection(path: str, space: FeatureSpace) -> tuple[FeatureSpace, LinearProjection]:
    """Load the saved features and projection for the current columns.

    A label that the saved run did not have has no features; a column that it did not have, or encoded differently, is a
    problem.
    """
    name = Path(path).name
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        if content["schema"] != SCHEMA:
            raise KeyError("schema")  # noqa: TRY301 - reported like any other unreadable file
        saved = {(part["column"], part["kind"], part.get("feature")): part for part in content["parts"]}
    except (OSError, ValueError, KeyError, TypeError):
        cure = "Name a file that `cvpl audit --save-projection` wrote."
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


def _hash(salt: str, label: str) -> str:
    return hashlib.sha256(f"{salt}:{label}".encode()).hexdigest()[:24]
