"""Two small data sets with their manifests: one with a control, one without."""

from __future__ import annotations

import numpy as np
import pandas as pd
import yaml

from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.workflows.made_tables import CONFIG as DEMO

CONFIG = yaml.safe_load(DEMO.replace("attacker: default", "attacker: paper"))
CONFIG["report"] = {**CONFIG.get("report", {}), "suppress_below": 1}
HEAD = {"title": "People", "source": "simulated", "licence": "none", "original": "original.csv"}
MADE = {"mechanism": "noise", "family": "perturbation"}


def manifest(name, releases, **more):
    return {"name": name, **HEAD, **CONFIG, "releases": releases, **more}


def write(folder, content, file="benchmark.yaml"):
    path = folder / file
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


def two_data_sets(first, second):
    """One with a control, a broken and a dead release; one without, with a sample of its people."""
    people = Touchpoints(records=200).draw(np.random.default_rng(1))
    frame = pd.DataFrame(people.to_columns())

    def released(level, seed):
        return pd.DataFrame(Perturbation(level).protect(people, np.random.default_rng(seed)).to_columns())

    frame.to_csv(first / "original.csv", index=False)
    strangers = Touchpoints(records=200).draw(np.random.default_rng(2))
    pd.DataFrame(strangers.to_columns()).to_csv(first / "control.csv", index=False)
    for level in ("low", "high"):
        released(level, 3).to_csv(first / f"{level}.csv", index=False)
    released("low", 4).astype(object).assign(age="not an age").to_csv(first / "broken.csv", index=False)
    pd.concat([frame.iloc[:1]] * 200).to_csv(first / "dead.csv", index=False)
    releases = {name: {"file": f"{name}.csv", **MADE} for name in ("high", "broken", "low", "dead")}
    releases["low"] |= {"strength": {"level": "low", "share": 0.5}, "by": "us"}
    write(first, manifest("first", releases, control={"file": "control.csv"}))
    frame.to_csv(second / "original.csv", index=False)
    frame.sample(60, random_state=5).to_csv(second / "sample.csv", index=False)
    released("low", 6).to_csv(second / "noise.csv", index=False)
    nobody = {"person_id": {"role": "ignore"}}
    others = {
        "blind": {"file": "noise.csv", **MADE, "columns": nobody, "truth": None},
        "known": {"file": "noise.csv", **MADE},
        "sample": {"file": "sample.csv", "mechanism": "sample", "family": "sampling", "control": "absent"},
    }
    write(second, manifest("second", others))
    return first, second
