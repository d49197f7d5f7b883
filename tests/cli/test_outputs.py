"""Which files a run may write, and what is in a folder when a run stops while it writes."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

import cvpl
from cvpl.cli.main import run
from cvpl.errors import UsageError
from cvpl.files import check_outputs
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.reports.files import write_result
from cvpl.workflows.audit import ProjectionNotSavedError
from cvpl.workflows.made_tables import CONFIG as DEMO

CONFIG = DEMO.replace("attacker: default", "attacker: paper")
CONFIGS = [yaml.safe_load(CONFIG) | {"threshold": threshold} for threshold in (0.9, 0.8)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A table, its release, a control and a configuration."""
    folder = tmp_path_factory.mktemp("made")
    people = Touchpoints(records=150).draw(np.random.default_rng(3))
    people.write(folder / "original.csv")
    Perturbation("low").protect(people, np.random.default_rng(4)).write(folder / "released.csv")
    Touchpoints(records=150).draw(np.random.default_rng(5)).write(folder / "control.csv")
    (folder / "audit.yaml").write_text(CONFIG)
    return folder


@pytest.fixture
def place(made, tmp_path, monkeypatch):
    """A copy of the files as the current folder."""
    for file in made.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def results(made):
    """The results of two audits."""
    tables = made / "original.csv", made / "released.csv"
    return [cvpl.audit(*tables, CONFIGS[at], control=made / "control.csv") for at in range(2)]


@pytest.fixture(scope="module")
def pages(results):
    """Their pages, by the JSON of the result."""
    return {result.to_json(): result.to_html() for result in results}


def never(*_, **__):
    raise AssertionError("work was begun")


# No output is an input


LINKS = {
    "itself": Path,
    "another way to it": lambda name: Path("folder") / ".." / name,
    "a symbolic link": lambda name: _linked(name, Path.symlink_to),
    "a hard link": lambda name: _linked(name, Path.hardlink_to),
}


def _linked(name, link):
    at = Path(f"linked{Path(name).suffix}")
    link(at, Path(name).absolute())
    return at


@pytest.mark.parametrize("way", LINKS)
@pytest.mark.parametrize("name", ["original.csv", "released.csv", "control.csv", "audit.yaml", "ages.csv", "p.yaml"])
def test_a_projection_is_never_written_over_an_input(place, way, name, monkeypatch, capsys):
    (place / "folder").mkdir()
    (place / "ages.csv").write_text("18,young\n")
    (place / "p.yaml").write_text("figure: risk\nmax: 0.5\n")
    written = CONFIG.replace(
        "{role: attribute, type: numeric}", "{role: attribute, type: numeric, hierarchy: ages.csv}"
    )
    (place / "audit.yaml").write_text(written)
    before = (place / name).read_bytes()
    monkeypatch.setattr(import_module("cvpl.workflows.audit"), "audit", never)
    call = ["audit", "original.csv", "released.csv", "--control", "control.csv", "--config", "audit.yaml"]
    target = str(LINKS[way](name))
    assert run([*call, "--policy", "p.yaml", "--save-projection", target, "--overwrite"]) == 2
    assert "is an input of this run" in capsys.readouterr().err
    assert (place / name).read_bytes() == before


def test_a_release_is_never_written_over_its_table(place, capsys):
    table = place / "perturbation_low.csv"
    (place / "original.csv").rename(table)
    before = table.read_bytes()
    call = ["protect", table.name, "--config", "audit.yaml", "--method", "perturbation", "--strength", "low"]
    assert run([*call, "--out", ".", "--overwrite"]) == 2
    assert "is an input of this run" in capsys.readouterr().err
    assert table.read_bytes() == before


def test_a_part_a_proposal_and_a_page_are_never_written_over_an_input(place, capsys):
    os.link("original.csv", "original_control.csv")
    os.link("original.csv", "mine.yaml")
    (place / "result.json").write_text("{}")
    for call in (["split", "original.csv"], ["init", "original.csv", "released.csv", "--out", "mine.yaml"]):
        assert run([*call, "--overwrite"]) == 2
        assert "is an input of this run" in capsys.readouterr().err
    with pytest.raises(UsageError, match="is an input"):
        cvpl.split("original.csv", overwrite=True)
    with pytest.raises(UsageError, match="is an input"):
        cvpl.audit("original.csv", "released.csv", CONFIGS[0], save_projection_to="mine.yaml")


def test_a_sheet_or_table_of_a_file_is_that_file(place):
    (place / "book.xlsx").write_bytes(b"")
    with pytest.raises(UsageError, match="is an input"):
        check_outputs([Path("book.xlsx")], ["book.xlsx#Sheet"], overwrite=True)
    check_outputs([Path("new.xlsx")], ["book.xlsx#Sheet", None, 5], overwrite=False)


def test_one_file_is_not_written_twice(place, monkeypatch, capsys):
    monkeypatch.setattr(import_module("cvpl.workflows.audit"), "audit", never)
    call = ["audit", "original.csv", "released.csv", "--config", "audit.yaml", "--out", "."]
    assert run([*call, "--save-projection", "result.json"]) == 2
    assert "would be written twice" in capsys.readouterr().err


# What exists is replaced only if that is asked for


AUDIT = ["original.csv", "--config", "audit.yaml", "--out", "out"]
WRITERS = {
    "audit": (["audit", "released.csv", *AUDIT], ["result.json", "report.html"], "cvpl.workflows.audit.audit"),
    "guess": (["audit", "original.csv", "released.csv", "--out", "out"], ["audit.yaml"], "cvpl.workflows.audit.audit"),
    "compare": (
        ["compare", *AUDIT[:1], "released.csv", "control.csv", *AUDIT[1:]],
        ["comparison.json", "comparison.html"],
        "cvpl.workflows.compare.compare.compare",
    ),
    "surface": (
        ["surface", *AUDIT, "--mechanism", "perturbation"],
        ["surface.json", "surface.html"],
        "cvpl.workflows.surface.surface.surface",
    ),
    "trial": (
        ["trial", *AUDIT, "--mechanism", "cp {input} {output}"],
        ["trial.json", "trial.html"],
        "cvpl.workflows.trial.trial.trial",
    ),
    "benchmark": (
        ["benchmark", "b.yaml", "--out", "out"],
        ["benchmark.json", "leaderboard.md", "leaderboard.csv", "report.html"],
        "cvpl.workflows.benchmark.benchmark.benchmark",
    ),
    "protect": (
        ["protect", *AUDIT, "--method", "mondrian", "--strength", "5"],
        ["mondrian_5.csv"],
        "cvpl.workflows.made_tables.Protector.read",
    ),
    "split": (
        ["split", "original.csv", "--out", "out"],
        ["original_release.csv", "original_control.csv", "original_split.json"],
        "cvpl.workflows.made_tables.read_people",
    ),
    "simulate": (["simulate", "out/new.csv"], ["new.csv", "audit.yaml"], "cvpl.workflows.made_tables.simulate"),
    "init": (
        ["init", "original.csv", "released.csv", "--out", "out/a.yaml"],
        ["a.yaml"],
        "cvpl.workflows.audit.propose",
    ),
    "reproduce": (
        ["reproduce", "--out", "out"],
        ["tables.md", "tables.csv", "findings.md", "risk_surface.svg"],
        "cvpl_paper.reproduction.Reproduction.run",
    ),
    "report": (["report", "out/result.json"], ["report.html"], "cvpl.reports.files.write_report"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_an_existing_file_is_replaced_only_if_that_is_asked_for(place, results, name, monkeypatch, capsys):
    call, files, work = WRITERS[name]
    out = place / "out"
    out.mkdir()
    if name == "report":
        results[0].write(out)
    begun = []

    def begin(*_, **__):
        begun.append(name)
        raise KeyboardInterrupt

    monkeypatch.setattr(work, begin)
    if name == "simulate":
        monkeypatch.setattr("cvpl.workflows.made_tables.simulate", begin)
    for file in files:
        (out / file).write_text("mine")
        assert run(call) == 2, file
        message = capsys.readouterr().err
        assert f"{file} already exists" in message and "--overwrite" in message
        assert (out / file).read_text() == "mine" and not begun
        assert run([*call, "--overwrite"]) == 5
        assert begun.pop() == name
        (out / file).unlink()
    assert run(call) == 5


# One folder holds one run


STEPS = ("unlink", "replace", "fsync")


@pytest.mark.parametrize("there", [False, True])
def test_a_page_never_stands_beside_the_result_of_another_run(results, pages, there, tmp_path, monkeypatch):
    """The writer stops at every step; the page that is there, if any, is the page of the result that is there."""
    real, states, made_again = {name: getattr(os, name) for name in STEPS}, set(), set()
    monkeypatch.setattr("cvpl.reports.files.report_page", lambda result, **_: pages[result.to_json()])
    for at in range(1, 100):
        folder = tmp_path / str(at)
        if there:
            write_result(results[0], folder, "report.html", more={"audit.yaml": "old"})
        done = 0

        def step(name, *arguments, stop=at, **more):
            nonlocal done
            done += "dir_fd" not in more
            if done == stop and "dir_fd" not in more:
                raise KeyboardInterrupt
            return real[name](*arguments, **more)

        stopped = False
        with monkeypatch.context() as patched:
            for name in STEPS:
                patched.setattr(os, name, lambda *given, name=name, **more: step(name, *given, **more))
            try:
                write_result(results[1], folder, "report.html", more={"audit.yaml": "new"})
            except KeyboardInterrupt:
                stopped = True
        texts = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
        states.add(tuple(sorted(texts.items())))
        result = texts.get("result.json")
        if result is None:
            assert not there and not texts
        else:
            assert texts.get("report.html", pages[result]) == pages[result]
            assert texts.get("audit.yaml", "") in ("", "old" if result == results[0].to_json() else "new")
            if "report.html" not in texts and result not in made_again:
                made_again.add(result)
                assert run(["report", str(folder)]) == 0
                assert (folder / "report.html").read_text(encoding="utf-8") == pages[result]
        if not stopped:
            assert set(texts) == {"result.json", "report.html", "audit.yaml"} and result == results[1].to_json()
            break
    assert len(states) >= 4


def test_a_result_is_kept_without_a_page_that_cannot_be_made(results, tmp_path, monkeypatch):
    write_result(results[0], tmp_path, "report.html")
    monkeypatch.setattr("cvpl.reports.files.report_page", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_result(results[1], tmp_path, "report.html")
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]
    assert (tmp_path / "result.json").read_text(encoding="utf-8") == results[1].to_json()


# A projection that cannot be saved


def test_without_an_attacker_that_has_a_projection_nothing_is_searched(place, monkeypatch, capsys):
    (place / "audit.yaml").write_text(CONFIG.replace("attacker: paper", "attacker: {similarity: agreement}"))
    monkeypatch.setattr("cvpl.workflows.planned_audit.run_attackers", never)
    call = ["audit", "original.csv", "released.csv", "--config", "audit.yaml", "--out", "out"]
    assert run([*call, "--save-projection", "space.json"]) == 2
    assert "none of the attackers has a linear projection" in capsys.readouterr().err
    assert not (place / "out").exists()


def test_a_folder_that_cannot_be_written_is_refused_before_the_search(made, tmp_path, monkeypatch):
    monkeypatch.setattr("cvpl.workflows.planned_audit.run_attackers", never)
    with pytest.raises(UsageError, match="not writable"):
        cvpl.audit(
            made / "original.csv", made / "released.csv", CONFIGS[0], save_projection_to=tmp_path / "no" / "space.json"
        )


@pytest.mark.parametrize("fault", ["no projection", "no space"])
def test_an_audit_whose_projection_cannot_be_saved_is_not_lost(place, fault, monkeypatch, capsys):
    def broken(*_):
        if fault == "no space":
            raise OSError(28, "No space left on device", "space.json")
        raise UsageError("only a linear projection can be saved")

    monkeypatch.setattr("cvpl.workflows.audit.save_projection", broken)
    call = ["audit", "original.csv", "released.csv", "--config", "audit.yaml", "--save-projection", "space.json"]
    assert run([*call, "--out", "out"]) == 2
    shown = capsys.readouterr()
    (sentence,) = [line for line in shown.err.splitlines() if line.startswith("The projection was not saved")]
    assert ("has no linear projection" if fault == "no projection" else "No space left on device") in sentence
    assert "Written: out/result.json" in shown.out.replace("\n", "")
    assert json.loads((place / "out" / "result.json").read_text())["schema"] == "cvpl/audit/2"
    assert (place / "out" / "report.html").is_file() and not (place / "space.json").exists()


def test_a_closed_gate_tells_more_than_a_projection_that_was_not_saved(place, results, monkeypatch, capsys):
    closed = results[0].model_copy(update={"policy": SimpleNamespace(met=False, reasons=["too many"])})

    def unsaved(*_, **__):
        raise ProjectionNotSavedError("no reason.", closed)

    monkeypatch.setattr(import_module("cvpl.workflows.audit"), "audit", unsaved)
    monkeypatch.setattr("cvpl.cli.audit.print_result", lambda *_, **__: None)
    assert run(["audit", "original.csv", "released.csv", "--config", "audit.yaml", "--fail-above", "0"]) == 10
    assert "The projection was not saved: no reason." in capsys.readouterr().err


def test_the_headline_without_a_linear_projection_leaves_the_result_in_the_error(made):
    attackers = {"agreeing": {"similarity": "agreement"}, "paper": {"knows": ["gender"]}}
    config = {key: value for key, value in CONFIGS[0].items() if key != "attacker"} | {"attackers": attackers}
    with pytest.raises(UsageError, match="'agreeing', has no linear projection") as caught:
        cvpl.audit(
            made / "original.csv",
            made / "released.csv",
            config,
            control=made / "control.csv",
            save_projection_to=made / "space.json",
        )
    assert caught.value.result.attackers and not (made / "space.json").exists()
