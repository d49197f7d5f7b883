"""Looking at fewer pairs: only on request, never above the exact figure, always said."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml

import cvpl
from cvpl.cli.main import run
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.search.levers import cut_off, draw, sub_divide
from cvpl.workflows.made_tables import CONFIG as DEMO
from examples import examples_apart

CONFIG = DEMO.replace("attacker: default", "attacker: paper")

LEVERS = {
    "max_block": "{max_block: 20}",
    "sample": "{sample: 0.3}",
    "sub_block": "{sub_block: {above: 0.5, by: [ad_channel]}}",
    "ann": "{ann: {above: 30, nprobe: 1}}",
}


DRAWN = ("sample", "max_block", "ann", "sub_block")
"""Those that must leave the same in every run: in the usual run one that draws and one that clusters are run twice."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("levers")
    rng = np.random.default_rng(11)
    people = Touchpoints(records=3_000).draw(rng)
    people.write(folder / "original.csv")
    Perturbation("high").protect(people, rng).write(folder / "released.csv")
    return folder


def exactly(config):
    """The configuration with figures that are not rounded."""
    written = yaml.safe_load(config)
    return written | {"report": {**written.get("report", {}), "suppress_below": 1}}


def written(folder, search: str = "{}"):
    config = folder / "audit.yaml"
    config.write_text(yaml.safe_dump(exactly(CONFIG) | {"search": yaml.safe_load(search)}), encoding="utf-8")
    return config


def audited(folder, search: str = "{}"):
    return cvpl.audit(folder / "original.csv", folder / "released.csv", written(folder, search))


@pytest.fixture(scope="module")
def exact(tables):
    return audited(tables)


def test_the_search_is_exact_unless_asked_otherwise(exact):
    result = exact
    assert result.search.exact and result.search.share_examined == 1.0 and not result.lower_bound


@pytest.mark.parametrize("lever", LEVERS)
def test_a_lever_gives_a_lower_bound_and_says_what_it_looked_at(tables, exact, lever):
    narrow = audited(tables, LEVERS[lever])
    assert narrow.lower_bound and narrow.search.narrowed_by == [lever]
    assert narrow.search.pairs == exact.search.pairs
    assert 0 < narrow.search.share_examined < 0.9
    for mine, full in zip(narrow.risk_curve, exact.risk_curve, strict=True):
        assert mine.linkage_rate <= full.linkage_rate
    assert narrow.linkage_rate.estimate < exact.linkage_rate.estimate
    # What truth says of blocking does not depend on who was looked at.
    assert narrow.truth.blocking_recall == exact.truth.blocking_recall
    assert narrow.truth.matching_recall == exact.truth.matching_recall
    parts = [warning.message for warning in narrow.warnings if warning.rule == "pairs_left_out"]
    assert len(parts) == 1 and f"{narrow.search.share_examined:.2%}" in parts[0] and lever in parts[0]
    if lever in DRAWN[:: examples_apart(2)]:
        assert narrow.to_json() == audited(tables, LEVERS[lever]).to_json()


def test_approximate_search_that_looks_at_every_list_is_exact(tables, exact):
    narrow = audited(tables, "{ann: {above: 30, nprobe: 1000}}")
    assert narrow.search.share_examined == pytest.approx(1.0)
    assert narrow.linkage_rate.estimate == exact.linkage_rate.estimate
    assert narrow.lower_bound


def test_a_lower_bound_closes_the_gate_and_the_page_calls_it_one(tables, capsys):
    written(tables, LEVERS["sample"])
    arguments = ["audit", *(str(tables / name) for name in ("original.csv", "released.csv"))]
    arguments += [
        "--config",
        str(tables / "audit.yaml"),
        "--fail-above",
        "1",
        "--out",
        str(tables / "out"),
        "--details",
    ]
    assert run(arguments) == 10
    page = " ".join(capsys.readouterr().out.split())
    assert "this attacker links at least" in page and "originals with a candidate (a lower bound)" in page
    assert "a lower bound cannot pass a gate" in page
    assert json.loads((tables / "out" / "result.json").read_text())["lower_bound"] is True


def test_a_cutoff_keeps_as_many_as_it_says_and_small_blocks_whole():
    rng = np.random.default_rng(1)
    blocks = np.repeat([0, 1, 2], [500, 7, 20])
    kept = cut_off(blocks, 20, 3, rng)
    assert np.bincount(kept).tolist() == [20, 7, 20, 480]
    np.testing.assert_array_equal(kept[kept < 3], blocks[kept < 3])
    drawn = np.mean([np.flatnonzero(cut_off(blocks, 20, 3, rng)[:500] == 0).mean() for _ in range(400)])
    assert abs(drawn - 249.5) < 6 * 144.3 / np.sqrt(20 * 400)


def test_a_sample_keeps_the_share_it_says():
    kept = draw(np.zeros(40_000, dtype=np.int64), 0.25, 1, np.random.default_rng(2))
    assert abs(np.mean(kept == 0) - 0.25) < 6 * np.sqrt(0.25 * 0.75 / 40_000)


def test_only_large_blocks_are_cut_up():
    blocks = {"original": np.array([0, 0, 1, 1]), "protected": np.array([0, 0, 0, 1])}
    keys = {"original": np.array([0, 1, 0, 1]), "protected": np.array([0, 1, 1, 1])}
    cut = sub_divide(blocks, keys, "protected", 0.5)
    same = cut["original"][:, None] == cut["protected"]
    np.testing.assert_array_equal(same, [[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1]])


@pytest.mark.parametrize(
    ("search", "text"),
    [
        ("{max_block: 0}", "search.max_block"),
        ("{sample: 1.5}", "search.sample"),
        ("{sub_block: {above: 0.9}}", "search.sub_block.by"),
        ("{sub_block: {by: [nobody]}}", "`search.sub_block` blocks by a column"),
        ("{ann: {nprobe: 0}}", "search.ann.nprobe"),
    ],
)
def test_a_lever_out_of_range_is_refused(tables, search, text):
    with pytest.raises(cvpl.InputError, match=text):
        audited(tables, search)
