"""Mechanisms in a comparison: the variance over people and draws, what a command gets, and what is refused."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import sys

import jsonschema
import numpy as np
import pandas as pd
import pytest
import yaml

import cvpl
from cvpl.cli.main import run
from cvpl.evaluation.intervals import intervals
from cvpl.evaluation.intervals.paired import correlation, difference
from cvpl.evaluation.trials.rounds import power_over_draws, share_over_draws
from cvpl.result import comparison_schema
from examples import examples_apart
from own_trial_errors import own_errors
from surface_people import CONFIG, drawn

EXACT = CONFIG | {"report": {"suppress_below": 1}}
NOISE = """import sys, csv, random
table, release, seed, strength = sys.argv[1:]
rng = random.Random(int(seed))
rows = list(csv.DictReader(open(table)))
for row in rows:
    row["pay"] = float(row["pay"]) + rng.gauss(0, float(strength))
    row["age"] = int(row["age"]) + round(rng.gauss(0, float(strength)))
rng.shuffle(rows)
with open(release, "w", newline="") as file:
    writer = csv.DictWriter(file, rows[0])
    writer.writeheader()
    writer.writerows(rows)
"""


# The variance over people and draws


def scores(rng, people=80, controls=60, draws=4, lift=1.0, person=0.8, shared=0.4, cell=0.6):
    """Scores of the same originals and controls in every draw: a person's effect, a draw's, and of both."""
    found = []
    for count, aim in ((people, lift), (controls, 0.0)):
        own, draw = rng.normal(size=(count, 1)), rng.normal(size=draws)
        found.append(aim + person * own + shared * draw + cell * rng.normal(size=(count, draws)))
    return found


@pytest.mark.parametrize(("seed", "draws", "household"), [(0, 4, 1), (1, 2, 1), (2, 6, 2)])
def test_the_mean_power_and_its_variance_are_those_of_plain_loops(seed, draws, household):
    rng = np.random.default_rng(seed)
    mine, base = scores(rng, draws=draws)
    mine[rng.random(mine.shape) < 0.1] = np.nan
    units = np.arange(80) // household, 1000 + np.arange(60) // household
    found = power_over_draws(mine, base, 0.1, None if household == 1 else units)
    inside = np.repeat([True, False], [80, 60])[:, None].repeat(draws, axis=1)
    by_draw, people, over, between = own_errors(np.vstack([mine, base]), inside, list(np.concatenate(units)), 0.1)
    assert found.by_draw == pytest.approx(by_draw)
    assert found.estimate == pytest.approx(sum(by_draw) / draws)
    assert found.error.people**2 == pytest.approx(people)
    assert found.error.draws**2 == pytest.approx(over)
    assert found.error.between_people**2 == pytest.approx(between)
    assert found.error.variance == pytest.approx(max(people + over - between / draws, people, over))
    assert found.deviation == pytest.approx(math.sqrt(max(0.0, over * draws - between)))
    assert found.error.degrees == draws - 1


@pytest.mark.parametrize(
    "effects",
    [
        pytest.param((0.8, 0.4, 0.6), id="both"),
        pytest.param((1.0, 0.0, 0.1), id="people"),
        pytest.param((0.0, 0.5, 1.0), id="draws"),
    ][:: examples_apart(2)],
)
def test_the_variance_is_that_of_new_people_and_new_draws(effects):
    """Of the mean, and of the difference of two mechanisms on the same people: over 250 worlds, drawn whole."""
    rng, means, gaps, told, told_gaps = np.random.default_rng(3), [], [], [], []
    for _ in range(250):
        person, shared, cell = effects
        sides = [rng.normal(size=(count, 1)) for count in (200, 200)]
        pair = []
        for lift in (1.2, 0.6):
            mine, base = (
                aim + person * own + shared * rng.normal(size=4) + cell * rng.normal(size=(200, 4))
                for own, aim in zip(sides, (lift, 0.0), strict=True)
            )
            pair.append(power_over_draws(mine, base, 0.1).power)
        first, second = pair
        means.append(first.estimate)
        told.append(first.variance)
        gaps.append(first.estimate - second.estimate)
        both = correlation(first, second) * math.sqrt(first.variance * second.variance)
        told_gaps.append(first.variance + second.variance - 2 * both)
    # The standard deviation of 250 draws is known to a tenth; a variance that is too small is the worse fault.
    assert 0.85 < np.sqrt(np.mean(told)) / np.std(means) < 1.35
    assert 0.85 < np.sqrt(np.mean(told_gaps)) / np.std(gaps) < 1.35


def test_the_variance_of_a_difference_is_that_of_plain_loops():
    """What people share is taken off; draws of two mechanisms are independent."""
    rng = np.random.default_rng(4)
    sides = [scores(np.random.default_rng(5), lift=lift) for lift in (1.0, 0.5)]
    sides[1] = [item + 0.3 * rng.normal(size=item.shape) for item in sides[1]]
    first, second = (power_over_draws(*item, 0.1).power for item in sides)
    shared = sum(
        float(a) * float(b)
        for one, other in ((first.originals, second.originals), (first.controls, second.controls))
        for a, b in zip(one, other, strict=True)
    )
    together = shared / math.sqrt(first.variance * second.variance)
    found = difference(first, second)
    assert together > 0.2 and found.correlation == pytest.approx(together)
    one, other = (item.interval(0.95) for item in (first, second))
    x, y = first.estimate - one.low, other.high - second.estimate
    assert found.estimate.low == pytest.approx(found.estimate.value - math.sqrt(x * x + y * y - 2 * together * x * y))
    x, y = one.high - first.estimate, second.estimate - other.low
    assert found.estimate.high == pytest.approx(found.estimate.value + math.sqrt(x * x + y * y - 2 * together * x * y))
    assert found.estimate.method == "paired, people and draws"
    # Printed by `benchmarks/coverage_bench.py draws`; an interval is offered from 0.93 on.
    assert found.estimate.coverage >= intervals.ENOUGH


def test_a_share_over_draws_is_that_of_plain_loops():
    rng = np.random.default_rng(6)
    values = (rng.random((50, 3)) < 0.4).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    found = share_over_draws(values)
    columns = [[float(x) for x in column if not math.isnan(x)] for column in values.T]
    means = [sum(column) / len(column) for column in columns]
    assert found.by_draw == pytest.approx(means)
    moved = [
        sum((row[d] - means[d]) / len(columns[d]) for d in range(3) if not math.isnan(row[d])) / 3 for row in values
    ]
    assert found.error.people**2 == pytest.approx(50 / 49 * sum(x * x for x in moved))
    mean = sum(means) / 3
    assert found.error.draws**2 == pytest.approx(sum((x - mean) ** 2 for x in means) / 2 / 3)


def test_one_draw_is_refused():
    with pytest.raises(ValueError, match="at least 2 draws"):
        power_over_draws(np.zeros((50, 1)), np.zeros((50, 1)), 0.1)
    with pytest.raises(ValueError, match="at least 2 draws"):
        share_over_draws(np.zeros((50, 1)))


# The whole


@pytest.fixture
def place(tmp_path):
    drawn(1).to_csv(tmp_path / "people.csv", index=False)
    drawn(2).to_csv(tmp_path / "control.csv", index=False)
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump(EXACT))
    return tmp_path


def program(place, code=NOISE, more="", name="program"):
    """A command that runs this code, with the table, the release and the seed as its arguments."""
    (place / f"{name}.py").write_text(code)
    return f"{sys.executable} {place / f'{name}.py'} {{input}} {{output}} {{seed}} {more}".strip()


def compared(place, mechanisms, releases=(), config=EXACT, **more):
    return cvpl.compare(
        place / "people.csv", releases, config, control=place / "control.csv", mechanisms=mechanisms, **more
    )


def release_of(result, name):
    return next(item for item in result.releases if item.name == name)


def test_a_mechanism_s_risk_is_the_mean_over_its_draws_and_a_second_run_repeats_it(place):
    weak, strong = program(place, more="2"), program(place, more="9")
    before = (place / "people.csv").read_bytes()
    found, again = (compared(place, {"weak": weak, "strong": strong}, draws=4) for _ in range(2))
    assert found.to_json() == again.to_json()
    assert (place / "people.csv").read_bytes() == before
    for item in found.releases:
        risks = item.draws.risks
        assert len(risks) == item.draws.count == 4 and len(set(risks)) > 1 and item.draws.degrees == 3
        assert item.risk.estimate == pytest.approx(sum(risks) / 4)
        assert item.risk.low < item.risk.estimate < item.risk.high
        assert item.risk.power == pytest.approx(item.power.power) and item.risk.method == "people and draws"
        assert item.draws.mechanism.kind == "command"
        assert item.verdict.sentence.startswith("Over 4 draws: ")
        assert item.top1_low < item.top1_hit_rate < item.top1_high
    assert [item.name for item in found.releases] == ["weak", "strong"]
    (gap,) = found.differences
    assert (gap.first, gap.second, gap.tied, gap.method) == ("weak", "strong", False, "paired, people and draws")
    assert gap.estimate == pytest.approx(found.releases[0].risk.estimate - found.releases[1].risk.estimate)
    jsonschema.validate(json.loads(found.to_json()), comparison_schema())
    assert cvpl.ComparisonResult.from_json(found.to_json()) == found
    page = found.to_html()
    assert "Draws of the mechanisms" in page and "--draws 4" in page and "weak=" in page


def test_each_draw_is_the_audit_of_its_release(place):
    """The figures of the draws are those of audits of the very releases, and utility is their mean."""
    kept = place / "kept"
    kept.mkdir()
    code = f"{NOISE}import shutil; shutil.copy(release, {str(kept)!r} + '/' + seed + '.csv')\n"
    found = compared(place, {"noise": program(place, code, "4")}, draws=2).releases[0]
    audits = [
        cvpl.audit(place / "people.csv", file, EXACT, control=place / "control.csv") for file in kept.glob("*.csv")
    ]
    assert sorted(found.draws.risks) == pytest.approx(sorted(item.risk.estimate for item in audits))
    assert found.top1_hit_rate == pytest.approx(np.mean([item.truth.top1_hit_rate for item in audits]))
    alone = [
        cvpl.compare(place / "people.csv", [file], EXACT, control=place / "control.csv").releases[0].utility
        for file in kept.glob("*.csv")
    ]
    for name in ("correlation_preservation", "marginal_similarity", "distance_preservation"):
        assert getattr(found.utility, name) == pytest.approx(np.mean([getattr(item, name) for item in alone]))


def test_a_mechanism_that_is_always_the_same_has_no_spread_and_the_risk_of_its_release(place):
    code = """import sys, csv
rows = list(csv.DictReader(open(sys.argv[1])))
for row in rows: row["pay"] = round(float(row["pay"]) / 5) * 5
writer = csv.DictWriter(open(sys.argv[2], "w", newline=""), rows[0]); writer.writeheader(); writer.writerows(rows)
"""
    rounded = drawn(1)
    rounded["pay"] = (rounded["pay"] / 5).round() * 5
    rounded.sample(frac=1, random_state=1).to_csv(place / "rounded.csv", index=False)
    found = compared(place, {"rounds": program(place, code)}, [place / "rounded.csv"], draws=3)
    drawn_often, file = release_of(found, "rounds"), release_of(found, "rounded.csv")
    assert drawn_often.draws.risks == pytest.approx([file.risk.estimate] * 3)
    assert drawn_often.draws.deviation == drawn_often.draws.draws_error == 0 < drawn_often.draws.people_error
    assert file.draws is None and all(item.tied for item in found.differences)
    assert "how much another draw would differ is unknown" in found.to_html()


def test_the_same_mechanism_twice_is_tied_and_others_change_nothing(place):
    noise = program(place, more="4")
    alone = compared(place, {"one": noise}, draws=3).releases[0]
    found = compared(place, {"one": noise, "two": noise}, draws=3)
    assert release_of(found, "one").draws == alone.draws and release_of(found, "one").risk == alone.risk
    assert release_of(found, "two").draws.risks != alone.draws.risks
    assert [item.tied for item in found.differences] == [True]
    assert found.differences[0].correlation > 0.1


def test_every_draw_gets_a_seed_of_its_own_and_a_fresh_copy_of_the_table(place):
    log = place / "log.txt"
    code = f"""import sys, hashlib
table, release, seed = sys.argv[1:]
content = open(table, "rb").read()
with open({str(log)!r}, "a") as log:
    log.write(f"{{seed}} {{hashlib.sha256(content).hexdigest()}} {{table}}\\n")
lines = content.decode().splitlines()
open(release, "w").write("\\n".join([lines[0]] + sorted(lines[1:], key=lambda line: hash((line, seed)))))
open(table, "w").write("gone")
"""
    compared(place, {"copy": program(place, code)}, draws=3)
    called = [line.split() for line in log.read_text().splitlines()]
    assert len({words[0] for words in called}) == len(called) == 3
    assert {words[1] for words in called} == {hashlib.sha256((place / "people.csv").read_bytes()).hexdigest()}
    assert str(place / "people.csv") not in {words[2] for words in called}


def test_functions_and_built_in_mechanisms_are_mechanisms_too(place):
    def noise(table, rng):
        frame = pd.read_csv(table)
        frame["pay"] += rng.normal(0, 3, len(frame))
        frame.to_csv(place / "made.csv", index=False)
        return place / "made.csv"

    found = compared(place, {"function": noise, "built in": "perturbation low"}, draws=2)
    kinds = {item.name: item.draws.mechanism for item in found.releases}
    assert (kinds["function"].kind, kinds["function"].name) == ("function", "noise")
    assert (kinds["built in"].kind, kinds["built in"].name, kinds["built in"].strength) == (
        "built_in",
        "perturbation",
        "low",
    )
    assert all(len(set(item.draws.risks)) == 2 for item in found.releases)
    assert "a mechanism was a user-defined function" in found.to_html()


def test_people_who_are_linked_for_certain_in_one_draw_are_told_of(place):
    """One of four draws copies everybody, the others nobody: the mean over draws cannot be told from 0."""
    number = iter(range(4))

    def sometimes(table, rng):
        people = pd.read_csv(table)
        return people.sample(frac=1, random_state=1) if next(number) == 2 else drawn(7).assign(who=people["who"])

    found = compared(place, {"sometimes": sometimes}, draws=4).releases[0]
    assert found.risk.low <= 0 < found.risk.estimate
    assert found.verdict.kind == "linkable"
    assert found.verdict.sentence.startswith("In one of 4 draws: about ")
    assert "the mean over draws cannot be told from 0" in found.verdict.sentence
    # The copies are in one draw, and close the gate all the same.
    assert any(item.check == "exact_copies" and item.closes_gate for item in found.preflight)


def test_the_attacker_is_the_strongest_on_average_and_intervals_allow_for_the_pick(place):
    config = EXACT | {
        "attackers": {
            "blind": {"preset": "paper", "blocking": "none", "knows": ["city"]},
            "sees": {"preset": "paper", "blocking": "none"},
        }
    }
    found = compared(place, {"noise": program(place, more="3")}, config=config, draws=3).releases[0]
    assert found.attacker == found.risk.attacker == "sees"
    assert (found.risk.among, found.picked.among) == (2, 2) and found.risk.confidence == pytest.approx(0.975)
    alone = compared(place, {"noise": program(place, more="3")}, draws=3).releases[0]
    assert alone.risk.estimate == pytest.approx(found.risk.estimate)
    assert alone.risk.high - alone.risk.low < found.risk.high - found.risk.low


def test_a_mechanism_that_destroys_everything_is_not_assessable_and_comes_last(place):
    def constants(table, rng):
        return pd.read_csv(table).assign(city="a", age=40, pay=float(rng.normal(100, 1)))

    found = compared(place, {"constants": constants, "noise": program(place, more="3")}, draws=2)
    assert [item.name for item in found.releases] == ["noise", "constants"]
    last = found.releases[1]
    assert not last.assessable and last.reasons and last.risk is None and last.risk_places is None
    assert last.verdict.kind == "not_assessable" and last.verdict.sentence.startswith("Over 2 draws: the risk of")
    assert last.draws.risks == [] and last.draws.deviation is None and last.draws.count == 2
    assert last.on_frontier is None and found.differences == []
    assert "not assessable" in found.to_html()


def test_with_too_small_a_control_the_risk_of_a_mechanism_is_unknown(place):
    drawn(2).head(12).to_csv(place / "control.csv", index=False)
    (found,) = compared(place, {"noise": program(place, more="3")}, draws=2).releases
    assert found.risk is None and found.power is None and found.draws.risks == [] and found.assessable
    assert found.verdict.kind == "undetermined" and found.top1_hit_rate > 0.3


def test_the_figures_of_draws_are_rounded(place):
    found = compared(place, {"noise": program(place, more="4")}, config=CONFIG, draws=3)
    (item,) = found.releases
    for value in (*item.draws.risks, item.risk.estimate, item.top1_hit_rate):
        assert value * 20 == pytest.approx(round(value * 20), abs=1e-9)


# What is refused


def test_mechanisms_need_a_control(place):
    with pytest.raises(cvpl.UsageError, match="needs a control"):
        cvpl.compare(place / "people.csv", [], EXACT, mechanisms={"noise": program(place, more="1")})


@pytest.mark.parametrize(
    ("mechanisms", "more", "told"),
    [
        ({"noise": "perturbation low"}, {"draws": 1}, "draws is 1"),
        ({"": "perturbation low"}, {}, "needs a name"),
        ({"control.csv": "perturbation low"}, {"releases": ["control.csv"]}, "too"),
        ({"noise": "perturbation"}, {}, "needs one"),
        ({"noise": "unheard of"}, {}, "no built-in mechanism"),
        (["perturbation low"], {}, "mapping"),
        ({}, {}, "no release to compare"),
    ],
)
def test_what_is_no_mechanism_is_refused(place, mechanisms, more, told):
    with pytest.raises(cvpl.UsageError, match=told):
        compared(place, mechanisms, **more)


def test_a_failing_command_is_reported_with_its_draw_and_its_output_kept(place):
    code = "import sys, shutil, os\nif os.path.exists('%s'):\n    print('a cell'); sys.exit(3)\n" % (place / "fail")
    code += "shutil.copy(sys.argv[1], sys.argv[2]); open('%s', 'w')\n" % (place / "fail")
    with pytest.raises(cvpl.UsageError, match=r"mechanism 'odd', draw 2: the command ended with exit code 3") as caught:
        compared(place, {"odd": program(place, code)}, draws=2, folder=place / "out")
    assert "a cell" not in str(caught.value)
    assert "a cell" in (place / "out" / "failed" / "odd_draw_02" / "stdout.txt").read_text()


def test_a_command_that_hangs_is_a_limit(place):
    with pytest.raises(cvpl.LimitError, match="did not end within"):
        compared(place, {"slow": program(place, "import time; time.sleep(60)")}, draws=2, timeout=0.3)


def test_a_release_that_cannot_be_read_names_its_mechanism(place):
    code = "import sys; open(sys.argv[2], 'w').write('who,city\\n1,a\\n')"
    with pytest.raises(cvpl.InputError, match="odd"):
        compared(place, {"odd": program(place, code), "noise": program(place, more="1", name="other")}, draws=2)


def test_a_draw_with_other_columns_is_refused(place):
    number = iter(range(2))

    def odd(table):
        frame = pd.read_csv(table).sample(frac=1, random_state=1)
        return frame if next(number) == 0 else frame.drop(columns="pay")

    with pytest.raises(cvpl.UsageError, match="draw 2: its release has 0 more and 1 fewer columns"):
        compared(place, {"odd": odd}, draws=2)


# The command


def test_the_command_compares_mechanisms_beside_releases(place, capsys):
    shutil.copy(place / "control.csv", place / "other.csv")
    other = drawn(1).assign(pay=lambda frame: frame["pay"].round(-1))
    other.to_csv(place / "rounded.csv", index=False)
    base = ["compare", str(place / "people.csv"), str(place / "rounded.csv"), "--config", str(place / "audit.yaml")]
    base += ["--control", str(place / "control.csv"), "--mechanism", f"noise={program(place, more='4')}"]
    assert run([*base, "--draws", "2", "--out", str(place / "out")]) == 0
    shown = capsys.readouterr().out
    assert "noise" in shown and "rounded.csv" in shown
    found = json.loads((place / "out" / "comparison.json").read_text())
    assert [item["draws"] and item["draws"]["count"] for item in found["releases"]].count(2) == 1


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--mechanism", "python noise.py {input} {output}"], "has no name"),
        (["--mechanism", "a=perturbation low", "--mechanism", "a=perturbation high"], "used twice"),
        (["people.csv", "--draws", "3"], "for mechanisms"),
        ([], "at least one RELEASE"),
    ],
)
def test_calls_that_make_no_sense_are_refused(place, capsys, more, told):
    words = ["compare", str(place / "people.csv"), *more, "--config", str(place / "audit.yaml")]
    assert run([*words, "--control", str(place / "control.csv")]) == 2
    assert told in " ".join(capsys.readouterr().err.split())
