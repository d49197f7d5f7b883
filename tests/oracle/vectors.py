"""Vectorization φ (paper, eq. vectorization-def): every record becomes a list of numbers.

Choices where the sources are silent:
- A column that is absent from `original` or `protected` is left out.
- A datetime column without `features` has none (with missing = "indicator" it may still have its indicator).
- Hierarchical paths are sorted as tuples of their parts, not as joined strings.
- A label with too few parts is missing on the deeper levels only: it is filled there (0 under Jaccard), but it is no
  missing value,
  so it alone brings no indicator.
- The scale of a frequency feature comes from rows, not from distinct labels. IQR == 0 is meant exactly.
- Means are `statistics.mean`, the correctly rounded exact mean: a constant feature has a spread of exactly 0.
"""

import math
import statistics
from dataclasses import dataclass


@dataclass
class Vectors:
    features: list  # per feature: (column, "number" or "binary")
    rows: dict  # table name -> one list of numbers per record
    binary: dict  # table name -> one list of 0/1 per record, for Jaccard


def participating(columns, knows, original, protected):
    """Q ∪ A (paper, sec. operator-decomposition), as far as the attacker knows it and both tables have it."""
    chosen = {}
    for name, column in columns.items():
        known = knows is None or name in knows
        present = name in original and name in protected
        if column["role"] in ("quasi_identifier", "attribute") and known and present:
            chosen[name] = column
    return chosen


def split(label, column):
    """The parts of a label, coarsest first."""
    separator = column.get("separator")
    return tuple(label.split(separator)) if separator else (label,)


def vectorize(tables, columns, encode, scale, missing, released_labels=False):
    """φ for `original`, `protected` and, with the statistics of these two only, `control`.

    With `released_labels` only labels of the release have a one-hot feature.
    """
    features = []
    rows = {table: [[] for _ in range(length(values))] for table, values in tables.items()}
    binary = {table: [[] for _ in range(length(values))] for table, values in tables.items()}

    for name, column in columns.items():
        if not column.get("vectorize", True):
            continue
        pooled = [v for table in ("original", "protected") for v in tables[table][name]]
        present = [v for v in pooled if v is not None]
        shown = [v for v in tables["protected"][name] if v is not None] if released_labels else present

        for kind, read in readers(column, column.get("encode", encode), present, shown):
            features.append((name, kind))
            known = [x for x in map(read, present) if x is not None]
            change = scaling(known, scale) if kind == "number" else (lambda x: x)
            fill = statistics.mean([change(x) for x in known]) if known else 0.0
            median = statistics.median(known) if known else math.inf  # nothing known of the feature: nobody has it
            for table in tables:
                for i, value in enumerate(tables[table][name]):
                    x = None if value is None else read(value)
                    rows[table][i].append(fill if x is None else change(x))
                    if x is None:
                        binary[table][i].append(0)
                    elif kind == "number":
                        binary[table][i].append(1 if x > median else 0)
                    else:
                        binary[table][i].append(int(x))

        if missing == "indicator" and len(present) < len(pooled):
            features.append((name, "binary"))
            for table in tables:
                for i, value in enumerate(tables[table][name]):
                    rows[table][i].append(1.0 if value is None else 0.0)
                    binary[table][i].append(1 if value is None else 0)

    return Vectors(features, rows, binary)


def length(table):
    for values in table.values():
        return len(values)
    return 0


def readers(column, encode, present, shown):
    """The column's features: a list of (kind, function from a present value to a number, or None where missing)."""
    if column["type"] == "numeric":
        return [("number", midpoint)]

    if column["type"] == "datetime":
        first = min(present) if present else None
        of = {
            "hour": lambda v: float(v.hour),
            "day_of_week": lambda v: float(v.weekday()),
            "month": lambda v: float(v.month),
            "elapsed_days": lambda v: 0.0 if first is None else (v - first).total_seconds() / 86400,
        }
        return [("number", of[feature]) for feature in column.get("features", [])]

    if encode == "frequency":
        return [("number", lambda v: present.count(v) / len(present) if present else 0.0)]

    if encode == "one_hot":
        return [("binary", lambda v, label=label: 1.0 if v == label else 0.0) for label in sorted(set(shown))]

    if encode == "hierarchical":
        found = []
        for level in range(1, max((len(split(v, column)) for v in present), default=0) + 1):
            paths = {split(v, column)[:level] for v in present if len(split(v, column)) >= level}
            for path in sorted(paths):
                found.append(("binary", path_reader(column, level, path)))
        return found

    raise ValueError(encode)


def midpoint(value):
    """A number, or the middle of a range that is written as a tuple of its ends."""
    return (value[0] + value[1]) / 2 if isinstance(value, tuple) else float(value)


def path_reader(column, level, path):
    def read(label):
        parts = split(label, column)
        if len(parts) < level:
            return None
        return 1.0 if parts[:level] == path else 0.0

    return read


def scaling(known, scale):
    """X -> (x - centre) / spread over the pooled present values; 0 for everyone without spread."""
    if scale == "none":
        return lambda x: x
    if not known:
        return lambda x: 0.0
    mean = statistics.mean(known)
    sd = statistics.pstdev(known)
    if sd <= 1e-12 * max(1.0, abs(mean)):
        sd = 0.0

    if scale == "z_score":
        centre, spread = mean, sd
    elif scale == "robust":
        iqr = quantile(known, 0.75) - quantile(known, 0.25)
        centre, spread = statistics.median(known), (iqr / 1.349 if iqr != 0 else sd)
    else:
        raise ValueError(scale)

    if spread == 0:
        return lambda x: 0.0
    return lambda x: (x - centre) / spread


def quantile(values, q):
    """Linear interpolation between the order statistics around position q (n - 1)."""
    ordered = sorted(values)
    position = q * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
