"""Hostile files get the answer that is written beside them, and what is accepted is what a second reader reads."""

import csv
import json
from math import isnan

import numpy as np
import polars as pl
import pytest

import second_reader
from cvpl.assessment.planning.attack_cost import Speed
from cvpl.cli.main import run
from cvpl.config.loading import load
from cvpl.result.publishing import Disclosure
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.pair import read_inputs
from hostile_files import CASES, EITHER, ORIGINAL, SECRET


@pytest.fixture(autouse=True)
def _speed_is_known(monkeypatch):
    """A plan measures the machine, which takes as long as all the rest of a small one."""
    monkeypatch.setattr("cvpl.workflows.audit.measure_speed", Speed)


def configured(folder, case):
    """The configuration and the original table of a case."""
    columns = {
        name: {"role": "attribute", "type": kind} | ({"features": ["elapsed_days"]} if kind == "datetime" else {})
        for name, kind in case.kinds.items()
    }
    config, original = folder / "audit.yaml", folder / "original.csv"
    config.write_text(json.dumps({"columns": columns, "attacker": "paper", "reading": dict(case.reading)}))
    delimiter = case.reading.get("delimiter", ",")
    with original.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="," if delimiter == '"' else delimiter, lineterminator="\n")
        writer.writerows([list(case.kinds), *[[ORIGINAL[kind] for kind in case.kinds.values()]] * 2])
    return original, config


def audited(folder, case, capsys):
    """The exit code and the message for a file as the release of an audit."""
    table = case.write(folder)
    original, config = configured(folder, case)
    code = run(["audit", str(original), table, "--config", str(config), "--plan"])
    written = capsys.readouterr()
    assert "Traceback" not in written.err and SECRET not in written.err + written.out
    assert str(folder) not in written.err
    return code, " ".join(written.err.split())


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.answer is not None])
def test_a_hostile_file_is_refused_with_its_sentence(tmp_path, capsys, name):
    case = CASES[name]
    code, message = audited(tmp_path, case, capsys)
    if case.answer == EITHER:
        assert code == 0 or (code == 3 and "p.parquet" in message)
        return
    assert (code, case.answer in message) == (case.code, True), message
    assert case.code == 4 or "problem" in message.partition(":")[0]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.answer is None])
def test_an_accepted_file_is_what_a_second_reader_reads(tmp_path, capsys, name):
    case = CASES[name]
    assert audited(tmp_path, case, capsys)[0] == 0
    table, (original, config) = f"{tmp_path / case.file}{case.part}", configured(tmp_path, case)
    resolved = load(config)
    # In a release some texts mean suppression; labels are compared as an original has them.
    if set(case.kinds.values()) == {"category"}:
        original = table
    read = read_inputs(original, table, resolved.specs, reading=resolved.reading, checks=False)  # the audit checked it
    columns = read.pair.protected.columns
    if case.cells is not None:
        for column in case.kinds:
            assert shown(columns[column]) == case.cells[column]
        return
    texts = second_view(tmp_path / case.file, case)
    for column, kind in case.kinds.items():
        assert_same(columns[column], kind, texts[column])


def second_view(path, case):
    """The texts of every column of a CSV file by a second reader, None where they are missing."""
    delimiter = "\t" if ".tsv" in path.name else case.reading.get("delimiter", ",")
    encoding = case.reading.get("encoding", "utf-8")
    header, *records = second_reader.records(second_reader.text_of(path, encoding), delimiter)
    assert {len(record) for record in records} == {len(header)}
    blanks = " \t\r\n\f\v\u00a0" if case.reading.get("strip") else ""
    missing = case.reading.get("missing", [""])
    cells = {
        name.strip(blanks): [cell.strip(blanks) for cell in column]
        for name, column in zip(header, zip(*records, strict=True), strict=True)
    }
    return {name: [None if cell in missing else cell for cell in column] for name, column in cells.items()}


def shown(column):
    """A category column as its labels, None where missing."""
    return [None if code < 0 else column.labels[code] for code in column.codes]


def assert_same(column, kind, texts):
    """A column is what the second reader makes of its texts; a text that is no plain value is cvpl's to read."""
    if kind == "category":
        assert shown(column) == texts
    elif kind == "numeric":
        assert len(column.values) == len(texts)
        for value, text in zip(column.values, texts, strict=True):
            wanted = np.nan if text is None else second_reader.number(text)
            assert wanted is None or wanted == value or (isnan(wanted) and isnan(value))
            assert not isinstance(wanted, float) or wanted != 0 or np.signbit(wanted) == np.signbit(value)
    else:
        for value, text in zip(column.first, texts, strict=True):
            wanted = None if text is None else second_reader.time(text)
            assert text is not None or np.isnat(value)
            assert wanted is None or np.datetime64(wanted, "us") == value


def test_the_corpus_is_large():
    assert len(CASES) >= 150


@pytest.mark.parametrize("storage", ["text", "integers"])
def test_whole_numbers_that_are_rounded_are_pointed_out(tmp_path, storage):
    """2^53 + 1 is no double; 2^54 is, and so is what is written with an exponent."""
    numbers = [2**53 + 1, 2**53 + 3, 2**54, 5, 2**53]
    data = pl.DataFrame({"x": numbers if storage == "integers" else [*map(str, numbers), "1e30"]})
    notices = read_inputs(data, data, [ColumnSpec("x", "attribute", "numeric")]).pair.measured
    assert [notice.describe(Disclosure(1)).partition("; ")[0] for notice in notices] == [
        f"column 'x' of {table}: 2 whole numbers beyond 2^53 are rounded to about 16 digits"
        for table in ("original", "protected")
    ]
