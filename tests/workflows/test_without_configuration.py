"""An audit without a configuration: what it assumes, what it says about that, and what it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cvpl
from cvpl.cli.main import run as call
from cvpl.config.loading import read_yaml
from cvpl.errors import ExitCode, UsageError
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from examples import TIMES
from shared_data import SHARED, needs_data

ATTACKERS = None if TIMES > 1 else ["paper", "rarity"]
"""All of them in a full run."""


@pytest.fixture(scope="module")
def people():
    """Originals with a note of their own each, a release of them and a control."""
    drawn = [Touchpoints(records=300).draw(np.random.default_rng(seed)) for seed in (1, 2)]
    released = Perturbation("low").protect(drawn[0], np.random.default_rng(3))
    tables = [pd.DataFrame(table.to_columns()) for table in (drawn[0], released, drawn[1])]
    for table in tables:
        table["note"] = [f"note on {row}" for row in range(len(table))]
        table["diagnosis"] = np.where(np.arange(len(table)) % 3 == 0, "flu", "none")
    return tables


@pytest.fixture(scope="module")
def result(people):
    original, released, control = people
    return cvpl.audit(original, released, control=control, attackers=ATTACKERS)


def test_every_column_is_listed_with_its_use_and_doubts(people, result):
    listed = {item.column: item for item in result.assumptions.columns}
    assert list(listed) == list(people[0].columns)
    assert listed["note"].role == "ignore" and "free text" in listed["note"].doubt
    assert listed["age"].role == "quasi_identifier" and listed["age"].doubt is None


def test_a_sensitive_column_is_compared_and_pointed_out(people, result):
    """Left out, it would make the release look safer than it is; `propose` leaves it to the user to confirm."""
    (guessed,) = [item for item in result.assumptions.columns if item.column == "diagnosis"]
    assert guessed.role == "attribute" and guessed.doubt.startswith("sensitive by its name; compared")
    assert cvpl.propose(*people[:2]).config.columns["diagnosis"].role == "sensitive"


def test_the_figures_are_those_of_an_audit_with_the_same_configuration(people, result):
    original, released, control = people
    config = cvpl.propose(original, released, compare_sensitive=True).config
    again = cvpl.audit(original, released, config, control=control, attackers=ATTACKERS)
    assert again.assumptions is None
    assert again.to_json() == result.model_copy(update={"assumptions": None}).to_json()


@pytest.mark.parametrize("form", ["to_html", "to_markdown"])
def test_the_reports_list_the_assumptions(result, form):
    text = getattr(result, form)()
    assert "Assumptions about the columns" in text and "sensitive by its name" in text
    plain = result.model_copy(update={"assumptions": None})
    assert "Assumptions about the columns" not in getattr(plain, form)()


def test_no_cell_is_among_the_assumptions(people, result):
    text = result.assumptions.model_dump_json()
    assert "note on" not in text and "flu" not in text


def test_a_gate_needs_a_configuration(people):
    with pytest.raises(UsageError, match="a gate needs a configuration"):
        cvpl.audit(people[0], people[1], fail_above=0.1)


@pytest.fixture
def files(people, tmp_path):
    for name, table in zip(("original", "released", "control"), people, strict=True):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def run(files, *more):
    return call(["audit", str(files / "original.csv"), str(files / "released.csv"), *map(str, more)])


def test_the_command_shows_the_guesses_first_and_writes_the_configuration(files, capsys):
    assert run(files, "--control", files / "control.csv", "--out", files / "out", "--attackers", "rarity") == 0
    text = capsys.readouterr().out
    assert text.index("No configuration: roles and types are guesses") < text.index("can be linked")
    assert text.count("roles and types are guesses") == 1
    assert f"--config {files / 'out' / 'audit.yaml'}" in text
    written = cvpl.AuditResult.from_json((files / "out" / "result.json").read_bytes())
    columns = read_yaml(files / "out" / "audit.yaml", "configuration", "")["columns"]
    assert {item.column: item.role for item in written.assumptions.columns} == {
        name: entry["role"] for name, entry in columns.items()
    }
    more = "--control", files / "control.csv", "--attackers", "rarity", "--config", files / "out" / "audit.yaml"
    assert run(files, *more, "--json") == 0
    again = cvpl.AuditResult.from_json(capsys.readouterr().out)
    assert again.risk == written.risk


@pytest.mark.parametrize("gate", [("--fail-above", "0.1"), ("--policy", "strict.yaml")])
def test_the_command_refuses_a_gate(files, capsys, gate):
    assert run(files, *gate) == ExitCode.USAGE
    assert "a gate needs --config" in capsys.readouterr().err


@needs_data
@pytest.mark.parametrize(
    ("original", "released"),
    [("stroke/stroke.csv", "stroke/stroke_k10.csv"), ("nist_ma/ma2019.csv", "nist_ma/mst_eps10.csv")],
)
def test_tables_made_by_others_are_audited_as_they_are(original, released):
    found = cvpl.audit(SHARED / original, SHARED / released, attackers=["rarity"])
    assert found.verdict.sentence and found.assumptions.columns


def stays(rng, count):
    """People with a day and an amount that hardly two share."""
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 9_000, count), unit="D")
    return pd.DataFrame(
        {"admitted": days, "cost": np.round(rng.lognormal(10, 1, count), 2), "ward": rng.integers(5, size=count)}
    )


def in_iso(table):
    return table.assign(admitted=table["admitted"].dt.strftime("%Y-%m-%d"))


def _days(form):
    return lambda table: table.assign(admitted=table["admitted"].dt.strftime(form))


SPELLINGS = {
    "month first": ("admitted", _days("%m/%d/%Y")),
    "words": ("admitted", _days("%b %d, %Y")),
    "compact": ("admitted", _days("%Y%m%d")),
    "without a year": ("admitted", _days("%m-%d")),
    "decades": ("admitted", lambda t: t.assign(admitted=[f"{day.year // 10 * 10}s" for day in t["admitted"]])),
    "days of a spreadsheet": (
        "admitted",
        lambda t: t.assign(admitted=(t["admitted"] - pd.Timestamp("1899-12-30")).dt.days),
    ),
    "milliseconds": (
        "admitted",
        lambda t: t.assign(admitted=(t["admitted"] - pd.Timestamp("1970-01-01")) // pd.Timedelta(milliseconds=1)),
    ),
    "thousands": (
        "cost",
        lambda t: in_iso(t).assign(cost=[f"{int(v) // 20000 * 20}k-{int(v) // 20000 * 20 + 20}k" for v in t["cost"]]),
    ),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_column_that_cannot_be_read_is_named_and_no_comfort_is_given(tmp_path, spelling):
    """Left out as unreadable, it would make a low risk; neither the guess nor the file made of it may do so."""
    column, change = SPELLINGS[spelling]
    rng = np.random.default_rng(7)
    original, control, strangers = (stays(rng, count) for count in (200, 240, 200))
    released = change(strangers.assign(**{column: original[column]}))
    released = released.iloc[rng.permutation(len(released))].reset_index(drop=True)
    tables = [in_iso(original), released]
    file = cvpl.propose(*tables).write(tmp_path / "audit.yaml")
    for config in (None, file) if spelling == "month first" else (None,):
        result = cvpl.audit(*tables, config, control=in_iso(control), attackers=["rarity", "fellegi_sunter_em"])
        (found,) = [finding for finding in result.preflight if finding.check == "unmatched_columns"]
        assert found.closes_gate and found.column == column
        assert result.verdict.kind == "undetermined"
        assert f"'{column}'" in result.verdict.sentence


def test_a_column_that_the_user_ignores_stays_so():
    """A configuration by hand is the user's word for it."""
    rng = np.random.default_rng(7)
    original, released = in_iso(stays(rng, 200)), _days("%m/%d/%Y")(stays(rng, 200))
    columns = {"admitted": {"role": "ignore"}, "cost": {"role": "attribute", "type": "numeric"}}
    config = {"columns": {**columns, "ward": {"role": "attribute", "type": "category"}}, "attacker": "default"}
    result = cvpl.audit(original, released, config, attackers=["rarity"])
    assert "unmatched_columns" not in {finding.check for finding in result.preflight}


def test_strangers_in_a_column_that_cannot_be_read_are_not_linked():
    """Its labels are no features: the originals' would be known, and those of controls would not."""
    rng = np.random.default_rng(8)
    original, control, strangers = (stays(rng, count) for count in (300, 400, 300))
    result = cvpl.audit(
        in_iso(original),
        SPELLINGS["milliseconds"][1](strangers),
        control=in_iso(control),
        attackers=["unprojected", "nearest", "ranks"],
    )
    assert result.verdict.kind == "undetermined"


def test_texts_that_were_redacted_are_read_without_a_configuration():
    """Half of the words are left in each text, so no text is the original's, and words find the people."""
    rng = np.random.default_rng(9)
    words = np.array([f"w{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(600)])

    def people(count):
        notes = [" ".join(rng.choice(words, 12)) for _ in range(count)]
        return pd.DataFrame({"note": notes, "ward": rng.integers(5, size=count)})

    original, control = people(200), people(200)
    redacted = [" ".join(word if rng.random() < 0.5 else "[X]" for word in note.split()) for note in original["note"]]
    released = original.assign(note=redacted).sample(frac=1, random_state=1).reset_index(drop=True)
    result = cvpl.audit(original, released, control=control, attackers=["words"])
    assert result.verdict.kind == "linkable" and result.risk.estimate > 0.9


def test_a_new_column_of_the_release_is_not_ignored_by_a_guess(tmp_path):
    """The originals' values joined under another name, beside strangers' columns."""
    rng = np.random.default_rng(10)
    original, control, strangers = (in_iso(stays(rng, count)) for count in (200, 240, 200))
    codes = original["admitted"] + "/" + original["cost"].astype(str)
    released = strangers.assign(code=codes.sample(frac=1, random_state=1).to_numpy())
    file = cvpl.propose(original, released).write(tmp_path / "audit.yaml")
    for config in (None, file):
        result = cvpl.audit(original, released, config, control=control, attackers=["rarity"])
        (found,) = [finding for finding in result.preflight if finding.check == "renamed_columns"]
        assert found.closes_gate and "'code'" in found.message
        assert result.verdict.kind == "undetermined"
    ignored = read_yaml(file, "configuration", "")
    ignored["columns"]["code"] = {"role": "ignore"}
    result = cvpl.audit(original, released, ignored, control=control, attackers=["rarity"])
    assert "renamed_columns" not in {finding.check for finding in result.preflight}
