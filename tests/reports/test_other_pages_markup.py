"""Pages of comparisons and surfaces show whatever names, labels and settings hold as text."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import yaml

import cvpl
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.reports.page import report_page
from cvpl.wording import printable
from cvpl.workflows.made_tables import CONFIG as DEMO
from examples import TIMES
from payloads import (
    IN_CHARTS,
    OBEYED,
    PAYLOADS,
    UNSEEN,
    dealt,
    elements,
    leave_out_charts,
    same_markdown,
    tags_of,
    unseen_in,
)

OURS = {
    "schema", "scenario", "method", "coverage", "basis", "role", "figure", "figures", "sweep", "axis", "judged", "form",
    "docs", "rule", "distance_basis", "sha256", "utility_figures", "kind", "bound", "config", "one_over_k",

}  # fmt: skip
"""Keys whose texts are chosen from a list of ours, or are settings that a page spells out whole."""
RECORDS = 200 if TIMES > 1 else 100
CONFIG = yaml.safe_load(DEMO.replace("attacker: default", "attacker: paper"))


@pytest.fixture(scope="module")
def made():
    """A comparison and a surface."""
    people = Touchpoints(records=RECORDS).draw(np.random.default_rng(1))
    original = pd.DataFrame(people.to_columns())
    control = pd.DataFrame(Touchpoints(records=RECORDS).draw(np.random.default_rng(3)).to_columns())

    def release(level):
        return pd.DataFrame(Perturbation(level).protect(people, np.random.default_rng(2)).to_columns())

    compared = cvpl.compare(original, {item: release(item) for item in ("low", "high")}, CONFIG, control=control)
    swept = cvpl.surface(original, release, ["low", "high"], CONFIG, control=control, target=0.05)
    return {"comparison": compared, "surface": swept}


def planted(found, text):
    """Every text from outside with `text` behind it."""
    if isinstance(found, dict):
        return {key: item if key in OURS else planted(item, text) for key, item in found.items()}
    if isinstance(found, list):
        return [planted(item, text) for item in found]
    return f"{found}{text}" if isinstance(found, str) else found


def result_with(made, kind, text):
    result = made[kind]
    content = planted(json.loads(result.to_json()), text)
    config = content["provenance"]["config"]
    config["columns"] = {f"{name}{text}": item for name, item in config["columns"].items()}
    return type(result).model_validate(content)


def page_of(made, kind, text):
    return report_page(result_with(made, kind, text))


def as_long(payload):
    """Plain text of the same length: how a chart labels its marks depends on the length of the names."""
    return "x" * len(printable(payload))


def on_both(payloads):
    """The payloads of both pages, each with its page."""
    pairs = [(kind, item) for kind in ("comparison", "surface") for item in dealt(kind, payloads)]
    return [pytest.param(kind, *item.values, id=f"{kind}-{item.id}") for kind, item in pairs]


@pytest.mark.parametrize(("kind", "payload"), on_both(IN_CHARTS))
def test_the_page_has_the_same_elements_as_with_plain_text(made, kind, payload):
    page = page_of(made, kind, payload)
    assert elements(page) == elements(page_of(made, kind, as_long(payload)))
    assert not OBEYED.search(tags_of(page))


@pytest.mark.parametrize("kind", ["comparison", "surface"])
def test_signs_that_turn_text_or_have_no_shape_are_visible_in_every_output(made, kind):
    assert unseen_in(result_with(made, kind, UNSEEN)) == []


@pytest.fixture(scope="module")
def without_charts(made):
    with pytest.MonkeyPatch.context() as patch:
        leave_out_charts(patch)
        return {kind: elements(page_of(made, kind, "plain")) for kind in made}


@pytest.mark.parametrize(("kind", "payload"), on_both(PAYLOADS))
def test_so_has_the_page_without_charts(made, without_charts, kind, payload, monkeypatch):
    leave_out_charts(monkeypatch)
    page = page_of(made, kind, payload)
    assert elements(page) == without_charts[kind]
    assert not OBEYED.search(tags_of(page))


@pytest.fixture(scope="module")
def markdown(made):
    return {kind: result_with(made, kind, "plain").to_markdown() for kind in made}


@pytest.mark.parametrize("kind", ["comparison", "surface"])
@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_nothing_in_markdown_is_obeyed(made, markdown, kind, payload):
    assert same_markdown(result_with(made, kind, payload).to_markdown(), markdown[kind])
