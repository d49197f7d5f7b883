"""The result as a file that others rely on."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

import cvpl
from cvpl.config.loading import load
from cvpl.config.written import AuditConfig
from cvpl.laboratory.mechanisms import GaussianCopula, Perturbation, Rounding
from cvpl.laboratory.simulation import Touchpoints
from cvpl.result import json_schema
from cvpl.workflows.made_tables import CONFIG as DEMO
from examples import examples_apart

CONFIG = DEMO.replace("attacker: default", "attacker: paper")

FIXTURES = Path(__file__).parents[1] / "fixtures"
SCHEMAS = files("cvpl") / "schemas"

SPECIFIED = {
    "schema", "verdict", "risk", "certain", "best_candidate", "preflight",
    "inputs", "scenario", "attacker", "threshold", "linkage_rate", "risk_curve", "worst_case_risk",
    "integrated_risk", "blocks", "projection", "truth", "control", "attributable_rate", "power", "attackers",
    "canaries", "policy", "validity", "self_linkage", "feature_contribution", "warnings", "lower_bound",
}  # fmt: skip


@cache
def validator():
    """The published schema, itself checked once."""
    schema = json_schema()
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(21)
    return Touchpoints(records=500).draw(rng), Touchpoints(records=500).draw(rng)


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "audit.yaml"
    path.write_text(CONFIG)
    return path


def frame(table):
    return pd.DataFrame(table.to_columns())


def test_the_published_schema_is_that_of_the_code():
    assert json.loads((SCHEMAS / "result.json").read_text()) == json_schema()
    assert json.loads((SCHEMAS / "config.json").read_text()) == AuditConfig.model_json_schema()


RELEASES = [
    pytest.param(mechanism, with_control, id=f"{name}-{with_control}")
    for name, mechanism, controls in (
        ("perturbation", Perturbation("low"), (True, False)),
        ("rounding", Rounding(), (False, True)),
        ("copula", GaussianCopula(), (True, False)),
    )
    for with_control in controls
]


@pytest.mark.parametrize(("mechanism", "with_control"), RELEASES[:: examples_apart(2)])
def test_every_result_validates_and_comes_back_from_its_json(mechanism, with_control, people, config):
    original, others = people
    released = mechanism.protect(original, np.random.default_rng(3))
    control = frame(others) if with_control else None
    result = cvpl.audit(frame(original), frame(released), config, control=control, fail_above=0.5)
    content = json.loads(result.to_json())
    validator().validate(content)
    assert content.keys() >= SPECIFIED
    assert cvpl.AuditResult.from_json(result.to_json()) == result
    assert (result.control is not None) == with_control


def test_a_result_of_an_earlier_version_is_still_read():
    """The file was written by version 0.1; later versions are held to reading it."""
    text = (FIXTURES / "result-0.1.json").read_text()
    result = cvpl.AuditResult.from_json(text)
    assert result.linkage_rate.estimate == json.loads(text)["linkage_rate"]["estimate"]
    assert (json.loads(text)["schema"], result.schema_) == ("cvpl/audit/1", "cvpl/audit/2")
    assert result.risk.power == next(item["power"] for item in json.loads(text)["power"] if item["false_rate"] == 0.05)
    validator().validate(json.loads(result.to_json()))
    assert cvpl.AuditResult.from_json(result.to_json()) == result


def test_what_an_earlier_result_says_of_intervals_in_sentences_becomes_fields():
    """Sentences of the last version that had them: on a refusal, on a measured and on an unmeasured coverage."""
    data = json.loads((FIXTURES / "result-0.1.json").read_text())
    few = "12 records, and nothing smaller than 20 was measured"
    ends = {"low": None, "high": None, "method": f"refused: {few}", "coverage": "none"}
    data["linkage_rate"] |= {"coverage": "0.939 measured at 95%, 0.993 at 99.9%"}
    data["attributable_rate"] |= ends
    data["power"] = [point | ends for point in data["power"]]
    result = cvpl.AuditResult.from_json(json.dumps(data))
    rate, attributable = result.linkage_rate, result.attributable_rate
    assert (rate.coverage, rate.coverage_at_999, rate.refused) == (0.939, 0.993, None)
    assert (attributable.method, attributable.refused, attributable.coverage) == ("none", few, None)
    assert {point.refused for point in result.power} == {result.risk.refused} == {few}
    assert result.control.coverage is None and result.control.refused is None
    assert cvpl.AuditResult.from_json(result.to_json()) == result


def test_an_interval_is_there_or_refused_with_a_reason_and_has_its_measured_coverage(people, config):
    original, others = people
    released = frame(Perturbation("low").protect(original, np.random.default_rng(3)))
    found = cvpl.audit(frame(original), released, config, control=frame(others)[:12])
    rate = found.linkage_rate
    assert (rate.method, rate.refused, rate.coverage, rate.coverage_at_999) == ("blocks", None, 0.984, 0.999)
    for figure in (found.control, found.attributable_rate, *found.power, found.attackers[0].attributable_rate):
        assert (figure.low, figure.method, figure.coverage) == (None, "none", None)
        assert figure.refused == "12 records, and nothing smaller than 20 was measured"


def test_the_same_audit_gives_the_same_bytes(people, config):
    original, others = people
    released = frame(Perturbation("medium").protect(original, np.random.default_rng(3)))
    one, other = (cvpl.audit(frame(original), released, config, control=frame(others)).to_json() for _ in range(2))
    assert one == other


def test_rounding_hides_people_from_the_rate_but_not_from_top_1(people, config):
    """Generalization shifts the representation: the result says so instead of calling the risk low."""
    released = Rounding().protect(people[0], np.random.default_rng(3))
    result = cvpl.audit(frame(people[0]), frame(released), config, fail_above=0.5)
    assert result.truth.top1_hit_rate > result.linkage_rate.estimate + 0.3
    assert "top1_above_rate" in [warning.rule for warning in result.warnings]
    assert not result.validity.assessable
    assert not result.policy.met


def test_a_synthetic_release_reads_as_base_rate(people, config):
    """People who are not in it find a look-alike as often: nothing is attributable."""
    released = GaussianCopula().protect(people[0], np.random.default_rng(3))
    result = cvpl.audit(frame(people[0]), frame(released), config, control=frame(people[1]))
    lowest = result.risk_curve[0]
    assert lowest.linkage_rate > 0.3
    assert abs(lowest.attributable_rate) < 0.15
    assert result.attributable_rate.low < 0.05
    assert result.scenario == "simulation"


def test_an_attacker_who_knows_less_people_asks_only_these(people, config):
    released = frame(Perturbation("low").protect(people[0], np.random.default_rng(3)))
    resolved = load(config).config
    few = resolved.model_copy(update={"attacker": resolved.attacker.model_copy(update={"knows_people": 0.2})})
    result = cvpl.audit(frame(people[0]), released, few)
    assert result.truth.originals_with_match == 100
    assert result.inputs["original"].rows == 500


def test_several_attackers_have_a_row_each_and_the_strongest_is_the_headline(people, config):
    released = frame(Perturbation("low").protect(people[0], np.random.default_rng(3)))
    content = load(config).config.model_dump(exclude_unset=True, exclude={"attacker"})
    content["attackers"] = {"loose": {"blocking": "none"}, "vendor": "paper", "weights": {"similarity": "agreement"}}
    content["report"] = {"suppress_below": 1}
    result = cvpl.audit(frame(people[0]), released, content)
    assert [row.name for row in result.attackers] == ["loose", "vendor", "weights"]
    # Without a control the strongest is the one that finds most of the right persons.
    hits = {row.name: row.top1_hit_rate for row in result.attackers}
    assert result.attacker == result.risk.attacker == max(hits, key=hits.get)
    own = next(row for row in result.attackers if row.name == result.attacker)
    assert result.attributable_rate.estimate == own.attributable_rate.estimate
    # Picked as the strongest of three: the interval is wider than its own would be.
    assert (result.picked.among, result.picked.confidence) == (3, pytest.approx(1 - 0.05 / 3))
    assert result.attributable_rate.high > own.attributable_rate.high
    assert result.attackers[1].linkage_rate.estimate <= result.attackers[0].linkage_rate.estimate
    assert result.attackers[2].threshold is None
