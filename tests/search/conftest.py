"""What tests of searches share."""

from __future__ import annotations

import pytest

from cvpl.search import exact


@pytest.fixture
def always_trees(monkeypatch):
    """Trees in every block that is not tiny, whatever they cost."""
    for name, value in {
        "SMALL_BLOCK": 4,
        "TREE_RECORDS": 1,
        "TREE_PAIRS": 0,
        "TREE_PRODUCT": 0,
        "TREE_RECORD": -1,
    }.items():
        monkeypatch.setattr(exact, name, value)
