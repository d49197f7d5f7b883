"""The report from a result alone: what it says, the files it makes, and the charts behind it."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import altair as alt
import html5lib
import numpy as np
import pandas as pd
import pytest
import yaml

import cvpl
from browser import CHROMIUM, needs_browser
from cvpl import charts
from cvpl.charts.attackers import label_place
from cvpl.cli.main import run
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.reports.page import Printing, report_page
from cvpl.reports.sections.compliance import criteria_section
from cvpl.reports.sections.exposure import next_steps
from cvpl.reports.sections.questions import singling_out_section
from cvpl.reports.sections.reviewers import command, requirements
from cvpl.result import BestCandidate, Risk, VerdictFigures, verdict_of
from cvpl.workflows.made_tables import CONFIG as DEMO
from payloads import leave_out_charts

OLD = Path(__file__).parents[1] / "fixtures" / "result-0.1.json"
OTHERS = ("Chart", "Drawing", "ChartText", "drawing", "numbers", "png", "svg")
OF_OTHER_RESULTS = (
    "compared_contributions",
    "compared_rulers",
    "frontier",
    "heat_map",
    "release_risks",
    "release_utilities",
    "risk_and_utility",
    "exposure",
    "round_curves",
    "round_powers",
)
DRAWN = [name for name in charts.__all__ if name not in (*OTHERS, *OF_OTHER_RESULTS)]


@pytest.fixture(scope="module")
def result():
    """An audit with control, truth and subgroups; incomes are in thousands, since exact ones would close every gate."""
    people = Touchpoints(records=300).draw(np.random.default_rng(1))
    original, released, control = (
        pd.DataFrame(item.to_columns())
        for item in (
            people,
            Perturbation("medium").protect(people, np.random.default_rng(2)),
            Touchpoints(records=300).draw(np.random.default_rng(3)),
        )
    )
    released["income"] = released["income"].round(-3)
    return cvpl.audit(
        original, released, yaml.safe_load(DEMO), control=control, attackers=["paper", "rarity", "margin"]
    )


@pytest.fixture(scope="module")
def page(result):
    return report_page(result)


@pytest.fixture(scope="module")
def old():
    return cvpl.AuditResult.from_json(OLD.read_bytes())


def changed(result, **sections):
    """The result with some of its sections replaced."""
    return cvpl.AuditResult.model_validate(json.loads(result.to_json()) | sections)


def judged(result, **figures):
    """The result with other figures behind its verdict, and the verdict that they give."""
    found = VerdictFigures(**figures)
    named = {"risk": found.risk, "certain": found.certain, "best_candidate": found.best_candidate}
    sections = {name: None if item is None else item.model_dump() for name, item in named.items()}
    return changed(result, verdict=verdict_of(found).model_dump(), **sections)


def risk(estimate, low, high):
    return Risk(
        estimate=estimate, low=low, high=high, power=0.05 + 0.95 * estimate, false_rate=0.05, basis="control",
        attacker="rarity",
    )  # fmt: skip


def best(estimate, low, high):
    return BestCandidate(estimate=estimate, low=low, high=high, attacker="rarity")


@cache
def parsed(page):
    return html5lib.parse(page, namespaceHTMLElements=False)


def words(page):
    return re.sub(r"\s+", " ", "".join(parsed(page).itertext()))


def test_the_page_is_the_same_bytes_for_the_same_result(result, page, drawings):
    drawings.clear()
    assert report_page(cvpl.AuditResult.from_json(result.to_json())) == page


def test_every_part_stands_on_the_page(result, page):
    text = words(page)
    for part in (
        result.verdict.sentence,
        "Power over the false-positive rate (ROC)",
        "The attackers",
        "Similarities",
        "Figures from the true matches",
        "Which columns give people away",
        "Blocks",
        "Who is at risk",
        "Can the attacker distinguish people at all?",
        "Warnings",
        "What to do next",
        "What reviewers ask for",
        "Assumptions and limits",
        "Provenance",
        f"Seed {result.provenance.seed}",
        command(result),
    ):
        assert part in text
    for role in result.inputs.values():
        assert role.sha256 is None or role.sha256 in text


def test_a_page_asks_for_nothing_from_elsewhere(page):
    assert len(page.encode()) < 400_000
    assert not re.search(r"<script|<link|<iframe|@import|url\((?!#)|src=", page)
    links = re.findall(r'(?:href|action)="([^"]*)"', page)
    assert links and all(link.startswith("#") and f'id="{link[1:]}"' in page for link in links)
    assert set(re.findall(r"https?://[^\s\"<]+", page)) <= {"http://www.w3.org/2000/svg"}


def test_an_old_result_has_a_page_too(old):
    text = words(report_page(old))
    assert old.verdict.sentence in text and "Provenance" in text
    assert old.to_markdown()


@pytest.mark.parametrize("name", DRAWN)
def test_every_chart_carries_its_numbers_and_an_alternative_text(result, name):
    chart = getattr(charts, name)(result)
    if chart is None:
        assert name == "block_sizes"  # the headline compares everybody with everybody
        return
    found = charts.numbers(chart)
    assert isinstance(chart, alt.TopLevelMixin)
    assert found.title and len(found.description) > 30 and found.description.endswith(".")
    assert found.rows and all(len(row) == len(found.columns) for row in found.rows)
    picture = charts.svg(chart)
    assert picture.startswith("<svg") and 'role="img"' in picture and "aria-label=" in picture
    assert charts.png(chart).startswith(b"\x89PNG")


def test_a_chart_is_saved_as_altair_saves_it(result, tmp_path):
    chart = charts.risk_curve(result)
    for ending in ("png", "svg", "json"):
        chart.save(tmp_path / f"risk.{ending}")
        assert (tmp_path / f"risk.{ending}").stat().st_size > 1_000
    assert "vega-lite" in str(chart._repr_mimebundle_(None, None))


def test_colours_differ_in_lightness():
    """Relative luminance of the series that stand side by side, on light and on dark pages."""
    from cvpl.charts.drawing import BLUE, DARK, GREY, ORANGE  # noqa: PLC0415 - for this test alone

    def luminance(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))

    def contrast(one, other):
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    assert contrast(BLUE, ORANGE) > 2 and contrast(BLUE, GREY) > 1.5
    assert all(contrast(DARK[item], "#14191f") > 3 for item in (BLUE, ORANGE, GREY))
    assert all(contrast(item, "#ffffff") > 3 for item in (BLUE, ORANGE, GREY))


def test_a_chart_without_anything_to_draw_is_none(old):
    bare = changed(
        old, risk=None, power=None, risk_curve=[], truth=None, at_risk=None, attackers=old.model_dump()["attackers"][:1]
    )
    assert all(
        getattr(charts, name)(bare) is None for name in ("scale", "risk_curve", "similarities", "funnel", "at_risk")
    )
    assert charts.attackers(bare) is None and charts.evidence(bare) is None
    assert "Provenance" in words(report_page(bare))


def contribution(column, drop, low, high):
    shares = {"structural": None, "structural_low": None, "structural_high": None, "link": None, "removal": None}
    ends = {"power_drop": drop, "power_drop_low": low, "power_drop_high": high}
    return {"column": column, "role": "attribute", **shares, **ends}


def contributed(result, *columns):
    return changed(result, feature_contribution={"columns": list(columns), "removal_asked": None, "power_asked": 400})


def test_the_first_column_to_coarsen_is_the_one_whose_loss_takes_most_risk(result):
    found = contributed(
        result,
        contribution("a", 0.05, 0.01, 0.09),
        contribution("b", 0.30, 0.25, 0.35),
        contribution("c", 0.1, -0.1, 0.3),
    )
    step = next(next_step for next_step in next_steps(found) if next_step.startswith("Coarsen"))
    # 0.30 / 0.95, with the ends 0.25 / 0.95 and 0.35 / 0.95: a drop of the risk, (power - 0.05) / 0.95.
    assert step.startswith("Coarsen 'b' first. Without it, the risk falls by 31.6 points (26.3 to 36.8), from")
    assert "Then 'a' (by 5.3)" in step and "'c'" not in step


def test_without_a_column_that_matters_nothing_single_is_blamed(result):
    steps = next_steps(contributed(result, contribution("a", 0.001, -0.01, 0.01)))
    assert any(step.startswith("No single column gives people away") for step in steps)


def test_where_the_risk_cannot_be_told_from_zero_no_column_needs_coarsening(result):
    found = judged(contributed(result, contribution("a", 0.3, 0.2, 0.4)), risk=risk(0.0, -0.01, 0.01))
    steps = next_steps(changed(found, policies=[]))
    assert any(step.startswith("No column needs to be coarsened against these attackers") for step in steps)
    assert not any(step.startswith("Coarsen") for step in steps)


def test_what_is_not_assessable_is_not_to_be_decided_on(result):
    valid = json.loads(result.to_json())["validity"] | {"assessable": False, "reasons": ["it is dead"]}
    found = changed(judged(result, reasons=["it is dead"], risk=risk(0.3123, 0.2, 0.4)), validity=valid)
    assert [next_step[:20] for next_step in next_steps(found)] == ["Do not base a decisi"]
    assert found.verdict.sentence == "The risk of this release is not assessable: it is dead."
    for text in (words(report_page(found)), found.to_markdown()):
        assert "20.0% to 40.0%" not in text
        assert "power beyond chance" not in text


def test_an_unmet_policy_comes_first(result):
    outcome = {"figure": "attributable_rate", "bound": "high", "max": 0.05, "value": 0.5, "met": False, "reasons": []}
    found = changed(result, policies=[outcome])
    assert next_steps(found)[0] == "Do not release the table as it is: a policy is not met."
    text = "the upper interval end of the attributable rate at the threshold must be at most 5.0% and is 50.0%."
    assert f"Policy not met: {text}" in words(report_page(found))


@pytest.mark.parametrize(
    ("top1", "high", "text"),
    [
        (0.05, 0.08, ": on average below 0.09"),
        (0.05, 0.10, ": not below 0.09"),
        (0.5, 0.6, ": not below 0.09"),
        (0.05, None, ": not below 0.09"),
    ],
)
def test_the_nine_percent_bound_the_upper_end_of_top_1(result, top1, high, text):
    low = None if high is None else 0.0
    found = {
        item.requirement: item.value for item in requirements(judged(result, best_candidate=best(top1, low, high)))
    }
    assert text in found["Threshold of 0.09"]


def test_reviewers_read_what_is_not_known(result):
    unknown = changed(judged(result), truth=None, power=None, attributable_rate=None, at_risk=None, singling_out=None)
    unknown = changed(unknown, inference=None)
    found = {item.requirement: item for item in requirements(unknown)}
    assert found["Inference"].value.startswith("not measured")
    assert found["Threshold of 0.09"].value.startswith("not known")
    assert found["Threshold of 0.09"].status == "not measured"
    assert all("not known" in found[name].value for name in ("Singling out", "Linkability", "Maximum risk"))


@pytest.mark.parametrize(("met", "word"), [(True, "met"), (False, "not met")])
def test_reviewers_read_the_limit_of_the_policy(result, met, word):
    limit = {"figure": "risk", "bound": "high", "max": 0.1, "value": 0.4, "met": met, "reasons": []}
    found = judged(changed(result, policies=[limit]), risk=risk(0.3, 0.2, 0.4), best_candidate=best(0.5, 0.4, 0.6))
    status = {item.requirement: item.status for item in requirements(found)}
    assert status["Linkability"] == status["Average risk"] == f"{word}: upper end 40.0%, limit 10.0%"
    assert status["Maximum risk"] == status["Motivated intruder"] == "measured, no limit"
    assert status["Inference"] == "measured, no limit" and status["Threshold of 0.09"] == "not met"


def test_reviewers_read_the_singled_out_rate_of_its_section(result):
    row = {"columns": 1, "predicates": 500, "people": 500, "rate": 0.12, "low": 0.08, "high": 0.16}
    row |= {"control_rate": 0.1, "attributable": 0.02, "attributable_low": -0.04, "attributable_high": 0.08}
    rate = {"estimate": 0.0, "low": -0.05, "high": 0.1, "columns": 1, "people": 255, "basis": "control"}
    own = json.loads(result.to_json())["singling_out"] | {"rate": rate, "predicates": [row]}
    found = changed(result, singling_out=own)
    text = "2.0% (below 0 to 8.0%), at most 10.0% for any number of columns"
    assert next(item.value for item in requirements(found)) == f"singled-out rate {text}"
    section = singling_out_section(found)
    assert text in section.sentences[0].text
    assert section.tables[0].rows[0][-2:] == ("2.0%", "below 0 to 8.0%")


def test_where_a_release_is_not_assessable_no_requirement_is_met_or_measured(result):
    limit = {"figure": "risk", "bound": "high", "max": 0.1, "value": 0.04, "met": False, "reasons": []}
    found = judged(changed(result, policies=[limit]), risk=risk(0.01, 0.0, 0.04), best_candidate=best(0.01, 0.0, 0.02))
    assert any(item.status == "met on average" for item in requirements(found))
    verdict = {"kind": "not_assessable", "sentence": "The risk of this release is not assessable."}
    dead = changed(found, verdict=verdict)
    assert {item.status for item in requirements(dead)} == {"not assessable"}
    assert not any(re.search(r"\d", item.value) for item in requirements(dead))
    caveat = criteria_section(dead).sentences[0].text
    assert caveat.startswith("The release is not assessable.") and caveat.endswith("says nothing of the risk.")
    assert criteria_section(found).sentences[0].text.startswith("By ")


def test_stacked_tables_have_captions(page):
    captions = {"".join(item.itertext()) for item in parsed(page).iter("caption")}
    assert {"Unique records by columns", "Sensitive columns", "Class sizes"} <= captions


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        ({"risk": risk(0.3, 0.2, 0.4)}, "About 30 in 100 people (20 to 40) can be linked"),
        ({"risk": risk(0.01, -0.01, 0.03)}, "cannot be told from 0 (at most 3 in 100): nothing shows above a margin"),
        ({"risk": risk(0.01, -0.01, 0.3)}, "cannot be told from 0 (at most 30 in 100)."),
        ({}, "cannot be told: there is no control; no true match is known either"),
    ],
    ids=["linkable", "nothing shows", "a wide interval", "nothing to read"],
)
def test_the_verdict_is_one_sentence_and_the_same_on_every_page(result, figures, text, monkeypatch):
    leave_out_charts(monkeypatch)
    found = judged(result, **figures)
    said = found.verdict.sentence
    assert text in said and said.count(". ") == 0 and said.endswith(".")
    assert said in words(report_page(found))
    assert said in found.to_markdown().replace("\\", "")
    assert said in found._repr_html_()


def test_the_command_repeats_the_audit(result):
    assert command(result).startswith(
        "cvpl audit original protected --config audit.yaml --control control --attackers "
    )
    named = {**json.loads(result.to_json())["inputs"]}
    named["original"] |= {"name": "my people.csv"}
    assert "'my people.csv'" in command(changed(result, inputs=named))


def test_without_a_control_the_verdict_points_at_the_right_persons_found(result):
    rate = {"estimate": 0.0, "low": -0.01, "high": 0.01, "method": "people", "basis": "own_match_left_out"}
    inputs = {role: load for role, load in json.loads(result.to_json())["inputs"].items() if role != "control"}
    evidence = json.loads(result.to_json())["evidence"] | {"controls": None, "controls_without": None}
    found = judged(result, best_candidate=best(0.42, 0.4, 0.45))
    found = changed(
        found, attributable_rate=rate, control=None, inputs=inputs, evidence=evidence, warnings=[], singling_out=None
    )
    found = changed(found, inference=None)
    assert found.verdict.sentence == (
        "The risk of this release cannot be told: there is no control; by the true matches the best candidate is "
        "right for 42 in 100 people in it (40 to 45)."
    )
    nothing = [{"false_rate": 0.05, "power": 0.05, "low": 0.04, "high": 0.06}]
    assert not any("No column needs" in next_step for next_step in next_steps(changed(found, power=nothing)))
    text = words(report_page(found))
    assert "of the control are" not in text and "people who are not in the release" not in text
    assert command(found).endswith("--attackers paper,rarity,margin")


def test_a_group_that_may_not_be_shown_makes_the_largest_rate_a_lower_bound(result):
    risk = json.loads(result.to_json())["at_risk"]
    risk["maximum"] |= {"estimate": 0.4, "high": 1.0, "table": None, "label": None, "untold": 1, "at_least": True}
    found = changed(result, at_risk=risk)
    assert "at least 40.0%" in words(report_page(found))
    assert "at least 40.0%" in {item.requirement: item.value for item in requirements(found)}["Maximum risk"]


def test_a_notebook_shows_the_answer_briefly(result):
    shown = result._repr_html_()
    assert result.verdict.sentence in shown and len(shown) < 1_500
    assert "<script>" not in changed(result, attacker="<script>")._repr_html_()


def test_the_report_is_written_from_the_json_alone(tmp_path, capsys):
    (tmp_path / "result.json").write_bytes(OLD.read_bytes())
    assert run(["report", str(tmp_path)]) == 0
    assert run(["report", str(tmp_path / "result.json"), "--format", "md", "--out", str(tmp_path / "x.md")]) == 0
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert (tmp_path / "x.md").read_text(encoding="utf-8").startswith("## Linkage audit")
    assert "report.html" in capsys.readouterr().out


def test_comparisons_and_surfaces_have_reports_too(tmp_path, capsys):
    people = Touchpoints(records=120).draw(np.random.default_rng(1))
    original = pd.DataFrame(people.to_columns())

    def release(level):
        return pd.DataFrame(Perturbation(level).protect(people, np.random.default_rng(2)).to_columns())

    config = yaml.safe_load(DEMO.replace("attacker: default", "attacker: paper"))
    cvpl.compare(original, {item: release(item) for item in ("low", "high")}, config).write(tmp_path)
    assert run(["report", str(tmp_path)]) == 0
    cvpl.surface(original, release, ["low", "high"], config).write(tmp_path)
    assert run(["report", str(tmp_path / "surface.json")]) == 0
    assert run(["report", str(tmp_path / "surface.json"), "--format", "md"]) == 0
    made = {item.name for item in tmp_path.iterdir()}
    assert made == {"comparison.json", "comparison.html", "surface.json", "surface.html", "surface.md"}
    assert "surface.md" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["nowhere.json"], 3, "there is no such file"),
        (["{place}", "--out", "x.txt"], 2, ".html"),
        (["{place}", "--format", "docx"], 2, "docx"),
        (["{place}", "--out", "{place}/none/x.html"], 2, "no folder"),
    ],
)
def test_wrong_calls_are_reported(tmp_path, capsys, arguments, code, text):
    (tmp_path / "result.json").write_bytes(OLD.read_bytes())
    assert run(["report", *(argument.replace("{place}", str(tmp_path)) for argument in arguments)]) == code
    assert text in capsys.readouterr().err


def test_another_ending_is_refused(result, tmp_path):
    with pytest.raises(cvpl.UsageError, match=r"\.html, \.pdf or \.md"):
        cvpl.write_report(result, tmp_path / "report.docx")


@pytest.fixture(scope="module")
def printed(result, tmp_path_factory):
    """A PDF, and what the browser that printed it noted of its connections."""
    folder = tmp_path_factory.mktemp("printed")
    log, wrapper = folder / "net.json", folder / "chromium"
    wrapper.write_text(f'#!/bin/sh\nexec "{CHROMIUM}" --log-net-log="{log}" "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cvpl.reports.files.shutil.which", lambda _: str(wrapper))
        return cvpl.write_report(result, folder / "report.pdf"), log


@needs_browser
def test_a_pdf_is_a_pdf(printed):
    assert printed[0].read_bytes().startswith(b"%PDF-")


@needs_browser
def test_the_browser_that_prints_contacts_nobody(printed):
    text = printed[1].read_text(encoding="utf-8").rstrip()
    found = json.loads(text if text.endswith("}") else text.rstrip(",") + "]}")
    names = {number: name for name, number in found["constants"]["logEventTypes"].items()}
    sent = ("DNS_TRANSACTION", "DNS_TRANSACTION_QUERY", "UDP_BYTES_SENT", "SOCKET_BYTES_SENT", "TCP_CONNECT_ATTEMPT")
    assert found["events"]
    assert [event for event in found["events"] if names[event["type"]] in sent] == []


def test_without_a_browser_and_the_extra_a_pdf_is_refused(result, tmp_path, monkeypatch):
    monkeypatch.setattr("cvpl.reports.files.shutil.which", lambda _: None)
    monkeypatch.setattr("cvpl.reports.files.find_spec", lambda _: None)
    with pytest.raises(cvpl.UsageError, match="Chromium"):
        cvpl.write_report(result, tmp_path / "report.pdf")
    assert not list(tmp_path.iterdir())


def test_the_configuration_on_the_page_can_be_audited_with(page):
    from cvpl.config.loading import load  # noqa: PLC0415 - for this test alone

    written = next(item.text for item in parsed(page).iter("code") if item.text and item.text.startswith("columns:"))
    assert load(yaml.safe_load(written)).attackers == load(yaml.safe_load(DEMO)).attackers
    assert load(yaml.safe_load(written)).config == load(yaml.safe_load(DEMO)).config


def grouped(result, table, label, records=(450, 50), *columns):
    """A result in which one group of two is linked most; nothing else of it is used."""
    empty = dict.fromkeys(("at_most", "at_least", "low", "high", "control", "attributable"))
    labels = (label, "others")
    rows = [
        empty | {"label": name, "groups": 1, "records": count, "linked": 0.5}
        for name, count in zip(labels, records, strict=True)
    ]
    risk = json.loads(result.to_json())["at_risk"]
    risk |= {"average": 0.2, "tables": [{"name": table, "rows": rows}]}
    risk["maximum"] |= {"estimate": 0.6, "low": 0.5, "high": 0.7, "table": table, "label": label, "at_least": False}
    return contributed(changed(result, at_risk=risk), *columns)


OPEN = "The group does not show which values give these people away"
GROUPS = {
    "the rarest tenth": ("rarity, by tenths", "10 (rarest)", (50, 450), "Suppress or coarsen rare values"),
    "the ninth tenth": ("rarity, by tenths", "9", (50, 450), "Suppress or coarsen rare values"),
    "a middle tenth": ("rarity, by tenths", "5", (50, 450), "coarsen 'b' for everyone"),
    "the commonest tenth": ("rarity, by tenths", "1 (commonest)", (50, 450), "coarsen 'b' for everyone"),
    "a rare label": ("a", "x", (40, 460), "Suppress or coarsen rare values"),
    "a common label": ("a", "x", (400, 100), "coarsen 'a' for everyone"),
    "a middle quarter": ("a", "second quarter", (125, 375), "coarsen 'a' for everyone"),
    "small groups together": ("a", None, (60, 440), "Suppress or coarsen rare values"),
    "a column that nobody compares": ("income", "third quarter", (125, 375), OPEN),
}


@pytest.mark.parametrize("name", GROUPS)
def test_only_rare_values_are_to_be_suppressed(result, name):
    """The middle of a distribution is coarsened with everything else, or left to a decision."""
    table, label, records, advice = GROUPS[name]
    columns = contribution("a", 0.05, 0.01, 0.09), contribution("b", 0.30, 0.25, 0.35)
    found = judged(grouped(result, table, label, records, *columns), risk=risk(0.3, 0.2, 0.4))
    (step,) = [step for step in next_steps(found) if step.startswith("Protect some people")]
    assert advice in step
    assert ("uppress" in step) == advice.startswith("Suppress")


def test_without_a_telling_column_a_common_group_blames_none(result):
    found = grouped(result, "rarity, by tenths", "4", (50, 450), contribution("a", 0.001, -0.01, 0.01))
    steps = " ".join(next_steps(judged(found, risk=risk(0.3, 0.2, 0.4))))
    assert "coarsen the columns that give most away for everyone" in steps


# What each chart says


def layer(chart, mark):
    """The rows of the layers with this mark."""
    drawn = chart.to_dict()
    found = [item for item in drawn["layer"] if item["mark"]["type"] == mark]
    return [row for item in found for row in drawn["datasets"][item["data"]["name"]]], drawn


def test_the_roc_curve_is_logarithmic_and_has_chance_and_the_limit(result):
    limit = {"figure": "risk", "bound": "high", "max": 0.1, "value": 0.5, "met": False, "reasons": []}
    found = judged(changed(result, policies=[limit]), risk=risk(0.3, 0.2, 0.4))
    chart = charts.roc(found)
    ticks, drawn = layer(chart, "tick")
    assert [(row["at"], row["power"]) for row in ticks] == [(0.05, pytest.approx(0.05 + 0.95 * 0.1))]
    lines, _ = layer(chart, "line")
    assert all(row["power"] == row["at"] for row in lines if row["series"] == "chance")
    assert {item["encoding"]["x"]["scale"]["type"] for item in drawn["layer"]} == {"log"}
    dots = [row for row in layer(chart, "point")[0] if "label" in row]
    assert [(row["at"], row["label"]) for row in dots] == [(0.05, "power 33.5% at 5%")]
    assert charts.numbers(chart).title == "ROC curve"
    description = charts.numbers(chart).description
    assert "the policy limit for the upper interval end of the risk: 10.0%, or a power of 14.5%" in description
    own = [(row["at"], row["power"]) for row in lines if row["series"] != "chance"]
    assert own == sorted(own) and (0.01, result.power_at(0.01).power) in own
    assert "policy limit" not in charts.numbers(charts.roc(judged(result, risk=risk(0.3, 0.2, 0.4)))).description


CURVES = {
    "steep": [(0.01, 0.9), (0.05, 0.97), (0.1, 0.99), (0.3, 1.0)],
    "flat": [(0.01, 0.012), (0.05, 0.06), (0.1, 0.11), (0.3, 0.31)],
    "middle": [(0.01, 0.3), (0.05, 0.5), (0.1, 0.6), (0.3, 0.75)],
    "low": [(0.01, 0.05), (0.05, 0.15), (0.1, 0.24), (0.3, 0.5)],
    "to the end": [(0.01, 0.2), (0.05, 0.5), (0.5, 0.8), (1.0, 1.0)],
}


@pytest.mark.parametrize("allowed", [None, 0.1, 0.145, 0.3, 0.6])
@pytest.mark.parametrize("at", [0.05, 0.1])
@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
def test_the_label_of_the_roc_curve_stands_free(curve, at, allowed):
    rows = [{"at": rate, "power": power, "low": power - 0.04, "high": power + 0.04} for rate, power in curve]
    rates, powers = zip(*curve, strict=True)
    power = float(np.interp(np.log(at), np.log(rates), powers))
    side, height = label_place(rows, at, power, allowed)
    width = 0.48 * np.log(rates[-1] / 0.01)
    span = (np.log(at), np.log(at) + width) if side == "left" else (np.log(at) - width, np.log(at))
    assert np.log(0.01) - 1e-9 <= span[0] and span[1] <= np.log(rates[-1]) + 1e-9
    assert 0.03 < height < 0.97
    for place in np.linspace(*span, 50):
        own, chance = np.interp(place, np.log(rates), powers), np.exp(place)
        assert abs(height - own) > 0.04 + 0.02 and abs(height - chance) > 0.02
    assert allowed is None or abs(height - allowed) > 0.02


def test_dots_near_0_are_a_sentence(result):
    rows = json.loads(result.to_json())["attackers"]
    for estimate, drawn in ((0.02, False), (0.021, True)):
        found = risk(estimate, -0.01, 0.07).model_dump()
        near = changed(result, attackers=[row | {"risk": found} for row in rows])
        assert (charts.attackers(near) is not None) == drawn
        text = "The risk is within 2 points of 0 for each of the 3 attackers. The largest upper interval end is 7.0%."
        assert (text in words(report_page(near))) == (not drawn)


def test_columns_are_shown_by_the_risk_without_them(result):
    power = [{"false_rate": 0.05, "power": 0.77, "low": 0.7, "high": 0.8}]
    columns = contribution("a", 0.05, -0.01, 0.11), contribution("time", 0.50, 0.45, 0.55)
    found = judged(contributed(result, *columns), risk=risk(0.7579, 0.7, 0.8))  # (0.77 - 0.05) / 0.95
    chart = charts.contributions(changed(found, power=power))
    dots, _ = layer(chart, "point")
    assert [(row["name"], row["before"], pytest.approx(row["after"])) for row in dots] == [
        ("time", 0.7579, 0.7579 - 0.5 / 0.95),
        ("a", 0.7579, 0.7579 - 0.05 / 0.95),
    ]
    assert [row["label"] for row in layer(chart, "text")[0]] == ["75.8% → 23.2%", "within error"]
    assert "<title>75.8% → 23.2% without time</title>" in charts.svg(chart)
    unknown = charts.contributions(changed(judged(contributed(result, *columns)), power=power))
    assert [row["label"] for row in layer(unknown, "text")[0]] == ["77.0% → 27.0%", "within error"]


def test_print_has_the_table_of_the_attackers_and_not_their_chart(result, page):
    chart = re.escape(charts.numbers(charts.attackers(result)).description)
    printed = report_page(result, Printing())
    assert len(re.findall(chart, words(page))) == 1 and not re.findall(chart, words(printed))
    assert all(item.count('aria-label="The attackers"') == 1 for item in (page, printed))


def test_of_many_columns_those_with_a_certain_effect_are_drawn(result):
    certain = [contribution(f"sure_{at}", 0.5 - at / 100, 0.3, 0.6) for at in range(3)]
    others = [contribution(f"other_{at}", 0.01, -0.01, 0.02) for at in range(11)]
    chart = charts.contributions(contributed(result, *certain, *others))
    assert [row["name"] for row in layer(chart, "text")[0]] == [f"sure_{at}" for at in range(3)] + [
        f"other_{at}" for at in range(5)
    ]
    assert "Not drawn: 6 more columns within error." in charts.numbers(chart).description
    assert len(charts.numbers(chart).rows) == 14


def test_where_every_effect_lies_within_error_a_sentence_takes_the_place_of_the_chart(result):
    found = contributed(result, contribution("a", 0.05, -0.01, 0.11), contribution("b", 0.01, 0.0, 0.02))
    assert charts.contributions(found) is None
    assert "the change of the risk lies within error" in words(report_page(found))
    assert "lies within error" not in words(report_page(contributed(result, contribution("a", 0.05, 0.01, 0.11))))


def test_the_funnel_ends_at_the_right_best_candidate(result):
    assert [row[0] for row in charts.numbers(charts.funnel(result)).rows] == [
        "have a match",
        "share a block with it",
        "best candidate is right",
    ]


def test_changes_are_in_points_and_shares_in_percent(page):
    """A head names points, and its cells have no sign of percent; all other cells of figures have one."""
    seen = 0
    for table in parsed(page).iter("table"):
        heads = ["".join(head.itertext()) for head in table.iter("th")]
        for row in list(table.iter("tr"))[1:]:
            for head, cell in zip(heads, row.iter("td"), strict=True):
                text = "".join(cell.itertext())
                if "points" in head:
                    seen += 1
                    assert "%" not in text
                elif re.fullmatch(r"[-+]\d+\.\d", text):
                    pytest.fail(f"{head}: a change without its unit")
    assert seen
