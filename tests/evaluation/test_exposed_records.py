"""The file of exposed records: its figures by hand, who may read it, what is in it, and when it is refused."""

from __future__ import annotations

import stat

import numpy as np
import pandas as pd
import pytest
import yaml

import cvpl
from cvpl.cli.main import run
from cvpl.errors import ExitCode
from cvpl.workflows.exposed_records import exposures, exposures_of_clusters

PEOPLE = 150
CONFIG = {
    "columns": {
        "who": {"role": "id"},
        "city": {"role": "quasi_identifier", "type": "category"},
        "job": {"role": "attribute", "type": "category"},
        "age": {"role": "quasi_identifier", "type": "numeric"},
        "pay": {"role": "attribute", "type": "numeric"},
    },
    "attackers": {
        "rarity": {"alignment": "release", "blocking": "none", "similarity": "rarity"},
        "cosine": {"alignment": "release", "blocking": "none", "projection": "identity"},
    },
    "sensitivity": False,
    "seed": 3,
}


def drawn(seed, first=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "who": [f"w{first + at}" for at in range(PEOPLE)],
            "home": np.arange(PEOPLE) // 2 + first,
            "city": rng.choice(list("aaaaabbbc"), PEOPLE),
            "job": rng.choice(list("pppqqr"), PEOPLE),
            "age": rng.integers(18, 80, PEOPLE),
            "pay": rng.integers(1000, 3000, PEOPLE),
        }
    )


@pytest.fixture(scope="module")
def tables():
    """Row 7 is like nobody else and released as it is; of all others, half are released, with noise."""
    original, rng = drawn(1), np.random.default_rng(2)
    original.loc[7, ["city", "job"]] = "z"
    release = (
        original.drop(columns="home").iloc[np.append(7, rng.choice(np.arange(8, PEOPLE), 70, replace=False))].copy()
    )
    release["age"] = np.where(release.who == "w7", release.age, release.age + rng.integers(-9, 10, len(release)))
    release["pay"] = np.where(release.who == "w7", release.pay, rng.permutation(release.pay))
    return original, release.sample(frac=1, random_state=1), drawn(5, 1000)


def audited(tables, file, config=CONFIG, **more):
    original, release, control = tables
    return cvpl.audit(original, release, config, control=control, per_person=file, **more)


def test_the_share_of_others_by_hand():
    """Of four others two have at least 2, and one at least 3; nobody has less than a record without a candidate."""
    found = exposures(np.array([2.0, 3.0, 9.0, -np.inf, 2.0]), np.array([1.0, 2.0, 3.0, -np.inf]))
    assert found.rank.tolist() == [3, 2, 1, 5, 3]
    assert found.share == pytest.approx([3 / 5, 2 / 5, 1 / 5, 1, 3 / 5])
    assert exposures(np.array([1.0, 2.0]), None).share is None


def test_a_unit_is_as_exposed_as_its_most_exposed_row_and_compared_with_units():
    scores, base = np.array([1.0, 5.0, 3.0]), np.array([4.0, 0.0, 2.0, 2.0])
    found = exposures_of_clusters(scores, np.array([8, 8, 2]), base, np.array([30, 30, 31, 31]))
    assert found.rank.tolist() == [1, 1, 2]
    # The units of the base have 4 and 2.
    assert found.share == pytest.approx([1 / 3, 1 / 3, 2 / 3])


def test_every_original_has_a_line_and_the_most_exposed_comes_first(tables, tmp_path):
    file = tmp_path / "exposed.csv"
    exact = {**CONFIG, "report": {"suppress_below": 1}}
    found = audited(tables, file, exact, attackers=["rarity"])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and list(tmp_path.iterdir()) == [file]
    lines = pd.read_csv(file)
    assert list(lines) == ["row", "rank", "share_of_others", "linked", "columns"]
    assert sorted(lines.row) == list(range(PEOPLE)) and lines["rank"].is_monotonic_increasing
    first = lines.iloc[0]
    assert (first.row, first["rank"], first.linked) == (7, 1, "yes")
    assert first.share_of_others == pytest.approx(1 / (PEOPLE + 1), rel=1e-5)
    assert {"city", "job"} < set(first["columns"].split(";"))
    sure, tied = (lines.linked == "yes").mean(), (lines.linked == "tied").mean()
    assert sure <= found.risk.power <= sure + tied and found.risk.power > 0.05


def test_columns_of_an_attacker_that_is_no_sum_over_columns_are_those_of_rarity(tables, tmp_path):
    file = tmp_path / "exposed.csv"
    audited(tables, file, attackers=["cosine"])
    lines = pd.read_csv(file, keep_default_na=False).set_index("row")
    assert {"city", "job"} < set(lines.loc[7, "columns"].split(";"))
    named = {name for text in lines["columns"] for name in text.split(";") if name}
    assert named <= {"city", "job", "age", "pay"} and (lines["columns"].str.count(";") <= 2).all()


def test_ids_are_there_only_if_they_are_asked_for(tables, tmp_path):
    without, with_ids = tmp_path / "without.csv", tmp_path / "with.csv"
    audited(tables, without, attackers=["rarity"])
    audited(tables, with_ids, attackers=["rarity"], per_person_id=True)
    lines = pd.read_csv(with_ids)
    assert (lines.id == [f"w{row}" for row in lines.row]).all()
    assert lines.drop(columns="id").equals(pd.read_csv(without)) and "w7" not in without.read_text()


def test_rows_of_one_household_are_ranked_together_too(tables, tmp_path):
    file = tmp_path / "exposed.csv"
    config = {**CONFIG, "columns": {**CONFIG["columns"], "home": {"role": "group"}}}
    audited(tables, file, config, attackers=["rarity"])
    lines = pd.read_csv(file).set_index("row")
    assert lines.index[:2].tolist() == [7, 6] and lines["unit"].to_dict() == {
        row: row // 2 * 2 for row in range(PEOPLE)
    }
    assert (lines.loc[[6, 7], "unit_rank"] == 1).all() and lines["unit_rank"].is_monotonic_increasing
    smallest = lines.groupby("unit")["rank"].min().sort_values().index
    assert lines.drop_duplicates("unit").sort_values(["unit_rank", "rank"])["unit"].tolist()[0] == smallest[0] == 6
    assert lines.loc[7, "unit_share"] == pytest.approx(1 / (PEOPLE / 2 + 1), rel=1e-5)


def test_the_result_and_its_page_say_that_there_is_a_file_and_nothing_of_it(tables, tmp_path):
    file = tmp_path / "a_private_place.csv"
    found, plain = audited(tables, file, attackers=["rarity"]), audited(tables, None, attackers=["rarity"])
    assert [item.rule for item in found.warnings if item not in plain.warnings] == ["per_person"]
    assert found.model_copy(update={"warnings": plain.warnings}) == plain
    for text in (found.to_json(), found.to_html(), found.to_markdown()):
        assert "ranks single originals" in text and "private_place" not in text
    assert "ranks single originals" not in plain.to_html()


def test_the_order_of_rows_in_a_file_changes_row_numbers_only(tables, tmp_path):
    original, release, control = tables
    order = np.random.default_rng(4).permutation(PEOPLE)
    for name, table in (("one", original), ("other", original.iloc[order])):
        audited((table, release, control), tmp_path / name, attackers=["rarity"], per_person_id=True)
    one, other = (pd.read_csv(tmp_path / name).set_index("id").sort_index() for name in ("one", "other"))
    assert one.drop(columns="row").equals(other.drop(columns="row"))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"per_person_id": True, "per_person": None}, "no file for them"),
        ({"control": None, "config": {**CONFIG, "columns": {**CONFIG["columns"], "who": {"role": "ignore"}}}}, "nor a"),
        (
            {"config": {**CONFIG, "columns": {**CONFIG["columns"], "who": {"role": "ignore"}}}, "per_person_id": True},
            "declared as id",
        ),
        ({"engine": "spark"}, "in a cluster"),
        ({"per_person": "nowhere/exposed.csv"}, "no such folder"),
    ],
)
def test_a_file_that_cannot_be_made_is_refused_before_the_attack(tables, tmp_path, monkeypatch, more, message):
    monkeypatch.setattr("cvpl.workflows.audit.PlannedAudit", None)
    original, release, control = tables
    call = {"config": CONFIG, "control": control, "per_person": tmp_path / "exposed.csv"} | more
    with pytest.raises(cvpl.UsageError, match=message):
        cvpl.audit(original, release, call.pop("config"), **call)
    assert list(tmp_path.iterdir()) == []


def test_the_command_keeps_an_existing_file_unless_it_may_replace_it(tables, tmp_path, capsys):
    for name, table in zip(("original", "release", "control"), tables, strict=True):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump(CONFIG))
    place, file = tmp_path / "out", tmp_path / "exposed.csv"
    names = [str(tmp_path / f"{name}.csv") for name in ("original", "release", "control")]
    call = [
        "audit",
        *names[:2],
        "--control",
        names[2],
        "--config",
        str(tmp_path / "audit.yaml"),
        "--attackers",
        "rarity",
    ]
    call += ["--per-person", str(file)]
    file.write_text("mine")
    assert run(call) == ExitCode.USAGE and file.read_text() == "mine"
    assert "already exists" in capsys.readouterr().err
    assert run([*call, "--overwrite", "--out", str(place)]) == ExitCode.DONE
    shown = capsys.readouterr()
    assert "tells of single people: only you can read it" in shown.err
    assert file.read_text().startswith("row,rank,") and stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "exposed.csv" not in (place / "report.html").read_text() + (place / "result.json").read_text()
    assert run([*call[:-2], "--per-person-id"]) == ExitCode.USAGE
    assert run([*call[:-2], "--per-person", names[0], "--overwrite"]) == ExitCode.USAGE
