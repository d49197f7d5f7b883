"""What the command line does, from Python: propose, simulate, protect; and what results can be turned into."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import yaml

import cvpl
from benchmark_folders import two_data_sets
from cvpl.cli.main import run
from cvpl.config.loading import load

PEOPLE = 200


@pytest.fixture(scope="module")
def people():
    return cvpl.simulate(PEOPLE, seed=1)


@pytest.fixture(scope="module")
def settings(people):
    return people.config.model_copy(update={"canaries": False, "sensitivity": False})


@pytest.fixture(scope="module")
def audited(people, settings):
    """An audit of a release that never was a file, with two attackers, and the phases that it went through."""
    phases = []
    release = cvpl.protect(people, "perturbation", "low", settings)
    control = cvpl.simulate(PEOPLE, seed=2)
    result = cvpl.audit(
        people,
        release,
        settings,
        control=control,
        attackers=["paper", "rarity"],
        progress=lambda phase, share: phases.append((phase, share)),
    )
    return result, phases


@pytest.fixture(scope="module")
def compared(people, settings):
    config = settings.model_dump(mode="json", exclude_none=True) | {"attacker": {"preset": "paper"}}
    releases = {level: cvpl.protect(people, "perturbation", level, settings) for level in ("low", "high")}
    phases = []
    result = cvpl.compare(people, releases, config, progress=lambda phase, share: phases.append((phase, share)))
    return result, phases


@pytest.fixture(scope="module")
def swept(people, settings):
    phases = []
    made = cvpl.surface(
        people,
        "perturbation",
        ["low", "high"],
        settings,
        attacker="paper",
        progress=lambda phase, share: phases.append((phase, share)),
    )
    return made, phases


@pytest.fixture(scope="module")
def ranked(tmp_path_factory):
    first, _ = two_data_sets(tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second"))
    phases = []
    return cvpl.benchmark(
        first, only=["low", "broken"], progress=lambda phase, share: phases.append((phase, share))
    ), phases


# simulate


def test_simulated_people_are_those_of_the_command(tmp_path):
    rates = ["--anomaly-rate", "0.1", "--missing-rate", "0.05"]
    assert run(["simulate", str(tmp_path / "a.csv"), "--records", "300", "--seed", "5", *rates]) == 0
    people = cvpl.simulate(300, seed=5, anomaly_rate=0.1, missing_rate=0.05)
    assert people.write(tmp_path / "b.csv").read_bytes() == (tmp_path / "a.csv").read_bytes()
    assert (tmp_path / "audit.yaml").read_text(encoding="utf-8") == people.config_text
    assert people.config == load(tmp_path / "audit.yaml").config


def test_simulated_people_are_a_table_in_memory(people):
    columns, frame = people.to_columns(), people.to_frame()
    assert len(people) == len(frame) == PEOPLE
    assert list(frame) == list(columns) == list(people.config.columns)
    assert frame["age"].tolist() == columns["age"].tolist()


def test_a_table_in_memory_speaks_arrow_as_its_file_would(tmp_path):
    people = cvpl.simulate(300, seed=3, missing_rate=0.1)
    assert pl.DataFrame(people).equals(pl.read_parquet(people.write(tmp_path / "people.parquet")))
    assert pd.DataFrame.from_arrow(people).shape == (300, 10)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"records": 0}, "records is 0; allowed is a whole number"),
        ({"seed": -1}, "the seed is -1; allowed is a whole number from 0"),
        ({"missing_rate": 2.0}, "missing_rate is 2.0"),
    ],
)
def test_a_number_outside_its_range_is_refused(arguments, words):
    with pytest.raises(cvpl.UsageError, match=words):
        cvpl.simulate(**arguments)


def test_another_ending_is_refused(people, tmp_path):
    with pytest.raises(cvpl.UsageError, match=r"allowed are \.csv, \.csv\.gz and \.parquet"):
        people.write(tmp_path / "people.xlsx")


# protect


@pytest.mark.parametrize(
    ("method", "strength"), [("k-anonymity", 5), ("mondrian", 5), ("perturbation", "high"), ("synthetic", 0.5)]
)
def test_a_release_is_that_of_the_command(method, strength, people, tmp_path):
    table = people.write(tmp_path / "people.csv")
    (tmp_path / "audit.yaml").write_text(people.config_text, encoding="utf-8")
    call = ["--config", str(tmp_path / "audit.yaml"), "--method", method, "--strength", str(strength), "--seed", "3"]
    assert run(["protect", str(table), *call, "--out", str(tmp_path / "out")]) == 0
    release = cvpl.protect(table, method, strength, tmp_path / "audit.yaml", seed=3)
    (written,) = (tmp_path / "out").iterdir()
    assert release.write(tmp_path / "mine.csv").read_bytes() == written.read_bytes()
    assert written.stem == release.name
    assert release.left_out == ()


def test_a_dataframe_gives_the_release_of_its_file(people, settings, tmp_path):
    table = people.write(tmp_path / "people.csv")
    releases = [cvpl.protect(data, "mondrian", 5, settings) for data in (table, people, people.to_frame())]
    frames = [release.to_frame() for release in releases]
    assert all(frame.astype(str).equals(frames[0].astype(str)) for frame in frames[1:])
    assert len(releases[0]) == len(frames[0]) == PEOPLE


def test_columns_that_are_not_declared_are_named_and_left_out(people, settings):
    table = people.to_frame().assign(shoe_size=40)
    release = cvpl.protect(table, "perturbation", "low", settings)
    assert release.left_out == ("shoe_size",)
    assert "shoe_size" not in release.to_columns()


@pytest.mark.parametrize(
    ("method", "strength", "words"),
    [
        ("l-diversity", 3, "the method is 'l-diversity'; allowed are k-anonymity, mondrian, perturbation, synthetic"),
        ("k-anonymity", "many", "k is 'many'; allowed is a whole number from 2"),
        ("synthetic", 3, "retention is 3.0; allowed is a number from 0"),
    ],
)
def test_a_method_or_strength_that_there_is_not_is_refused(method, strength, words, people, settings):
    with pytest.raises(cvpl.UsageError, match=words):
        cvpl.protect(people, method, strength, settings)


# propose


def test_a_proposal_is_that_of_the_command(people, settings, tmp_path):
    original = people.write(tmp_path / "original.csv")
    released = cvpl.protect(people, "perturbation", "low", settings).write(tmp_path / "released.csv")
    assert run(["init", str(original), str(released), "--out", str(tmp_path / "audit.yaml")]) == 0
    proposal = cvpl.propose(original, released)
    assert proposal.text == (tmp_path / "audit.yaml").read_text(encoding="utf-8")
    assert proposal.config == cvpl.AuditConfig.model_validate(yaml.safe_load(proposal.text))
    assert proposal.config.columns["person_id"].role == "id"


def test_a_proposal_for_dataframes_can_be_audited(people, settings):
    released = cvpl.protect(people, "perturbation", "low", settings)
    proposal = cvpl.propose(people, released.to_frame())
    result = cvpl.audit(people, released, proposal.config, attackers=["paper"])
    assert result.truth.originals_with_match == PEOPLE


def test_a_proposal_never_replaces_a_file_unasked(people, tmp_path):
    proposal = cvpl.propose(people, people)
    path = tmp_path / "audit.yaml"
    assert proposal.write(path) == path
    path.write_text("corrected by hand", encoding="utf-8")
    with pytest.raises(cvpl.UsageError, match="already exists"):
        proposal.write(path)
    assert path.read_text(encoding="utf-8") == "corrected by hand"
    proposal.write(path, overwrite=True)
    assert path.read_text(encoding="utf-8") == proposal.text


def test_a_proposal_without_a_column_to_compare_is_still_one():
    table = pd.DataFrame({"note": [f"free text number {row}, long enough" for row in range(30)]})
    proposal = cvpl.propose(table, table)
    assert list(proposal.config.columns) == ["note"]


# progress


def test_an_audit_reports_its_phases(audited):
    _, phases = audited
    names = [phase for phase, _ in phases]
    assert names[:2] == ["reading", "checking the tables"]
    assert any("rarity" in name for name in names)
    assert list(dict.fromkeys(names))[-2:] == ["attribute inference", "putting the result together"]
    assert all(share is None or 0 <= share <= 1 for _, share in phases)


def test_the_phases_of_others_name_the_release_or_the_strength(compared, swept, ranked):
    first, second, third = ([phase for phase, _ in reports] for _, reports in (compared, swept, ranked))
    assert {"low: reading", "high: utility"} <= set(first)
    assert {"strength low: reading", "strength high: reading"} <= set(second)
    assert third[0] == "reading the manifests" and any("first/low, " in phase for phase in third)


def test_the_share_of_all_releases_rises_from_nothing_to_all(compared, swept, ranked):
    for (_, reports), many in ((compared, 2), (swept, 2), (ranked, 2)):
        shares = [share for _, share in reports]
        assert shares[0] is None and shares[-1] == 1.0
        known = [share for share in shares if share is not None]
        assert known == sorted(known) and len(known) >= len(shares) - 1
        assert max(share for share in known if share <= 1 / many) > 0.4  # the first half is the first release's


# What a result can be turned into


def test_an_audit_has_a_row_for_each_attacker(audited):
    result, _ = audited
    frame = result.to_frame()
    assert frame["attacker"].tolist() == ["paper", "rarity"]
    assert frame.loc[frame["headline"], "attacker"].tolist() == [result.attacker]
    for row, shown in zip(result.attackers, frame.itertuples(), strict=True):
        assert (shown.risk, shown.risk_low, shown.risk_high) == (row.risk.estimate, row.risk.low, row.risk.high)
        assert (shown.linkage_rate, shown.control_rate) == (row.linkage_rate.estimate, row.control_rate)
        assert (shown.asked, shown.counts) == (row.asked, not row.disqualified)
    assert result.power_at(0.05) in result.power and result.power_at(0.07) is None


def test_a_comparison_has_a_row_for_each_release(compared):
    result, _ = compared
    frame = result.to_frame()
    assert frame["release"].tolist() == [release.name for release in result.releases]
    assert frame["risk"].tolist() == [release.risk.estimate for release in result.releases]
    assert frame["utility"].tolist() == [release.utility.score for release in result.releases]
    assert frame["first_place"].tolist() == [release.risk_places.first for release in result.releases]


def test_a_surface_has_a_row_for_each_setting(swept):
    result, _ = swept
    frame = result.to_frame()
    assert frame["strength"].tolist() == ["low", "high"]
    assert frame["risk_high"].tolist() == [row.risk.high for row in result.settings]
    assert frame["utility"].tolist() == [row.utility.mean for row in result.settings]


def test_a_benchmark_has_a_row_for_each_release_also_one_that_failed(ranked):
    result, _ = ranked
    frame = result.to_frame().set_index("release")
    assert frame.index.tolist() == [row.name for row in result.rows]
    assert frame.loc["broken", "status"] == "failed" and np.isnan(frame.loc["broken", "risk"])
    assert frame.loc["low", "risk"] == next(row.risk.estimate for row in result.rows if row.name == "low")


@pytest.mark.parametrize("kind", ["audited", "compared", "swept", "ranked"])
def test_a_report_in_memory_is_the_report_on_disk(kind, request, tmp_path):
    result, _ = request.getfixturevalue(kind)
    page, short = cvpl.write_report(result, tmp_path / "r.html"), cvpl.write_report(result, tmp_path / "r.md")
    assert result.to_html() == page.read_text(encoding="utf-8")
    assert result.to_html().startswith("<!DOCTYPE html>")
    assert result.to_markdown() == short.read_text(encoding="utf-8")
    assert result.to_markdown().startswith("#")
    assert type(result).from_json(result.write(tmp_path / "new").read_bytes()) == result


@pytest.mark.parametrize("kind", ["audited", "people"])
def test_without_pandas_to_frame_says_what_to_install(kind, request, monkeypatch):
    value = request.getfixturevalue(kind)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(cvpl.UsageError, match=r"pandas is not installed\. Install it with `pip install pandas`"):
        (value if kind == "people" else value[0]).to_frame()


def test_a_table_in_memory_shows_no_cell_and_cannot_be_written_to(people):
    assert repr(people) == f"<SimulatedPeople: {PEOPLE} rows, 10 columns>"
    with pytest.raises(ValueError, match="read-only"):
        people.to_columns()["age"][0] = 0
