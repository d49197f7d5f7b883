"""The risk surface: strengths swept, thresholds read, the weakest setting named."""

from __future__ import annotations

import io
import json
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest
import yaml
from rich.console import Console

import cvpl
from cvpl.answers.sentences import gathered_warnings, reservations, surface_answer
from cvpl.assessment import ensemble
from cvpl.assessment.diagnostics.canaries import CanaryReleases
from cvpl.cli.main import run
from cvpl.config.loading import load
from cvpl.laboratory.simulation import Touchpoints
from cvpl.randomness import stream
from cvpl.reports.terminal import show
from cvpl.result import SurfaceResult, surface_schema
from cvpl.workflows.made_tables import CONFIG as DEMO
from cvpl.workflows.made_tables import Protector
from cvpl.workflows.surface import sweep
from cvpl.workflows.surface.strengths import mechanism_sweep
from cvpl.workflows.surface.sweep import (
    HIGH_SENSITIVITY,
    isolated_settings,
    rising_settings,
    steep_cells,
    weakest_inside,
)
from examples import TIMES, examples_apart

ROWS = 300
DRAWS = 3 if TIMES > 1 else 2
OPEN = {"blocking": "none"}
"""An attacker who compares everybody: where blocking parts true pairs, no low rate would count."""


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(8)
    tables = [Touchpoints(records=ROWS).draw(rng) for _ in range(2)]
    return [pd.DataFrame(table.to_columns()) for table in tables]


@pytest.fixture(scope="module")
def folder(people, tmp_path_factory):
    place = tmp_path_factory.mktemp("surface")
    people[0].to_csv(place / "people.csv", index=False)
    people[1].to_csv(place / "control.csv", index=False)
    (place / "audit.yaml").write_text(DEMO.replace("attacker: default", "attacker: paper"))
    return place


def config(**changes):
    """The demo's, where columns may be drawn on their own, as `mixed` does in the end."""
    content = yaml.safe_load(DEMO) | {"attacker": "paper"} | changes
    for column in content["columns"].values():
        if column["role"] in ("quasi_identifier", "attribute"):
            column["recoded"] = False
    return {key: value for key, value in content.items() if value is not None}


def mixed(table):
    """A mechanism of a stranger's making: a share of the cells of every column but the id comes from other rows."""

    def mechanism(share, rng):
        release = table.copy()
        for name in table.columns[1:]:
            hit = rng.random(len(table)) < share
            release.loc[hit, name] = rng.permutation(table[name].to_numpy())[hit]
        return release

    return mechanism


def shown(result, width):
    page = Console(width=width, file=io.StringIO(), force_terminal=False, highlight=False)
    show(result, page, details=True)
    return page.file.getvalue()


# Regions, worked by hand


@pytest.mark.parametrize(
    ("inside", "weakest", "alone"),
    [
        ([], None, []),
        ([True], 0, []),
        ([False], None, []),
        ([False, False, True, True], 2, []),
        ([True, True, True], 0, []),
        ([True, False, True], 2, [0]),  # the first may be there by luck
        ([True, True, False], None, [0, 1]),  # the strongest is outside: none can be named
        ([False, True, False, True, False], None, [1, 3]),
        ([True, False, True, False, True, True], 4, [0, 2]),
    ],
)
def test_the_weakest_setting_is_the_one_from_which_on_all_are_inside(inside, weakest, alone):
    assert weakest_inside(inside) == weakest
    assert isolated_settings(inside) == alone


@pytest.mark.parametrize(
    ("rates", "steep"),
    [
        ([[0.50]], [[False]]),
        # A step of exactly the amount is no region of high sensitivity, one beyond it is, on both of its sides.
        ([[0.50, 0.25]], [[False, False]]),
        ([[0.50, 0.125]], [[True, True]]),
        ([[0.50], [0.125]], [[True], [True]]),
        ([[0.1, 0.1, 0.9], [0.1, 0.1, 0.1]], [[False, True, True], [False, False, True]]),
        ([[0.9, None], [None, 0.1]], [[False, False], [False, False]]),
        ([[0.9, 0.8, 0.2], []], [[False, True, True], []]),
        ([[-0.2, 0.2]], [[True, True]]),
    ],
)
def test_a_cell_is_steep_where_a_neighbour_differs_by_more(rates, steep):
    assert steep_cells(rates, 0.25) == steep


@pytest.mark.parametrize(
    ("risks", "expected"),
    [
        ([0.5, 0.4, 0.3], []),
        ([0.5, 0.5, 0.5], []),  # a tie is no rise
        ([0.5, 0.4, 0.45, 0.1, 0.2], [2, 4]),
        ([0.5, None, 0.6], [2]),
        ([None, 0.5], []),
    ],
)
def test_where_the_risk_rises_with_strength_is_reported(risks, expected):
    assert rising_settings(risks) == expected


# The surface is what audits done one by one say


@pytest.mark.parametrize("attacker", ["paper", {"alignment": "release", "similarity": "rarity", "blocking": "none"}])
def test_the_surface_equals_audits_done_one_by_one(people, tmp_path, attacker):
    """Each row holds the very curve, rates and power of an audit of the same release; on the scale and off it."""
    settings = config(attacker=attacker)
    strengths = [10, 2] if attacker == "paper" else [10, 2][:: examples_apart(2)]
    found = cvpl.surface(people[0], "k-anonymity", strengths, settings, control=people[1])
    protector, _ = Protector.read(people[0], settings)
    assert [row.strength for row in found.settings] == sorted(strengths)
    for row in found.settings:
        made = protector.release("k-anonymity", row.strength)
        path = made.write(tmp_path / f"{made.name}.parquet")
        alone = cvpl.audit(people[0], path, settings, control=people[1])
        points = [cell.model_dump(exclude={"safe", "steep", "contradicted"}) for cell in row.cells]
        assert points == [point.model_dump() for point in alone.risk_curve]
        assert row.linkage_rate == alone.linkage_rate
        assert row.attributable_rate == alone.attributable_rate
        assert (row.control, row.power, row.threshold) == (alone.control, alone.power, alone.threshold)
        assert row.top1_hit_rate == alone.truth.top1_hit_rate
        assert row.release == alone.inputs["protected"]
        # An audit asks what its attackers cannot see at every strength, a surface where a target is to be met.
        told = alone.risk if alone.risk.high < 1 else alone.risk.model_copy(update={"high": row.risk.high})
        assert row.risk == told and row.judged == "risk"
        ours = [warning.model_dump() for warning in row.warnings]
        assert ours == [warning.model_dump() for warning in alone.warnings if warning.rule != "control_unlike"]
    assert found.axis == ("threshold" if attacker == "paper" else "false_rate")


def test_one_attack_is_made_for_every_strength(people, monkeypatch):
    """However many thresholds are read, each release is made once and attacked once."""
    attacks, made = [], []
    original_attack = ensemble.attack
    monkeypatch.setattr(ensemble, "attack", lambda *args, **named: attacks.append(1) or original_attack(*args, **named))
    make = mixed(people[0])
    found = cvpl.surface(
        people[0], lambda share, rng: made.append(share) or make(share, rng), [0.1, 0.3, 0.5, 0.9], config(), target=0.1
    )
    assert len(attacks) == 4 and made == [0.1, 0.3, 0.5, 0.9]
    assert [len(row.cells) for row in found.settings] == [30] * 4


def test_the_same_sweep_gives_the_same_bytes(people):
    one, other = (
        cvpl.surface(people[0], "perturbation", ["high", "low"], config(), control=people[1], target=0.2).to_json()
        for _ in range(2)
    )
    assert one == other
    assert SurfaceResult.from_json(one).to_json() == one


def test_another_seed_draws_other_releases(people):
    one, other = (cvpl.surface(people[0], mixed(people[0]), [0.5], config(seed=seed)) for seed in (1, 2))
    assert one.settings[0].cells != other.settings[0].cells


def test_of_several_draws_the_one_with_the_largest_risk_counts_and_all_must_be_safe(people):
    """Each draw is that of a sweep by its own seed; the first is that of a sweep with one draw."""
    shares = {"report": {"suppress_below": 1}, "canaries": False, "attackers": {"main": {"preset": "paper", **OPEN}}}
    settings, seeds = config(attacker=None, **shares), []

    def mechanism(share, rng):
        seeds.append(rng.bit_generator.seed_seq.entropy)
        return mixed(people[0])(share, rng)

    several = cvpl.surface(people[0], mechanism, [0.9, 1.0], settings, control=people[1], target=0.2, draws=DRAWS)
    assert len(set(seeds)) == DRAWS and seeds[:DRAWS] == seeds[DRAWS:]
    alone = [
        cvpl.surface(people[0], mixed(people[0]), [0.9, 1.0], {**settings, "seed": seed}, control=people[1], target=0.2)
        for seed in seeds[:DRAWS]
    ]
    assert seeds[0] == settings["seed"]
    for at, row in enumerate(several.settings):
        assert row.draws == [item.settings[at].risk.estimate for item in alone]
        assert len(set(row.draws)) > 1 and row.risk.estimate == max(row.draws)
        assert row.safe <= alone[0].settings[at].safe
    page = several.to_html()
    assert not alone[0].settings[0].draws and "widened to all draws" in page
    assert "draw with the largest risk" in page
    with pytest.raises(cvpl.UsageError, match="draws is 0"):
        cvpl.surface(people[0], "perturbation", ["low"], settings, draws=0)


def test_every_result_validates_against_the_published_schema(people):
    found = cvpl.surface(people[0], "synthetic", [0.9], config(), target=0.5)
    jsonschema.validate(json.loads(found.to_json()), surface_schema())
    published = Path(cvpl.__file__).parent / "schemas" / "surface.json"
    assert json.loads(published.read_text(encoding="utf-8")) == surface_schema()


# What a target makes of it


def test_a_mechanism_that_ends_in_independent_columns_has_a_weakest_setting(people):
    """The dial goes from the table itself to columns drawn independently; utility falls with the risk."""
    dial = [0.0, 0.5, 0.9, 1.0]
    found = cvpl.surface(people[0], mixed(people[0]), dial, config(attacker=OPEN), control=people[1], target=0.2)
    risks = [row.risk.estimate for row in found.settings]
    assert risks[0] > 0.9 and risks[-1] < 0.1
    weakest = found.target.weakest
    row = found.setting(weakest.strength)
    assert row.safe and weakest.strength in found.target.inside and weakest.strength > 0
    assert (weakest.estimate, weakest.high, weakest.utility) == (row.risk.estimate, row.risk.high, row.utility)
    assert weakest.high <= 0.2 and weakest.held_against == ["main"]
    stronger = found.settings[[setting.strength for setting in found.settings].index(weakest.strength) :]
    assert all(item.safe for item in stronger)
    assert found.settings[0].utility.mean > row.utility.mean
    assert f"is mechanism at {weakest.strength}" in surface_answer(found)


def test_a_built_in_mechanism_that_draws_columns_on_their_own_needs_no_declaration(numbers):
    """It has no secret key; a function that does the same may have one."""
    original, control = numbers
    found = cvpl.surface(original, "synthetic", [0.0], NUMBERS, control=control, target=0.4)
    assert found.target.weakest is not None

    def drawn(strength, rng):
        return pd.DataFrame({name: rng.permutation(original[name]) for name in original})

    unknown = cvpl.surface(original, drawn, [1], NUMBERS, control=control, target=0.4)
    assert unknown.target.weakest is None
    assert any("no longer have any relation to other columns" in doubt for doubt in unknown.settings[0].doubts)


def test_safe_cells_are_those_whose_upper_end_is_low_and_that_nothing_contradicts(people):
    found = cvpl.surface(
        people[0], mixed(people[0]), [0.0, 0.5, 1.0], config(attacker=OPEN), control=people[1], target=0.1
    )
    cells = [cell for row in found.settings for cell in row.cells]
    assert any(cell.safe for cell in cells) and any(cell.contradicted for cell in cells)
    for cell in cells:
        low_enough = cell.attributable_high is not None and cell.attributable_high <= 0.1
        assert cell.safe == (low_enough and not cell.contradicted)
    # With the table itself released nobody is safe, and a strict threshold does not make it so.
    assert not any(cell.safe for cell in found.settings[0].cells)


def test_a_low_rate_that_top_1_contradicts_is_never_safe(people):
    """Generalization shifts the paper's representation: its rate reads low while most are found."""
    found = cvpl.surface(people[0], "k-anonymity", [2, 20], config(threshold=0.95), target=0.3)
    row = found.setting(20)
    assert row.attributable_rate.high < 0.1 and row.top1_hit_rate > 0.9
    assert row.risk.basis == "true_matches" and row.risk.low > 0.9
    assert row.doubts and row.safe is False and not any(cell.safe for cell in row.cells)
    assert any(cell.contradicted and cell.attributable_high < 0.3 for cell in row.cells)
    assert found.target.weakest is None
    assert f"At 20, the strongest, the risk is {row.risk.estimate:.1%}" in surface_answer(found)
    # What is doubted is a low figure; a risk above the target is not called unreliable.
    assert ", but the best candidate" not in surface_answer(found)
    lower = found.model_copy(update={"target": found.target.model_copy(update={"rate": 1.0})})
    assert ", but the best candidate is the right person for" in surface_answer(lower)


def test_no_cell_is_safe_where_more_than_the_target_are_found(people):
    """Whatever the rate reads: the best candidate is the right person for nearly everybody."""
    original, control = people
    result = cvpl.surface(original, lambda _: original, [1.0], config(attacker=OPEN), control=control, target=0.6)
    row = result.settings[0]
    assert row.top1_hit_rate > 0.6
    assert not row.safe and not any(cell.safe for cell in row.cells)
    assert any("more than the target" in doubt for doubt in row.doubts)


def test_a_setting_that_is_inside_by_luck_is_not_named(people):
    """The dial jumps back: the third setting releases the table itself, so only what is beyond it counts."""
    turns = {"a": 1.0, "b": 0.0, "c": 1.0}
    make = mixed(people[0])

    def jumping(strength, rng):
        return make(turns[strength], rng)

    found = cvpl.surface(people[0], jumping, ["a", "b", "c"], config(attacker=OPEN), control=people[1], target=0.2)
    assert found.target.inside == ["a", "c"] and found.target.isolated == ["a"]
    assert found.target.weakest.strength == "c" and found.rises_at == ["b"]
    beside = " ".join(reservations(found))
    assert "The risk is also below at a, but not at a stronger setting" in beside
    assert "it rises at b" in beside and "beyond error" in beside
    back = cvpl.surface(people[0], jumping, ["a", "b"], config(attacker=OPEN), control=people[1], target=0.2)
    assert back.target.weakest is None and back.target.isolated == ["a"]
    assert "No setting that was tried reliably stays at or below 20.0%" in surface_answer(back)


def test_without_control_or_truth_the_linkage_rate_is_shown_and_nothing_is_within_the_target(people):
    def anonymous(share, rng):
        return mixed(people[0])(share, rng).drop(columns="person_id")

    found = cvpl.surface(people[0], anonymous, [0.0, 1.0], config(), target=0.99)
    assert [row.judged for row in found.settings] == ["linkage_rate"] * 2
    assert found.settings[0].risk is None and found.settings[0].shown == found.settings[0].linkage_rate
    assert found.scenario == "blind"
    for row in found.settings:
        assert row.safe is False and "the risk is unknown: there is neither a control nor a known match" in row.doubts
        assert not any(cell.safe for cell in row.cells)
    assert found.target.weakest is None
    text = " ".join(shown(found, 100).split())
    assert "Without a control or true matches the risk is unknown; the linkage rate is shown instead." in text


def test_a_target_is_held_against_the_risk_and_not_against_the_rate_at_the_threshold(people):
    """A threshold that hardly anybody reaches makes the rate low; a strict reading of the score finds most of them."""
    settings = config(attacker=OPEN, threshold=0.9999, report={"suppress_below": 1})
    make = mixed(people[0])
    found = cvpl.surface(people[0], make, [0.3, 1.0], settings, control=people[1], target=0.2)
    row = found.setting(0.3)
    power = next(item for item in row.power if item.false_rate == 0.05)
    assert row.linkage_rate.high < 0.2 and row.attributable_rate.high < 0.2
    assert power.low > 0.2 and row.risk.estimate == pytest.approx((power.power - 0.05) / 0.95)
    assert row.safe is False and not any(cell.safe for cell in row.cells)
    assert 0.3 not in found.target.inside
    assert found.target.weakest is None or found.target.weakest.strength == 1.0


@pytest.fixture(scope="module")
def swept(people):
    return cvpl.surface(people[0], "perturbation", ["low", "high"], config(), control=people[1])


def test_without_a_target_nothing_is_called_safe(swept):
    found = swept
    assert found.target is None
    assert {row.safe for row in found.settings} == {None}
    assert {cell.safe for row in found.settings for cell in row.cells} == {None}
    assert "At low, the weakest," in surface_answer(found)


def test_steep_cells_are_marked_by_the_judged_rate(swept):
    found = swept
    rates = [[cell.attributable_rate for cell in row.cells] for row in found.settings]
    marks = [[cell.steep for cell in row.cells] for row in found.settings]
    assert marks == steep_cells(rates, HIGH_SENSITIVITY) and any(map(any, marks))
    assert found.high_sensitivity == HIGH_SENSITIVITY


# Several attackers


def test_of_several_attackers_the_strongest_on_the_weakest_release_sweeps(people, monkeypatch):
    """All attack once where the sweep begins; the setting that is named is held against all of them."""
    contests, attacks = [], []
    monkeypatch.setattr(sweep, "run_attackers", lambda *args: contests.append(1) or ensemble.run_attackers(*args))
    one_attack = ensemble.attack
    monkeypatch.setattr(ensemble, "attack", lambda *args, **named: attacks.append(1) or one_attack(*args, **named))
    both = {"some": OPEN | {"knows": ["age", "ad_channel"]}, "all": OPEN}
    settings = config(attacker=None, attackers=both)
    found = cvpl.surface(people[0], mixed(people[0]), [0.2, 0.5, 1.0], settings, control=people[1])
    assert len(contests) == 1 and len(attacks) == 2 + 1 + 1
    first = mixed(people[0])(0.2, _rng_of(found, 0.2))
    strongest = cvpl.audit(people[0], first, settings, control=people[1])
    assert found.attacker == strongest.attacker and found.picked == strongest.picked
    assert found.settings[0].attributable_rate == strongest.attributable_rate
    assert (found.picked.among, found.picked.confidence) == (2, pytest.approx(1 - 0.05 / 2))
    named = cvpl.surface(people[0], mixed(people[0]), [0.0, 1.0], settings, control=people[1], attacker="some")
    assert named.attacker == "some" and named.picked is None


def test_a_setting_that_another_attacker_breaks_is_not_named():
    """One attacker is strongest on the weak release and blind on the next, where the other still finds people."""
    rng = np.random.default_rng(5)
    tables = [pd.DataFrame(rng.random((400, 4)), columns=list("abcd")).reset_index(names="who") for _ in range(2)]
    by = {"blocking": "none", "projection": "identity", "similarity": "euclidean", "threshold": "false_rate"}
    settings = {
        "columns": {"who": {"role": "id"}}
        | {name: {"role": "attribute", "type": "numeric", "recoded": False} for name in "abcd"},
        "attackers": {"sees_ab": by | {"knows": ["a", "b"]}, "sees_cd": by | {"knows": ["c", "d"]}},
    }

    def mechanism(strength, rng):
        release = tables[0].copy()
        release[["c", "d"]] += rng.normal(0, 0.01, (400, 2))
        for name in {"weak": "", "middle": "ab", "strong": "abcd"}[strength]:
            release[name] = rng.random(400)
        return release

    found = cvpl.surface(tables[0], mechanism, ["weak", "middle", "strong"], settings, control=tables[1], target=0.25)
    assert found.attacker == "sees_ab"
    row = found.setting("middle")
    assert row.risk.high <= 0.25 and row.safe is False and not any(cell.safe for cell in row.cells)
    assert "attacker 'sees_cd', the strongest at this strength" in row.doubts[0]
    assert found.target.weakest.strength == "strong"
    assert found.target.weakest.held_against == ["sees_ab", "sees_cd"]


def hashed(table):
    """The table with every value replaced by a keyed code: whoever holds the key finds everybody."""
    rng = np.random.default_rng(3)
    codes = {
        name: dict(zip(table[name].unique(), rng.uniform(-3, 3, len(table)).round(6), strict=False)) for name in table
    }
    return pd.DataFrame({name: table[name].map(codes[name]) for name in table})


@pytest.fixture(scope="module")
def numbers():
    """People and controls with four numbers that go together, all different."""
    rng = np.random.default_rng(4)
    values = rng.normal(size=(800, 1)) + 0.5 * rng.normal(size=(800, 4))
    tables = np.split(values.round(6), 2)
    return [pd.DataFrame(table, columns=list("abcd")) for table in tables]


NUMBERS = {
    "columns": {name: {"role": "quasi_identifier", "type": "numeric"} for name in "abcd"},
    "attacker": OPEN | {"threshold": "false_rate"},
}
DRAWN = NUMBERS | {"columns": {name: column | {"recoded": False} for name, column in NUMBERS["columns"].items()}}


def test_a_setting_that_nobody_can_read_is_not_within_the_target(numbers):
    """Codes of the originals read as no risk at all; no upper end is given, and the row says why."""
    original, control = numbers
    found = cvpl.surface(
        original, lambda how: original if how == "plain" else hashed(original), ["plain", "hashed"], NUMBERS,
        control=control, target=0.25,
    )  # fmt: skip
    row = found.setting("hashed")
    assert row.risk.high == 1
    assert row.safe is False and not any(cell.safe for cell in row.cells) and found.target.weakest is None
    assert any("no attacker can read" in doubt for doubt in row.doubts)


def test_a_setting_whose_columns_have_other_names_is_not_within_the_target(numbers):
    """Half of the columns are the originals' own under other names, and the others random: the risk reads as none.

    Every setting is asked, not only the one that would be named.
    """
    original, control = numbers

    def mechanism(strength, rng):
        drawn = original.assign(**{name: rng.normal(0, 1.25**0.5, len(original)) for name in "ab"})
        return drawn.rename(columns={"c": "gamma", "d": "delta"})

    found = cvpl.surface(original, mechanism, ["one", "two"], DRAWN, control=control, target=0.25)
    assert found.target.inside == [] and found.target.weakest is None
    for row in found.settings:
        assert row.risk.high == 1 and row.safe is False and not any(cell.safe for cell in row.cells)
        assert any("the release lacks columns 'c', 'd' and has columns 'gamma', 'delta'" in text for text in row.doubts)
    assert "but the release lacks columns" in surface_answer(found)


def test_a_setting_with_free_text_that_nobody_has_read_is_not_within_the_target(numbers):
    original, control = numbers
    rng = np.random.default_rng(6)
    words = [f"{''.join(rng.choice(list('abcdefghij'), 6))}" for _ in range(300)]
    notes = [" ".join(rng.choice(words, 12)) for _ in range(len(original))]

    def mechanism(strength, rng):
        drawn = pd.DataFrame(rng.normal(0, 1.25**0.5, original.shape).round(6), columns=original.columns)
        return drawn if strength == "silent" else drawn.assign(note=notes)

    settings = DRAWN | {"attacker": OPEN | {"similarity": "rarity"}}
    found = cvpl.surface(original, mechanism, ["told", "silent"], settings, control=control, target=0.25)
    told = found.setting("told")
    assert told.risk.high == 1 and told.safe is False
    assert any("no attacker has read the free text in column 'note'" in text for text in told.doubts)
    assert found.target.weakest.strength == "silent"


def test_a_release_that_nobody_can_read_is_within_no_target_under_any_blocking(numbers):
    """The same codes under several blockings: none of them comforts."""
    original, control = numbers
    columns = NUMBERS["columns"] | {"a": NUMBERS["columns"]["a"] | {"block": {"bin": 10}}}
    settings = {"columns": columns, "attacker": "paper"}
    found = cvpl.surface(original, "blocking", None, settings, control=control, release=hashed(original), target=0.5)
    assert not any(row.safe for row in found.settings)
    assert all(any("no attacker can read" in doubt for doubt in row.doubts) for row in found.settings)


def test_the_risk_that_is_reported_is_that_of_the_strongest_at_the_named_setting(people):
    both = {"one": {"blocking": "none"}, "two": {"similarity": "rarity", "blocking": "none"}}
    settings = config(attacker=None, attackers=both)
    found = cvpl.surface(people[0], mixed(people[0]), [0.0, 1.0], settings, control=people[1], target=0.3)
    weakest = found.target.weakest
    assert weakest.strength == 1.0 and weakest.held_against == ["one", "two"]
    released = mixed(people[0])(1.0, _rng_of(found, 1.0))
    alone = cvpl.audit(people[0], released, settings, control=people[1], fail_above=0.3)
    assert weakest.attacker == alone.attacker and alone.policy.value == weakest.high <= 0.3
    # The sweep judges the attacks; what a look at the tables shows is said by the audit of the release.
    assert all(reason.startswith("before the attack: ") for reason in alone.policy.reasons)
    text = alone.risk
    assert weakest.figure == "risk"
    assert (weakest.estimate, weakest.low, weakest.high) == (text.estimate, text.low, text.high)


def _rng_of(found, strength):
    return stream(found.provenance.seed, f"surface {strength}")


def test_canaries_are_run_once(people, monkeypatch):
    """They hang on the people, not on the release: those of the weakest release hold for all."""
    calls = []
    audit_with = CanaryReleases.audit_with
    monkeypatch.setattr(CanaryReleases, "audit_with", lambda *given: calls.append(1) or audit_with(*given))
    found = cvpl.surface(people[0], mixed(people[0]), [0.2, 0.6], config(canaries=True), control=people[1])
    assert len(calls) == 1 and found.canaries.identity.top1_hit_rate == 1.0


# Blockings


def test_the_blocking_is_swept_on_a_release(people, monkeypatch):
    """From the coarsest to the finest, one attack each; the row of the configured blocking is the audit's."""
    attacks = []
    one_attack = ensemble.attack
    monkeypatch.setattr(ensemble, "attack", lambda *args, **named: attacks.append(1) or one_attack(*args, **named))
    released = mixed(people[0])(0.3, np.random.default_rng(1))
    found = cvpl.surface(people[0], "blocking", None, config(), control=people[1], release=released, target=0.9)
    assert len(attacks) == len(found.settings)
    pairs = [row.pairs for row in found.settings]
    assert pairs == sorted(pairs, reverse=True) and pairs[0] == ROWS**2
    assert {"none", "as configured", "'age' in half the width", "'region' a level finer"} <= {
        row.strength for row in found.settings
    }
    alone = cvpl.audit(people[0], released, config(), control=people[1])
    assert found.setting("as configured").attributable_rate == alone.attributable_rate
    assert found.target.weakest is None and found.target.isolated == [] and found.rises_at == []
    outside = sum(not row.safe for row in found.settings)
    assert f"Under {outside} of {len(pairs)} blockings" in surface_answer(found) or outside == 0


@pytest.mark.parametrize("blocking", ["none", {"lsh": {"bits": 4}}, {"any_of": [["age"], ["gender"]]}])
def test_a_blocking_without_keys_cannot_be_swept(people, blocking):
    with pytest.raises(cvpl.UsageError, match="blocks by the keys of one scheme"):
        cvpl.surface(people[0], "blocking", None, config(attacker={"blocking": blocking}), release=people[0])


# Mechanisms


@pytest.mark.parametrize(
    ("method", "given", "ordered"),
    [
        ("k-anonymity", [20, "5", 10.0, np.int64(2)], (2, 5, 10, 20)),
        ("k_anonymity", [3, 2], (2, 3)),
        ("mondrian", ["10", "2"], (2, 10)),
        ("perturbation", ["high", "low", "medium"], ("low", "medium", "high")),
        ("synthetic", ["0.5", 0.95, 0], (0.95, 0.5, 0.0)),
        ("synthetic", None, (0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6)),
    ],
)
def test_strengths_of_our_mechanisms_go_from_the_weakest_to_the_strongest(people, method, given, ordered):
    assert mechanism_sweep(method, given, people[0], config(), load(config())).strengths == ordered


def test_strengths_of_a_function_stay_in_their_order(people):
    """Nobody else knows which way a stranger's dial turns: a privacy budget protects most where it is smallest."""
    found = cvpl.surface(people[0], lambda strength: people[0], [8, 1.0, "off", np.float64(0.5)], config())
    assert [row.strength for row in found.settings] == [8, 1.0, "off", 0.5]
    assert [type(row.strength) for row in found.settings] == [int, float, str, float]


@pytest.mark.parametrize(
    "function",
    [
        lambda table, seen: lambda strength, rng: seen(rng) or table,
        lambda table, seen: lambda strength, noise: seen(noise) or table,
        lambda table, seen: lambda strength, *, generator: seen(generator) or table,
        lambda table, seen: lambda strength, epochs=3, rng=None: seen(rng) or table,
    ],
)
def test_a_function_that_takes_a_generator_is_given_one(people, function):
    seen = []
    cvpl.surface(people[0], function(people[0], seen.append), ["x"], config())
    assert [type(item) for item in seen] == [np.random.Generator]


def test_a_function_that_takes_none_is_given_none(people):
    """A second parameter with a default is the function's own."""

    def own(strength, epochs=3):
        assert epochs == 3
        return people[0]

    assert len(cvpl.surface(people[0], own, [1], config()).settings) == 1


@pytest.mark.parametrize("kind", ["path", "text", "polars"])
def test_a_function_may_return_a_path_or_any_dataframe(people, tmp_path, kind):
    path = tmp_path / "release.csv"
    people[0].to_csv(path, index=False)
    forms = {"path": path, "text": str(path), "polars": pl.read_csv(path, try_parse_dates=True)}
    found = cvpl.surface(people[0], lambda strength: forms[kind], [1], config())
    assert found.settings[0].top1_hit_rate == 1.0
    assert path.exists()


def test_a_strength_that_a_mechanism_refuses_is_reported_and_the_others_go_on(people):
    found = cvpl.surface(people[0], "k-anonymity", [2, ROWS + 1], config(), target=0.01)
    assert [row.strength for row in found.settings] == [2]
    assert [item.strength for item in found.failed] == [ROWS + 1]
    assert "but the table has 300 rows" in found.failed[0].reason

    def refusing(strength):
        if strength == 1:
            raise cvpl.UsageError("one is too few")
        return people[0]

    mine = cvpl.surface(people[0], refusing, [1, 2], config())
    assert [(item.strength, item.reason) for item in mine.failed] == [(1, "one is too few")]
    with pytest.raises(cvpl.UsageError, match="no release could be made at any strength"):
        cvpl.surface(people[0], refusing, [1], config())


def test_a_table_without_an_id_is_swept_with_its_truth(people):
    """Our own releases number their people by row, so that top-1 is known whatever the configuration says."""
    columns = {name: item for name, item in config()["columns"].items() if name != "person_id"}
    nameless = people[0].drop(columns="person_id")
    found = cvpl.surface(nameless, "perturbation", ["low"], config(columns=columns, truth=None))
    row = found.settings[0]
    assert row.top1_hit_rate > 0.8
    assert not any("original_row" in warning.message for warning in row.warnings)


# Wrong calls


def _failing(strength):
    raise ValueError("Alice, 34, Paris")


@pytest.mark.parametrize(
    ("mechanism", "strengths", "message"),
    [
        ("k-anonymity", [], "none is given"),
        ("k-anonymity", "2,5", "found a str where a list is needed"),
        ("k-anonymity", 5, "found a int where a list is needed"),
        ("k-anonymity", [2, "2"], "2 would be tried twice"),
        ("synthetic", ["0.90", 0.9], "0.9 would be tried twice"),
        ("k-anonymity", ["many"], "k, a whole number from 2"),
        ("k-anonymity", [1], "k, a whole number from 2"),
        ("k-anonymity", [2.5], "k, a whole number from 2"),
        ("k-anonymity", [True], "k, a whole number from 2"),
        ("k-anonymity", ["inf"], "k, a whole number from 2"),
        ("mondrian", [None], "k, a whole number from 2"),
        ("perturbation", [3], "a level: low, medium, high"),
        ("synthetic", [1.01], "from 0 to 1"),
        ("synthetic", ["nan"], "from 0 to 1"),
        ("noise", [1], "there is no mechanism 'noise'; allowed are k-anonymity"),
        (3, [1], "a int is given where the name of a mechanism or a function"),
        (lambda strength: strength, None, "a function has no defaults"),
        (lambda strength: strength, [], "none is given"),
        (lambda strength: strength, [1, 1.0], "1, 1.0 would be tried twice"),
        (lambda strength: strength, [float("nan")], "found nan; allowed are finite numbers"),
        (lambda strength: strength, [True], "found a bool"),
        (lambda strength: strength, [None], "found a NoneType"),
        (lambda strength: strength, [1], "returned a int at strength 1. Return the release"),
        (lambda strength: None, ["a"], "returned a NoneType at strength 'a'"),
        (_failing, [1], "'_failing' failed at strength 1 with a ValueError"),
        ("blocking", None, "needs `release`"),
        ("blocking", [1], "takes no strengths"),
    ],
)
def test_a_wrong_call_says_what_to_do(people, mechanism, strengths, message):
    with pytest.raises(cvpl.UsageError, match=message) as raised:
        cvpl.surface(people[0], mechanism, strengths, config())
    assert "Alice" not in str(raised.value)


def test_other_arguments_are_checked_as_well(people):
    with pytest.raises(cvpl.UsageError, match="`release` is for a blocking sweep"):
        cvpl.surface(people[0], "perturbation", ["low"], config(), release=people[0])
    for target in (1.5, -0.1, float("nan"), True):
        with pytest.raises(cvpl.UsageError, match="allowed is a rate from 0 to 1"):
            cvpl.surface(people[0], "perturbation", ["low"], config(), target=target)
    with pytest.raises(cvpl.UsageError, match="no attacker 'nobody'"):
        cvpl.surface(people[0], "perturbation", ["low"], config(), attacker="nobody")


def test_a_release_that_cannot_be_read_names_its_strength(people):
    def broken(strength):
        return people[0].assign(age="old") if strength == 2 else people[0]

    with pytest.raises(cvpl.InputError, match="strength 2") as raised:
        cvpl.surface(people[0], broken, [1, 2], config())
    assert "old" not in str(raised.value).replace("threshold", "")


# The command and its page


def _call(folder, *extra):
    return ["surface", str(folder / "people.csv"), "-c", str(folder / "audit.yaml"), *extra]


def test_the_command(folder, tmp_path, capsys):
    """The page answers, shows every strength and marks its cells; the file holds the same result as Python's."""
    out = tmp_path / "out"
    control = str(folder / "control.csv")
    extra = ["-m", "synthetic", "-s", "0.5, 0.95", "--control", control, "--target", "0.2", "--out", str(out)]
    assert run(_call(folder, *extra)) == 0
    text = capsys.readouterr().out
    for word in ("0.95", "95% interval", "utility", "The rest: `--details`", "Written:"):
        assert word in text
    written = SurfaceResult.from_json((out / "surface.json").read_bytes())
    direct = cvpl.surface(
        folder / "people.csv", "synthetic", [0.95, 0.5], folder / "audit.yaml", control=control, target=0.2
    )
    assert written == direct
    assert run(_call(folder, *extra[:-2], "--json")) == 0
    assert SurfaceResult.from_json(capsys.readouterr().out) == direct


def test_the_command_sweeps_blockings(folder, capsys):
    extra = ["--blocking", "--release", str(folder / "people.csv"), "--target", "0.1"]
    assert run(_call(folder, *extra)) == 0
    text = capsys.readouterr().out
    assert "the coarsest blocking first" in text and "as configured" in text and "blockings the risk is above" in text


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ([], "nothing to sweep"),
        (["-m", "synthetic", "--blocking"], "nothing to sweep"),
        (["--blocking"], "needs --release FILE"),
        (["--blocking", "--release", "x.csv", "-s", "1"], "takes no --strengths"),
        (["-m", "synthetic", "--release", "x.csv"], "--release is for --blocking"),
        (["-m", "magic"], "there is no mechanism 'magic'"),
        (["-m", "synthetic", "-s", ","], "none is given"),
        (["-m", "synthetic", "--target", "2"], "--target"),
        (["-m", "synthetic", "--target", "nan"], "--target"),
        (["-m", "synthetic", "--memory", "much"], "--memory much"),
    ],
)
def test_wrong_calls_end_with_2(folder, capsys, extra, message):
    assert run(_call(folder, *extra)) == 2
    assert message in capsys.readouterr().err


def test_the_page_tells_each_warning_once(people):
    """Sentences that differ in their figures only are one, with the strengths at which they were raised."""
    found = cvpl.surface(people[0], "synthetic", [0.9, 0.5, 0.1], config(), control=people[1])
    gathered = gathered_warnings(found)
    assert len({warning.rule for warning, _ in gathered}) == len(gathered)
    text = shown(found, 80)
    assert max(map(len, text.splitlines())) <= 80 and "At 0.9" in text


def test_no_cell_of_a_table_is_shown(people):
    """Neither the page nor the file holds a value of a column; strengths and names of columns are the caller's."""
    found = cvpl.surface(people[0], "k-anonymity", [2, 5], config(), control=people[1], target=0.1)
    text = shown(found, 120) + found.to_json()
    cells = set(people[0]["brand_product"]) | set(people[0]["purchase_time"].astype(str)) | set(people[0]["region"])
    assert not [cell for cell in cells if cell in text]
