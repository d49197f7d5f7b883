"""Same input, same bytes: threads, chunk sizes, memory, row order, the process and the hash seed change nothing.

Forty pairs of tables in a full run, each with one to four threads, three sizes of chunks and shuffled rows. Reference
results, kept in `fixtures/reference`, are compared as well, so that another machine shows whether it agrees:

    python tests/support/same_results.py     writes them anew
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from cvpl.search import machine
from examples import TIMES, examples_apart
from same_results import (
    REFERENCE,
    REFERENCES,
    audit,
    differences,
    digest,
    kept_figures,
    tables,
    usual,
)

CHUNKS = (1 << 14, 1 << 17, 4 << 20)
"""Bytes of a tile of scores and, times sixteen, of the vectors that are held at a time."""
THREADS = (1, 2, 4)
PAIRS = range(40)
SOME = PAIRS if TIMES > 1 else (11,)


@pytest.mark.parametrize("number", SOME)
def test_threads_chunks_and_the_order_of_rows_change_no_byte(number, monkeypatch):
    frames = tables(number)
    expected = usual(number)
    shuffled = {name: frame.sample(frac=1.0, random_state=number) for name, frame in frames.items()}
    for threads in THREADS:
        for chunk in CHUNKS:
            monkeypatch.setattr(machine, "TILE_BYTES", chunk)
            monkeypatch.setattr(machine, "GROUP_BYTES", 16 * chunk)
            if TIMES > 1 or THREADS.index(threads) == CHUNKS.index(chunk):
                memory = {"memory": "400MB"} if threads == THREADS[-1] else {}
                assert audit(shuffled, number, threads=threads, **memory) == expected, (threads, chunk)


@pytest.mark.parametrize("number", SOME[:1])
def test_another_process_with_another_hash_seed_gives_the_same_bytes(number):
    digests = set()
    for seed in ("0", "4321")[:: examples_apart(2)]:
        code = f"import few_trees, same_results as t; few_trees.make_few_trees(); print(t.digest(t.usual({number})))"
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        call = [sys.executable, "-c", code]
        done = subprocess.run(call, env=environment, capture_output=True, text=True, check=True)  # noqa: S603 - ours
        digests.add(done.stdout.strip())
    assert digests == {digest(usual(number))}


@pytest.mark.parametrize("number", REFERENCES if TIMES > 1 else REFERENCES[:2])
def test_this_machine_agrees_with_the_reference_results(number):
    kept = json.loads((REFERENCE / f"{number}.json").read_text(encoding="utf-8"))
    assert differences(kept_figures(number), kept["result"]) == [], f"written on {kept['machine']}"


def test_a_difference_is_seen():
    same = {"a": [1, 0.5, "x"], "b": None}
    assert differences(same, {"a": [1, 0.5 + 1e-12, "x"], "b": None}) == []
    assert differences(same, {"a": [1, 0.5001, "y"], "b": False}) == [".a[1]", ".a[2]", ".b"]
    assert differences(same, {"a": [1, 0.5], "b": None}) == [".a"]
