"""Same input, same bytes: threads, chunk sizes, memory, row order, the process and the hash seed change nothing.

Forty pairs of tables in a full run, each with one to four threads, three sizes of chunks and shuffled rows. Reference
results, kept in `fixtures/reference`, are compared as well, so that another machine shows whether it agrees:

    python tests/test_same_bytes.py     writes them anew
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import cvpl
from cvpl.cli.demo import CONFIG as DEMO
from cvpl.laboratory.mechanisms import GaussianCopula, Mondrian, Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.search import budget
from examples import TIMES, examples_apart

PEOPLE = 240
CHUNKS = (1 << 14, 1 << 17, 4 << 20)
"""Bytes of a tile of scores and, times sixteen, of the vectors that are held at a time."""
THREADS = (1, 2, 4)
PAIRS = range(40)
SOME = PAIRS if TIMES > 1 else (11,)
REFERENCES = (0, 7, 14, 23)
REFERENCE = Path(__file__).parent / "fixtures" / "reference"
CLOSE = 1e-9
"""The largest relative difference of a figure between two machines: libraries may sum in another order."""


def tables(number: int) -> dict[str, pd.DataFrame]:
    """The original, the release and the control of one pair: every mechanism, with and without ids."""
    rng = np.random.default_rng(number)
    people, others = (Touchpoints(records=PEOPLE + number).draw(rng) for _ in range(2))
    mechanisms = (Perturbation("low"), Perturbation("high"), GaussianCopula(), Mondrian(5, ("age", "gender", "region")))
    made = mechanisms[number % 4].protect(people, rng)
    frames = {
        name: pd.DataFrame(table.to_columns())
        for name, table in {"original": people, "protected": made, "control": others}.items()
    }
    if number % 3 == 0:
        frames["protected"] = frames["protected"].drop(columns="person_id", errors="ignore")
    return frames


def audit(frames: dict[str, pd.DataFrame], number: int, **search: Any) -> dict[str, Any]:
    """The result of an audit, without what names the files and the resources."""
    config = yaml.safe_load(DEMO) | {"seed": number, "search": search}
    if number % 5:
        config["canaries"] = False
    control = None if number % 4 == 3 else frames["control"]
    found = json.loads(cvpl.audit(frames["original"], frames["protected"], config, control=control).to_json())
    for table in found["inputs"].values():
        table.pop("sha256")
    del found["provenance"]["config"]["search"], found["provenance"]["versions"]
    return found


@cache
def usual(number: int) -> dict[str, Any]:
    """The audit of a pair as anybody calls it."""
    return audit(tables(number), number)


@pytest.mark.parametrize("number", SOME)
def test_threads_chunks_and_the_order_of_rows_change_no_byte(number, monkeypatch):
    frames = tables(number)
    expected = usual(number)
    shuffled = {name: frame.sample(frac=1.0, random_state=number) for name, frame in frames.items()}
    for threads in THREADS:
        for chunk in CHUNKS:
            monkeypatch.setattr(budget, "_TILE_BYTES", chunk)
            monkeypatch.setattr(budget, "_GROUP_BYTES", 16 * chunk)
            if TIMES > 1 or THREADS.index(threads) == CHUNKS.index(chunk):
                memory = {"memory": "400MB"} if threads == THREADS[-1] else {}
                assert audit(shuffled, number, threads=threads, **memory) == expected, (threads, chunk)


@pytest.mark.parametrize("number", SOME[:1])
def test_another_process_with_another_hash_seed_gives_the_same_bytes(number):
    digests = set()
    for seed in ("0", "4321")[:: examples_apart(2)]:
        code = f"import few_trees, test_same_bytes as t; few_trees.make_few_trees(); print(t.digest(t.usual({number})))"
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        call = [sys.executable, "-c", code]
        done = subprocess.run(call, env=environment, capture_output=True, text=True, check=True)  # noqa: S603 - ours
        digests.add(done.stdout.strip())
    assert digests == {digest(usual(number))}


def digest(found: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


def differences(mine: Any, theirs: Any, place: str = "") -> list[str]:
    """Where two results differ: counts, texts and indicators at all, figures by more than `CLOSE`."""
    if isinstance(mine, dict) and isinstance(theirs, dict) and mine.keys() == theirs.keys():
        return [found for key in mine for found in differences(mine[key], theirs[key], f"{place}.{key}")]
    if isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        pairs = enumerate(zip(mine, theirs, strict=True))
        return [found for at, (one, other) in pairs for found in differences(one, other, f"{place}[{at}]")]
    if isinstance(mine, float) and isinstance(theirs, float):
        return [] if math.isclose(mine, theirs, rel_tol=CLOSE, abs_tol=CLOSE) else [place]
    return [] if type(mine) is type(theirs) and mine == theirs else [place]


@pytest.mark.parametrize("number", REFERENCES if TIMES > 1 else REFERENCES[:2])
def test_this_machine_agrees_with_the_reference_results(number):
    kept = json.loads((REFERENCE / f"{number}.json").read_text(encoding="utf-8"))
    assert differences(kept_figures(number), kept["result"]) == [], f"written on {kept['machine']}"


def kept_figures(number: int) -> dict[str, Any]:
    """An audit without inference, whose models are those of the installed scikit-learn."""
    found = audit(tables(number), number)
    assert found.pop("inference") is not None
    return found


def test_a_difference_is_seen():
    same = {"a": [1, 0.5, "x"], "b": None}
    assert differences(same, {"a": [1, 0.5 + 1e-12, "x"], "b": None}) == []
    assert differences(same, {"a": [1, 0.5001, "y"], "b": False}) == [".a[1]", ".a[2]", ".b"]
    assert differences(same, {"a": [1, 0.5], "b": None}) == [".a"]


def write_references() -> None:
    REFERENCE.mkdir(exist_ok=True)
    for number in REFERENCES:
        kept = {"machine": platform.machine(), "result": kept_figures(number)}
        text = json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
        (REFERENCE / f"{number}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_references()
