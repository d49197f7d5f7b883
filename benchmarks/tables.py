"""The simulated tables that the benchmarks share, made once in a folder: originals and four releases of them.

    low, high      perturbation at its lowest and highest level
    synthetic      a Gaussian copula
    k_anonymous    ages, regions and times rounded, and times rounded further, until at least ten share nearly every
                   combination of age, gender, region and time; the few that are left are taken out

A small table cannot have that, and is 10-anonymous in age, gender and region only.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cvpl.laboratory.frame import Frame
from cvpl.laboratory.mechanisms import GaussianCopula, Perturbation, Rounding
from cvpl.laboratory.simulation import Touchpoints

RELEASES = ("low", "high", "synthetic", "k_anonymous")
K = 10
CONFIG = """\
columns:
  person_id:      {role: id}
  age:            {role: quasi_identifier, type: numeric, block: {bin: 10}}
  gender:         {role: quasi_identifier, type: category, block: exact}
  region:         {role: quasi_identifier, type: category, separator: "/", block: {level: 1}}
  purchase_time:  {role: attribute, type: datetime, features: [hour, day_of_week]}
  days_after_ad:  {role: attribute, type: numeric}
  ad_channel:     {role: attribute, type: category}
  purchase_place: {role: attribute, type: category}
  brand_product:  {role: attribute, type: category}
attacker: paper
threshold: 0.90
seed: 42
"""


def make(folder: Path, records: int, releases: tuple[str, ...] = RELEASES) -> Path:
    """The folder with the tables of so many people, as Parquet; what is there already is left alone."""
    place = folder / str(records)
    place.mkdir(parents=True, exist_ok=True)
    (place / "audit.yaml").write_text(CONFIG, encoding="utf-8")
    people = None
    for name in ("original", *releases):
        file = place / f"{name}.parquet"
        if file.exists():
            continue
        if people is None:
            people = Touchpoints(records=records).draw(np.random.default_rng(1))
        draft = file.with_suffix(".part.parquet")
        _table(name, people).write(draft)
        draft.replace(file)
    return place


def _table(name: str, people: Frame) -> Frame:
    rng = np.random.default_rng([2, len(name)])
    if name == "original":
        return people
    if name == "synthetic":
        return GaussianCopula().protect(people, rng)
    if name == "k_anonymous":
        return _k_anonymous(people, rng)
    return Perturbation(name).protect(people, rng)


def _k_anonymous(people: Frame, rng: np.random.Generator) -> Frame:
    for time in ("day", "week", "month"):
        release = Rounding(age=10, region_level=1, time=time).protect(people, rng)
        sizes = _class_sizes(release)
        if np.mean(sizes < K) <= 0.01:
            break
    else:
        sizes = _class_sizes(release, with_time=False)
    return release.take(np.flatnonzero(sizes >= K))


def _class_sizes(table: Frame, *, with_time: bool = True) -> np.ndarray:
    """How many share each record's age, gender, region and, unless told otherwise, time."""
    code = np.zeros(len(table), dtype=np.int64)
    for name in ("age", "gender", "region"):
        column = table.category(name)
        code = code * (len(column.labels) + 1) + column.codes + 1
    if with_time:
        _, times = np.unique(table.times["purchase_time"], return_inverse=True)
        code = code * (times.max() + 1) + times
    _, inverse, counts = np.unique(code, return_inverse=True, return_counts=True)
    return counts[inverse]
