"""Every command that writes, as a call on small tables, for tests that fail its writes or kill it."""

from __future__ import annotations

import hashlib
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import yaml

from benchmark_folders import HEAD, MADE
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.workflows.made_tables import CONFIG as DEMO
from few_trees import make_few_trees

NAMES = (
    "audit", "guessed audit", "init", "split", "split parquet", "protect", "simulate", "simulate parquet", "compare",
    "benchmark", "surface", "trial", "report html", "report md", "report pdf", "reproduce", "demo",
)  # fmt: skip
SOME = ("audit", "init", "split", "protect", "benchmark", "trial", "report html")
"""The calls of a usual run; a full run has all."""
CONFIG = DEMO.replace("attacker: default", "attacker: paper")


def make_tables(folder):
    """A table, two releases, a control, a configuration and a manifest; a result is still to be made."""
    people = Touchpoints(records=150).draw(np.random.default_rng(3))
    people.write(folder / "original.csv")
    people.write(folder / "original.parquet")
    for seed, level in enumerate(("low", "high")):
        Perturbation(level).protect(people, np.random.default_rng(seed)).write(folder / f"{level}.csv")
    Touchpoints(records=150).draw(np.random.default_rng(5)).write(folder / "control.csv")
    (folder / "audit.yaml").write_text(CONFIG)
    releases = {"low": {"file": "low.csv", **MADE}}
    content = {"name": "small", **HEAD, **yaml.safe_load(CONFIG), "control": {"file": "control.csv"}}
    (folder / "benchmark.yaml").write_text(yaml.safe_dump(content | {"releases": releases}))


def call(name, tables, out):
    """The call of a command on the tables of a folder that writes to another."""
    original, low, high = (f"{tables}/{item}.csv" for item in ("original", "low", "high"))
    config = ["--config", f"{tables}/audit.yaml"]
    held = [*config, "--control", f"{tables}/control.csv"]
    into = ["--out", str(out), "--overwrite"]
    kept = [*into, "--keep-rounds", "--per-person", f"{out}/links.csv"]
    return {
        "audit": [
            "audit",
            original,
            low,
            *held,
            *into,
            "--save-projection",
            f"{out}/space.json",
            "--per-person",
            f"{out}/exposed.csv",
        ],
        "guessed audit": ["audit", original, low, "--quick", *into],
        "init": ["init", original, low, "--out", f"{out}/audit.yaml", "--overwrite"],
        "split": ["split", original, *into],
        "split parquet": ["split", f"{tables}/original.parquet", *into],
        "protect": ["protect", original, *config, "--method", "mondrian", "--strength", "5", *into],
        "simulate": ["simulate", f"{out}/new.csv", "--records", "300", "--overwrite"],
        "simulate parquet": ["simulate", f"{out}/new.parquet", "--records", "300", "--overwrite"],
        "compare": ["compare", original, low, high, *held, *into],
        "benchmark": ["benchmark", f"{tables}/benchmark.yaml", *into],
        "surface": ["surface", original, *held, "--mechanism", "perturbation", "--strengths", "low", *into],
        "trial": [
            "trial",
            original,
            *config,
            "--mechanism",
            "perturbation",
            "--strength",
            "low",
            "--rounds",
            "2",
            *kept,
        ],
        "report html": ["report", f"{tables}/result.json", "--out", f"{out}/page.html", "--overwrite"],
        "report md": ["report", f"{tables}/result.json", "--out", f"{out}/page.md", "--format", "md", "--overwrite"],
        "report pdf": ["report", f"{tables}/result.json", "--out", f"{out}/page.pdf", "--format", "pdf", "--overwrite"],
        "reproduce": ["reproduce", "--quick", "--workers", "1", *into],
        "demo": ["demo", "--out", str(out), "--records", "150"],
    }[name]


def make_light():
    """Have commands do less, but write all of their files: a PDF without a browser, three cells of the paper."""
    reproduction = import_module("cvpl_paper.reproduction")
    cell = import_module("cvpl_paper.cells").Cell
    cells = [cell("grid", "perturbation high", 0.0, seed, 150) for seed in (1, 2, 3)]
    reproduction.Reproduction.cells = lambda self: cells
    reproduction.all_tables = lambda collected: []
    reproduction.all_files = lambda tables: "files\n" * 1000
    reproduction.findings_page = lambda collected, how: "findings\n" * 1000
    reproduction.all_charts = lambda collected: dict.fromkeys(reproduction.CHARTS, "chart\n" * 1000)
    files = import_module("cvpl.reports.files")
    files.to_pdf = lambda page: b"%PDF" + b" " * 9_000
    files.report_page = lambda result, **_: "page\n" * 2000
    import_module("cvpl.cli.tables").CONFIG = CONFIG
    make_few_trees()
    for name in (
        "audit",
        "made_tables",
        "proposal",
        "compare.compare",
        "surface.surface",
        "trial.trial",
        "benchmark.benchmark",
    ):
        import_module(f"cvpl.workflows.{name}")
    for name in ("reports.releases", "reports.terminal", "reports.page", "laboratory.mechanisms", "result.file"):
        import_module(f"cvpl.{name}")
    import_module("cvpl.operators.projection")
    import_module("scipy.linalg")


def state(folder):
    """The digest of every file in a folder, without what a duration changes."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(_steady(file.read_bytes())).hexdigest()
        for file in sorted(Path(folder).rglob("*"))
        if file.is_file()
    }


def _steady(content):
    content = re.sub(rb'("seconds": |,)[0-9.]+([,}]|\n)', rb"\1\2", content)
    content = re.sub(rb"\| [0-9]+(\.[0-9])? \|\n", b"| |\n", content)  # the seconds of a leaderboard, its last column
    content = re.sub(rb'"[0-9a-f]{16,}"', b"", content)  # digests of these, and labels under a random salt
    return re.sub(rb"[0-9.]+ s\b", b"", content)
