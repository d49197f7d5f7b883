"""Tables in a cluster give what they give on one machine: columns, order and candidates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import yaml

from cvpl.attack.attack import attack
from cvpl.laboratory.mechanisms import Mondrian, Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.spark.cluster import on_cluster
from cvpl.spark.cluster_table import ClusterTable
from cvpl.spark.reading import column_facts, read_table
from cvpl.spark.search import search
from cvpl.workflows.made_tables import CONFIG
from cvpl.workflows.planned_audit import read_plan
from examples import examples_apart

PEOPLE = 600
ROLES = ("original", "protected", "control")
ATTACKERS = {
    "paper": {},
    "unblocked": {"alignment": "release", "blocking": "none"},
    "nearest": {"alignment": "release", "blocking": "none", "similarity": "euclidean", "threshold": "false_rate"},
    "rarity": {"alignment": "release", "blocking": "none", "similarity": "rarity"},
    "agreement": {"alignment": "release", "blocking": "none", "similarity": "agreement"},
    "contained": {"alignment": "cells", "blocking": "none", "similarity": {"rarity": {"m": 0.99}}},
}


@pytest.fixture(scope="module", params=["perturbed", "generalized"])
def plan(request, tmp_path_factory):
    """A configuration and tables in Parquet, read on one machine; some people are in a table twice."""
    rng = np.random.default_rng(3)
    people, others = (Touchpoints(records=PEOPLE).draw(rng) for _ in range(2))
    mechanism = Perturbation("low") if request.param == "perturbed" else Mondrian(5, ("age", "gender", "region"))
    folder = tmp_path_factory.mktemp(request.param)
    for role, table in zip(ROLES, (people, mechanism.protect(people, rng), others), strict=True):
        frame = pd.DataFrame(table.to_columns())
        pd.concat([frame, frame.head(40)]).astype(str).to_parquet(folder / f"{role}.parquet")
    config = yaml.safe_load(CONFIG)
    del config["attacker"]
    files = [str(folder / f"{role}.parquet") for role in ROLES]
    resolved, inputs = read_plan(files[0], files[1], config | {"attackers": ATTACKERS}, files[2], None)
    return files, resolved, inputs


@pytest.mark.parametrize(("partitions", "adaptive"), [(5, "false"), (1, "true")][:: examples_apart(2)])
def test_tables_are_read_as_on_one_machine(session, plan, partitions, adaptive):
    files, resolved, inputs = plan
    session.conf.set("spark.sql.adaptive.enabled", adaptive)
    with on_cluster(session, 150) as cluster:
        frames = {
            role: session.read.parquet(file).repartition(partitions, "age")
            for role, file in zip(ROLES, files, strict=True)
        }
        facts = column_facts(frames, resolved.specs, resolved.reading)
        for role, frame in frames.items():
            found, said = read_table(cluster, role, frame, resolved.specs, resolved.reading, facts, frame.count())
            mine = getattr(inputs.pair, role)
            places, table = found.layout.read(found.frame.toArrow().sort_by("place"))
            assert found.rows == mine.rows and np.array_equal(places, np.arange(mine.rows)) and not said.problems
            for spec in mine.specs:
                one, other = mine.columns[spec.name], table.columns[spec.name]
                assert one.plain == other.plain and one.label_texts() == other.label_texts()
                assert all(np.array_equal(*ends) for ends in zip(one.bits(), other.bits(), strict=True)), spec.name
        assert cluster.kept
    assert not cluster.kept and not session.sparkContext._jsc.getPersistentRDDs()


@pytest.mark.parametrize("attacker", list(ATTACKERS)[:: examples_apart(3)])
@pytest.mark.parametrize("rows", [150, 100_000][:: examples_apart(2)])
def test_candidates_are_found_as_on_one_machine(session, plan, attacker, rows):
    _, resolved, inputs = plan
    done = attack(inputs.pair, resolved.attackers[attacker], seed=1)
    with on_cluster(session, rows) as cluster:
        queries, candidates = (ClusterTable.of(cluster, table) for table in (done.original, done.protected))
        outcome = search(done.representation, done.attacker.blocking.any_of[0], queries, candidates)
        found = outcome.collect(queries.rows)
        assert outcome.blocks.pairs == done.blocks.pairs
    for name in ("best", "second"):
        np.testing.assert_allclose(getattr(found, name), getattr(done.found, name), atol=1e-9)
    assert np.array_equal(found.candidates, done.found.candidates)
    assert np.array_equal(found.ties, done.found.ties)
