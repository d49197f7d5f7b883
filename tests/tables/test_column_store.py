"""Tables on disk: the same result as in memory, within the memory allowed, and nothing left behind."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from collections import namedtuple
from dataclasses import replace

import numpy as np
import pytest
import yaml

import cvpl
from cvpl.assessment.planning.resources import needed_bytes
from cvpl.cli.main import run
from cvpl.config.loading import load
from cvpl.errors import LimitError
from cvpl.laboratory.mechanisms import Perturbation, Rounding
from cvpl.laboratory.simulation import Touchpoints
from cvpl.tables.column_store import ColumnStore
from cvpl.tables.columns import Labels, Numbers, Place, Times
from cvpl.workflows.audit import plan_audit
from cvpl.workflows.made_tables import CONFIG as DEMO
from examples import TIMES

CONFIG = DEMO.replace("attacker: default", "attacker: paper")

PEOPLE = 400


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """People, a release with intervals and shortened labels, and controls; a value in thirty is missing."""
    folder = tmp_path_factory.mktemp("shelf")
    people = Touchpoints(records=PEOPLE, missing_rate=0.03).draw(np.random.default_rng(12))
    people.write(folder / "original.parquet")
    Rounding().protect(people, np.random.default_rng(1)).write(folder / "released.parquet")
    Touchpoints(records=300, missing_rate=0.03).draw(np.random.default_rng(2)).write(folder / "control.parquet")
    return folder


@pytest.fixture
def shelves(monkeypatch):
    """The files of all shelves that are made from here on."""
    files = []
    make = ColumnStore.__init__

    def noted(shelf):
        make(shelf)
        files.append(shelf.file)

    monkeypatch.setattr(ColumnStore, "__init__", noted)
    return files


def audited(tables, config, **more):
    files = tables / "original.parquet", tables / "released.parquet"
    return cvpl.audit(*files, config, control=tables / "control.parquet", **more)


def everywhere(monkeypatch):
    """Keep all tables on disk, however small."""
    monkeypatch.setattr("cvpl.workflows.planned_audit.place_for", lambda rows, resolved: ColumnStore())


ATTACKERS = {
    "paper": {},
    "without blocking": {"blocking": "none"},
    "blocked in two ways": {"blocking": {"any_of": [["age"], ["region", "gender"]]}},
    "hashed": {"blocking": {"lsh": {"bits": 5}}},
    "with a ladder": {"ladder": {"rungs": [["age", "gender"], ["age"], []], "stop_below": 0.0}},
    "who knows little": {"knows": ["age", "region", "days_after_ad"], "knows_people": 0.4},
    "robust": {"projection": "robust_pca", "vectorization": {"scale": "robust", "missing": "indicator"}},
    "random": {"projection": "random", "vectorization": {"encode": "frequency"}},
    "euclidean": {"similarity": "euclidean"},
    "mahalanobis": {"similarity": "mahalanobis", "projection": {"random": {"components": 6}}},
    "of features": {"projection": "identity", "similarity": "euclidean"},
    "jaccard": {"similarity": "jaccard"},
    "agreement": {"similarity": "agreement"},
}


REST = {key: value for key, value in yaml.safe_load(CONFIG).items() if key != "attacker"}
ALONE = ("paper", "with a ladder", "robust", "jaccard")
AUDITS = {"all": {**REST, "attackers": ATTACKERS}, **{name: {**REST, "attacker": ATTACKERS[name]} for name in ALONE}}
"""Every attacker in one audit; and audits by one alone, whose diagnostics are told as well."""


@pytest.mark.parametrize("config", AUDITS.values(), ids=AUDITS)
def test_every_attacker_finds_the_same_with_tables_on_disk(tables, config, monkeypatch, shelves):
    in_memory = audited(tables, config)
    assert len(in_memory.attackers) == len(config.get("attackers", ["main"]))
    assert not shelves
    everywhere(monkeypatch)
    assert audited(tables, config).to_json() == in_memory.to_json()
    assert len(shelves) > 3


def test_levers_draw_the_same_with_tables_on_disk(tables, monkeypatch):
    sub_block = {"above": 0.5, "by": ["ad_channel"]}
    config = {**yaml.safe_load(CONFIG), "search": {"max_block": 20, "sample": 0.7, "sub_block": sub_block}}
    in_memory = audited(tables, config)
    everywhere(monkeypatch)
    assert audited(tables, config).to_json() == in_memory.to_json()


def least(config, *, on_disk, rows=None):
    """The bytes from which on tables are accepted on disk, or in memory."""
    resolved = load(config)
    resolved = replace(resolved, budget=replace(resolved.budget, memory=1 << 40))
    rows = rows or {"original": PEOPLE, "protected": PEOPLE, "control": 300}
    return needed_bytes(rows, resolved, on_disk=on_disk)


def test_the_budget_decides_where_tables_are_kept(tables, shelves):
    config = yaml.safe_load(CONFIG)
    roomy = audited(tables, config, memory=least(config, on_disk=False))
    assert not shelves
    tight = audited(tables, config, memory=least(config, on_disk=True))
    assert shelves and tight.to_json() == roomy.to_json()
    with pytest.raises(LimitError, match="even with the tables on disk"):
        audited(tables, config, memory=least(config, on_disk=True) - 1)


def test_the_plan_says_that_tables_will_be_on_disk(tables, capsys):
    config = yaml.safe_load(CONFIG)
    (tables / "audit.yaml").write_text(CONFIG, encoding="utf-8")
    files = [str(tables / f"{name}.parquet") for name in ("original", "released", "control")]
    call = ["audit", *files[:2], "--control", files[2], "--config", str(tables / "audit.yaml"), "--plan", "--memory"]
    assert run([*call, str(least(config, on_disk=True))]) == 0
    assert "kept on disk" in capsys.readouterr().out
    assert run([*call, str(least(config, on_disk=False))]) == 0
    assert "on disk" not in capsys.readouterr().out
    assert plan_audit(*files[:2], config, control=files[2], memory=least(config, on_disk=True)).disk > 0


def test_embeddings_of_whole_tables_are_refused_once_their_width_is_known(tables, monkeypatch):
    monkeypatch.setattr("cvpl.assessment.planning.resources.LABELS", 0)
    config = {**yaml.safe_load(CONFIG), "attacker": {"similarity": "euclidean", "projection": "identity"}}
    with pytest.raises(LimitError, match="block by block"):
        audited(tables, config, memory=least(config, on_disk=True))


def test_the_findings_of_every_attacker_are_counted():
    one = yaml.safe_load(CONFIG)
    two = {**{key: value for key, value in one.items() if key != "attacker"}, "attackers": {"a": {}, "b": {}}}
    assert least(two, on_disk=True) >= least(one, on_disk=True) + 100 * PEOPLE


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_left_behind(tables, tmp_path, fails, monkeypatch, shelves):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    everywhere(monkeypatch)
    if fails:
        monkeypatch.setattr(
            "cvpl.assessment.ensemble.validity", lambda *_, **__: (_ for _ in ()).throw(LimitError("no further"))
        )
    (tables / "audit.yaml").write_text(CONFIG, encoding="utf-8")
    files = [str(tables / f"{name}.parquet") for name in ("original", "released")]
    assert run(["audit", *files, "--config", str(tables / "audit.yaml")]) == (4 if fails else 0)
    assert shelves and all(file.closed for file in shelves)
    assert not list(tmp_path.iterdir())


Usage = namedtuple("Usage", "free")


def test_too_small_a_disk_is_refused_with_a_hint(tables, monkeypatch):
    config = yaml.safe_load(CONFIG)
    monkeypatch.setattr("cvpl.assessment.planning.resources.shutil.disk_usage", lambda _: Usage(1000))
    with pytest.raises(LimitError, match="TMPDIR"):
        audited(tables, config, memory=least(config, on_disk=True))


def test_without_a_folder_for_temporary_files_only_what_fits_is_audited(tables, monkeypatch):
    def nowhere(*_, **__):
        raise FileNotFoundError(errno.ENOENT, "no usable temporary directory")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    monkeypatch.setattr(tempfile, "TemporaryDirectory", nowhere)
    config = yaml.safe_load(CONFIG)
    assert audited(tables, config).linkage_rate.estimate is not None
    with pytest.raises(LimitError, match="TMPDIR"):
        audited(tables, config, memory=least(config, on_disk=True))


def test_a_disk_that_fills_up_is_a_limit(monkeypatch):
    shelf = ColumnStore()

    class Full:
        def seek(self, *_):
            return 0

        def write(self, _):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shelf, "file", Full())
    with pytest.raises(LimitError, match="TMPDIR"):
        shelf.put(Labels(np.zeros(3, dtype=np.int32), ("a",)))


@pytest.mark.parametrize("place", [Place(), ColumnStore()], ids=["memory", "disk"])
def test_a_place_gives_back_what_was_put_there(place):
    values, low = np.array([1.0, np.nan, 3.5]), np.array([0.5, np.nan, 3.0])
    times = np.array(["2024-05-01T12:00", "NaT", "1969-01-01T00:00"], dtype="datetime64[us]")
    columns = [
        Numbers(values, values, values),
        Numbers(values, low, values + 1),
        Times(times, times),
        Times(times, times + np.timedelta64(5, "s")),
        Labels(np.array([1, -1, 0], dtype=np.int32), ("a", "b")),
    ]
    for column, fetch in [(column, place.put(column)) for column in columns]:
        back = fetch()
        assert type(back) is type(column)
        for name, expected in vars(column).items():
            found = getattr(back, name)
            assert found == expected if name == "labels" else np.array_equal(found, expected, equal_nan=True)
            assert name == "labels" or found.dtype == expected.dtype
        if not isinstance(column, Labels):
            assert back.plain == column.plain
    assert isinstance(place.new_storage(), type(place))


MANY = 300_000 if TIMES > 1 else 16_000
"""So many people that the compiler counts too."""
AUDIT = """
import resource, sys
from pathlib import Path
from cvpl.cli.main import run
from few_trees import make_few_trees
make_few_trees()
code = run(sys.argv[1:])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
if (status := Path("/proc/self/status")).exists():  # there the peak above counts the process that started this one
    peak = next(int(line.split()[1]) << 10 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
print(peak)
sys.exit(code)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the system does not tell the peak of a process")
def test_the_memory_allowed_suffices_in_both_ways(tmp_path):
    """The least that is accepted is more than the process ever has."""
    people = Touchpoints(records=MANY).draw(np.random.default_rng(12))
    people.write(tmp_path / "original.parquet")
    Perturbation("low").protect(people, np.random.default_rng(1)).write(tmp_path / "released.parquet")
    (tmp_path / "audit.yaml").write_text(CONFIG, encoding="utf-8")
    files = [str(tmp_path / name) for name in ("original.parquet", "released.parquet", "audit.yaml")]
    results = []
    for on_disk in (True, False):
        allowed = least(yaml.safe_load(CONFIG), on_disk=on_disk, rows={"original": MANY, "protected": MANY})
        assert (plan_audit(*files, memory=allowed).disk is not None) == on_disk
        out = tmp_path / str(allowed)
        call = ["audit", *files[:2], "--config", files[2], "--memory", str(allowed), "--out", str(out)]
        program = [sys.executable, "-c", AUDIT, *call]
        told = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(program, capture_output=True, text=True, check=True, env=told)  # noqa: S603 - our own program
        assert int(done.stdout.split()[-1]) < allowed
        results.append((out / "result.json").read_bytes())
    assert results[0] == results[1] and json.loads(results[0])["linkage_rate"]["estimate"] > 0
