"""Releases as they are made in earnest, which an audit must not refuse to judge.

Additive noise and swapped values, generalization into classes of ten, a synthesizer by regression trees (the method of
synthpop and CART), a Gaussian copula without real margins, and a table drawn from clusters.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.tree import DecisionTreeRegressor

from blinders.mechanism import Keys, Mechanism, nearest, no_keys


def _oracle(people: pd.DataFrame, released: pd.DataFrame, keys: Keys, known: pd.DataFrame) -> np.ndarray:
    comparable = [c for c in people if people[c].dtype == released[c].dtype]
    return nearest(people[comparable], released[comparable]) if comparable else np.zeros(len(people))


def _numbers(table: pd.DataFrame) -> list[str]:
    return [c for c in table if pd.api.types.is_numeric_dtype(table[c])]


def _noise(size: float):  # type: ignore[no-untyped-def]
    def release(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
        done = table.copy()
        for column in table:
            if column in _numbers(table):
                moved = table[column] + rng.normal(0, size * float(table[column].std()), len(table))
                done[column] = np.round(moved, 2)
            elif pd.api.types.is_datetime64_any_dtype(table[column]):
                done[column] = table[column] + rng.normal(0, size * 120, len(table)).round().astype("timedelta64[D]")
            else:
                other = table[column].to_numpy()[rng.integers(0, len(table), len(table))]
                done[column] = np.where(rng.random(len(table)) < min(0.8, size), other, table[column])
        return done

    return release


def _generalized(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
    """Every number in one of eight intervals, rare labels suppressed, times by year; classes below 5 left out."""
    done = table.copy().astype(object)
    for column in table:
        if column in _numbers(table):
            edges = np.unique(np.quantile(table[column], np.linspace(0, 1, 5)).round())
            place = np.clip(np.searchsorted(edges, table[column], side="right") - 1, 0, len(edges) - 2)
            done[column] = [f"[{edges[at]:g}, {edges[at + 1] + (at == len(edges) - 2):g})" for at in place]
        elif pd.api.types.is_datetime64_any_dtype(table[column]):
            done[column] = table[column].dt.strftime("%Y")
        else:
            usual = table[column].value_counts()
            done[column] = table[column].where(table[column].map(usual) >= 0.1 * len(table), "*")
    return done


def _by_trees(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
    """Each column drawn from a leaf of a tree that was fitted on the columns before it (synthpop, CART)."""
    coded = pd.DataFrame(
        {
            c: table[c].astype("int64")
            if pd.api.types.is_datetime64_any_dtype(table[c])
            else table[c]
            if c in _numbers(table)
            else table[c].astype("category").cat.codes
            for c in table
        }
    ).astype(float)
    made, drawn = {}, pd.DataFrame(index=table.index)
    for place, column in enumerate(table):
        if not place:
            rows = rng.integers(0, len(table), len(table))
        else:
            before = list(table)[:place]
            tree = DecisionTreeRegressor(min_samples_leaf=5, max_features=0.7, random_state=int(rng.integers(1 << 31)))
            tree.fit(coded[before], coded[column])
            leaves, mine = tree.apply(coded[before]), tree.apply(drawn[before])
            members = {leaf: np.flatnonzero(leaves == leaf) for leaf in np.unique(leaves)}
            rows = np.array([rng.choice(members[leaf]) for leaf in mine])
        made[column], drawn[column] = table[column].to_numpy()[rows], coded[column].to_numpy()[rows]
    return pd.DataFrame(made)


def _by_clusters(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
    """Numbers drawn around the mean of one of ten clusters, labels from those of its members: a coarse model."""
    numbers = _numbers(table)
    model = KMeans(10, n_init=1, random_state=int(rng.integers(1 << 31)))
    basis = table[numbers] if numbers else pd.get_dummies(table).astype(float)
    cluster = model.fit_predict((basis - basis.mean()) / (basis.std() + 1e-9))
    drawn = cluster[rng.integers(0, len(table), len(table))]
    done = table.copy()
    for at in range(10):
        here, there = table[cluster == at], np.flatnonzero(drawn == at)
        for column in table:
            if column in numbers:
                values = rng.normal(here[column].mean(), float(here[column].std() or 0) + 1e-9, len(there))
                done.loc[there, column] = values.round(1 if table[column].dtype.kind == "f" else 0).astype(
                    table[column].dtype
                )
            else:
                done.loc[there, column] = here[column].to_numpy()[rng.integers(0, len(here), len(there))]
    return done


MECHANISMS = (
    Mechanism("noise", ("continuous", "categorical", "mixed"), no_keys, _noise(0.3), _oracle),
    Mechanism("strong noise", ("continuous", "categorical", "mixed"), no_keys, _noise(1.0), _oracle),
    Mechanism("generalized", ("continuous", "categorical", "mixed"), no_keys, _generalized, _oracle),
    Mechanism("trees", ("continuous", "categorical", "mixed"), no_keys, _by_trees, _oracle),
    Mechanism("clusters", ("continuous", "categorical", "mixed"), no_keys, _by_clusters, _oracle),
)
