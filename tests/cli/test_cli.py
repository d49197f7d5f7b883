"""The command line as a person meets it: exit codes, messages, files that are whole or not there, no cell shown."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest
import yaml

from cvpl.cli.main import run
from cvpl.cli.tables import DEMO_FILES
from cvpl.errors import ExitCode, LimitError
from cvpl.files import write_whole
from cvpl.laboratory.frame import Frame
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.workflows.made_tables import CONFIG as DEMO
from examples import TIMES
from payloads import UNSEEN, leave_out_charts

CONFIG = DEMO.replace("attacker: default", "attacker: paper")

COLUMNS = CONFIG[CONFIG.index("columns:") : CONFIG.index("truth:")]
SMALL = "columns:\n  age: {role: quasi_identifier, type: numeric}\n  gender: {role: attribute, type: category}\n"
HEAVY = ("numpy", "scipy", "duckdb", "pydantic", "yaml", "threadpoolctl", "cvpl.workflows.audit", "cvpl.result")
MARKER = "Zx9SecretCell"


class Files:
    """A folder with simulated tables and a configuration, and the arguments that name them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.original, self.released = folder / "original.csv", folder / "released.csv"
        self.control, self.config = folder / "holdout.csv", folder / "audit.yaml"

    def written(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def audit(
        self, *more: object, original: object = None, released: object = None, config: object = None
    ) -> list[str]:
        tables = [original or self.original, released or self.released]
        return ["audit", *map(str, tables), "--config", str(config or self.config), *map(str, more)]


def with_coarse_incomes(table: Frame) -> Frame:
    """The table with incomes in thousands: exact ones are nearly unique, and unchanged they close every gate."""
    return replace(table, numbers={**table.numbers, "income": np.round(table.numbers["income"], -3)})


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Tables that no test changes."""
    files = Files(tmp_path_factory.mktemp("simulated"))
    rng = np.random.default_rng(5)
    people = Touchpoints(records=200).draw(rng)
    people.write(files.original)
    with_coarse_incomes(Perturbation("medium").protect(people, rng)).write(files.released)
    Touchpoints(records=200).draw(rng).write(files.control)
    files.config.write_text(CONFIG, encoding="utf-8")
    return files


@pytest.fixture
def files(simulated, tmp_path):
    """The simulated tables in a folder of the test's own."""
    own = Files(tmp_path)
    for name in ("original", "released", "control", "config"):
        getattr(own, name).write_bytes(getattr(simulated, name).read_bytes())
    return own


@pytest.fixture(autouse=True)
def few_charts(monkeypatch):
    """Pages have no charts: to draw them takes longer than most audits here. In a full run they have."""
    if TIMES == 1:
        leave_out_charts(monkeypatch)


@pytest.fixture
def wide(monkeypatch):
    """A page so wide that no sentence is broken."""
    monkeypatch.setenv("COLUMNS", "400")


def failing(monkeypatch, error: BaseException) -> None:
    """Make the audit end in `error`."""

    def broken(*_, **__):
        raise error

    monkeypatch.setattr(import_module("cvpl.workflows.audit"), "audit", broken)


def started(*arguments: object, **options) -> subprocess.CompletedProcess:
    """The command line as a process of its own."""
    call = [sys.executable, "-c", "from cvpl.cli.main import main; main()", *map(str, arguments)]
    return subprocess.run(call, capture_output=True, check=False, **options)  # noqa: S603 - our own program


def leftovers(folder: Path) -> list[str]:
    """Results and drafts in a folder."""
    return sorted(
        path.name for path in folder.rglob("*") if path.name == "result.json" or path.name.startswith(".cvpl-")
    )


# Exit codes


def test_a_finished_audit_exits_with_0_and_says_where_the_result_is(files, capsys):
    out = files.folder / "new" / "folder"
    assert run(files.audit("--control", files.control, "--out", out)) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert f"Written: {out / 'result.json'}" in shown.out.replace("\n", "")
    assert leftovers(files.folder) == ["result.json"]
    assert json.loads((out / "result.json").read_text())["schema"] == "cvpl/audit/2"


def test_without_out_nothing_is_written(files):
    before = sorted(files.folder.rglob("*"))
    assert run(files.audit()) == 0
    assert sorted(files.folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nonsense"], "nonsense"),
        (["--nonsense"], "--nonsense"),
        (["audit", "a.csv", "b.csv", "--fail-above", "0.1"], "--config"),
        (["audit", "a.csv"], "PROTECTED"),
        (["audit", "a.csv", "b.csv", "--config"], "--config"),
        (["audit", "a.csv", "b.csv", "-c", "c.yaml", "--nonsense"], "--nonsense"),
        (["audit", "a.csv", "b.csv", "-c", "c.yaml", "--fail-above", "2"], "--fail-above"),
        (["audit", "a.csv", "b.csv", "-c", "c.yaml", "--fail-above", "-0.1"], "--fail-above"),
        (["audit", "a.csv", "b.csv", "-c", "c.yaml", "--fail-above", "nan"], "--fail-above"),
        (["audit", "a.csv", "b.csv", "-c", "c.yaml", "--fail-above", "much"], "--fail-above"),
        (["diff", "a"], "AFTER"),
        (["demo", "--records", "5"], "--records"),
    ],
    ids=" ".join,
)
def test_a_wrong_call_exits_with_2_and_names_what_is_wrong(arguments, text, capsys):
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert text in shown.err
    assert "Internal error" not in shown.err and "Traceback" not in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("command", [[], ["audit"], ["init"], ["diff"]], ids=str)
def test_a_call_without_arguments_shows_the_help_and_exits_with_2(command, capsys):
    assert run(command) == 2
    shown = capsys.readouterr()
    assert "Usage: cvpl" in shown.out + shown.err


def test_a_limit_exits_with_4_and_says_what_to_set(files, capsys):
    rows = "\n".join(f"label {number},{number % 7}" for number in range(31))
    table = files.written("labels.csv", f"word,number\n{rows}\n")
    config = files.written(
        "labels.yaml",
        "columns:\n  word: {role: attribute, type: category}\n  number: {role: attribute, type: numeric}\n"
        "attacker: paper\nreading: {limits: {labels: 30}}\n",
    )
    assert run(files.audit("--out", files.folder / "out", original=table, released=table, config=config)) == 4
    message = capsys.readouterr().err
    assert "column 'word'" in message and "31" in message and "reading.limits" in message
    assert leftovers(files.folder) == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LimitError("too much"), ExitCode.LIMIT),
        (MemoryError(), ExitCode.LIMIT),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED),
        (RuntimeError("a fault"), ExitCode.INTERNAL),
        (OSError(errno.ENOSPC, "No space left on device"), ExitCode.LIMIT),
        (PermissionError(errno.EACCES, "Permission denied", "result.json"), ExitCode.USAGE),
    ],
    ids=lambda item: type(item).__name__,
)
def test_every_kind_of_end_has_its_exit_code_and_a_message_but_no_traceback(files, error, code, monkeypatch, capsys):
    failing(monkeypatch, error)
    assert run(files.audit("--out", files.folder / "out")) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.strip() and "Traceback" not in shown.err
    assert not (files.folder / "out").exists()


def test_an_interrupted_audit_exits_with_5_and_says_that_no_result_was_written(files, monkeypatch, capsys):
    failing(monkeypatch, KeyboardInterrupt())
    assert run(files.audit("--out", files.folder / "out")) == 5
    assert capsys.readouterr().err == "Interrupted; no result was written. Run the same command to start again.\n"


def test_an_interruption_after_the_result_was_written_names_it(files, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    out = files.folder / "out"
    monkeypatch.setattr("cvpl.reports.files.report_page", interrupted)
    assert run(files.audit("--out", out)) == 5
    assert (out / "result.json").is_file()
    sentence = f"Interrupted; written before that: {out / 'result.json'}."
    assert capsys.readouterr().err == f"{sentence} Run the same command with --overwrite to start again.\n"


def test_a_fault_after_the_result_was_written_names_it(files, monkeypatch, capsys):
    def broken(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", "report.html")

    out = files.folder / "out"
    monkeypatch.setattr("cvpl.reports.files.report_page", broken)
    assert run(files.audit("--out", out)) == 4
    assert capsys.readouterr().err.endswith(f"Written before that: {out / 'result.json'}.\n")


def test_an_interrupted_demo_names_some_files_and_counts_the_rest(tmp_path, monkeypatch, capsys):
    def interrupted(*_, **__):
        for number in range(9):
            write_whole(tmp_path / f"file {number}", "")
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("cvpl.workflows.audit"), "audit", interrupted)
    assert run(["demo", "--out", str(tmp_path / "demo"), "--records", "100"]) == 5
    message = capsys.readouterr().err
    assert str(tmp_path / "demo" / "original.csv") in message and "and 7 more." in message


def test_an_audit_is_not_lost_where_the_package_has_no_metadata(files, monkeypatch, capsys):
    assert run(files.audit("--out", files.folder / "before")) == 0  # libraries of the page read versions on import

    def unknown(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("cvpl.assessment.audit_result.version", unknown)
    monkeypatch.setattr("importlib.metadata.version", unknown)
    out = files.folder / "out"
    assert run(files.audit("--out", out)) == 0
    versions = json.loads((out / "result.json").read_text(encoding="utf-8"))["provenance"]["versions"]
    assert versions["cvpl"] == "unknown" and versions["python"] != "unknown"
    capsys.readouterr()
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == "cvpl unknown\n"


def test_an_internal_error_tells_its_kind_and_place_but_not_its_message(files, monkeypatch, capsys):
    error = ValueError(f"could not convert {MARKER}")
    error.__cause__ = KeyError(MARKER)
    failing(monkeypatch, error)
    assert run(files.audit()) == 6
    shown = capsys.readouterr()
    assert "ValueError" in shown.err and "bug in cvpl" in shown.err and "CVPL_DEBUG" in shown.err
    assert MARKER not in shown.err + shown.out


def test_an_internal_error_shows_everything_to_who_asks_for_it(files, monkeypatch):
    failing(monkeypatch, ValueError("all of it"))
    monkeypatch.setenv("CVPL_DEBUG", "1")
    with pytest.raises(ValueError, match="all of it"):
        run(files.audit())


# The gate


IDENTITY = "truth: {original: person_id, protected: person_id}\nattacker: paper\n"


@pytest.mark.parametrize(
    ("policy", "options", "code"),
    [
        ("", ["--fail-above", "1"], 0),
        ("", ["--fail-above", "0.5"], 10),
        ("policy: {figure: linkage_rate, bound: estimate, max: 1}\n", [], 0),
        ("policy: {figure: linkage_rate, bound: estimate, max: 0.5}\n", [], 10),
        ("policy: {figure: attributable_rate, max: 0.05}\n", [], 10),
        ("policy: {figure: linkage_rate, bound: estimate, max: 1}\n", ["--fail-above", "0.5"], 10),
        ("policy: {figure: linkage_rate, bound: estimate, max: 0.01}\n", ["--fail-above", "1"], 0),
    ],
)
def test_the_gate_closes_above_its_limit(files, policy, options, code, wide, capsys):
    """The release is lightly perturbed: nearly everybody is linked, and most are the right person."""
    rng = np.random.default_rng(5)
    with_coarse_incomes(Perturbation("low").protect(Touchpoints(records=200).draw(rng), rng)).write(files.released)
    config = files.written("gate.yaml", COLUMNS + IDENTITY + policy)
    out = files.folder / "out"
    assert run(files.audit("--out", out, *options, config=config)) == code
    shown = capsys.readouterr().out
    assert ("POLICY NOT MET." in shown) == (code == 10)
    assert ("POLICY MET." in shown) == (code == 0)
    assert json.loads((out / "result.json").read_text())["policy"]["met"] == (code == 0)


@pytest.mark.parametrize(
    ("policy", "options"),
    [("", ["--fail-above", "1"]), ("policy: {figure: linkage_rate, bound: estimate, max: 1}\n", [])],
    ids=["--fail-above", "policy"],
)
def test_the_originals_as_their_own_release_close_every_gate(files, policy, options, wide, capsys):
    config = files.written("gate.yaml", COLUMNS + IDENTITY + policy)
    out = files.folder / "out"
    assert run(files.audit("--out", out, *options, released=files.original, config=config)) == 10
    shown = capsys.readouterr()
    assert "POLICY NOT MET." in shown.out and "Before the attack: " in shown.err
    found = json.loads((out / "result.json").read_text())
    assert not found["policy"]["met"] and found["policy"]["reasons"][0].startswith("before the attack: ")
    assert any(finding["closes_gate"] and finding["check"] == "same_file" for finding in found["preflight"])


def test_a_result_that_is_not_assessable_closes_the_gate(files, wide, capsys):
    table = files.written("constant.csv", "age,gender\n" + "40,M\n" * 50)
    config = files.written("constant.yaml", SMALL + "attacker: paper\n")
    call = files.audit("--fail-above", "1", original=table, released=table, config=config)
    assert run(call) == 10
    shown = capsys.readouterr().out
    assert "The risk of this release is not assessable:" in shown
    assert "NOT ASSESSABLE." in shown and "No policy can be" in shown


def test_a_closed_gate_tells_its_reason_on_standard_error_when_the_page_is_json(files, capsys):
    assert run(files.audit("--fail-above", "0", "--json")) == 10
    shown = capsys.readouterr()
    assert shown.err.startswith("Policy not met: ")
    assert json.loads(shown.out)["policy"]["met"] is False


# Bad input


def paper(columns: str) -> str:
    return f"columns:\n{columns}attacker: paper\n"


AGE = "  age: {role: quasi_identifier, type: numeric}\n"

BAD_CONFIGURATIONS = {
    "broken YAML": ("columns: {age: [\n", ["bad.yaml", "not YAML", "cvpl init"]),
    "no mapping": ("just words\n", ["bad.yaml", "mapping", "cvpl init"]),
    "empty": ("", ["bad.yaml", "mapping", "cvpl init"]),
    "unknown key": (
        paper(AGE) + "thresold: 0.9\n",
        ["bad.yaml", "unknown setting `thresold`. Did you mean `threshold`?"],
    ),
    "unknown key of a column": (
        paper("  age: {role: attribute, type: numeric, blok: exact}\n"),
        ["bad.yaml", "unknown setting `columns.age.blok`. Did you mean `block`?"],
    ),
    "unknown role": (
        paper("  age: {role: qi, type: numeric}\n"),
        ["bad.yaml", "`columns.age.role`", "'quasi_identifier'"],
    ),
    "unknown type": (paper("  age: {role: attribute, type: number}\n"), ["`columns.age.type`", "'numeric'"]),
    "no type": (paper("  age: {role: attribute}\n"), ["bad.yaml", "column 'age'", "numeric, category or datetime"]),
    "typo in a column": (
        paper(AGE + "  gendr: {role: attribute, type: category}\n"),
        ["column 'gendr'", "no table has this column", "Did you mean `gender`?", "Correct the name"],
    ),
    "no attacker": (SMALL, ["bad.yaml", "no attacker is set", "attacker: paper"]),
    "unknown preset": (SMALL + "attacker: strong\n", ["bad.yaml", "`attacker`", "paper"]),
    "threshold in words": (SMALL + "attacker: paper\nthreshold: high\n", ["`threshold`", "a number"]),
    "policy above 1": (SMALL + "attacker: paper\npolicy: {figure: linkage_rate, max: 5}\n", ["`policy.max`", "1"]),
    "numbers that are words": (
        paper("  age: {role: attribute, type: numeric}\n  gender: {role: attribute, type: numeric}\n"),
        ["original.csv", "row 1", "column 'gender'", "found text", "a number or an interval", "category"],
    ),
    "times that are words": (
        paper("  gender: {role: attribute, type: datetime, features: [hour]}\n"),
        ["released.csv", "row 1", "column 'gender'", "found text", "2024-05-01", "category"],
    ),
    "missing control": (SMALL + "attacker: paper\ncontrol: {file: nobody.csv}\n", ["nobody.csv", "no such file"]),
}


@pytest.mark.parametrize(("text", "message"), BAD_CONFIGURATIONS.values(), ids=BAD_CONFIGURATIONS)
def test_a_bad_configuration_exits_with_3_and_names_where_what_and_cure(files, text, message, capsys):
    config = files.written("bad.yaml", text)
    assert run(files.audit("--out", files.folder / "out", config=config)) == 3
    shown = capsys.readouterr()
    for words in message:
        assert words in shown.err
    assert "problem" in shown.err.splitlines()[0]
    assert all(line.startswith("  - ") for line in shown.err.splitlines()[1:])
    assert "Traceback" not in shown.err and "Internal" not in shown.err
    assert shown.out == ""
    assert not (files.folder / "out").exists()


BAD_TABLES = {
    "missing file": ("nobody.csv", None, ["nobody.csv", "no such file", "path"]),
    "wrong ending": ("table.txt", b"age,gender\n1,M\n", ["table.txt", "extension", ".csv, .tsv, .csv.gz, .tsv.gz"]),
    "empty file": ("empty.csv", b"", ["empty.csv", "empty", "header"]),
    "header only": ("header.csv", b"age,gender\n", ["header.csv", "no rows", "at least one record"]),
    "not Parquet": ("table.parquet", b"age,gender\n1,M\n", ["table.parquet", "Parquet"]),
    "not gzip": ("table.csv.gz", b"age,gender\n1,M\n", ["table.csv.gz", "gzip"]),
    "not UTF-8": ("table.csv", b"age,gender\n1,\xff\xfe\n", ["table.csv", "UTF-8"]),
    "ragged": ("table.csv", b"age,gender\n1,M\n2\n", ["table.csv", "row 2", "fewer fields"]),
    "twice the same name": ("table.csv", b"age,age\n1,M\n", ["table.csv", "Give each its own name"]),
}


@pytest.mark.parametrize("place", ["original", "released", "control"])
@pytest.mark.parametrize(("name", "content", "text"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_bad_table_exits_with_3_wherever_it_stands(files, place, name, content, text, capsys):
    table = files.folder / name
    if content is not None:
        table.write_bytes(content)
    config = files.written("small.yaml", SMALL + "attacker: paper\n")
    more = ["--out", files.folder / "out"] + (["--control", table] if place == "control" else [])
    tables = {place: table} if place != "control" else {}
    assert run(files.audit(*more, config=config, **tables)) == 3
    shown = capsys.readouterr()
    for words in text:
        assert words in shown.err
    assert shown.out == ""
    assert not (files.folder / "out").exists()


def test_all_problems_of_tables_and_configuration_are_reported_at_once(files, capsys):
    config = files.written("bad.yaml", "columns:\n  age: {role: attribute}\n  gender: {role: attribute, type: day}\n")
    text = files.written("table.txt", "age\n1\n")
    call = files.audit("--control", files.folder / "nobody.csv", original=files.folder / "no.csv", config=config)
    assert run([*call[:2], str(text), *call[3:]]) == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"{len(lines) - 1} problems found, and nothing was done:"
    for words in ("`columns.gender.type`", "no.csv", "table.txt", "nobody.csv"):
        assert sum(words in line for line in lines) == 1


def test_one_problem_is_counted_as_one(files, capsys):
    assert run(files.audit(config=files.written("bad.yaml", SMALL))) == 3
    assert capsys.readouterr().err.startswith("1 problem found, and")


# Where output goes


def never_audit(*_, **__):
    raise AssertionError("the audit was run before the place for its result was looked at")


@pytest.mark.parametrize(
    ("option", "name", "text"),
    [
        ("--out", "a file", ["--out", "a file", "folder is needed", "another folder"]),
        ("--out", "a file/below", ["--out", "a file", "folder is needed", "another folder"]),
        ("--save-projection", "a folder", ["--save-projection", "a folder", "file is needed"]),
        ("--save-projection", "nowhere/space.json", ["--save-projection", "no folder", "Create it"]),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_the_work(files, option, name, text, monkeypatch, capsys):
    files.written("a file", "kept")
    (files.folder / "a folder").mkdir()
    monkeypatch.setattr(import_module("cvpl.workflows.audit"), "audit", never_audit)
    assert run(files.audit(option, files.folder / name)) == 2
    shown = capsys.readouterr()
    for words in text:
        assert words in shown.err
    assert (files.folder / "a file").read_text() == "kept"
    assert leftovers(files.folder) == []


@pytest.mark.parametrize("option", ["--out", "--save-projection"])
def test_a_place_without_permission_is_refused_before_the_work(files, option, monkeypatch, capsys):
    monkeypatch.setattr(import_module("cvpl.workflows.audit"), "audit", never_audit)
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    assert run(files.audit(option, files.folder / "place")) == 2
    assert "not writable" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"), [(OSError(errno.ENOSPC, "No space left on device"), 4), (KeyboardInterrupt(), 5)], ids=str
)
def test_a_result_is_written_whole_or_not_at_all(files, error, code, monkeypatch):
    out = files.folder / "out"
    out.mkdir()

    def broken(*_):
        raise error

    monkeypatch.setattr(os, "replace", broken)
    assert run(files.audit("--out", out)) == code
    assert list(out.iterdir()) == []


def test_a_failed_audit_leaves_an_earlier_result_alone(files):
    out = files.folder / "out"
    assert run(files.audit("--out", out)) == 0
    before = (out / "result.json").read_bytes()
    assert run(files.audit("--out", out, "--overwrite", original=files.folder / "nobody.csv")) == 3
    assert (out / "result.json").read_bytes() == before


def test_json_prints_the_very_bytes_of_the_result(files, capsysbinary):
    out = files.folder / "out"
    assert run(files.audit("--json", "--out", out, "--control", files.control)) == 0
    shown = capsysbinary.readouterr()
    assert shown.out == (out / "result.json").read_bytes()
    assert shown.err == b""


def test_two_runs_give_the_same_bytes(files, capsysbinary):
    pages = []
    for _ in range(2):
        assert run(files.audit("--json", "--control", files.control)) == 0
        pages.append(capsysbinary.readouterr().out)
    assert pages[0] == pages[1]


def test_the_number_of_threads_changes_nothing_but_its_own_echo(files, capsys):
    results = []
    for threads in (1, 2):
        config = files.written("threads.yaml", CONFIG + f"search: {{threads: {threads}}}\n")
        assert run(files.audit("--json", "--control", files.control, config=config)) == 0
        results.append(json.loads(capsys.readouterr().out))
        assert results[-1]["provenance"]["config"]["search"].pop("threads") == threads
    assert results[0] == results[1]


def test_a_saved_projection_serves_a_later_audit(files, capsys):
    space = files.folder / "space.json"
    assert run(files.audit("--json", "--save-projection", space)) == 0
    first = json.loads(capsys.readouterr().out)
    config = files.written("again.yaml", CONFIG.replace("paper", f"{{projection: {{saved: '{space}'}}}}"))
    assert run(files.audit("--json", config=config)) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["linkage_rate"] == first["linkage_rate"]


# No cell is shown


NUMBER = "73191.731905"
ROLES_OF_MARKED = """\
columns:
  who:    {role: id}
  age:    {role: quasi_identifier, type: numeric, block: {bin: 10}}
  place:  {role: quasi_identifier, type: category, separator: "/", block: {level: 1}}
  word:   {role: attribute, type: category}
  when:   {role: attribute, type: datetime, features: [hour]}
  income: {role: sensitive}
attacker: paper
"""


def secret_table(rows: int = 60, **last: str) -> str:
    """A table whose every column but age and time holds the marker; `last` sets cells of the last row."""
    lines = ["who,age,place,word,when,income,note"]
    for row in range(rows):
        cells = {
            "who": f"{MARKER}{row}",
            "age": str(20 + row % 50),
            "place": f"{MARKER}{row % 3}/{MARKER}{row % 5}",
            "word": f"{MARKER}{row % 7}",
            "when": f"2024-05-{1 + row % 28:02d} {row % 24:02d}:15:00",
            "income": NUMBER,
            "note": f"{MARKER} free text",
        }
        if row == rows - 1:
            cells |= last
        lines.append(",".join(cells.values()))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("page", [[], ["--json"]], ids=["summary", "json"])
def test_no_cell_is_shown_or_written_by_an_audit_that_succeeds(files, page, capsys):
    original, released = files.written("o.csv", secret_table()), files.written("p.csv", secret_table(word="another"))
    control = files.written("k.csv", secret_table(40))
    config = files.written("secret.yaml", ROLES_OF_MARKED)
    out, space = files.folder / "out", files.folder / "space.json"
    more = ["--control", control, "--out", out, "--save-projection", space, *page]
    assert run(files.audit(*more, original=original, released=released, config=config)) == 0
    shown = capsys.readouterr()
    for text in (shown.out, shown.err, (out / "result.json").read_text(), space.read_text()):
        assert MARKER not in text and NUMBER not in text
    assert "income" in (out / "result.json").read_text()  # names of columns are told


BROKEN_CELLS = {
    "a word among numbers": (secret_table(age=MARKER), 3),
    "a word among times": (secret_table(when=MARKER), 3),
    "an infinite number": (secret_table(age="1e999"), 3),
    "a field too many": (secret_table(income=f"{NUMBER},{MARKER}"), 3),
    "an open quote": (secret_table(word=f'"{MARKER}'), 3),
    "text behind a quote": (secret_table(word=f'"{MARKER}"{MARKER}'), 3),
}


@pytest.mark.parametrize(("broken", "code"), BROKEN_CELLS.values(), ids=BROKEN_CELLS)
@pytest.mark.parametrize("place", ["original", "released", "control"])
def test_no_cell_is_shown_by_an_audit_that_fails(files, broken, code, place, capsys):
    tables = {name: files.written(f"{name}.csv", secret_table()) for name in ("original", "released", "control")}
    tables[place].write_text(broken)
    config = files.written("secret.yaml", ROLES_OF_MARKED)
    out = files.folder / "out"
    control = tables.pop("control")
    assert run(files.audit("--out", out, "--control", control, config=config, **tables)) == code
    shown = capsys.readouterr()
    assert place in shown.err
    assert MARKER not in shown.err + shown.out and NUMBER not in shown.err + shown.out
    assert not out.exists()


def test_no_cell_is_shown_or_written_by_init(files, capsys):
    original, released = files.written("o.csv", secret_table()), files.written("p.csv", secret_table(age=MARKER))
    assert run(["init", str(original), str(released), "--out", str(files.folder / "new.yaml")]) == 0
    shown = capsys.readouterr()
    proposed = (files.folder / "new.yaml").read_text()
    for text in (shown.out, shown.err, proposed):
        assert MARKER not in text and NUMBER not in text
    assert "income" in proposed


def test_names_are_printed_so_that_a_terminal_does_not_obey_them(files, capsys):
    table = files.written("odd.csv", "age,gen\x1b[31mder\n40,M\n50,F\n")
    config = files.written("odd.yaml", paper(AGE + '  "gen\\e[31mder": {role: attribute, type: numeric}\n'))
    assert run(files.audit(original=table, released=table, config=config)) == 3
    message = capsys.readouterr().err
    assert "\x1b" not in message
    assert "column 'gen\\x1b[31mder'" in message


# init, demo, diff


def test_a_proposed_configuration_can_be_audited_untouched(files, monkeypatch, capsys):
    monkeypatch.chdir(files.folder)
    files.config.unlink()
    rng = np.random.default_rng(5)
    Perturbation("medium").protect(Touchpoints(records=200).draw(rng), rng).write(files.released)
    assert run(["init", "original.csv", "released.csv"]) == 0
    text = capsys.readouterr().out
    assert "Written: audit.yaml" in text
    call = next(line for line in text.splitlines() if line.startswith("  cvpl audit")).split()
    assert call == ["cvpl", "audit", "original.csv", "released.csv", "--config", "audit.yaml"]
    assert run(call[1:]) == 0
    shown = capsys.readouterr()
    assert "Linkage audit: released.csv against original.csv" in shown.out and "Risk" in shown.out
    # The incomes of this release are unchanged: what names people is told before the attack, and nothing else.
    assert shown.err.startswith("Before the attack: column 'income': nearly every value is unique")
    assert len(shown.err.splitlines()) == 1


def test_init_keeps_an_existing_file_unless_it_is_told_to_replace_it(files, monkeypatch, capsys):
    monkeypatch.chdir(files.folder)
    call = ["init", "original.csv", "released.csv"]
    files.config.write_text("mine")
    assert run(call) == 2
    message = capsys.readouterr().err
    assert "audit.yaml already exists" in message and "another output" in message and "--overwrite" in message
    assert files.config.read_text() == "mine"
    assert run([*call, "--overwrite"]) == 0
    assert files.config.read_text() != "mine"
    assert leftovers(files.folder) == []


@pytest.mark.parametrize(
    ("tables", "out", "code", "text"),
    [
        (["nobody.csv", "released.csv"], "new.yaml", 3, ["nobody.csv", "no such file"]),
        (["audit.yaml", "nobody.csv"], "new.yaml", 3, ["2 problems", "audit.yaml", "nobody.csv"]),
        (["original.csv", "released.csv"], "no folder/new.yaml", 2, ["--out", "no folder"]),
        (["original.csv", "released.csv"], ".", 2, ["--out", "folder where a file is needed"]),
    ],
)
def test_init_says_what_is_wrong_and_writes_nothing(files, tables, out, code, text, monkeypatch, capsys):
    monkeypatch.chdir(files.folder)
    before = sorted(files.folder.rglob("*"))
    assert run(["init", *tables, "--out", out]) == code
    message = capsys.readouterr().err
    for words in text:
        assert words in message
    assert sorted(files.folder.rglob("*")) == before


def test_the_call_that_init_proposes_survives_blanks_in_names(files, monkeypatch, capsys):
    monkeypatch.chdir(files.folder)
    files.original.rename("my table.csv")
    assert run(["init", "my table.csv", "released.csv", "--out", "my audit.yaml"]) == 0
    call = "  cvpl audit 'my table.csv' released.csv --config 'my audit.yaml'"
    assert call in capsys.readouterr().out.splitlines()


def test_the_demo_simulates_audits_and_says_how_to_repeat_it(tmp_path, wide, monkeypatch, capsys):
    """In a usual run with one attacker; the demo with all of them is run where its output is measured."""
    config = DEMO if TIMES > 1 else CONFIG
    monkeypatch.setattr("cvpl.workflows.made_tables.CONFIG", config)
    out = tmp_path / "shown"
    out.mkdir()
    for name in DEMO_FILES:  # an earlier demo's files may be replaced
        (out / name).write_text(config if name == "audit.yaml" else "of an earlier demo", encoding="utf-8")
    assert run(["demo", "--out", str(out), "--records", "150"]) == 0
    text = capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == sorted(DEMO_FILES)
    assert text.startswith("150 simulated people")
    assert not [name for name in DEMO_FILES if "of an earlier demo" in (out / name).read_text(encoding="utf-8")]
    first = (out / "result.json").read_bytes()
    call = text.splitlines()[-1].split()
    assert call[:2] == ["cvpl", "audit"]
    assert run(call[1:]) == 0
    assert (out / "result.json").read_bytes() == first


@pytest.mark.parametrize("name", DEMO_FILES)
def test_the_demo_never_replaces_a_file_of_somebody_else(tmp_path, name, capsys):
    (tmp_path / name).write_text("mine")
    assert run(["demo", "--out", str(tmp_path), "--records", "100"]) == 2
    message = capsys.readouterr().err
    assert name in message and "another folder" in message
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_diff_compares_files_and_folders(files, wide, capsys):
    one, other = files.folder / "one", files.folder / "other"
    assert run(files.audit("--out", one)) == 0
    config = files.written("lower.yaml", CONFIG.replace("0.90", "0.80"))
    assert run(files.audit("--out", other, "--control", files.control, config=config)) == 0
    capsys.readouterr()
    assert run(["diff", str(one), str(other / "result.json")]) == 0
    text = capsys.readouterr().out
    for words in ("linkage rate", "threshold: 0.9 before, 0.8 after", "control: only in the second audit"):
        assert words in text
    assert run(["diff", str(one), str(one)]) == 0
    text = capsys.readouterr().out
    assert "linkage rate" in text and "that differ" not in text


def test_diff_tells_what_is_wrong_with_both_files_at_once(files, capsys):
    (files.folder / "empty").mkdir()
    other = files.written("other.json", '{"schema": "cvpl/audit/1"}')
    assert run(["diff", str(files.folder / "empty"), str(other)]) == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "2 problems found, and nothing was done:"
    assert str(files.folder / "empty" / "result.json") in lines[1] and "cvpl audit --out" in lines[1]
    assert str(other) in lines[2] and "not the result of an audit" in lines[2]


# Help, version, start


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ([], ["audit", "init", "diff", "demo", "--version", "cvpl init ORIGINAL PROTECTED"]),
        (
            ["audit"],
            [
                "ORIGINAL",
                "PROTECTED",
                "--config",
                "--control",
                "--out",
                "--fail-above",
                "--save-projection",
                "--json",
                ".parquet",
                "absent from the release",
                "result.json",
                "Exit codes:",
                "10 the gate",
            ],
        ),
        (["init"], ["ORIGINAL", "PROTECTED", "--out", "--overwrite", "audit.yaml", "Check it before you audit"]),
        (["diff"], ["BEFORE", "AFTER", "result.json", "differ significantly"]),
        (["demo"], ["--out", "--records", "simulated tables", "5000"]),
    ],
    ids=lambda item: " ".join(item) if len(item) < 2 else "",
)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_every_command_has_a_help_text(command, words, option, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    assert run([*command, option]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for word in words:
        assert word in text


def test_the_version_is_printed(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"cvpl {version('cvpl')}\n"


def test_help_and_wrong_calls_load_nothing_heavy():
    code = (
        "import sys; from cvpl.cli.main import run; loaded = set(sys.modules); run(['audit', '--help']); "
        f"print('LOADED', [name for name in {HEAVY!r} if name in loaded], "
        "[name for name in ('numpy', 'duckdb', 'cvpl.workflows.audit') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)  # noqa: S603 - ours
    assert done.stdout.splitlines()[-1] == "LOADED [] []"


# As a process of its own


def test_a_process_prints_its_page_whatever_the_encoding(files):
    for table in (files.original, files.released):
        table.write_text(table.read_text().replace("gender", "géndér☃", 1), encoding="utf-8")
    config = files.written("odd.yaml", CONFIG.replace("gender: ", "géndér☃: ").replace("[gender]", "[géndér☃]"))
    out = files.folder / "out"
    surroundings = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = started(*files.audit("--json", "--out", out, config=config), env=surroundings)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == (out / "result.json").read_bytes()
    assert "géndér☃" in done.stdout.decode()
    done = started(*files.audit("--details", config=config), env=surroundings)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"g\xe9nd\xe9r\\u2603" in done.stdout


@pytest.mark.parametrize(("arguments", "code"), [(["nonsense"], 2), (["diff", "nobody", "nobody"], 3)], ids=str)
def test_a_process_ends_with_the_exit_code(arguments, code):
    done = started(*arguments)
    assert done.returncode == code
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("page", "gate", "code"),
    [([], ["--fail-above", "0"], 10), (["--json"], [], 0)],
    ids=["summary, gate closed", "json, no gate"],
)
def test_a_reader_that_leaves_early_does_not_change_the_outcome(files, page, gate, code):
    call = [sys.executable, "-c", "from cvpl.cli.main import main; main()", *files.audit(*page, *gate)]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603 - ours
        process.stdout.close()
        message = process.stderr.read()
        assert process.wait() == code
    assert b"Traceback" not in message and b"Broken" not in message


@pytest.mark.parametrize("command", ["audit", "init", "compare", "surface", "trial", "protect", "split"])
def test_the_help_names_every_format_that_is_read(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    run([command, "--help"])
    text = capsys.readouterr().out
    assert ".csv, .tsv, .csv.gz, .tsv.gz, .parquet" in text
    assert ("FILE.duckdb#TABLE" in text) is (command != "split")


def test_signs_in_names_and_paths_that_turn_text_or_have_no_shape_are_visible(files, tmp_path, capsys):
    """From column names, labels and paths to all that is printed and written."""
    odd = UNSEEN.replace("\x9b", "")  # no sign of a file name on every system
    folder = tmp_path / f"a{odd}b"
    folder.mkdir()
    tables = {}
    for name in ("original", "released", "control"):
        table = tables[name] = folder / f"{name}{odd}.csv"
        text = getattr(files, name).read_text(encoding="utf-8")
        text = text.replace("income", f"in{odd}come", 1).replace("person_id", f"person{odd}_id", 1)
        table.write_text(text.replace("North", f"No{odd}rth"), encoding="utf-8")
    config, out = folder / f"c{odd}.yaml", folder / "out"
    pair = [str(tables["original"]), str(tables["released"])]
    assert run(["init", *pair, "--out", str(config)]) == 0
    guessed = config.read_text(encoding="utf-8")
    assert yaml.safe_load(guessed)["columns"][f"in{odd}come"]
    audited = ["audit", *pair, "--control", str(tables["control"]), "--attackers", "paper"]
    assert run([*audited, "--config", str(config), "--out", str(out)]) == 0
    assert run([*audited, "--plan"]) == 0
    assert run(["report", str(out), "--format", "md"]) == 0
    assert run(["audit", *pair, "--config", str(folder / f"no{odd}.yaml")]) == 3
    assert run(["audit", *pair, f"--no{odd}"]) == 2
    assert run(["split", pair[0], "--by", f"person{odd}_id"]) == 0
    said = capsys.readouterr()
    written = {file.name: file.read_text(encoding="utf-8") for file in out.iterdir()}
    assert set(written) == {"result.json", "report.html", "report.md"}
    shown = written | {"yaml": guessed, "out": said.out, "err": said.err}
    shown["report.md"] = shown["report.md"].replace("@\u200b", "")
    assert [name for name, text in shown.items() if set(text) & set(UNSEEN)] == []
    assert "\\u202e" in said.out and "\\u202e" in said.err
    found = json.loads(written["result.json"])["inputs"]
    assert found["original"]["name"] == tables["original"].name
