"""What goes wrong outside of the program is told as such, with its exit code; only a fault of cvpl ends with 6."""

import errno
import json
import os
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cvpl
from cvpl.cli import main
from cvpl.cli.main import run
from cvpl.tables import pair
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.pair import read_inputs
from cvpl.tables.source import source
from examples import examples

CONFIG = {
    "columns": {name: {"role": "attribute", "type": kind} for name, kind in {"x": "numeric", "c": "category"}.items()},
    "attacker": "paper",
}


@pytest.fixture
def audited(tmp_path):
    """The arguments of a small audit."""
    (tmp_path / "audit.yaml").write_text(json.dumps(CONFIG))
    table = tmp_path / "t.csv"
    table.write_text("x,c\n" + "".join(f"{number},{'abc'[number % 3]}\n" for number in range(40)))
    return ["audit", str(table), str(table), "--config", str(tmp_path / "audit.yaml")]


def raising(error, cause=None):
    def step(*_, **__):
        raise error from cause

    return step


INTERRUPTIONS = {
    "of DuckDB": (duckdb.InterruptException("INTERRUPT Error: Interrupted!"), None),
    "in a query": (RuntimeError("Query interrupted"), None),
    "as a cause": (duckdb.Error("stopped"), KeyboardInterrupt()),
}


@pytest.mark.parametrize("name", INTERRUPTIONS)
@pytest.mark.parametrize("step", [(pair, "whole_table_facts"), (pair, "read_row_groups"), (source, "load_csv")])
def test_an_interruption_inside_duckdb_is_one(audited, monkeypatch, capsys, name, step):
    monkeypatch.setattr(*step, raising(*INTERRUPTIONS[name]))
    assert run(audited) == 5
    assert "Interrupted" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["No space left on device", "Disk quota exceeded"])
def test_a_full_disk_that_duckdb_meets_is_a_limit(audited, monkeypatch, capsys, words):
    failure = duckdb.IOException(f'IO Error: Could not write file "/tmp/x": {words}')
    monkeypatch.setattr(main, "app", raising(failure))
    assert run(audited) == 4
    assert "the folder for temporary files, /" in capsys.readouterr().err


def test_a_full_disk_is_a_limit(audited, monkeypatch):
    monkeypatch.setattr(main, "app", raising(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/some/file")))
    assert run(audited) == 4


def test_a_full_disk_names_the_file_that_could_not_be_written(audited, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Path, "write_bytes", raising(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    assert run([*audited, "--out", str(tmp_path / "out")]) == 4
    assert f"{tmp_path / 'out' / 'result.json'}: No space left on device" in capsys.readouterr().err


def test_what_is_no_file_is_named_for_what_it_is(tmp_path, audited, capsys):
    folder, pipe, ring, gone = (tmp_path / f"{name}.csv" for name in ("folder", "pipe", "ring", "gone"))
    folder.mkdir()
    os.mkfifo(pipe)
    ring.symlink_to(ring)
    gone.symlink_to(tmp_path / "nothing.csv")
    answers = {
        folder: "a folder",
        pipe: "a pipe",
        ring: "a link that leads back",
        gone: "a link to a file that does not",
    }
    for path, answer in answers.items():
        assert run([*audited[:2], str(path), *audited[3:]]) == 3
        assert f"{path.name}: this is {answer}" in capsys.readouterr().err


def test_damaged_parquet_is_read_or_refused(tmp_path):
    """One bit is turned. Many such files are valid: Parquet needs no checksum, and a cell may just be another."""
    rng = np.random.default_rng(1)
    rows = 300
    table = pa.table(
        {
            "x": rng.normal(size=rows),
            "k": rng.integers(0, 9, rows),
            "c": rng.choice(["North", "South", "West"], rows),
            "t": np.datetime64("2024-01-01", "us") + rng.integers(0, 10**12, rows).astype("m8[us]"),
        }
    )
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    kinds = {"x": "numeric", "k": "numeric", "c": "category", "t": "datetime"}
    specs = [ColumnSpec(name, "attribute", kind) for name, kind in kinds.items()]
    refused = set()
    for compression in ("snappy", "none"):
        pq.write_table(table, good, compression=compression)
        content = good.read_bytes()
        for number in range(examples(4)):
            # Half of the places are in the metadata at the end, which is where the structure is.
            start = len(content) - 2000 if number % 2 else 0
            place = int(rng.integers(start, len(content)))
            turned = bytearray(content)
            turned[place] ^= 1 << int(rng.integers(8))
            bad.write_bytes(turned)
            try:
                read_inputs(good, bad, specs)
            except cvpl.InputError as error:
                refused |= {problem.where for problem in error.problems}
    assert refused == {"bad.parquet"}


@pytest.mark.parametrize("number", [1.7e308, -1e200])
@pytest.mark.parametrize("text", [True, False])
def test_a_number_too_large_to_be_squared_is_refused(number, text):
    original = pd.DataFrame({"x": np.arange(30.0), "c": "a"})
    released = original.astype({"x": object if text else float})
    released.loc[4, "x"] = f"[0, {abs(number)}]" if text else number
    with pytest.raises(cvpl.InputError, match=r"protected, row 5, column 'x': found a number beyond 1e\+140"):
        cvpl.audit(original, released.astype({"x": str}) if text else released, CONFIG)


@pytest.mark.parametrize("scale", [1e139, 1e-320])
def test_very_large_and_small_numbers_are_compared(scale):
    rng = np.random.default_rng(0)
    original = pd.DataFrame({"x": rng.normal(size=40) * scale, "c": rng.choice(list("ab"), 40)})
    assert cvpl.audit(original, original, CONFIG).linkage_rate.estimate > 0


def test_a_huge_number_of_a_column_that_nobody_compares_does_no_harm():
    original = pd.DataFrame({"x": np.arange(30.0), "c": "a", "other": 1.5e308})
    assert cvpl.audit(original, original, CONFIG).linkage_rate


@pytest.mark.parametrize("memory", ["2000000000GB", f"{'9' * 400}GB"])
def test_more_memory_than_any_machine_has_is_refused(audited, capsys, memory):
    assert run([*audited, "--memory", memory]) == 2
    assert "from 1MiB to 1,048,576GiB (a petabyte)" in capsys.readouterr().err
    assert run([*audited, "--memory", "900000GB"]) == 0


def test_names_that_are_not_utf_8(tmp_path, audited, capsys):
    odd = os.fsdecode(os.fsencode(tmp_path / "t") + b"\xff.csv")
    try:
        Path(odd).write_text("x,c\n1,a\n2,b\n")
    except OSError:
        pytest.skip("the file system allows names in UTF-8 only")
    assert run([*audited[:2], odd, *audited[3:]]) == 3
    assert "is not valid UTF-8" in capsys.readouterr().err
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xfe")
    Path(folder).mkdir()
    for name in ("audit.yaml", "policy.yaml", "result.json"):
        Path(folder, name).write_text(json.dumps(CONFIG))
    assert run([*audited[:3], "--config", f"{folder}/audit.yaml"]) == 0
    assert run(["report", folder]) == 3
    assert run(["init", odd, odd]) == 3
    assert run(["split", odd]) == 3


def test_a_column_name_that_is_not_unicode():
    frame = pd.DataFrame({"x": [1.0, 2.0], "c": ["a", "b"], "odd": [1, 2]})
    frame.columns = pd.Index(["x", "c", "odd\udcff"], dtype=object)
    with pytest.raises(cvpl.InputError, match="the name of column 3 is not valid Unicode"):
        cvpl.audit(frame, frame, CONFIG)
