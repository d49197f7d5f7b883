"""The pictures of docs/gallery.md: one report of each kind, made by the commands that the page names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import yaml

from cvpl.cli.main import run
from cvpl.result import AuditResult
from cvpl.result.file import read_result

SHEET = {(1280, "light"): 1_010, (1280, "dark"): 1_010, (390, "light"): 1_900, (390, "dark"): 1_900}
"""Widths and colour schemes of the windows, and how much of the page is shown from the top."""
PEOPLE = "3000"
Shots = Callable[[Path, str, dict[tuple[int, str], int]], None]


def gallery(folder: Path, images: Path, shots: Shots, summary: Callable[[AuditResult, str], None], data: Path) -> None:
    """Make all pictures; those of the stroke releases only if they are at hand."""
    audits = _simulated(folder)
    stroke = data / "stroke"
    if stroke.is_dir():
        audits["no_control"] = _stroke(folder, stroke)
    else:
        sys.stderr.write(f"no {stroke} here: the pictures of its releases stay as they are\n")
    for name, audit in audits.items():
        _run(*audit, "--out", str(folder / name))
        shots(folder / name / "report.html", f"gallery-{name}", SHEET)
    not_met = folder / "not_met"
    summary(read_result(not_met), "gallery-terminal")
    for name, options in {"report": [], "one_page": ["--paper", "letter", "--one-page"]}.items():
        printed = ["--format", "pdf", "--out", str(images / f"gallery-{name}.pdf"), "--overwrite"]
        _run("report", str(not_met), *printed, *options)
    if stroke.is_dir():
        releases = [str(stroke / f"stroke_k{k}.csv") for k in (2, 5, 20)]
        config = ["--config", str(folder / "stroke.yaml"), "--attackers", "paper,rarity"]
        _run("compare", str(stroke / "stroke.csv"), *releases, *config, "--out", str(folder / "compared"))
        shots(folder / "compared" / "comparison.html", "gallery-comparison_without_control", SHEET)


def _simulated(folder: Path) -> dict[str, list[str]]:
    """Audits of simulated people: a release that is not theirs, their own with little noise, and a single row."""
    for name, seed in {"people": 42, "strangers": 43, "others": 44}.items():
        (folder / name).mkdir()
        _run("simulate", str(folder / name / "people.csv"), "--records", PEOPLE, "--seed", str(seed))
    people = folder / "people" / "people.csv"
    config, text = folder / "limit.yaml", (folder / "people" / "audit.yaml").read_text(encoding="utf-8")
    more = {"policy": {"figure": "risk", "max": 0.1}, "report": {"subgroups": ["gender"]}}
    config.write_text(yaml.safe_dump(yaml.safe_load(text) | more, sort_keys=False), encoding="utf-8")
    method = ["--method", "perturbation", "--strength", "low", "--out", str(folder / "released")]
    _run("protect", str(people), "--config", str(config), *method)
    head, *rows = people.read_text(encoding="utf-8").splitlines()
    values = rows[0].split(",", 1)[1]
    same = [f"{row.split(',', 1)[0]},{values}" for row in rows]
    (folder / "one_row.csv").write_text("\n".join([head, *same, ""]), encoding="utf-8")
    held = ["--config", str(config), "--control", str(folder / "strangers" / "people.csv")]
    released = {
        "met": folder / "others" / "people.csv",
        "not_met": folder / "released" / "perturbation_low.csv",
        "not_assessable": folder / "one_row.csv",
    }
    return {name: ["audit", str(people), str(release), *held] for name, release in released.items()}


def _stroke(folder: Path, stroke: Path) -> list[str]:
    """The audit of a k-anonymous release without a control, under the limit of a regulator."""
    config = folder / "stroke.yaml"
    tables = [str(stroke / "stroke.csv"), str(stroke / "stroke_k5.csv")]
    _run("init", *tables, "--out", str(config))
    more = {"policy": "ema-policy-0070", "report": {"subgroups": ["gender", "work_type"]}}
    text = yaml.safe_load(config.read_text(encoding="utf-8"))
    config.write_text(yaml.safe_dump(text | more, sort_keys=False), encoding="utf-8")
    return ["audit", *tables, "--config", str(config)]


def _run(*words: str) -> None:
    """Run a command; a closed gate is as good an end as any."""
    if run(list(words)) not in (0, 10):
        sys.exit(f"cvpl {' '.join(words)} failed")
