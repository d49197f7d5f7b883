"""The time that `cvpl audit --plan` predicts beside the time that the audit takes, on tables of many kinds.

    python benchmarks/plan.py FOLDER [--data SHARED] [--only NAME ...]

FOLDER keeps the tables that are made; SHARED holds public tables, which are left out without it. Each audit runs in a
process of its own, from its start to the result, as the command line runs it: long audits take a quick look first.
Where other programs use the cores meanwhile an audit takes longer; its processor seconds hardly change.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tables
from cvpl.assessment.planning.resources import ResourceEstimate
from cvpl.laboratory.mechanisms import Mondrian
from cvpl.laboratory.simulation import Touchpoints
from cvpl.workflows.audit import audit, plan_audit, propose

MANIFESTS = Path(__file__).parent / "manifests"
SIMULATED: Mapping[str, Any] = {
    "columns": {
        "person_id": {"role": "id"},
        "age": {"role": "quasi_identifier", "type": "numeric", "block": {"bin": 10}},
        "gender": {"role": "quasi_identifier", "type": "category", "block": "exact"},
        "region": {"role": "quasi_identifier", "type": "category", "separator": "/", "block": {"level": 1}},
        "purchase_time": {"role": "attribute", "type": "datetime", "features": ["hour", "day_of_week"]},
        "days_after_ad": {"role": "attribute", "type": "numeric"},
        "ad_channel": {"role": "attribute", "type": "category"},
        "purchase_place": {"role": "attribute", "type": "category"},
        "brand_product": {"role": "attribute", "type": "category"},
    },
    "threshold": 0.9,
    "seed": 42,
}
WORDS = ("asked", "about", "the", "bill", "and", "late", "train", "again", "wants", "refund", "no", "reply", "happy")


@dataclass(frozen=True)
class Case:
    """One audit: tables, configuration (None: guessed) and further arguments."""

    original: Path
    released: Path
    config: Any
    control: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Simulated:
    """Simulated people and a release of `tables.py`."""

    records: int
    attacker: str = "default"
    release: str = "low"
    control: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, folder: Path) -> Case:
        """Make the tables."""
        known = self.release in tables.RELEASES
        place = tables.make(folder, self.records, (self.release,) if known else ())
        if not known:
            _once(place / f"{self.release}.parquet", self._generalized)
        control = _once(place / "control.parquet", lambda: Touchpoints(records=self.records).draw(_rng(9)))
        config = {**SIMULATED, "attacker": self.attacker}
        return Case(
            place / "original.parquet",
            place / f"{self.release}.parquet",
            config,
            control if self.control else None,
            self.options,
        )

    def _generalized(self) -> Any:
        people = Touchpoints(records=self.records).draw(_rng(1))
        return Mondrian(10, ("age", "gender", "region", "purchase_time")).protect(people, _rng(2))


@dataclass(frozen=True)
class Drawn:
    """Random columns: numbers, categories of so many labels, and free texts; a tenth of the release is changed."""

    records: int
    numbers: int = 0
    labels: tuple[int, ...] = ()
    texts: int = 0
    guessed: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, folder: Path) -> Case:
        """Make the tables."""
        place = folder / f"drawn-{self.records}-{self.numbers}-{'-'.join(map(str, self.labels))}-{self.texts}"
        place.mkdir(parents=True, exist_ok=True)
        rng = _rng(3)
        original = self._frame(rng)
        files = [_once(place / "original.parquet", lambda: original)]
        files.append(_once(place / "released.parquet", lambda: self._changed(original, rng)))
        files.append(_once(place / "control.parquet", lambda: self._frame(rng)))
        columns = {
            name: {"role": "attribute", "type": "numeric" if name.startswith("number") else "category"}
            for name in original
        }
        config = None if self.guessed else {"columns": columns, "attacker": "default", "threshold": 0.9, "seed": 42}
        return Case(files[0], files[1], config, files[2], self.options)

    def _frame(self, rng: np.random.Generator) -> pd.DataFrame:
        common = rng.normal(size=self.records)
        found: dict[str, Any] = {}
        for at in range(self.numbers):
            found[f"number{at}"] = (common + rng.normal(size=self.records)).round(2)
        for at, count in enumerate(self.labels):
            found[f"label{at}"] = [f"l{code}" for code in rng.integers(count, size=self.records)]
        for at in range(self.texts):
            words = rng.choice(WORDS, size=(self.records, 25))
            found[f"text{at}"] = [" ".join(row) for row in words]
        return pd.DataFrame(found)

    def _changed(self, original: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        found = original.copy()
        for name in found:
            rows = np.flatnonzero(rng.random(len(found)) < 0.1)
            found.loc[rows, name] = original[name].to_numpy()[rng.permutation(len(found))[rows]]
        return found.iloc[rng.permutation(len(found))].reset_index(drop=True)


@dataclass(frozen=True)
class Public:
    """A release of a manifest of public tables."""

    manifest: str
    release: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, folder: Path) -> Case:
        """Look the tables up."""
        from cvpl.config.manifest import read_manifests  # noqa: PLC0415 - only with public tables

        (manifest,) = read_manifests([MANIFESTS / f"{self.manifest}.yaml"], Path(os.environ["CVPL_SHARED_DATA"]))
        (entry,) = (entry for entry in manifest.entries if entry.name == self.release)
        return Case(entry.original, entry.file, entry.config, None, self.options)


@dataclass(frozen=True)
class German:
    """German Credit, with a tenth of the values of each column shuffled."""

    def __call__(self, folder: Path) -> Case:
        """Make the release."""
        file = Path(os.environ["CVPL_SHARED_DATA"]) / "german" / "german.csv"
        released = _once(folder / "german.parquet", lambda: Drawn(0)._changed(pd.read_csv(file), _rng(5)))
        return Case(file, released, None)


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def _once(file: Path, make: Callable[[], Any]) -> Path:
    """The file, written if it is not there yet."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        made = make()
        if isinstance(made, pd.DataFrame):
            made.to_parquet(file)
        else:
            made.write(file)
    return file


QUICK = {"quick": True}
CASES: Mapping[str, Callable[[Path], Case]] = {
    "300 people, paper": Simulated(300, "paper", control=False),
    "1,000 people": Simulated(1_000),
    "1,000 people, no control": Simulated(1_000, control=False),
    "5,000 people": Simulated(5_000),
    "5,000 people, generalized": Simulated(5_000, release="mondrian"),
    "10,000 people, paper": Simulated(10_000, "paper"),
    "10,000 people": Simulated(10_000),
    "10,000 people, synthetic": Simulated(10_000, release="synthetic"),
    "10,000 people, k-anonymous": Simulated(10_000, release="k_anonymous", control=False),
    "10,000 people, quick": Simulated(10_000, options=QUICK),
    "30,000 people, no control": Simulated(30_000, control=False),
    "30,000 people, three attackers": Simulated(30_000, options={"attackers": ["paper", "nearest", "rarity_density"]}),
    "100,000 people, paper": Simulated(100_000, "paper"),
    "100,000 people, quick": Simulated(100_000, options=QUICK),
    "100,000 people": Simulated(100_000),
    "10 numbers": Drawn(10_000, numbers=10),
    "a column with 3,000 labels": Drawn(5_000, numbers=3, labels=(3_000, 5, 20)),
    "three columns with 400 labels": Drawn(10_000, numbers=3, labels=(400, 400, 400)),
    "long texts": Drawn(5_000, numbers=4, labels=(5, 20), texts=1, guessed=True),
    "60 columns": Drawn(2_000, numbers=30, labels=(2, 3, 5, 8, 12, 20) * 5),
    "200 columns, 300 people": Drawn(300, numbers=100, labels=(2, 3, 5, 8, 12) * 20),
    "1,000,000 cells": Drawn(100_000, numbers=5, labels=(2, 3, 5, 8, 12)),
    "stroke, k = 5": Public("stroke", "k5"),
    "German Credit, shuffled": German(),
    "Adult, k = 10": Public("adult_k_anonymous", "k10_anjana"),
    "NIST, post-randomized": Public("nist_ma", "pram"),
    "NIST, sample": Public("nist_ma", "subsample40_all"),
    "Adult study, flipped": Public("adult_study", "flip30", QUICK),
}


def planned(case: Case) -> ResourceEstimate:
    """The plan of the audit."""
    config = case.config or propose(case.original, case.released, compare_sensitive=True)
    return plan_audit(case.original, case.released, config, control=case.control, first_answer=True, **case.options)


def audited(case: Case) -> None:
    """Audit as the command line does."""
    audit(
        case.original,
        case.released,
        case.config,
        control=case.control,
        progress=lambda phase, share: None,
        on_first_answer=lambda first: None,
        **case.options,
    )


def measured(name: str, folder: Path) -> tuple[float, float, float | None]:
    """Seconds and processor seconds of an audit in a process of its own, and the cores that others used meanwhile."""
    call = [sys.executable, __file__, str(folder), "--one", name]
    start, busy = time.perf_counter(), _busy()
    done = subprocess.run(call, check=True, capture_output=True, text=True)
    seconds, processor = time.perf_counter() - start, json.loads(done.stdout.splitlines()[-1])
    after = _busy()
    others = None if busy is None or after is None else max(0.0, after - busy - processor) / seconds
    return seconds, processor, others


def _busy() -> float | None:
    """The seconds that all cores have worked for anybody; None where the system does not say."""
    file = Path("/proc/stat")
    if not file.exists():
        return None
    user, nice, system, _, _, interrupts, soft, stolen = map(int, file.read_text().split()[1:9])
    return (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print a row for each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=CASES)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--one", help="audit one kind, and print its processor seconds")
    given = parser.parse_args()
    if given.data is not None:
        os.environ["CVPL_SHARED_DATA"] = str(given.data)
    if given.one is not None:
        audited(CASES[given.one](given.folder))
        print(time.process_time())
        return
    public = "CVPL_SHARED_DATA" in os.environ
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print("| table | planned | measured | ratio | processor, planned | measured | ratio | cores used by others |")
    print("|---|---|---|---|---|---|---|---|")
    for name, make in CASES.items():
        if (given.only and name not in given.only) or (isinstance(make, Public | German) and not public):
            continue
        case = make(given.folder)
        plan = planned(case)
        low, high = plan.seconds
        seconds, processor, others = measured(name, given.folder)
        used = "-" if others is None else f"{others:.1f}"
        wall = f"{low:.1f} to {high:.1f} s | {seconds:.1f} s | {seconds / (low * high) ** 0.5:.2f}"
        cores = f"{plan.processor:.1f} s | {processor:.1f} s | {processor / plan.processor:.2f}"
        print(f"| {name} | {wall} | {cores} | {used} |", flush=True)


if __name__ == "__main__":
    main()
