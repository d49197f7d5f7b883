"""A command as the mechanism of a surface: what it gets, several draws, and what is reported if it fails."""

from __future__ import annotations

import hashlib
import json
import stat
import sys

import pytest
import yaml

import cvpl
from cvpl.cli.main import run
from surface_people import CONFIG, drawn

NOISE = """import sys, csv, random
table, release, seed, strength = sys.argv[1:]
rng = random.Random(int(seed))
rows = list(csv.DictReader(open(table)))
for row in rows:
    row["pay"] = float(row["pay"]) + rng.gauss(0, float(strength))
    row["age"] = int(row["age"]) + round(rng.gauss(0, float(strength)))
rng.shuffle(rows)
writer = csv.DictWriter(open(release, "w", newline=""), rows[0])
writer.writeheader()
writer.writerows(rows)
"""


@pytest.fixture
def place(tmp_path):
    drawn(1).to_csv(tmp_path / "people.csv", index=False)
    drawn(2).to_csv(tmp_path / "control.csv", index=False)
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump(CONFIG))
    return tmp_path


def program(place, code):
    """A command that runs this code, with the table, the release, the seed and the strength as its arguments."""
    (place / "program.py").write_text(code)
    return f"{sys.executable} {place / 'program.py'} {{input}} {{output}} {{seed}} {{strength}}"


def test_draws_of_a_command_give_a_band_that_a_second_run_repeats(place):
    command, tables = program(place, NOISE), {"control": place / "control.csv"}
    before = (place / "people.csv").read_bytes()
    found, again = (
        cvpl.surface(place / "people.csv", command, ["1", "40"], CONFIG, draws=3, **tables) for _ in range(2)
    )
    assert found.to_json() == again.to_json()
    assert [row.strength for row in found.settings] == ["1", "40"] and not found.function
    for row in found.settings:
        assert len(row.draws) == 3 and len(set(row.draws)) > 1 and row.risk.estimate == max(row.draws)
    assert found.setting("1").risk.estimate > found.setting("40").risk.estimate + 0.2
    assert found.setting("1").top1_hit_rate > 0.8
    assert (place / "people.csv").read_bytes() == before
    page = found.to_html()
    assert "widened to all draws" in page and "--strengths 1,40" in page and "--draws 3" in page


def test_the_surface_of_a_command_is_that_of_a_function_that_makes_the_same_releases(place):
    code = "import sys, shutil; shutil.copy(sys.argv[1], sys.argv[2])"
    by_command = cvpl.surface(place / "people.csv", program(place, code), [1, 2], CONFIG, control=place / "control.csv")
    by_function = cvpl.surface(
        place / "people.csv", lambda strength: place / "people.csv", [1, 2], CONFIG, control=place / "control.csv"
    )
    for mine, other in zip(by_command.settings, by_function.settings, strict=True):
        assert mine.model_copy(update={"release": other.release}) == other


def test_every_strength_and_draw_has_a_seed_of_its_own_and_a_fresh_copy_of_the_table(place):
    log = place / "log.txt"
    code = f"""import sys, hashlib, shutil
table, release, seed, strength = sys.argv[1:]
with open({str(log)!r}, "a") as log:
    log.write(f"{{strength}} {{seed}} {{hashlib.sha256(open(table, 'rb').read()).hexdigest()}} {{table}}\\n")
shutil.copy(table, release)
open(table, "w").write("gone")
"""
    cvpl.surface(place / "people.csv", program(place, code), ["b", "a"], CONFIG, draws=2)
    called = [line.split() for line in log.read_text().splitlines()]
    assert [words[0] for words in called] == ["b", "b", "a", "a"]
    assert len({words[1] for words in called}) == 4
    assert {words[2] for words in called} == {hashlib.sha256((place / "people.csv").read_bytes()).hexdigest()}
    assert str(place / "people.csv") not in {words[3] for words in called}


def test_a_dataframe_reaches_a_command_as_parquet(place):
    code = "import sys, shutil; assert sys.argv[1].endswith('.parquet'); shutil.copy(sys.argv[1], sys.argv[2])"
    found = cvpl.surface(drawn(1), program(place, code), [1], CONFIG)
    assert found.settings[0].top1_hit_rate == 1.0


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import sys; print('Alice'); sys.exit(3 if sys.argv[4] == '2' else 0)", "exit code 0 and wrote nothing"),
        ("import sys; print('Alice'); sys.exit(3)", "ended with exit code 3"),
        ("import time; print('Alice', flush=True); time.sleep(60)", "did not end within 1 seconds"),
    ],
)
def test_a_command_that_always_fails_ends_the_sweep_and_its_output_is_kept_aside(place, code, reason):
    with pytest.raises(cvpl.UsageError, match="no release could be made at any strength") as raised:
        cvpl.surface(place / "people.csv", program(place, code), [1], CONFIG, timeout=1, folder=place / "out")
    kept = place / "out" / "failed" / "strength_01_draw_01" / "stdout.txt"
    assert reason in str(raised.value) and str(place / "out" / "failed") in str(raised.value)
    assert "Alice" not in str(raised.value) and kept.read_text().strip() == "Alice"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_a_strength_at_which_a_command_fails_is_reported_and_left_out(place, capsys):
    code = NOISE.replace("rng = ", "if strength == '2': print('Alice'), sys.exit(7)\nrng = ")
    called = ["surface", place / "people.csv", "-c", place / "audit.yaml", "--control", place / "control.csv"]
    called += ["--mechanism", program(place, code), "--strengths", "1,2,5", "--draws", "2", "--out", place / "out"]
    assert run([str(word) for word in called]) == 0
    said = capsys.readouterr()
    written = json.loads((place / "out" / "surface.json").read_text())
    assert [row["strength"] for row in written["settings"]] == ["1", "5"]
    assert written["failed"] == [{"strength": "2", "reason": "the command ended with exit code 7"}]
    assert "exit code 7" in said.out and "failed" in said.err and "Alice" not in said.out + said.err
    assert "Alice" in (place / "out" / "failed" / "strength_02_draw_01" / "stdout.txt").read_text()


@pytest.mark.parametrize(
    ("mechanism", "strengths", "more", "message"),
    [
        ("cp {input} {output}", ["1"], {}, r"lacks \{strength\}"),
        ("cp {input} {strength}", ["1"], {}, r"lacks \{output\}"),
        ("cp {input} {output} {strength}", None, {}, "a command has no defaults"),
        ("cp {input} {output} {strength}", ["1", "1"], {}, "tried twice"),
        ("cp {input} {output} {strength}", ["1"], {"timeout": -1.0}, "timeout is -1"),
        ("no_such_program {input} {output} {strength}", ["1"], {}, "could not be started: no such file"),
    ],
)
def test_a_wrong_command_says_what_to_do(place, mechanism, strengths, more, message):
    with pytest.raises(cvpl.UsageError, match=message):
        cvpl.surface(place / "people.csv", mechanism, strengths, CONFIG, **more)


def test_a_trial_takes_a_command_with_a_strength(place):
    command = program(place, NOISE)
    found = cvpl.trial(place / "people.csv", command, CONFIG, rounds=2, strength="40")
    plain = cvpl.trial(place / "people.csv", command.replace("{strength}", "40"), CONFIG, rounds=2)
    assert found.mechanism.strength == "40" and found.rounds == plain.rounds
    assert "{strength}" in found.to_html() and "--strength 40" in found.to_html()
    with pytest.raises(cvpl.UsageError, match="no strength is given"):
        cvpl.trial(place / "people.csv", command, CONFIG, rounds=2)
    with pytest.raises(cvpl.UsageError, match="Leave the strength out"):
        cvpl.trial(place / "people.csv", "cp {input} {output}", CONFIG, strength=1)
