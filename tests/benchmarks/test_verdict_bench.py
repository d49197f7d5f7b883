"""The test bench of the verdict: a part of it is run, and what it would say of an audit that fails is looked at.

The part is a thirtieth in `make test` and a tenth in `make test-full`, each with every kind of release.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

import cvpl
from cvpl.evaluation.rates import Roc
from cvpl.tables.columns import Pair
from cvpl.workflows.planned_audit import read_plan
from examples import TIMES

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULES = ("verdict_bench", "verdict_worlds", "verdict_truth")
PART, RELEASES, FRESH_CONTROLS = ("--tenth", 30, 100_000) if TIMES > 1 else ("--thirtieth", 10, 20_000)
SORTS = {"kind": 3, "how": 3, "rest": 3, "share": 7, "canaries": 2}
"""How many of each there are in every part."""


@pytest.fixture(scope="module")
def scripts():
    """The script and the modules that it imports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield [importlib.import_module(name) for name in MODULES]
        for name in MODULES:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def bench(scripts):
    """Runs the script in this process, and returns its exit code."""
    return lambda *arguments: scripts[0].main(list(map(str, arguments)))


@pytest.fixture(scope="module")
def part(bench, tmp_path_factory) -> tuple[Path, int, str]:
    """The lines of the part of the bench, and how its run ended: in a full run two processes, otherwise this one."""
    out = tmp_path_factory.mktemp("bench") / "part.jsonl"
    if TIMES > 1:
        command = [sys.executable, str(BENCHMARKS / "verdict_bench.py"), str(out), PART, "--processes", "2"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own script
        return out, done.returncode, done.stdout + done.stderr
    with redirect_stdout(StringIO()) as said, redirect_stderr(said):
        code = bench(out, PART)
    return out, code, said.getvalue()


@pytest.fixture
def altered(part, bench, tmp_path):
    """Runs the summary of the same lines with some of them changed."""

    def change(**changes):
        lines = [json.loads(line) for line in part[0].read_text().splitlines()]
        out = tmp_path / "altered.jsonl"
        out.write_text("".join(json.dumps(changes["of"](line)) + "\n" for line in lines))
        return bench(out, "summary", PART)

    return change


def test_a_part_of_the_bench_holds(part):
    out, code, said = part
    assert code == 0, said
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == RELEASES
    sorts = {name: {line[name] for line in lines} for name in ("kind", "how", "rest", "share", "canaries")}
    assert {name: len(values) for name, values in sorts.items()} == SORTS
    assert all(line["fresh_controls"] >= FRESH_CONTROLS for line in lines if line["high"] is not None)
    known = sum(line["high"] is not None for line in lines)
    assert known >= 5 / 6 * RELEASES, "intervals are what is held against the truth"


def test_what_stands_in_the_file_is_not_run_again(part, bench):
    before = part[0].read_text()
    assert bench(part[0], PART) == 0
    assert part[0].read_text() == before


def test_nothing_shown_over_planted_people_fails_the_bench(altered):
    assert altered(of=lambda line: line | ({"nothing_shows": True} if line["share"] == 0.25 else {})) == 1


def test_a_gate_that_passes_planted_people_fails_the_bench(altered):
    assert altered(of=lambda line: line | ({"gate_5": True} if line["share"] == 0.25 else {})) == 1


def test_intervals_that_miss_the_expected_figure_fail_the_bench(altered):
    moved = {"estimate": 2.5, "low": 2.0, "high": 3.0}
    assert altered(of=lambda line: line | (moved if line["controls"] == 200 and line["high"] is not None else {})) == 1


def test_no_release_at_all_fails_the_bench(bench, tmp_path):
    assert bench(tmp_path / "none.jsonl", "summary") == 1


def test_the_truth_runs_the_attack_of_the_audit(scripts):
    """In memory every attacker has the audit's power, also where its controls are handed to it afterwards."""
    _, worlds, truth = scripts
    setting = worlds.Setting("mixed", 150, 120, 0.25, "perturbed", "strangers")
    world = worlds.draw(setting, np.random.default_rng(3))
    config = worlds.config_of("mixed", 4, canaries=False) | {"report": {"suppress_below": 1}}
    frames = [world.frame(name) for name in ("original", "protected", "control")]
    result = cvpl.audit(frames[0], frames[1], config, control=frames[2])
    resolved, inputs = read_plan(*frames[:2], config, frames[2], None)
    rows = {name: getattr(world, name)[inputs.order[name]] for name in ("original", "protected", "control")}
    pair = Pair(*(worlds.table_of("mixed", name, rows[name]) for name in rows))
    for row in result.attackers:
        done = truth.attack_as_audited(pair, resolved, resolved.attackers[row.name])
        again = truth.with_control(done, worlds.table_of("mixed", "control", rows["control"][done.control_rows]))
        base = again.evidence("control", again.search_control())
        assert np.array_equal(base, done.evidence("control", done.search_control())), row.name
        powers = {item.false_rate: item.power for item in row.power}
        assert Roc.of(done.scores, base).power(0.05) == pytest.approx(powers[0.05], abs=1e-12), row.name


@pytest.mark.parametrize("kind", ["continuous", "categorical", "mixed"])
@pytest.mark.parametrize("how", ["verbatim", "perturbed", "smote"])
def test_planted_people_are_where_the_world_says(scripts, kind, how):
    worlds = scripts[1]
    world = worlds.draw(worlds.Setting(kind, 200, 100, 0.25, how, "copula"), np.random.default_rng(1))
    own, copies = world.original[world.planted], world.protected[world.copies]
    assert len(own) == 50 and len(world.protected) == 200
    assert np.array_equal(own, copies) == (how == "verbatim")
    agreeing = (np.abs(own - copies) <= 0.5 * world.original.std(axis=0)).mean()
    strange = (np.abs(own - np.roll(copies, 1, axis=0)) <= 0.5 * world.original.std(axis=0)).mean()
    assert agreeing > 0.75 > strange
    assert 0.2 <= world.distinguishable <= 0.25
