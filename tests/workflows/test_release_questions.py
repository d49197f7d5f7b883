"""Singling out and formal criteria in an audit: the result, the gate, the report and the settings."""

from __future__ import annotations

import pytest

import cvpl
from cvpl.reports.markdown import sections_markdown
from cvpl.reports.page import report_page
from cvpl.reports.sections.audit import audit_sections
from release_tables import COLUMNS, EXACT, audited, made_tables  # noqa: F401 - the fixture `tables`


@pytest.fixture(scope="module")
def exact(tables):
    return audited(tables, EXACT)


def test_the_criteria_are_those_of_pandas(tables, exact):
    """Sizes of groups by the quasi-identifiers, and the secrets inside them."""
    sizes = tables[1].groupby(["age", "town", "job"]).size()
    found = exact.criteria
    assert found.quasi_identifiers == ["age", "town", "job"]
    assert (found.k, found.classes, found.largest_class) == (sizes.min(), len(sizes), sizes.max())
    assert found.risk.prosecutor_average == pytest.approx(len(sizes) / 240)
    assert found.unique == pytest.approx((sizes == 1).sum() / 240)
    assert sum(item.share for item in found.class_sizes) == pytest.approx(1)
    (secret,) = found.sensitive
    least = tables[1].groupby(["age", "town", "job"])["sick"].nunique().min()
    assert (secret.column, secret.distinct_l) == ("sick", least)
    assert secret.t_ordered is None


def test_singling_out_is_told_with_the_control(tables, exact):
    found = exact.singling_out
    assert [row.columns for row in found.predicates] == [1, 2, 3]
    for row in found.predicates:
        assert row.attributable == pytest.approx((row.rate - row.control_rate) / (1 - row.control_rate))
    assert found.rate.basis == "control"
    assert found.rate.estimate == max(row.attributable for row in found.predicates)
    assert found.rate.high == max(row.attributable_high for row in found.predicates)
    assert found.sets_searched == 4 + 6 + 4 and found.sets_left_out == 0
    shared = ["age", "town", "job", "pay", "sick"]
    alone = (tables[0].groupby(shared)["who"].transform("size") == 1).mean()
    assert found.exact_rows.unique == pytest.approx(alone)
    assert found.exact_rows.released == 0  # no age is released as it is


def test_published_figures_are_rounded_and_k_is_exact(tables, exact):
    """The k is a property of the release that everyone can count; shares are multiples of ten people."""
    found = audited(tables)
    assert found.criteria.k == exact.criteria.k
    step = 0.05  # the smallest of 1, 2 and 5 times a power of ten that is at least 10 / 240
    for share in (
        found.criteria.unique,
        found.criteria.risk.prosecutor_average,
        found.singling_out.all_columns.original,
    ):
        assert share / step == pytest.approx(round(share / step))
    assert found.criteria.classes % 10 == 0
    assert cvpl.AuditResult.from_json(found.to_json()) == found


@pytest.mark.parametrize(("least", "met"), [(1, True), (2, False)])
def test_the_gate_reads_k(tables, exact, least, met):
    policy = {"policy": [{"figure": "k", "min": exact.criteria.k + least - 1}]}
    (outcome,) = audited(tables, policy).policies
    assert (outcome.figure, outcome.value, outcome.max) == ("k", exact.criteria.k, None)
    reasons = [reason for reason in outcome.reasons if "smallest class" in reason]
    assert (not reasons) == met


def test_the_gate_reads_the_singled_out_rate(tables):
    found = audited(tables, {"policy": {"figure": "singled_out_rate", "max": 0.001}})
    assert found.policies[0].value == found.singling_out.rate.high
    assert any("the singled-out rate is" in reason for reason in found.policies[0].reasons)
    untried = audited(tables, {"policy": {"figure": "singled_out_rate", "max": 1.0}, "singling_out": False})
    assert any("was not measured" in reason for reason in untried.policies[0].reasons)


def test_a_limit_on_k_is_not_replaced_by_that_of_the_command(tables):
    found = audited(tables, {"policy": {"figure": "k", "min": 1}}, fail_above=0.5)
    assert sorted(item.figure for item in found.policies) == ["k", "risk"]


def test_every_output_has_the_sections(tables, exact):
    """Page and terminal show them, with k and the sensitive column, and no cell."""
    page, sections = report_page(exact), audit_sections(exact)
    assert "Singling out" in page and "Formal criteria" in page and f"k = {exact.criteria.k}" in page
    assert {"singling_out", "criteria"} <= {section.anchor for section in sections}
    assert "yes" not in {cell for section in sections for table in section.tables for row in table.rows for cell in row}
    assert sections_markdown(sections)


def test_without_quasi_identifiers_there_are_no_criteria(tables):
    columns = {name: {**entry, "role": "attribute"} for name, entry in COLUMNS.items() if "type" in entry}
    found = audited(tables, {"columns": columns})
    assert found.criteria is None
    assert found.singling_out.quasi_identifiers is None and found.singling_out.suda is None
    policy = {"columns": columns, "policy": {"figure": "k", "min": 2}}
    assert any("not known" in reason for reason in audited(tables, policy).policies[0].reasons)


def test_a_quick_look_leaves_both_out(tables):
    found = audited(tables, quick=True)
    assert found.criteria is None and found.singling_out is None


def test_weights_and_the_population_estimate_the_journalists_risk(tables):
    original, released, control = tables
    weighted = original, released.assign(weight=5), control
    found = audited(weighted, {"criteria": {"weights": "weight"}} | EXACT)
    whole = audited(tables, {"population": 1200} | EXACT)
    assert found.criteria.risk.basis == whole.criteria.risk.basis == "estimated"
    assert found.criteria.risk == whole.criteria.risk
    assert found.criteria.risk.journalist_maximum < found.criteria.risk.prosecutor_maximum
    assert whole.criteria.population_uniques.population == 1200
    assert 0 < whole.criteria.population_uniques.expected_links < 240
    known = audited(tables, {"population": 480} | EXACT)
    assert known.criteria.risk.basis == "population"
    assert 0 <= known.criteria.presence.low <= known.criteria.presence.high <= 1
    with pytest.raises(cvpl.InputError, match="lacks this column of sampling weights"):
        audited(tables, {"criteria": {"weights": "weight"}})


def test_a_sensitive_number_that_cannot_be_read_is_compared_as_texts(tables):
    original, released, control = tables
    columns = COLUMNS | {"sick": {"role": "sensitive", "type": "numeric"}}
    found = audited((original, released, control), {"columns": columns} | EXACT)
    assert found.criteria.sensitive[0].t_ordered is None
