"""Whatever names, labels and settings hold, a report shows it as text: the parsed page has the same elements."""

from __future__ import annotations

import json

import html5lib
import numpy as np
import pandas as pd
import pytest

import cvpl
from cvpl import charts
from cvpl.config.loading import read_yaml
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.reports.page import report_page
from cvpl.workflows.made_tables import CONFIG as DEMO
from examples import TIMES, examples_apart
from payloads import (
    FORMULAS,
    IN_CHARTS,
    MARKUP,
    OBEYED,
    PAYLOADS,
    TEMPLATES,
    UNSEEN,
    dealt,
    elements,
    leave_out_charts,
    same_markdown,
    tags_of,
    unseen_in,
)

RECORDS = 300 if TIMES > 1 else 150


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The result of an audit that has every section, as JSON."""
    folder = tmp_path_factory.mktemp("markup")
    people = Touchpoints(records=RECORDS).draw(np.random.default_rng(1))
    people.write(folder / "original.csv")
    Perturbation("low").protect(people, np.random.default_rng(2)).write(folder / "released.csv")
    Touchpoints(records=RECORDS).draw(np.random.default_rng(3)).write(folder / "holdout.csv")
    config = folder / "audit.yaml"
    policy = "policy: [ema-policy-0070, {figure: attributable_rate, max: 0.05}]\n"
    config.write_text(DEMO + policy, encoding="utf-8")
    chosen = ["paper", "aligned", "rarity"]
    result = cvpl.audit(
        folder / "original.csv", folder / "released.csv", config, control=folder / "holdout.csv", attackers=chosen
    )
    return json.loads(result.to_json())


def planted(stored, text):
    """The same result with `text` wherever a name, a label or a setting from outside can stand."""
    found = json.loads(json.dumps(stored))
    for item in found["inputs"].values():
        item["name"] = text
    for row in found["attackers"]:
        row["name"] = f"{row['name']}{text}"
        row["disqualified"] = [text]
        row["settings"]["knows"] = [text]
    found["attackers"][-1]["disqualified"] = []
    found["attacker"] = f"{found['attacker']}{text}"
    for item in found["feature_contribution"]["columns"]:
        item["column"] = f"{item['column']}{text}"
    for table in found["at_risk"]["tables"]:
        table["name"] = f"{table['name']}{text}"
        for row in table["rows"]:
            row["label"] = None if row["label"] is None else f"{row['label']}{text}"
    found["at_risk"]["maximum"] |= {"table": text, "label": text}
    found["warnings"] = [{"rule": "columns", "message": f"column '{text}' is absent", "docs": "docs/x.md#columns"}]
    for item in found["policies"]:
        item["reasons"], item["preset"], item["attacker"] = [text], text, text
    found["verdict"]["sentence"] = f"A sentence with {text}."
    for item in (found["risk"], found["best_candidate"]):
        item["attacker"] = text
    found["certain"] = found["risk"] | {"false_rate": 0.01}
    finding = {"message": f"column '{text}' names people", "column": text, "share": 0.5}
    found["preflight"] = [
        {"check": "unchanged_values", "closes_gate": False, **finding},
        {"check": "direct_identifier", "closes_gate": True, **finding},
    ]
    found["validity"]["reasons"] = [text]
    for item in found["sensitivity"]["variations"]:
        item["name"] = text
    found["sensitivity"]["attacker"] = text
    for item in found["alignment"] or []:
        item["column"] = item["grain"] = text
    config = found["provenance"]["config"]
    config["columns"] = {f"{name}{text}": item for name, item in config["columns"].items()}
    config["truth"] = {"original": text, "protected": text}
    found["provenance"]["versions"]["cvpl"] = text
    return cvpl.AuditResult.model_validate(found)


@pytest.fixture(scope="module")
def plain(stored):
    return elements(report_page(planted(stored, "plain")))


@pytest.mark.parametrize("payload", dealt("audit", IN_CHARTS))
def test_the_page_has_the_same_elements_as_with_plain_text(stored, plain, payload):
    page = report_page(planted(stored, payload))
    assert elements(page) == plain
    assert not OBEYED.search(tags_of(page))


@pytest.fixture(scope="module")
def without_charts(stored):
    with pytest.MonkeyPatch.context() as patch:
        leave_out_charts(patch)
        return elements(report_page(planted(stored, "plain")))


@pytest.mark.parametrize("payload", dealt("audit", PAYLOADS))
def test_so_has_the_page_without_charts(stored, without_charts, payload, monkeypatch):
    leave_out_charts(monkeypatch)
    page = report_page(planted(stored, payload))
    assert elements(page) == without_charts
    assert not OBEYED.search(tags_of(page))


def test_signs_that_turn_text_or_have_no_shape_are_visible_in_every_output(stored):
    assert unseen_in(planted(stored, UNSEEN)) == []


def test_every_payload_is_a_label_of_a_chart(stored):
    def drawn(names):
        found = json.loads(json.dumps(stored))
        drop = {"power_drop": 0.1, "power_drop_low": 0.05, "power_drop_high": 0.15}
        column = found["feature_contribution"]["columns"][0] | drop
        found["feature_contribution"]["columns"] = [column | {"column": name} for name in names]
        return charts.svg(charts.contributions(cvpl.AuditResult.model_validate(found)))

    picture = drawn(PAYLOADS)
    assert elements(picture) == elements(drawn([f"plain {at}" for at in range(len(PAYLOADS))]))
    assert not OBEYED.search(tags_of(picture))


def test_there_are_eighty():
    assert len(set(PAYLOADS)) >= 80


@pytest.fixture(scope="module")
def comment(stored):
    return planted(stored, "plain").to_markdown()


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_nothing_in_a_comment_for_a_pull_request_is_obeyed(stored, comment, payload):
    """Outside of code and escapes, no tag, link, mention or table cell is left that plain text does not have."""
    assert same_markdown(planted(stored, payload).to_markdown(), comment)


@pytest.mark.parametrize(
    "payload", [MARKUP[0], FORMULAS[10], TEMPLATES[0], MARKUP[1], "a.b [c] 'd' \"e\""][:: examples_apart(2)]
)
def test_names_and_labels_of_real_tables_are_shown_as_they_are(tmp_path, payload):
    """From the files on: column names, labels, attackers' names and file names."""
    people = Touchpoints(records=RECORDS).draw(np.random.default_rng(1))
    original = pd.DataFrame(people.to_columns())
    released = pd.DataFrame(Perturbation("low").protect(people, np.random.default_rng(2)).to_columns())
    renamed = {"gender": f"gender{payload}", "age": f"age{payload}"}
    tables = []
    for table in (original, released):
        marked = table.assign(gender=table["gender"].astype(str) + payload)
        tables.append(marked.rename(columns=renamed))
    (tmp_path / "audit.yaml").write_text(DEMO.replace("attacker: default", "attacker: paper"), encoding="utf-8")
    config = dict(read_yaml(tmp_path / "audit.yaml", "configuration", ""))
    config["columns"] = {renamed.get(name, name): item for name, item in config["columns"].items()}
    config["report"] = {"subgroups": [renamed["gender"]]}
    config["attackers"] = {f"me{payload}": {"preset": "paper"}, "other": {"similarity": "rarity"}}
    del config["attacker"]
    page = report_page(cvpl.audit(*tables, config))
    document = html5lib.parse(page, namespaceHTMLElements=False)
    assert not document.findall(".//script") and not document.findall(".//img")
    text = "".join(document.itertext())
    assert renamed["age"] in text and f"me{payload}" in text
    assert any(f"M{payload}" in part or f"F{payload}" in part for part in document.itertext())
