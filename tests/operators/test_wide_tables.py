"""What a table of many columns is computed by: compiled loops and rows of bytes, with the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from cvpl.operators.similarity import agreement, match_agreement
from cvpl.operators.similarity.agreement import AgreementScorer, AgreementWeights, ComparedColumn
from cvpl.operators.vectorization import vectors


def _codes(rng: np.random.Generator, rows: int, values: list[int]) -> np.ndarray:
    """Codes of each column, some missing."""
    return np.column_stack([rng.integers(-1, many, rows) for many in values]).astype(np.int32)


@pytest.mark.parametrize("columns", [1, 30])
def test_compiled_agreement_has_the_bits_of_array_operations(columns, monkeypatch):
    rng = np.random.default_rng(columns)
    values = rng.integers(1, 9, columns).tolist()
    start = np.concatenate([[0], np.cumsum(values)]).astype(np.int64)
    first = np.concatenate([np.arange(many) for many in values]).astype(np.int32)
    last = first + rng.integers(-1, 2, len(first)).astype(np.int32)
    differ = np.where(rng.random(columns) < 0.5, -rng.random(columns), 0.0)
    worth = AgreementWeights(start, first, last, rng.normal(size=len(first)), differ)
    scorer = AgreementScorer(_codes(rng, 40, values), _codes(rng, 45, values), worth)
    queries, candidates = rng.integers(0, 40, 60), rng.integers(0, 45, 60)
    found = []
    for compiled in (False, True):
        monkeypatch.setattr(agreement, "worth_it", lambda *_, compiled=compiled: compiled)
        found.append((scorer.tile(slice(3, 40), slice(0, 44)), scorer.pairs(queries, candidates)))
    for plain, fast in zip(*found, strict=True):
        assert plain.any()
        assert np.array_equal(plain, fast)


@pytest.mark.parametrize("columns", [5, 30])
def test_patterns_of_many_columns_are_those_of_each_original_alone(columns, monkeypatch):
    rng = np.random.default_rng(columns)

    def column() -> ComparedColumn:
        first = np.arange(4, dtype=np.int32)
        last = (first + rng.integers(-1, 2, 4)).astype(np.int32)
        queries, candidates = (rng.integers(-1, 4, rows).astype(np.int32) for rows in (20, 50))
        return ComparedColumn("a", True, queries, candidates, first, last, np.zeros(4))

    compared = [column() for _ in range(columns)]
    compared.append(compared[0])
    monkeypatch.setattr(match_agreement, "MOST_COLUMNS", 0)
    monkeypatch.setattr(match_agreement, "CELLS_AT_ONCE", 3 * 50 * len(compared))
    wide, records = match_agreement.record_patterns(compared, 20)
    monkeypatch.setattr(match_agreement, "FEW_RECORDS", 0)
    each, wanted = match_agreement.record_patterns(compared, 20)
    assert records.tolist() == wanted.tolist()
    assert np.array_equal(wide.agree, each.agree) and np.array_equal(wide.known, each.known)
    assert wide.counts.tolist() == each.counts.tolist() and wide.counts.sum() == 20 * 50


def test_compiled_sums_by_category_have_the_bits_of_array_operations(monkeypatch):
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 6, 12).tolist()
    coded = [rng.integers(0, size, 200).astype(np.int32) for size in sizes]
    pairs = [(a, b) for b in range(len(sizes)) for a in range(b)]
    weight, weighted = rng.random(200), rng.normal(size=(200, 4))
    found = []
    for compiled in (False, True):
        monkeypatch.setattr(vectors, "worth_it", lambda *_, compiled=compiled: compiled)
        found.append(vectors.count_categories(coded, sizes, weight, weighted, pairs))
    for plain, fast in zip(*found, strict=True):
        assert len(plain) == len(fast)
        assert all(np.array_equal(one, other) for one, other in zip(plain, fast, strict=True))


def test_a_column_less_is_scored_from_the_tile_of_all_columns(monkeypatch):
    """Within the tolerance of a tile; the pairs that count are scored by the formula, with the same bits."""
    monkeypatch.setattr(agreement, "COMPILED_CELLS", 1)
    rng = np.random.default_rng(2)
    values = [3, 5, 4, 5]
    start = np.concatenate([[0], np.cumsum(values)]).astype(np.int64)
    first = np.concatenate([np.arange(many) for many in values]).astype(np.int32)
    worth = AgreementWeights(start, first, first, rng.normal(size=17), -rng.random(4))
    codes = [_codes(rng, 40, values) for _ in range(2)]
    scorer = AgreementScorer(*codes, worth, names=("a", "b", "c", "b"))
    whole = slice(0, 40)
    for name in ("a", "b", "c"):
        rest, kept = scorer.without(name), scorer.without(name, keep_tiles=True)
        kept = kept.sorted(np.arange(40), np.arange(40))
        assert np.abs(rest.tile(whole, whole) - kept.tile(whole, whole)).max() < scorer.tolerance
        assert not np.array_equal(scorer.tile(whole, whole), kept.tile(whole, whole))
        rows = rng.integers(0, 40, 50), rng.integers(0, 40, 50)
        assert np.array_equal(rest.pairs(*rows), kept.pairs(*rows))
    assert len(scorer.tiles) == 1
