"""A quick look: a sample of people against the whole release, said to be one, and never a gate."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cvpl
from cvpl.cli.main import run
from cvpl.config import resolved
from cvpl.config.loading import load
from cvpl.errors import ExitCode, UsageError
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.workflows import planned_audit

CONFIG = {
    "columns": {
        "age": {"role": "quasi_identifier", "type": "numeric", "block": {"bin": 10}},
        "gender": {"role": "quasi_identifier", "type": "category"},
        "days_after_ad": {"role": "attribute", "type": "numeric"},
        "ad_channel": {"role": "attribute", "type": "category"},
        "brand_product": {"role": "attribute", "type": "category"},
    },
    "attacker": "default",
    "seed": 7,
}


@pytest.fixture(scope="module")
def people():
    drawn = [Touchpoints(records=800).draw(np.random.default_rng(seed)) for seed in (1, 2)]
    released = Perturbation("low").protect(drawn[0], np.random.default_rng(3))
    return [pd.DataFrame(table.to_columns()) for table in (drawn[0], released, drawn[1])]


@pytest.fixture(scope="module")
def both(people):
    """The quick look with 400 people, and the full audit."""
    original, released, control = people
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resolved, "QUICK_PEOPLE", 400)
        quick = cvpl.audit(original, released, CONFIG, control=control, quick=True)
    return quick, cvpl.audit(original, released, CONFIG, control=control)


def test_a_sample_of_people_is_searched_in_the_whole_release(both):
    quick, full = both
    assert quick.quick and not full.quick
    assert {row.asked for row in quick.attackers} == {400}
    assert quick.inputs == full.inputs
    assert [row.name for row in quick.attackers] == [row.name for row in full.attackers]


def test_its_interval_is_wider_and_holds_the_full_figure(both):
    quick, full = both
    assert quick.risk.high - quick.risk.low > full.risk.high - full.risk.low
    assert quick.risk.low <= full.risk.estimate <= quick.risk.high


def test_it_leaves_out_canaries_and_sensitivity_and_says_so(both):
    quick, full = both
    assert quick.canaries is None and quick.sensitivity is None
    assert full.canaries is not None and full.sensitivity is not None
    for form in (quick.to_html(), quick.to_markdown(), quick._repr_html_()):
        assert "Quick look" in form and "400 of 800 originals" in form
        assert "cvpl audit" in form
    assert "Quick look" not in full.to_html()


def test_a_quick_look_at_few_people_searches_all_of_them_and_does_not_call_its_interval_wider(people):
    original, released, control = people
    page = cvpl.audit(original, released, CONFIG, control=control, attackers=["paper"], quick=True).to_markdown()
    assert "Quick look: no attacker was tested on canaries" in page
    assert "wider" not in page


def test_a_gate_needs_the_full_audit(people):
    with pytest.raises(UsageError, match="a gate needs the full audit"):
        cvpl.audit(people[0], people[1], CONFIG, quick=True, fail_above=0.1)


def test_the_command(people, tmp_path, capsys):
    files = []
    for name, table in zip(("original", "released", "control"), people, strict=True):
        files.append(str(tmp_path / f"{name}.csv"))
        table.to_csv(files[-1], index=False)
    call = ["audit", *files[:2], "--control", files[2], "--quick", "--attackers", "rarity"]
    assert run([*call, "--fail-above", "0.1"]) == ExitCode.USAGE
    assert "--quick" in capsys.readouterr().err
    assert run(call) == 0
    assert "Quick look" in capsys.readouterr().out


def test_the_full_audit_gives_a_first_answer_and_refines_it(people, monkeypatch):
    original, released, control = people
    answers = []
    arguments = {"control": control, "attackers": ["rarity"], "on_first_answer": answers.append}
    short = cvpl.audit(original, released, CONFIG, **arguments)
    assert answers == []
    monkeypatch.setattr(planned_audit, "LONG", 700)
    monkeypatch.setattr(resolved, "QUICK_PEOPLE", 400)
    long = cvpl.audit(original, released, CONFIG, **arguments)
    assert [answer.kind for answer in answers] == ["linkable"]
    assert long.to_json() == short.to_json()


def test_attackers_that_score_every_pair_search_fewer_people_in_a_large_release():
    plan = load(CONFIG).with_quick_look()
    asked = {name: plan.max_queries(attacker, 1_000_000) for name, attacker in plan.attackers.items()}
    every_pair = {"unprojected", "rarity_density", "fellegi_sunter_em_density", "ranks", "ranks_reference"}
    every_pair |= {"ratios", "between", "words"}
    every_pair |= {name for name in asked if name.startswith("nearest")}
    assert {name: people for name, people in asked.items() if people != 2_000} == dict.fromkeys(every_pair, 500)
    assert max(plan.max_queries(attacker, 160_000) for attacker in plan.attackers.values()) == 2_500
    assert {plan.max_queries(attacker, 60_000) for attacker in plan.attackers.values()} == {4_000}
