"""Attribute inference of several releases: in a comparison and in a benchmark, with the figures of an audit."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from rich.console import Console

import cvpl
from benchmark_folders import HEAD, write
from cvpl.assessment.diagnostics.inference import UNSEEN
from cvpl.assessment.planning.progress import Phase
from cvpl.assessment.planning.work import Work
from cvpl.reports.leaderboard import leaderboard_csv, leaderboard_markdown
from cvpl.reports.page import notebook_markdown, report_page
from cvpl.reports.terminal import show
from cvpl.result.verdict import blind
from cvpl.workflows.planned_audit import read_plan
from examples import examples_apart
from inference_people import COLUMNS, EXACT, SETTINGS, people

LIMIT = 0.95


@pytest.fixture(scope="module")
def tables():
    """Originals, a control, and releases: one that keeps the secrets, one that shuffles them."""
    rng = np.random.default_rng(23)
    original, control = people(rng, 240), people(rng, 240, 1000)
    control["pay"] += 5  # or every control would have the pay of an original
    coarse = original.assign(age=original.age // 10 * 10, pay=original.pay + rng.integers(-20, 21, 240))
    return original, control, {"kept": coarse, "shuffled": coarse.assign(sick=rng.permutation(original.sick))}


def compared(tables, more=None, releases=("kept", "shuffled"), **arguments):
    original, control, made = tables
    chosen = {name: made[name] for name in releases}
    arguments.setdefault("control", control)
    return cvpl.compare(original, chosen, SETTINGS | (more or {}), **arguments)


def doubt(audit):
    """What is said beside the rate of a release that hides something from the attackers."""
    return None if blind(audit.preflight) is None else UNSEEN


def release(result, name):
    return next(item for item in result.releases if item.name == name)


@pytest.fixture(scope="module")
def policies():
    return {"policy": [{"figure": "inference_rate", "max": LIMIT}, {"figure": "k", "min": 1}]}


@pytest.fixture(scope="module")
def judged(tables, policies):
    return compared(tables, EXACT | policies)


RATES = [pytest.param({}, id="rounded"), pytest.param(EXACT, id="exact")]


@pytest.mark.parametrize("more", RATES[:: examples_apart(2)])
def test_each_release_has_the_rate_of_its_audit(tables, more):
    found = compared(tables, more)
    for name in ("kept", "shuffled"):
        alone = cvpl.audit(tables[0], tables[2][name], SETTINGS | more, control=tables[1])
        assert release(found, name).inference.rate == alone.inference.rate is not None
        assert release(found, name).inference.secrets == ["sick"]
        assert release(found, name).inference.reason == doubt(alone)
    assert release(found, "kept").inference.rate.low > release(found, "shuffled").inference.rate.estimate


def test_so_it_has_if_the_audit_joins_its_attackers():
    """A comparison does not run the combined attacker, the strongest here; its candidates are those of a member."""
    rng = np.random.default_rng(17)
    original, control = people(rng, 400), people(rng, 400, 1000)
    released = original.assign(pay=original.pay + rng.normal(0, 40, 400).round(), age=original.age // 10 * 10)
    fast = {"canaries": False, "sensitivity": False, "singling_out": False}
    settings = {"columns": COLUMNS, "attacker": "default", **fast, **EXACT}
    alone = cvpl.audit(original, released, settings, control=control)
    assert alone.attacker == "combined"
    (found,) = cvpl.compare(original, {"noise": released}, settings, control=control).releases
    assert found.attacker != "combined"
    assert found.inference.rate == alone.inference.rate is not None


def test_a_policy_on_the_rate_is_judged_for_each_release(judged, tables, policies):
    """The upper end decides, as in an audit; a release that tells nothing of anybody's secret meets the limit."""
    for name, met in (("kept", False), ("shuffled", True)):
        found = release(judged, name)
        outcome = {policy.figure: policy for policy in found.policies}["inference_rate"]
        assert outcome.value == found.inference.rate.high
        assert outcome.met == met
        alone = cvpl.audit(tables[0], tables[2][name], SETTINGS | EXACT | policies, control=tables[1])
        assert found.policies == alone.policies


def test_the_estimate_decides_if_the_policy_says_so(tables):
    policy = {"policy": {"figure": "inference_rate", "bound": "estimate", "max": 0.5}}
    found = compared(tables, EXACT | policy, ["kept"]).releases[0]
    assert found.policies[0].value == found.inference.rate.estimate


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"inference": False}, "not asked for; set `inference: true`"),
        ({"inference": None}, "not asked for; set `inference: true`"),
        ({"columns": COLUMNS | {"sick": {"role": "ignore"}}}, "no column has the role sensitive"),
    ],
)
def test_it_is_left_out_as_in_an_audit_and_the_reason_is_told(tables, more, told):
    """A policy on a rate that was not measured is not met."""
    policy = {"policy": {"figure": "inference_rate", "max": 1.0}}
    found = compared(tables, more | policy, ["kept"])
    (only,) = found.releases
    assert (only.inference.rate, only.inference.secrets, only.inference.reason) == (None, [], told)
    assert not only.policies[0].met
    assert any("was not measured" in reason for reason in only.policies[0].reasons)
    assert "Not measured: " in report_page(found)


def test_without_a_control_there_is_no_rate(tables):
    found = compared(tables, {"policy": {"figure": "inference_rate", "max": 1.0}}, ["kept"], control=None)
    (only,) = found.releases
    assert only.inference.rate is None and only.inference.secrets == ["sick"]
    assert only.inference.reason == "there is no control"
    assert not only.policies[0].met
    assert "No rate: there is no control." in report_page(found)


def test_a_secret_for_which_nothing_is_attributed_is_named(tables):
    """Everybody has the same secret, so controls are right for all."""
    original, control, made = tables
    columns = COLUMNS | {"same": {"role": "sensitive"}}
    same = [table.assign(same="x") for table in (original, control, made["kept"])]
    found = cvpl.compare(same[0], {"kept": same[2]}, SETTINGS | {"columns": columns}, control=same[1]).releases[0]
    assert found.inference.secrets == ["sick", "same"] and found.inference.rate.column == "sick"
    assert found.inference.reason.startswith("nothing is attributed for 'same': people who are not in the release")


def test_over_draws_no_secret_is_inferred_and_no_policy_judged_on_it(tables, policies):
    """A rate of one draw would not be that of the mechanism."""
    original, control, made = tables
    found = cvpl.compare(
        original,
        {"kept": made["kept"]},
        SETTINGS | policies,
        control=control,
        mechanisms={"drawn": lambda path: made["shuffled"]},
        draws=2,
    )
    drawn = release(found, "drawn")
    assert (drawn.inference.rate, drawn.inference.secrets) == (None, [])
    assert drawn.inference.reason == "not measured over draws, only for one release"
    assert drawn.policies == []
    assert release(found, "kept").inference.rate is not None
    assert "not measured over draws" in report_page(found)


def test_every_output_shows_the_rate(judged):
    screen = io.StringIO()
    show(judged, Console(width=140, file=screen), details=True)
    rate = f"{release(judged, 'kept').inference.rate.estimate:.1%}"
    for output in (report_page(judged), screen.getvalue(), notebook_markdown(judged)):
        assert "Attribute inference" in output and "inference rate" in output and rate in output
    frame = judged.to_frame().set_index("release")
    assert frame.inference_rate_high["kept"] == release(judged, "kept").inference.rate.high


def test_results_without_it_can_still_be_read(judged):
    """As an earlier version wrote them."""
    content = json.loads(judged.to_json())
    for item in content["releases"]:
        del item["inference"]
    old = cvpl.ComparisonResult.from_json(json.dumps(content))
    assert all(item.inference is None for item in old.releases)
    assert "Attribute inference" in report_page(judged) and "Attribute inference" not in report_page(old)


def test_progress_and_plan_know_the_work(tables):
    told = []
    compared(tables, EXACT, ["kept"], progress=lambda phase, share: told.append((phase, share)))
    phases = [phase for phase, _ in told]
    assert Phase.INFERENCE in phases
    shares = [share for _, share in told if share is not None]
    assert shares == sorted(shares) and shares[-1] == 1
    for more, expected in (({}, True), ({"inference": False}, False)):
        plan = read_plan(tables[0], tables[2]["kept"], SETTINGS | more, tables[1], None)
        assert (Phase.INFERENCE in {step.phase for step in Work(*plan).compared()}) == expected


# In a benchmark


@pytest.fixture(scope="module")
def benchmarked(tables, tmp_path_factory):
    """The second release could not be inferred: its secrets are gone."""
    folder = tmp_path_factory.mktemp("inferred")
    original, control, made = tables
    written = {"original": original, "control": control, "kept": made["kept"], "gone": made["kept"].assign(sick="")}
    for name, table in written.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    content = {
        "name": "people",
        **HEAD,
        "control": {"file": "control.csv"},
        **SETTINGS,
        "releases": {name: {"file": f"{name}.csv", "mechanism": name, "family": "other"} for name in ("kept", "gone")},
    }
    return cvpl.benchmark([write(folder, content)])


def test_a_row_has_the_rate_of_its_audit_or_the_reason(tables, benchmarked):
    alone = cvpl.audit(tables[0], tables[2]["kept"], SETTINGS, control=tables[1])
    rows = {row.name: row.inference for row in benchmarked.rows}
    assert rows["kept"].rate == alone.inference.rate is not None
    assert rows["kept"].secrets == ["sick"]
    assert rows["gone"].rate is None
    assert rows["gone"].reason.startswith("no sensitive column is in both tables with a value")


def test_page_markdown_csv_and_frame_show_it(benchmarked):
    rate = next(row.inference.rate for row in benchmarked.rows if row.name == "kept")
    for output in (report_page(benchmarked), leaderboard_markdown(benchmarked)):
        assert "Attribute inference" in output and f"{rate.estimate:.1%}" in output
        assert "not measured" in output and "no sensitive column is in both tables" in output
    lines = {line["release"]: line for line in csv.DictReader(io.StringIO(leaderboard_csv(benchmarked)))}
    assert float(lines["kept"]["inference_rate"]) == rate.estimate
    assert float(lines["kept"]["inference_high"]) == rate.high
    assert (lines["kept"]["inference_secret"], lines["kept"]["inference_note"]) == ("sick", UNSEEN)
    assert lines["gone"]["inference_rate"] == "" and lines["gone"]["inference_note"]
    assert benchmarked.to_frame().set_index("release").inference_rate["kept"] == rate.estimate
