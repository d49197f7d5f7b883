import csv
from pathlib import Path

import numpy as np
import pytest

from cvpl.cli.main import run
from cvpl.errors import InputError, UsageError
from cvpl.tables.making.recount import smallest_class
from cvpl.workflows.audit import audit
from cvpl.workflows.made_tables import FAMILIES, Protector

ROWS = 400
CONFIG = {
    "columns": {
        "who": {"role": "id"},
        "age": {"role": "quasi_identifier", "type": "numeric", "block": {"bin": 10}},
        "town": {"role": "quasi_identifier", "type": "category", "hierarchy": "towns.csv", "block": {"level": 1}},
        "seen": {"role": "attribute", "type": "datetime", "features": ["hour"]},
        "score": {"role": "attribute", "type": "numeric"},
        "salary": {"role": "sensitive"},
        "illness": {"role": "sensitive"},
        "note": {"role": "ignore"},
    },
    "attacker": "paper",
    "seed": 3,
}
YAML = """\
columns:
  who:     {role: id}
  age:     {role: quasi_identifier, type: numeric, block: {bin: 10}}
  town:    {role: quasi_identifier, type: category, hierarchy: towns.csv, block: {level: 1}}
  seen:    {role: attribute, type: datetime, features: [hour]}
  score:   {role: attribute, type: numeric}
  salary:  {role: sensitive}
  illness: {role: sensitive}
  note:    {role: ignore}
attacker: paper
seed: 3
"""


@pytest.fixture
def folder(tmp_path):
    """A table of a stranger's making, with the hierarchy of its towns in ARX's form."""
    rng = np.random.default_rng(7)
    towns = ["Ulm", "Bonn", "Lyon", "Metz"]
    lines = [["who", "age", "town", "seen", "score", "salary", "illness", "note", "extra"]]
    for row in range(ROWS):
        lines.append(
            [
                f"P{row:03}",
                str(rng.integers(20, 60)) if row % 50 else "",
                str(rng.choice(towns)),
                f"2024-0{rng.integers(1, 9)}-1{rng.integers(0, 9)} {rng.integers(10, 20)}:30:00",
                f"{rng.normal():.3f}",
                str(rng.integers(1000, 9000)),
                str(rng.choice(["flu", "cold"])),
                "private",
                "unseen",
            ]
        )
    with (tmp_path / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows(lines)
    (tmp_path / "towns.csv").write_text(
        "Ulm;Germany;Europe;*\nBonn;Germany;Europe;*\nLyon;France;Europe;*\nMetz;France;Europe;*\n"
    )
    (tmp_path / "audit.yaml").write_text(YAML)
    return tmp_path


def read(path):
    """The rows of a CSV file."""
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def protector(folder):
    """The table and its configuration."""
    return Protector.read(folder / "people.csv", folder / "audit.yaml")[0]


def set_up(folder, **protect):
    """The table with settings of its own."""
    return Protector.read(folder / "people.csv", _absolute(CONFIG, folder) | {"protect": protect})[0]


def _absolute(config, folder):
    columns = {**config["columns"]}
    columns["town"] = {**columns["town"], "hierarchy": str(folder / "towns.csv")}
    return {**config, "columns": columns}


@pytest.mark.parametrize("method", FAMILIES)
def test_every_method_takes_any_table(folder, method):
    """Each release has the declared columns in their order, can be audited as it is, and is the same on every call."""
    strength = FAMILIES[method].usual[0]
    path, k = protector(folder).release(method, strength).write_counted(folder / "made.csv")
    rows = read(path)
    assert list(rows[0]) == ["who", "age", "town", "seen", "score", "salary", "illness"]
    assert (k is None) == (method in ("perturbation", "synthetic"))
    result = audit(folder / "people.csv", path, folder / "audit.yaml")
    assert 0 <= result.linkage_rate.estimate <= 1
    first = path.read_bytes()
    protector(folder).release(method, strength).write(folder / "made.csv")
    assert path.read_bytes() == first
    assert protector(folder).release(method, strength, seed=4).write(folder / "made.csv").read_bytes() != first


@pytest.mark.parametrize("method", ["k-anonymity", "mondrian", "perturbation"])
def test_people_keep_what_is_carried(folder, method):
    """Every released row carries its own person's id and sensitive values."""
    originals = {row["who"]: row for row in read(folder / "people.csv")}
    path = protector(folder).release(method, FAMILIES[method].usual[0]).write(folder / "made.csv")
    released = read(path)
    assert len({row["who"] for row in released}) == len(released) >= 0.95 * ROWS
    for row in released:
        assert (row["salary"], row["illness"]) == (originals[row["who"]]["salary"], originals[row["who"]]["illness"])


@pytest.mark.parametrize("method", FAMILIES)
def test_no_release_has_the_group_of_its_people(folder, method):
    """The name of a household tells who its people are; an audit needs it in the originals only."""
    config = _absolute(CONFIG, folder)
    config["columns"]["note"] = {"role": "group"}
    made, left_out = Protector.read(folder / "people.csv", config)
    assert "note" not in made.release(method, FAMILIES[method].usual[0]).to_columns()
    assert "note" in left_out


def test_synthetic_rows_are_nobodys(folder):
    """Synthetic rows have no id, and sensitive values of their own, drawn from the column's."""
    path = protector(folder).release("synthetic", 0.9).write(folder / "made.csv")
    originals, released = read(folder / "people.csv"), read(path)
    assert {row["who"] for row in released} == {""}
    assert {row["illness"] for row in released} == {"flu", "cold"}
    assert {row["salary"] for row in released} <= {row["salary"] for row in originals}
    pairs = {(row["age"], row["seen"], row["score"], row["salary"]) for row in originals}
    assert sum((row["age"], row["seen"], row["score"], row["salary"]) in pairs for row in released) == 0


def test_a_table_without_an_id_keeps_its_rows_numbers(folder, capsys):
    """Rows are shuffled, so the release tells each record's original row, by which an audit finds the truth."""
    config = YAML.replace("  who:     {role: id}\n", "  who:     {role: ignore}\n")
    (folder / "audit.yaml").write_text(config + "truth: {original: row_number, protected: original_row}\n")
    call = ["protect", str(folder / "people.csv"), "-c", str(folder / "audit.yaml"), "-m", "perturbation", "-s", "low"]
    assert run([*call, "--out", str(folder)]) == 0
    assert "protected: original_row" in capsys.readouterr().out
    originals, released = read(folder / "people.csv"), read(folder / "perturbation_low.csv")
    assert all(originals[int(row["original_row"])]["salary"] == row["salary"] for row in released)
    result = audit(folder / "people.csv", folder / "perturbation_low.csv", folder / "audit.yaml")
    assert result.truth.top1_hit_rate > 0.5
    assert run([*call[:-3], "synthetic", "-s", "0.5", "--out", str(folder)]) == 0
    assert {row["original_row"] for row in read(folder / "synthetic_0.5.csv")} == {""}


def test_groups_are_written_by_their_names(folder):
    """A user's hierarchy file gives the groups: full-domain writes one level, Mondrian the narrowest that fits."""
    release = set_up(folder, columns=["town"], removal=0).release("k-anonymity", 150)
    assert release.levels == {"town": "level 2"}
    assert set(release.frame.to_columns()["town"].tolist()) == {"Germany", "France"}
    mondrian = set_up(folder, columns=["town"]).release("mondrian", 150)
    assert set(mondrian.frame.to_columns()["town"].tolist()) == {"Germany", "France"}


def test_columns_can_be_chosen(folder):
    """Times and numbers are generalized by the units and widths that the configuration states."""
    release = set_up(
        folder, columns=["age", "seen"], widths={"age": [40]}, units={"seen": ["month"]}, removal=0.2
    ).release("k-anonymity", 3)
    assert set(release.levels.values()) <= {"value", "width 40", "month", "*"}
    path, k = release.write_counted(folder / "made.parquet")
    assert k == smallest_class(path, ("age", "seen")) >= 3


def test_noise_can_be_chosen(folder):
    """A stated noise of 0 leaves a number as it is; another number gets its share of noise, with its decimals."""
    path = set_up(folder, noise={"age": 0}).release("perturbation", "high").write(folder / "made.csv")
    originals = {row["who"]: row for row in read(folder / "people.csv")}
    moved = []
    for row in read(path):
        assert row["age"] == originals[row["who"]]["age"]
        assert len(row["score"].partition(".")[2]) <= 3
        moved.append(float(row["score"]) - float(originals[row["who"]]["score"]))
    assert np.std(moved) == pytest.approx(1 / 3, rel=0.2)


@pytest.mark.parametrize(
    ("method", "strength", "message"),
    [
        ("k-anonymity", 401, "k is 401, but the table has 400 rows"),
        ("k-anonymity", "many", "k is 'many'; allowed is a whole number"),
        ("k-anonymity", "1", "k is 1; allowed is a whole number from 2"),
        ("mondrian", 1000, "k is 1000, but the table has 400 rows"),
        ("perturbation", "extreme", "allowed are low, medium, high"),
        ("synthetic", 1.01, "allowed is a number from 0"),
        ("synthetic", "-0.1", "allowed is a number from 0"),
        ("synthetic", "nan", "allowed is a number from 0"),
        ("synthetic", "some", "allowed is a number from 0"),
    ],
)
def test_nonsense_is_refused(folder, method, strength, message):
    """A strength outside its bounds is refused, with what is allowed."""
    with pytest.raises(UsageError, match=message):
        protector(folder).release(method, strength)


@pytest.mark.parametrize(
    ("protect", "message"),
    [
        ({"columns": ["note"]}, "`protect.columns` names a column that is not declared as observable"),
        ({"widths": {"town": [5]}}, "`protect.widths` names a column that is not declared as numeric"),
        ({"units": {"age": ["day"]}}, "`protect.units` names a column that is not declared as datetime"),
        ({"noise": {"nowhere": 1}}, "`protect.noise` names a column"),
        ({"columns": []}, "there is no column to generalize"),
        ({"removal": 1}, "`protect.removal`"),
        ({"strength": 3}, "unknown setting `protect.strength`"),
    ],
)
def test_settings_that_do_not_fit_are_refused(folder, protect, message):
    """A setting that names no fitting column is a problem of the configuration."""
    with pytest.raises(InputError, match=message):
        set_up(folder, **protect)


def test_widths_that_cross_are_refused(folder):
    """Widths that do not divide each other are refused when they are used."""
    with pytest.raises(UsageError, match="not a multiple"):
        set_up(folder, widths={"age": [4, 6]}).release("k-anonymity", 2)


def test_a_table_without_a_declared_column_is_refused(folder):
    """A column that the configuration declares must be there to be protected."""
    (folder / "people.csv").write_text("who,age\nA,30\nB,31\n")
    with pytest.raises(InputError, match="the table lacks this column"):
        protector(folder)


def test_generalized_values_are_refused(folder):
    """What is an interval already cannot be protected as a number."""
    text = (folder / "people.csv").read_text().splitlines()
    fields = text[2].split(",")
    fields[1] = "30-39"
    (folder / "people.csv").write_text("\n".join([*text[:2], ",".join(fields), *text[3:]]) + "\n")
    with pytest.raises(InputError, match="already generalized"):
        protector(folder)


def test_the_command(folder, capsys):
    """Every strength asked for is a file; the page tells the k counted, and which columns were left out."""
    call = ["protect", str(folder / "people.csv"), "-c", str(folder / "audit.yaml"), "-m", "k-anonymity"]
    assert run([*call, "-s", "2", "-s", "5", "--out", str(folder / "out")]) == 0
    text = capsys.readouterr().out
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["k_anonymity_2.csv", "k_anonymity_5.csv"]
    assert "smallest class" in text and "'note', 'extra'" in text
    assert "P001" not in text and "private" not in text


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["-m", "k-anonymity", "-s", "5", "-s", "5"], "would be written twice"),
        (["-m", "synthetic", "-s", "2"], "allowed is a number from 0"),
        (["-m", "magic"], "magic"),
    ],
)
def test_wrong_calls_end_with_2(folder, monkeypatch, capsys, extra, message):
    """A wrong call exits with 2, says why, and writes nothing."""
    monkeypatch.chdir(folder)
    assert run(["protect", str(folder / "people.csv"), "-c", str(folder / "audit.yaml"), *extra]) == 2
    assert message in capsys.readouterr().err
    assert not (folder / "releases").exists()


def test_simulate(tmp_path, capsys):
    """The same call gives the same people, beside a configuration; files are not replaced unasked."""
    out = tmp_path / "people.csv"
    assert run(["simulate", str(out), "--records", "200", "--anomaly-rate", "0.05"]) == 0
    first = out.read_bytes()
    assert len(read(out)) == 200 and (tmp_path / "audit.yaml").exists()
    assert run(["simulate", str(out), "--records", "200"]) == 2
    assert run(["simulate", str(out), "--records", "200", "--anomaly-rate", "0.05", "--overwrite"]) == 0
    assert out.read_bytes() == first
    assert run(["simulate", str(tmp_path / "a.csv"), "--anomaly-rate", "2"]) == 2
    assert "anomaly_rate is 2.0; allowed is a number from 0 to 1" in capsys.readouterr().err
    assert run(["simulate", str(tmp_path / "a.xlsx")]) == 2
