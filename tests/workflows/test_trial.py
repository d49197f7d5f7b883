"""Trials of a mechanism: who is in, what makes the releases, what fails, what is kept, and what the figures say."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import cvpl
from cvpl.answers.sentences import trial_answer
from cvpl.cli.main import run
from cvpl.config.loading import load
from cvpl.workflows.draws.mechanism import CommandStopped, CommandTimeout, fill_placeholders, run_command, split_command
from cvpl.workflows.trial.assembly import coins, draw_balanced
from cvpl.workflows.trial.rounds import canonical_clusters, draw_seed, read_people
from trial_people import CONFIG, PEOPLE, drawn

COPY = "cp {input} {output}"
NOISE = """import sys, csv, random
table, release, seed = sys.argv[1:]
rng = random.Random(int(seed))
rows = list(csv.DictReader(open(table)))
for row in rows:
    row["pay"] = float(row["pay"]) + rng.gauss(0, 20)
    row["age"] = int(row["age"]) + rng.randrange(-5, 6)
rng.shuffle(rows)
writer = csv.DictWriter(open(release, "w", newline=""), rows[0])
writer.writeheader()
writer.writerows(rows)
"""


@pytest.fixture
def table(tmp_path):
    drawn().to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


@pytest.fixture
def noise(tmp_path):
    (tmp_path / "noise.py").write_text(NOISE)
    return f"{sys.executable} {tmp_path / 'noise.py'} {{input}} {{output}} {{seed}}"


def program(tmp_path, code):
    """A command that runs this code, with the table, the release and the seed as its arguments."""
    (tmp_path / "program.py").write_text("import sys, os, time, shutil\n" + code)
    return f"{sys.executable} {tmp_path / 'program.py'} {{input}} {{output}} {{seed}}"


HOLDS = "import fcntl; held = open({file!r}, 'w'); fcntl.flock(held, fcntl.LOCK_EX); time.sleep(60)"
"""A program that locks a file for as long as it runs: the system unlocks it when the process ends, however it ends."""

ESCAPES = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 99)
        os.execve(sys.executable, [sys.executable, "-c", {child!r}], {{}})
    os._exit(0)
os.wait()
"""
"""Starts a child that has left its parent, its process group, its session, its open files and its environment."""
ADOPTED = pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to a process of one's choice")


def escaping(held):
    return ESCAPES.format(child=f"import time; {HOLDS.format(file=str(held))}")


def appears(file):
    while not file.exists():
        time.sleep(0.02)


def runs(file):
    """Whether a process still holds the file after a while."""
    import fcntl  # noqa: PLC0415 - not on every system

    for _ in range(100):
        with file.open() as opened, contextlib.suppress(BlockingIOError):
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        time.sleep(0.02)
    return True


# Who is in


@pytest.mark.parametrize("rounds", [2, 5, 8])
def test_balanced_rounds_are_complementary_in_pairs_and_everybody_is_in_for_half_of_them(rounds):
    inside = draw_balanced(101, rounds, 3)
    for first in range(0, rounds - 1, 2):
        assert (inside[:, first] ^ inside[:, first + 1]).all()
    assert set(inside[:, : rounds - rounds % 2].sum(axis=1)) == {rounds // 2}
    assert all(count in (50, 51) for count in inside.sum(axis=0))
    for one, other in itertools.combinations(range(0, rounds, 2), 2):
        assert 20 < (inside[:, one] & inside[:, other]).sum() < 32  # another split, not the same one again


def test_coins_are_fair_and_independent():
    inside = coins(4000, 8, 5)
    assert abs(inside.mean() - 0.5) < 0.02
    joint = np.corrcoef(inside.T.astype(float)) - np.eye(8)
    assert np.abs(joint).max() < 0.07
    assert len({column.tobytes() for column in inside.T}) == 8


def test_the_order_of_rows_does_not_decide_who_is_in(tmp_path):
    people = drawn().assign(home=lambda frame: frame.who // 3)
    mixed = people.sample(frac=1, random_state=4)
    config = {**CONFIG, "columns": {**CONFIG["columns"], "home": {"role": "group"}}}
    units = []
    for at, frame in enumerate((people, mixed)):
        frame.to_csv(tmp_path / f"{at}.csv", index=False)
        found = read_people(tmp_path / f"{at}.csv", load(config))
        assert found.grouped and found.clusters == 67
        units.append(dict(zip(frame.who, found.cluster, strict=True)))
        homes = pd.Series(found.cluster).groupby(frame.home.to_numpy()).nunique()
        assert (homes == 1).all()
    assert units[0] == units[1]


def test_units_are_numbered_by_their_smallest_key_and_then_by_their_sum():
    keys = np.array([9, 1, 5, 1, 3], dtype=np.uint64)
    codes = np.array([7, 7, 2, 4, 4])  # keys {9, 1}, {5}, {1, 3}
    assert canonical_clusters(keys, codes).tolist() == [1, 1, 2, 0, 0]


def test_a_table_of_too_few_people_is_refused(tmp_path):
    drawn(59).to_csv(tmp_path / "few.csv", index=False)
    with pytest.raises(cvpl.InputError, match="59 people, and a trial needs at least 60"):
        cvpl.trial(tmp_path / "few.csv", COPY, CONFIG, rounds=2)


# The figures


def test_the_figures_are_those_of_an_audit_of_every_round(table):
    """The power of each round is that of `cvpl.audit` on the same halves, exactly."""
    seen = []

    def keeps(path, rng):
        people = pd.read_csv(path)
        made = people.assign(pay=people.pay + rng.normal(0, 20, len(people)))
        seen.append((people, made))
        return made

    config = {**CONFIG, "report": {"suppress_below": 1}}
    found = cvpl.trial(table, keeps, config, rounds=2)
    whole = pd.read_csv(table)
    for item, (people, made) in zip(found.rounds, seen, strict=True):
        control = whole[~whole.who.isin(people.who)]
        assert (item.inside, item.outside, item.released) == (len(people), len(control), len(made))
        alone = cvpl.audit(people, made, config, control=control)
        assert [one.power for one in item.power] == [one.power for one in alone.power]
        assert item.top1_hit_rate == alone.truth.top1_hit_rate
    assert found.risk.power == pytest.approx(
        np.mean(
            [next(one.power for one in item.curve if one.false_rate == found.risk.false_rate) for item in found.rounds]
        )
    )
    assert found.risk.estimate == pytest.approx((found.risk.power - 0.1) / 0.9)
    assert found.risk.false_rate == 0.1  # 100 people who are out are too few for 5%
    assert found.risk.low <= found.risk.estimate <= found.risk.high


def test_a_copy_reads_everybody_and_an_epsilon_above_3(tmp_path):
    drawn(1000).to_csv(tmp_path / "people.csv", index=False)
    found = cvpl.trial(tmp_path / "people.csv", COPY, CONFIG, rounds=8, epsilon=1.0, jobs=2)
    assert found.risk.estimate == 1 and found.risk.low > 0.9 and found.risk.false_rate == 0.05
    assert found.budget.lower_bound > 3 and found.budget.alarm
    assert [item.exceeded for item in found.budget.allowed] == [True] * 3
    assert found.budget.allowed[1].allowed == pytest.approx(0.1359, abs=1e-4)
    assert found.membership == "coin" and not found.warnings
    assert found.exposure.shares[-1].inside == 1 and found.exposure.shares[0].outside > 0.6


def test_public_marginals_read_an_epsilon_of_0_and_no_risk(tmp_path):
    drawn(1000).to_csv(tmp_path / "people.csv", index=False)
    public = drawn(1000, seed=77)

    def marginals(path, rng):
        return pd.DataFrame({name: rng.permutation(public[name]) for name in ("city", "age", "pay")})

    found = cvpl.trial(tmp_path / "people.csv", marginals, CONFIG, rounds=8, epsilon=1.0)
    assert found.budget.lower_bound == 0 and found.budget.alarm is False
    assert found.risk.low <= 0 <= found.risk.high
    assert "at most" in found.to_markdown() and "does not contradict the stated epsilon of 1" in found.to_markdown()


def test_planted_people_are_unusual_and_not_in_the_figures_of_the_others(table):
    tables = []

    def keeps(path):
        tables.append(pd.read_csv(path))
        return tables[-1]

    found = cvpl.trial(table, keeps, CONFIG, rounds=2, plant=40)
    original = pd.read_csv(table)
    both = pd.concat(tables)
    planted = both[~both.who.isin(original.who)]
    assert len(planted) == 40 and planted.who.is_unique
    low, high = original.pay.quantile(0.05), original.pay.quantile(0.95)
    assert ((planted.pay <= low) | (planted.pay >= high)).all()
    assert planted.city.nunique() == 1 and planted.city.iloc[0] == original.city.value_counts().index[-1]
    assert found.people == PEOPLE and [item.inside + item.outside for item in found.rounds] == [PEOPLE] * 2
    assert found.planted.planted == 40 and found.planted.power == 1 and found.planted.everybody == found.risk.power


def test_figures_of_planted_people_are_exact_and_those_of_people_are_rounded(table, noise):
    """Half of 40 planted people are in each round, so the mean of two rounds is a multiple of a fortieth."""
    told, exact = (
        cvpl.trial(table, noise, {**CONFIG, "report": {"suppress_below": k}}, rounds=2, plant=40) for k in (10, 1)
    )
    made = told.planted
    assert (made.power, made.low, made.high) == (exact.planted.power, exact.planted.low, exact.planted.high)
    assert 0 < made.power < 1 and round(made.power / 0.5, 6) % 1 != 0  # the step of a share of 40 people
    assert round(made.everybody / 0.1, 6) % 1 == 0 and made.everybody != exact.planted.everybody


def test_the_mean_share_of_linked_people_is_the_power(table, noise, tmp_path):
    """The file of single people agrees with the figures, and only its owner may read it."""
    file = tmp_path / "links.csv"
    config = {**CONFIG, "report": {"suppress_below": 1}}
    found = cvpl.trial(table, noise, config, rounds=8, per_person=file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    links = pd.read_csv(file)
    assert len(links) == PEOPLE and (links.rounds_in == 4).all() and (links.rounds_out == 4).all()
    assert links.linked_in.sum() / links.rounds_in.sum() == pytest.approx(found.risk.power, abs=0.03)
    assert links.linked_out.sum() / links.rounds_out.sum() == pytest.approx(found.risk.false_rate, abs=0.02)
    assert found.exposure.shares[0].inside == pytest.approx((links.linked_in == 0).mean())
    assert links["rank"].is_monotonic_increasing and sorted(links.row) == list(range(PEOPLE))
    assert links.expected_evidence.is_monotonic_decreasing
    assert links.linked_in[: PEOPLE // 4].mean() > links.linked_in[-PEOPLE // 4 :].mean()
    assert [item.rule for item in found.warnings][-1] == "per_person" and "links.csv" not in found.to_html()


def test_nobody_is_ranked_by_fewer_than_four_rounds(table, noise, tmp_path):
    found = cvpl.trial(table, noise, CONFIG, rounds=2, per_person=tmp_path / "links.csv")
    links = pd.read_csv(tmp_path / "links.csv")
    assert links["rank"].isna().all() and links.row.tolist() == list(range(PEOPLE)) and links.rounds_in.sum() == PEOPLE
    assert "unranked, since fewer than 4 rounds finished" in found.warnings[-1].message


def test_a_group_is_in_or_out_together_and_the_unit_is_stated(tmp_path):
    drawn().assign(home=lambda frame: frame.who // 2).to_csv(tmp_path / "people.csv", index=False)
    config = {**CONFIG, "columns": {**CONFIG["columns"], "home": {"role": "group"}}}
    homes = []

    def keeps(path):
        made = pd.read_csv(path)
        homes.append(set(made.home))
        assert (made.groupby("home").size() == 2).all()
        return made

    found = cvpl.trial(tmp_path / "people.csv", keeps, config, rounds=2)
    assert (found.unit, found.people) == ("group", 100) and not homes[0] & homes[1]


def test_without_a_configuration_the_roles_are_guessed_and_stated(table, noise):
    guessed = []
    found = cvpl.trial(table, noise, rounds=2, attackers=["rarity"], on_guess=guessed.append)
    assert {item.column for item in found.assumptions.columns} == {"who", "city", "age", "pay"}
    assert guessed[0].assumptions == found.assumptions
    assert "There was no configuration" in found.to_html()


def test_the_order_of_rows_changes_no_figure(tmp_path):
    """The mechanism rounds numbers, whatever the order of its rows."""
    found = []
    for at, frame in enumerate((drawn(), drawn().sample(frac=1, random_state=4))):
        frame.to_csv(tmp_path / f"{at}.csv", index=False)
        made = lambda path: pd.read_csv(path).assign(pay=lambda it: it.pay.round(-1), age=lambda it: it.age // 9 * 9)  # noqa: E731
        found.append(cvpl.trial(tmp_path / f"{at}.csv", made, CONFIG, rounds=4, bound=True))
    assert found[0].model_copy(update={"inputs": {}}) == found[1].model_copy(update={"inputs": {}})


# What makes the releases


def test_a_command_is_split_without_a_shell_and_only_its_places_are_filled(tmp_path):
    words = split_command("prog '--in={input}' {output} --seed {seed} '{other}' '$HOME'")
    assert fill_placeholders(words, tmp_path / "a b", tmp_path / "c", 7) == [
        "prog", f"--in={tmp_path / 'a b'}", str(tmp_path / "c"), "--seed", "7", "{other}", "$HOME",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("mechanism", "more", "message"),
    [
        ("cp {input}", {}, "lacks {output}"),
        ("cp 'a {input} {output}", {}, "a quote that is not closed"),
        ("mondrain", {"strength": 5}, "Did you mean `mondrian`"),
        ("mondrian", {}, "strength: mondrian needs one"),
        (COPY, {"strength": 5}, "Leave the strength out"),
        (7, {}, "a int is given where a command"),
        (COPY, {"rounds": 1}, "rounds is 1; allowed is a whole number from 2"),
        (COPY, {"timeout": 0}, "timeout is 0"),
        (COPY, {"epsilon": -1}, "epsilon is -1"),
        (COPY, {"epsilon": 1, "delta": 1}, "delta is 1"),
        (COPY, {"delta": 1e-5}, "delta is given without a budget"),
        (COPY, {"sampling": 0.5}, "given without a noise multiplier"),
        (COPY, {"epsilon": 1, "noise_steps": 3}, "given without a noise multiplier"),
        ("cat {input} > {output}", {}, "has '>' in it, but it runs without a shell"),
        (COPY, {"on_failure": "ignore"}, "on_failure is 'ignore'"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused_before_any_work(table, mechanism, more, message):
    with pytest.raises(cvpl.UsageError, match=message):
        cvpl.trial(table, mechanism, CONFIG, **more)


def test_a_built_in_mechanism_needs_a_configuration_and_knows_the_true_matches(table):
    with pytest.raises(cvpl.UsageError, match="needs a configuration"):
        cvpl.trial(table, "mondrian", strength=5)
    config = {**CONFIG, "columns": {**CONFIG["columns"], "who": {"role": "ignore"}}}
    found = cvpl.trial(table, "mondrian", config, strength=5, rounds=2)
    assert (found.mechanism.kind, found.mechanism.strength) == ("built_in", 5)
    assert all(item.top1_hit_rate is not None for item in found.rounds)


@pytest.mark.parametrize("ending", [".csv.gz", ".parquet"])
def test_a_command_gets_a_table_of_the_same_format(tmp_path, ending):
    file = tmp_path / f"people{ending}"
    getattr(drawn(), "to_parquet" if ending == ".parquet" else "to_csv")(file, index=False)
    found = cvpl.trial(file, COPY, CONFIG, rounds=2, plant=5)
    assert found.risk.estimate == 1 and found.inputs["original"].rows == PEOPLE


def test_a_dataframe_gives_the_same_figures_as_its_file(table):
    def keeps(path, rng):
        read = pd.read_csv if path.suffix == ".csv" else pd.read_parquet
        people = read(path)
        return people.assign(pay=people.pay + rng.normal(0, 20, len(people)))

    one, other = (cvpl.trial(data, keeps, CONFIG, rounds=2) for data in (table, pd.read_csv(table)))
    assert one.power == other.power and one.rounds == other.rounds


# What fails


FAILURES = {
    "exits": ("sys.stderr.write('cell 42.17'); sys.exit(7)", "the command ended with exit code 7"),
    "writes nothing": ("print('done')", "the command ended with exit code 0 and wrote nothing to {output}"),
    "writes an empty file": ("open(sys.argv[2], 'w')", "the command ended with exit code 0 and wrote an empty file"),
    "is killed": ("os.kill(os.getpid(), 9)", "the command was ended by signal 9"),
    "writes no table": ("open(sys.argv[2], 'w').write('a,b\\n1,2\\n')", "its release cannot be used"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_command_that_fails_is_reported_with_its_round_and_its_output_is_kept_aside(table, tmp_path, name, capsys):
    code, message = FAILURES[name]
    config = tmp_path / "audit.yaml"
    config.write_text(json.dumps(CONFIG))
    call = ["trial", str(table), "-m", program(tmp_path, code), "-c", str(config), "--rounds", "2"]
    assert run([*call, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert f"round 1 of 2: {message}" in said and "42.17" not in said
    aside = tmp_path / "out" / "failed" / "round_01"
    if name in ("exits", "writes nothing"):
        kept = aside / ("stderr.txt" if name == "exits" else "stdout.txt")
        assert kept.read_text().strip() in ("cell 42.17", "done") and str(aside) in said
        assert (stat.S_IMODE(aside.stat().st_mode), stat.S_IMODE(kept.stat().st_mode)) == (0o700, 0o600)
    assert not (tmp_path / "out" / "trial.json").exists()


def test_a_command_that_cannot_be_started_is_reported(table):
    with pytest.raises(cvpl.UsageError, match="'no-such-program' could not be started: no such file"):
        cvpl.trial(table, "no-such-program {input} {output}", CONFIG, rounds=2)


@pytest.mark.skipif(os.name != "posix", reason="files are locked as on a POSIX system")
def test_a_command_that_hangs_is_killed_with_its_children(table, tmp_path):
    held = tmp_path / "held"
    child = f"import time; {HOLDS.format(file=str(held))}"
    code = f"import subprocess; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)"
    began = time.monotonic()
    with pytest.raises(cvpl.LimitError, match="round 1 of 2: the command did not end within 1 seconds"):
        cvpl.trial(table, program(tmp_path, code), CONFIG, rounds=2, timeout=1)
    assert time.monotonic() - began < 10
    assert held.exists() and not runs(held)


@ADOPTED
@pytest.mark.parametrize(("wait", "ended"), [("60", CommandTimeout), ("0.5", None)], ids=["at a timeout", "at its end"])
def test_a_command_ends_with_children_that_have_left_its_process_group(tmp_path, wait, ended):
    held = tmp_path / "held"
    code = f"import os, sys, time{escaping(held)}time.sleep({wait})"
    with contextlib.nullcontext() if ended is None else pytest.raises(ended):
        assert run_command([sys.executable, "-c", code], tmp_path, 2, threading.Event()) == 0
    assert held.exists() and not runs(held)


SOMETIMES = """
count = len(os.listdir({folder!r}))
open(os.path.join({folder!r}, str(count)), "w")
if count == 2:
    {fault}
shutil.copy(sys.argv[1], sys.argv[2])
"""
FAULTS = {
    "fails": ("sys.exit(3)", "exit code 3", 3),
    "changes columns": (
        "sys.exit(open(sys.argv[2], 'w').write(open(sys.argv[1]).read().replace('city', 'town')) and 0)",
        "the columns of its release differ from those of round 1 (1 more, 1 fewer)",
        None,
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_trial_goes_on_without_a_failed_round_if_asked_to(table, tmp_path, name):
    fault, reason, code = FAULTS[name]
    folder = tmp_path / "runs"
    folder.mkdir()
    mechanism = program(tmp_path, SOMETIMES.format(folder=str(folder), fault=fault))
    found = cvpl.trial(table, mechanism, CONFIG, rounds=4, on_failure="continue", epsilon=2.0)
    failed = [item for item in found.rounds if item.failed is not None]
    assert [item.number for item in failed] == [3] and reason in failed[0].failed.reason
    assert failed[0].failed.exit_code == code and not failed[0].power
    assert [warning.rule for warning in found.warnings if warning.rule == "rounds_failed"]
    assert found.budget.lower_bound is None  # a round may have failed because of who was in
    assert "Round 3 failed" in found.to_markdown()


def test_a_function_that_fails_shows_its_error_only_in_the_chain(table):
    def breaks(path):
        raise ValueError("cell 42.17")

    with pytest.raises(cvpl.UsageError, match="round 1 of 2: function 'breaks' failed with a ValueError") as caught:
        cvpl.trial(table, breaks, CONFIG, rounds=2)
    assert "42.17" not in str(caught.value)
    with pytest.raises(cvpl.UsageError, match="returned a int, not a release"):
        cvpl.trial(table, lambda path: 5, CONFIG, rounds=2)


def test_releases_of_very_different_sizes_are_warned_of(table):
    sizes = itertools.cycle([1.0, 0.5])
    found = cvpl.trial(table, lambda path: pd.read_csv(path).sample(frac=next(sizes), random_state=1), CONFIG, rounds=2)
    assert {"release_sizes_differ", "few_rounds"} <= {warning.rule for warning in found.warnings}


def test_a_table_that_changes_between_rounds_is_refused(table):
    def changes(path):
        made = pd.read_csv(path)
        table.write_text(table.read_text() + "999,a,30,100\n")
        return made

    with pytest.raises(cvpl.InputError, match="the file changed while it was read"):
        cvpl.trial(table, changes, CONFIG, rounds=2)


def test_a_bound_needs_an_attacker_that_does_not_know_who_is_in(table):
    family = {**CONFIG, "attacker": "default"}
    with pytest.raises(cvpl.UsageError, match="does not know who is in"):
        cvpl.trial(table, COPY, family, attackers=["rarity_reference"], bound=True)


# Budgets of Gaussian noise


def test_gaussian_noise_needs_its_extra(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(cvpl.UsageError, match=r"cvpl\[budget\]"):
        cvpl.trial(table, COPY, CONFIG, noise_multiplier=1.0)


def test_gaussian_noise_is_held_against_the_power(table, monkeypatch):
    """What it allows is another's arithmetic; here it is Φ(Φ⁻¹(a) + 1 / σ), which is exact for one step."""

    def exact(multiplier, rate, *, steps=1, sampling=1.0):
        return float(norm.cdf(norm.ppf(rate) + 1 / multiplier)) if rate else 0.0

    for name in ("budget", "trial"):
        monkeypatch.setattr(f"cvpl.workflows.trial.{name}.largest_gaussian_power", exact)
    found = cvpl.trial(table, COPY, CONFIG, rounds=4, noise_multiplier=1.0, delta=1e-5).budget
    assert (found.epsilon, found.noise.multiplier, found.alarm) == (None, 1.0, True)
    assert [item.allowed for item in found.allowed] == pytest.approx([0.0924, 0.2595, 0.3891], abs=1e-4)
    assert [point.allowed for point in found.region] == sorted(point.allowed for point in found.region)
    with pytest.raises(cvpl.UsageError, match="both epsilon and a noise multiplier"):
        cvpl.trial(table, COPY, CONFIG, noise_multiplier=1.0, epsilon=1.0)


# Same bytes, resumed, interrupted


def test_one_job_and_two_give_the_same_bytes(table, noise):
    one, two = (cvpl.trial(table, noise, CONFIG, rounds=4, epsilon=3.0, jobs=jobs) for jobs in (1, 2))
    assert one.to_json() == two.to_json()


def test_another_seed_gives_other_halves_and_other_draws(table):
    seen = {}

    def keeps(path, rng):
        seen.setdefault(seed, []).append((tuple(pd.read_csv(path).who), rng.random()))
        return pd.read_csv(path)

    for seed in (1, 2):
        cvpl.trial(table, keeps, CONFIG, rounds=2, seed=seed)
    assert not set(seen[1]) & set(seen[2])
    assert len({draw_seed(1, number) for number in range(50)}) == 50


def test_a_trial_that_was_stopped_resumes_with_the_same_bytes(table, tmp_path, noise):
    """Rounds that are finished are not run again, unless something they depend on has changed."""
    whole = cvpl.trial(table, noise, CONFIG, rounds=4)
    out, ran = tmp_path / "out", []

    def stop_after(count):
        def progress(phase, share):
            if phase.endswith("making the release"):
                ran.append(phase)
                if len(ran) > count:
                    raise KeyboardInterrupt

        return progress

    with pytest.raises(KeyboardInterrupt):
        cvpl.trial(table, noise, CONFIG, rounds=4, out=out, progress=stop_after(2))
    kept = sorted((out / "rounds").iterdir())
    assert [file.name for file in kept] == ["round_01.scores", "round_02.scores"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept} == {0o600}
    assert stat.S_IMODE((out / "rounds").stat().st_mode) == 0o700
    ran.clear()
    again = cvpl.trial(table, noise, CONFIG, rounds=4, out=out, progress=stop_after(9), keep_rounds=True)
    assert len(ran) == 2 and again.to_json() == whole.to_json()
    ran.clear()
    content = bytearray(kept[0].read_bytes())
    content[-200] ^= 1
    kept[0].write_bytes(content)
    assert cvpl.trial(table, noise, CONFIG, rounds=4, out=out, progress=stop_after(9), keep_rounds=True) == whole
    assert len(ran) == 1  # the damaged one
    ran.clear()
    cvpl.trial(table, noise, {**CONFIG, "threshold": 0.8}, rounds=4, out=out, progress=stop_after(9))
    assert len(ran) == 4 and not (out / "rounds").exists()
    (tmp_path / "noise.py").write_text(NOISE + "\n")
    cvpl.trial(table, noise, CONFIG, rounds=4, out=out, progress=stop_after(9))
    assert len(ran) == 8  # the program has changed


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on a POSIX system")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_exits_5_and_ends_the_command(table, tmp_path, jobs):
    config = tmp_path / "audit.yaml"
    config.write_text(json.dumps(CONFIG))
    held = tmp_path / "held"
    code = HOLDS.format(file=str(held))
    call = ["trial", str(table), "-m", program(tmp_path, code), "-c", str(config), "--jobs", jobs]
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-m", "cvpl", *call, "--out", str(tmp_path / "out")],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        while not held.exists():
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 5 and said.startswith("Interrupted; no result was written."), said
    assert not runs(held) and not list(tmp_path.glob(".cvpl-*"))


@ADOPTED
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_also_ends_children_that_have_left_the_process_group(table, tmp_path, number):
    """However the trial ends, even if it cannot clean up."""
    config = tmp_path / "audit.yaml"
    config.write_text(json.dumps(CONFIG))
    held = tmp_path / "held"
    call = ["trial", str(table), "-m", program(tmp_path, f"{escaping(held)}time.sleep(60)"), "-c", str(config)]
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-m", "cvpl", *call, "--out", str(tmp_path / "out")],
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        appears(held)
        process.send_signal(number)
        assert process.wait(30) == (-number if number == signal.SIGKILL else 5)
    assert not runs(held)


def test_the_exit_code_and_the_signal_of_a_command_are_its_own(tmp_path):
    assert run_command([sys.executable, "-c", "import sys; sys.exit(7)"], tmp_path, None, threading.Event()) == 7
    if os.name == "posix":
        assert run_command(["sh", "-c", "kill -9 $$"], tmp_path, None, threading.Event()) == -9


def test_a_command_ends_when_the_trial_stops(tmp_path):
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    with pytest.raises(CommandStopped):
        run_command([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, None, stop)


# What is shown


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shown")
    drawn().to_csv(folder / "people.csv", index=False)
    (folder / "audit.yaml").write_text(json.dumps({**CONFIG, "policy": {"figure": "risk", "max": 0.05}}))
    call = ["trial", str(folder / "people.csv"), "-m", "perturbation", "-s", "low", "-c", str(folder / "audit.yaml")]
    assert run([*call, "--rounds", "4", "--epsilon", "2", "--plant", "40", "--out", str(folder / "out")]) == 0
    return folder / "out"


def test_the_result_is_read_back_and_reported_again(shown, capsys):
    found = cvpl.TrialResult.from_json((shown / "trial.json").read_bytes())
    assert found.to_json().encode() == (shown / "trial.json").read_bytes()
    assert sorted(file.name for file in shown.iterdir()) == ["trial.html", "trial.json"]
    assert run(["report", str(shown), "--format", "md"]) == 0
    text = (shown / "trial.md").read_text()
    assert text == found.to_markdown() and "releas" in text
    assert (shown / "trial.html").read_text() == found.to_html()
    assert len(found.to_frame()) == 4 and "power_at_5" in found.to_frame()
    (shown / "trial.md").unlink()


def test_the_page_has_the_charts_and_says_half_of_the_people(shown):
    page = (shown / "trial.html").read_text()
    assert "half of these people" in page and "A trial closes no gate" in page
    for title in ("The power of every round", "The power over rounds", "How often people are linked"):
        assert title in page
    assert "--mechanism perturbation --strength low --rounds 4" in page and "--epsilon 2 --plant 40" in page


def test_figures_of_a_trial_tell_of_no_fewer_than_ten_people(shown):
    found = cvpl.TrialResult.from_json((shown / "trial.json").read_bytes())
    assert found.suppress_below == 10
    powers = [one.power for item in found.rounds for one in (*item.power, *item.curve)]
    assert all(round(power / 0.1, 6) % 1 == 0 for power in powers)  # about 100 people are in: steps of a tenth
    assert found.budget.right % 10 == 0


# What the attackers cannot see


def numbers(size):
    rng = np.random.default_rng(4)
    values = rng.normal(size=(size, 1)) + 0.5 * rng.normal(size=(size, 4))
    return pd.DataFrame(values.round(3), columns=list("abcd"))


def keyed(path):
    """Every cell under a keyed hash: whoever holds the key finds everybody."""
    table = pd.read_csv(path)
    return table.apply(lambda column: [_code(f"key {column.name} {cell}") for cell in column])


def _code(text):
    return int(hashlib.sha256(text.encode()).hexdigest()[:6], 16) / 1000


def under_other_names(path):
    """Two of four columns as they are, under other names, and the others drawn anew."""
    table, strangers = pd.read_csv(path), drawn_alone(path)
    return table.assign(a=strangers["a"], b=strangers["b"]).rename(columns={"c": "gamma", "d": "delta"})


def drawn_alone(path):
    """Every column drawn anew from its distribution: nobody can be found, and every column can be read."""
    rng, rows = np.random.default_rng(7), len(pd.read_csv(path))
    return pd.DataFrame({name: rng.normal(0, 1.25**0.5, rows).round(3) for name in "abcd"})


BY_NUMBERS = {
    "columns": {name: {"role": "quasi_identifier", "type": "numeric"} for name in "abcd"},
    "attacker": "default",
    "policy": {"figure": "risk", "max": 0.3},
    "search": {"threads": 1},
}
DECLARED = BY_NUMBERS | {
    "columns": {name: column | {"recoded": False} for name, column in BY_NUMBERS["columns"].items()}
}
READERS = ["ranks", "fellegi_sunter_em"]


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    file = tmp_path_factory.mktemp("many") / "people.csv"
    numbers(400).to_csv(file, index=False)
    return file


@pytest.mark.parametrize(
    ("mechanism", "check", "said"),
    [
        (keyed, "unread_columns", "no attacker can read columns 'a', 'b', 'c', 'd' of the release"),
        (drawn_alone, "columns_alone", "columns 'a', 'b', 'c', 'd' of the release no longer have any relation"),
        (under_other_names, "renamed_columns", "the release lacks columns 'c', 'd' and has columns 'gamma', 'delta'"),
    ],
)
def test_a_low_risk_of_releases_that_nobody_can_read_cannot_be_told_and_meets_no_policy(many, mechanism, check, said):
    found = cvpl.trial(many, mechanism, BY_NUMBERS, rounds=4, attackers=READERS)
    assert found.risk.low <= 0 and found.risk.high == 1
    assert check in {finding.check for finding in found.preflight}
    sentence = trial_answer(found)
    assert "cannot be told: " in sentence and said in sentence and "from 0" not in sentence
    (policy,) = found.policies
    assert not policy.met and any(said in reason for reason in policy.reasons)
    assert cvpl.TrialResult.from_json(found.to_json()) == found
    text = found.to_markdown()
    assert "Do not take the risk for low" in text and "cannot be told from 0" not in text


def test_one_round_that_nobody_can_read_is_enough(many):
    """A mechanism that hashes from its second run on is not told by its first release."""
    runs = itertools.count()

    def later(path):
        table = pd.read_csv(path)
        noise = np.random.default_rng(len(table)).normal(size=table.shape)
        return keyed(path) if next(runs) == 3 else table + noise

    found = cvpl.trial(many, later, BY_NUMBERS, rounds=4, attackers=READERS)
    assert "no attacker can read" in found.blind and not found.policies[0].met


def test_a_low_risk_of_releases_that_can_be_read_cannot_be_told_from_0(many):
    found = cvpl.trial(many, drawn_alone, DECLARED, rounds=4, attackers=READERS)
    assert [finding.check for finding in found.preflight] == ["declared_columns"] and found.blind is None
    assert found.risk.high <= 0.3
    assert "cannot be told from 0 (at most " in trial_answer(found) and found.policies[0].met
    assert "cannot be checked here, that no key or code changed columns 'a', 'b', 'c', 'd'" in trial_answer(found)


def test_people_who_are_linked_stay_linkable_whatever_is_not_seen(many):
    """Three columns as they are and one hashed: what is not seen can only add to the risk."""

    def partly(path):
        return pd.read_csv(path).assign(d=keyed(path)["d"])

    found = cvpl.trial(many, partly, BY_NUMBERS, rounds=2, attackers=READERS)
    assert found.risk.low > 0
    assert trial_answer(found).startswith(
        "At least "
    ) and ", and perhaps more: no attacker can read column 'd'" in trial_answer(found)


def test_the_findings_of_a_kept_round_are_kept(many, tmp_path):
    """A trial that resumes objects as it would have."""
    script = tmp_path / "keyed.py"
    script.write_text(
        "import sys, csv, hashlib\n"
        "rows = list(csv.reader(open(sys.argv[1])))\n"
        "code = lambda at, cell: int(hashlib.sha256(f'{at} {cell}'.encode()).hexdigest()[:6], 16) / 1000\n"
        "rows[1:] = [[code(at, cell) for at, cell in enumerate(row)] for row in rows[1:]]\n"
        "csv.writer(open(sys.argv[2], 'w')).writerows(rows)\n"
    )
    command = f"{sys.executable} {script} {{input}} {{output}}"
    asked = {"rounds": 2, "attackers": ["ranks"], "out": tmp_path / "out", "keep_rounds": True}
    first, again = (cvpl.trial(many, command, BY_NUMBERS, **asked) for _ in range(2))
    assert first.blind is not None and again.to_json() == first.to_json()


def test_a_result_without_findings_is_still_read(shown):
    content = json.loads((shown / "trial.json").read_text())
    del content["preflight"]
    earlier = cvpl.TrialResult.from_json(json.dumps(content).encode())
    assert earlier.preflight == [] and earlier.blind is None
