"""Files that are changed at random are read or refused, each kind a few times; `fuzz_files.py` does it for an hour."""

import numpy as np
import pytest

import fuzz_files
import second_reader
from examples import examples
from fuzz_files import fuzz_here

KINDS = {"csv": 12, "tsv": 4, "csv.gz": 8, "parquet": 12, "xlsx": 8, "yaml": 40}


@pytest.mark.parametrize("ending", KINDS)
def test_a_changed_file_is_read_or_refused(tmp_path, ending):
    assert fuzz_here(tmp_path, np.random.default_rng(20), ending, examples(KINDS[ending])) == []


def test_a_fault_of_the_program_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz_files, "read_only", lambda *_: 6)
    assert fuzz_here(tmp_path, np.random.default_rng(1), "yaml", 1) == ["exit code 6: "]


def test_a_cell_that_is_read_otherwise_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(second_reader, "records", lambda *_: [["other"]])
    found = fuzz_here(tmp_path, np.random.default_rng(1), "csv", 8)
    assert set(found) == {"accepted, and read otherwise than by a second reader"}
