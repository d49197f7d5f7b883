"""No cell leaves: planted texts, numbers and times are in nothing that a command or a call writes, shows or raises."""

from __future__ import annotations

import base64
import json
import traceback

import numpy as np
import pandas as pd
import pytest
import yaml

import cvpl
from cvpl.cli.main import run
from cvpl.errors import CvplError, ExitCode
from examples import examples_apart
from planted_cells import NUMBERS, YEAR, hits, planted, released

COLUMNS = {
    "who": {"role": "id"},
    "household": {"role": "group"},
    "age": {"role": "quasi_identifier", "type": "numeric", "block": {"bin": 10_000_000}},
    "place": {"role": "quasi_identifier", "type": "category", "separator": "/", "block": {"level": 1}},
    "word": {"role": "attribute", "type": "category"},
    "when": {"role": "attribute", "type": "datetime", "features": ["hour", "elapsed_days"]},
    "balance": {"role": "attribute", "type": "numeric"},
    "income": {"role": "sensitive", "type": "numeric"},
    "diagnosis": {"role": "sensitive", "type": "category"},
}
CONFIG = {"columns": COLUMNS, "attacker": "default", "seed": 1}
"""The columns `tags`, `note` and `mail` are not declared."""


@pytest.fixture(scope="module")
def tables():
    people = planted(1)
    return {"original": people, "first": released(people, 2), "second": released(people, 3), "control": planted(4)}


@pytest.fixture
def place(tables, tmp_path, monkeypatch):
    """A folder with the tables in one half, and the working, temporary and home folders in the other."""
    data, rest = tmp_path / "data", tmp_path / "rest"
    for folder in (data, rest, rest / "tmp", rest / "home"):
        folder.mkdir()
    for name, made in tables.items():
        made.table.to_csv(data / f"{name}.csv", index=False)
    (data / "audit.yaml").write_text(yaml.safe_dump(CONFIG))
    monkeypatch.chdir(rest)
    for name, folder in {"TMPDIR": "tmp", "HOME": "home", "XDG_CACHE_HOME": "home"}.items():
        monkeypatch.setenv(name, str(rest / folder))
    monkeypatch.setenv("COLUMNS", "200")
    return data


def everything(place, capsys):
    """All that was written and shown, by name."""
    shown = capsys.readouterr()
    rest = place.parent / "rest"
    files = {str(file.relative_to(rest)): file.read_bytes() for file in rest.rglob("*") if file.is_file()}
    return {"stdout": shown.out, "stderr": shown.err, **files}


def leaks(place, tables, capsys, but=()):
    texts = {name: text for name, text in everything(place, capsys).items() if not name.startswith(but)}
    found = {name: hits(text, tables.values()) for name, text in texts.items()}
    return {name: cells[:3] for name, cells in found.items() if cells}


def manifest(place):
    content = {"name": "People", "title": "People", "source": "planted", "licence": "none", "original": "original.csv"}
    made = {"mechanism": "noise", "family": "perturbation"}
    content |= {"control": {"file": "control.csv"}, **CONFIG, "attacker": "paper"}
    content |= {"releases": {name: {"file": f"{name}.csv", **made} for name in ("first", "second")}}
    (place / "benchmark.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    return str(place / "benchmark.yaml")


EXPOSED = ["--per-person", "exposed.csv"]
RUN = ["--mechanism", "cp {input} {output}", "--rounds", "2", "--bound"]


def calls(place):
    original, first, second, control, config = (
        str(place / name) for name in ("original.csv", "first.csv", "second.csv", "control.csv", "audit.yaml")
    )
    settled = ["--config", config, "--control", control]
    return {
        "audit": [["audit", original, first, *settled, "--out", "a", "--save-projection", "s.json", *EXPOSED]],
        "audit without a configuration": [["audit", original, first, "--out", "a"]],
        "a quick look": [["audit", original, first, *settled, "--quick", "--out", "a"]],
        "the plan": [["audit", original, first, *settled, "--plan"]],
        "json": [["audit", original, first, *settled, "--attackers", "paper", "--json"]],
        "init": [["init", original, first]],
        "compare": [["compare", original, first, second, *settled, "--attackers", "paper,rarity", "--out", "c"]],
        "benchmark": [["benchmark", manifest(place), "--data", str(place), "--out", "b"]],
        "trial": [
            [
                "trial",
                original,
                *RUN,
                "--config",
                config,
                "--attackers",
                "rarity",
                "--plant",
                "9",
                "--out",
                "t",
                *EXPOSED,
            ]
        ],
        "surface": [["surface", original, "--mechanism", "perturbation", *settled, "--out", "s"]],
        "report and diff": [
            *(
                ["audit", original, one, *settled, "--attackers", "rarity", "--out", one[-9:-4]]
                for one in (first, second)
            ),
            *(
                ["report", f"{first[-9:-4]}/result.json", "--format", kind, "--out", f"r.{kind}"]
                for kind in ("md", "html")
            ),
            ["diff", f"{first[-9:-4]}/result.json", f"{second[-9:-4]}/result.json"],
        ],
        "protect": [["protect", original, "--config", config, "--method", "perturbation", "--out", "tables"]],
        "split": [["split", original, "--share", "0.3", "--out", "."]],
    }


TABLES_WRITTEN = {"protect": ("tables/",), "split": ("original_release.csv", "original_control.csv")}
NAMES = ["audit", "audit without a configuration", "a quick look", "the plan", "json", "init", "compare", "benchmark"]
NAMES += ["surface", "trial", "report and diff", "protect", "split"]


def test_there_are_600_planted_cells(tables):
    cells = {cell for made in tables.values() for cell in (*made.texts, *made.numbers)}
    assert len(cells) >= 600


@pytest.mark.parametrize("name", NAMES)
def test_no_planted_cell_is_written_or_shown(name, place, tables, capsys):
    for call in calls(place)[name]:
        assert run(call) == ExitCode.DONE, capsys.readouterr().err
    assert leaks(place, tables, capsys, TABLES_WRITTEN.get(name, ())) == {}


BROKEN = {
    "a word among numbers": ("age", "{word}"),
    "a word among times": ("when", "{word}"),
    "a time that does not exist": ("when", f"{YEAR}-02-30 12:31:47"),
    "a number beyond all bounds": ("balance", "71{digits}e999"),
    "a list among numbers": ("balance", "[{word}; {digits}]"),
}


BAD_INPUTS = [(table, broken) for table in ("original", "first", "control") for broken in BROKEN]
"""A usual run has every third of them: each table, and each broken cell."""


@pytest.mark.parametrize(("table", "broken"), BAD_INPUTS[:: examples_apart(3)])
def test_no_planted_cell_is_shown_if_an_input_is_bad(broken, table, place, tables, capsys):
    column, pattern = BROKEN[broken]
    frame = tables[table].table.astype({column: object})
    for row in range(3):
        cell = pattern.format(word=tables[table].texts[row], digits=tables[table].numbers[row])
        frame.loc[len(frame) - 1 - row, column] = cell
    frame.to_csv(place / f"{table}.csv", index=False)
    files = {name: place / f"{name}.csv" for name in ("original", "first", "control")}
    call = ["audit", str(files["original"]), str(files["first"]), "--config", str(place / "audit.yaml")]
    run([*call, "--control", str(files["control"]), "--attackers", "paper", "--out", "a"])
    run(["init", str(files["original"]), str(files["first"])])
    try:
        config = {**CONFIG, "attacker": "paper"}
        print(cvpl.audit(files["original"], files["first"], config, control=files["control"]))  # noqa: T201
    except CvplError as error:
        # A chained error of DuckDB would name the cell.
        print(error, repr(error), *traceback.format_exception(error))  # noqa: T201
    assert leaks(place, tables, capsys) == {}


def test_no_planted_cell_is_shown_by_a_fault_of_the_program(place, tables, capsys, monkeypatch):
    def fail(*_args, **_settings):
        cells = tables["original"].table.to_dict("records")
        raise RuntimeError(f"cannot convert {cells[0]}")

    monkeypatch.setattr("cvpl.workflows.planned_audit.read_tables", fail)
    call = calls(place)["audit"][0]
    assert run(call) == ExitCode.INTERNAL
    assert leaks(place, tables, capsys) == {}


def test_no_planted_cell_is_in_what_python_calls_return(tables, place, capsys):
    original, first, control = (tables[name].table for name in ("original", "first", "control"))
    result = cvpl.audit(original, first, {**CONFIG, "attacker": "paper"}, control=control)
    told = [result.to_json(), result.to_html(), result.to_markdown(), repr(result), str(result)]
    told += [result._repr_html_(), result._repr_markdown_(), result.to_frame().to_csv()]
    told.append(str(cvpl.propose(original, first)))
    assert [cell for text in told for cell in hits(text, tables.values())] == []
    assert leaks(place, tables, capsys) == {}


def test_labels_are_shown_only_where_the_person_has_asked_for_them(tables):
    original, first = (
        tables[name].table.assign(site=lambda table: np.where(table.index < 40, "northern", "southern"))
        for name in ("original", "first")
    )
    columns = {**COLUMNS, "site": {"role": "attribute", "type": "category"}}
    config = {"columns": columns, "attacker": "paper"}
    asked = {**config, "report": {"subgroups": ["site"]}}
    assert "northern" not in cvpl.audit(original, first, config).to_json()
    assert "northern" in cvpl.audit(original, first, asked).to_json()


def test_the_search_finds_a_cell_however_it_is_written(tables):
    made = tables["original"]
    word, number = made.texts[5], made.numbers[5]
    time = made.table["when"][5]
    written = [
        f"cell {word}.",
        word.upper(),
        f"&lt;{word}&gt;",
        word[::-1],
        f"0x{word.encode().hex()}",
        *(base64.b64encode(b"-" * shift + word.encode() + b"-").decode() for shift in range(3)),
        f"{number}",
        f"{number:,.1f}",
        f"{number:.5e}",
        json.dumps({"least": round(number, -2)}),
        time,
        time.replace(" ", "T"),
        f"{pd.Timestamp(time).timestamp() * 1e6:.0f}",
    ]
    assert [text for text in written if not hits(text, [made])] == []
    assert hits("0.7731 of 80 people, seed 12345678901234567890, 2026-01-01 12:00:00", [made]) == []
    assert set(NUMBERS) < set(made.table)
