"""A benchmark: manifests in, one leaderboard out, with the figures of ordinary audits."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import duckdb
import jsonschema
import numpy as np
import pandas as pd
import pytest
import yaml
from rich.console import Console

import cvpl
from benchmark_folders import CONFIG, MADE, manifest, two_data_sets, write
from cvpl import schemas
from cvpl.cli.main import run
from cvpl.config.manifest import ManifestConfig, read_manifests
from cvpl.errors import InputError
from cvpl.reports.leaderboard import leaderboard_csv, leaderboard_markdown, note, place, risk_table
from cvpl.reports.page import report_page
from cvpl.reports.sections.reviewers import command
from cvpl.reports.terminal import show
from cvpl.result import BenchmarkResult, BenchmarkRow, benchmark_schema
from cvpl.result.file import read_any, read_result
from cvpl.workflows.benchmark import benchmark as benchmarking
from cvpl.workflows.benchmark import leaderboard as fingerprinting
from cvpl.workflows.benchmark.leaderboard import KeptResults, fingerprint, rank_rows
from examples import examples
from shared_data import SHARED, needs_data

MANIFESTS = Path(__file__).parents[2] / "benchmarks" / "manifests"
SCHEMAS = Path(schemas.__file__).parent


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return two_data_sets(tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second"))


@pytest.fixture(scope="module")
def run_once(folders, tmp_path_factory):
    """Both, run by the command line: the folder with what it wrote, and its exit code."""
    out = tmp_path_factory.mktemp("out") / "suite"
    return out, run(["benchmark", *map(str, folders), "--out", str(out)])


@pytest.fixture
def kept_once(run_once, tmp_path):
    """A copy of what it wrote, to take up or to damage."""
    return shutil.copytree(run_once[0], tmp_path / "kept")


@pytest.fixture(scope="module")
def result(run_once):
    return BenchmarkResult.from_json((run_once[0] / "benchmark.json").read_bytes())


def row(result, name):
    (found,) = [item for item in result.rows if item.name == name]
    return found


def without_seconds(text):
    return re.sub(r'"seconds": [0-9.]+', '"seconds": 0', text)


def test_every_release_has_its_row_and_failures_end_with_3(run_once, result):
    assert run_once[1] == 3
    assert [item.name for item in result.of("first")] == ["low", "high", "dead", "broken"]
    assert [item.name for item in result.of("second")] == ["sample", "known", "blind"]
    assert [item.status for item in result.of("first")] == ["assessed", "assessed", "not_assessable", "failed"]


def test_a_release_that_fails_says_why_and_tells_no_cell(result):
    broken, dead = row(result, "broken"), row(result, "dead")
    assert "broken.csv, row 1, column 'age'" in broken.reasons[0]
    assert "not an age" not in result.to_json()
    assert dead.reasons and dead.attacker is not None
    for item in (broken, dead):
        assert (
            item.place is None and item.power is None and item.attributable_rate is None and item.linkage_rate is None
        )


@pytest.mark.parametrize("name", ["low", "high"])
def test_figures_are_those_of_an_ordinary_audit(folders, run_once, result, name):
    folder = folders[0]
    alone = cvpl.audit(folder / "original.csv", folder / f"{name}.csv", CONFIG, control=folder / "control.csv")
    kept = read_result(run_once[0] / "results" / "first" / f"{name}.json")
    mine, theirs = json.loads(alone.to_json()), json.loads(kept.to_json())
    mine["provenance"]["config"]["control"] = {"file": "control.csv"}
    assert mine == theirs
    found = row(result, name)
    assert found.linkage_rate == found.paper_linkage_rate == alone.linkage_rate
    assert (found.control, found.attributable_rate) == (alone.control, alone.attributable_rate)
    assert found.power == next(item for item in alone.power if item.false_rate == 0.05)
    assert found.top1_hit_rate == alone.truth.top1_hit_rate
    assert found.blocking_recall == alone.truth.blocking_recall
    assert found.largest_top1.top1_hit_rate == alone.attackers[0].top1_hit_rate


def test_utility_is_the_one_by_which_a_comparison_compares(folders, kept_once):
    files = [folders[0] / f"{name}.csv" for name in ("low", "high")]
    compared = cvpl.compare(folders[0] / "original.csv", files, CONFIG, control=folders[0] / "control.csv")
    only = cvpl.benchmark(folders[0], folder=kept_once, only=["low", "first/high"])
    assert only.groups[0].utility_figures == compared.utility_figures
    scores = {release.name: release.utility.score for release in compared.releases}
    assert {f"{item.name}.csv": item.utility.score for item in only.rows} == scores


def test_a_sample_is_held_against_those_who_are_not_in_it(folders, result):
    found = row(result, "sample")
    assert found.control_from == "absent"
    assert found.inputs["original"].rows == 60 and found.inputs["control"].rows == 140
    assert found.attributable_rate.basis == "control" and found.top1_hit_rate == 1.0
    original = pd.read_csv(folders[1] / "original.csv")
    there = original.person_id.isin(pd.read_csv(folders[1] / "sample.csv").person_id)
    by_hand = cvpl.audit(original[there], folders[1] / "sample.csv", CONFIG, control=original[~there])
    assert found.linkage_rate == by_hand.linkage_rate
    assert found.control.rate == by_hand.control.rate
    assert found.attributable_rate == by_hand.attributable_rate
    assert found.top1_hit_rate == by_hand.truth.top1_hit_rate


def test_rows_without_a_control_are_not_ranked_against_rows_with_one(result):
    sample, known, blind = result.of("second")
    assert [item.ranked_by for item in (sample, known, blind)] == ["risk", "top1_hit_rate", None]
    assert (sample.place.first, sample.place.last) == (known.place.first, known.place.last) == (1, 1)
    assert known.power is None and known.attributable_rate.basis == "own_match_left_out"
    assert blind.place is None and blind.attributable_rate is None and blind.linkage_rate.estimate is not None


def placed(result, *ends):
    """Rows that are like one with a control, but for their risk and its interval, in order."""
    like = row(result, "low")
    rows = [
        like.model_copy(
            update={
                "name": str(at),
                "risk": like.risk.model_copy(update={"estimate": risk, "low": low, "high": high}),
            }
        )
        for at, (low, risk, high) in enumerate(ends)
    ]
    return [(item.name, item.place.first, item.place.last) for item in rank_rows(rows)]


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([(0.1, 0.2, 0.3), (0.4, 0.5, 0.6)], [("1", 1, 1), ("0", 2, 2)]),
        ([(0.1, 0.2, 0.45), (0.4, 0.5, 0.6)], [("1", 1, 2), ("0", 1, 2)]),
        ([(0.1, 0.2, 0.4), (0.3, 0.35, 0.6), (0.5, 0.7, 0.9)], [("2", 1, 2), ("1", 1, 3), ("0", 2, 3)]),
        ([(None, 0.2, None), (0.4, 0.5, 0.6)], [("1", 1, 2), ("0", 1, 2)]),
    ],
)
def test_releases_whose_intervals_meet_are_tied(result, ends, expected):
    assert placed(result, *ends) == expected


def test_releases_are_ranked_by_risk_whatever_their_other_figures_are(result):
    """The release with the higher risk comes first, though fewer of its people are linked at the threshold."""
    low, high = row(result, "low"), row(result, "high")
    assert low.risk.estimate == pytest.approx((low.power.power - 0.05) / 0.95)
    assert [item.ranked_by for item in (low, high)] == ["risk", "risk"]
    turned = [
        low.model_copy(update={"name": "a", "risk": high.risk}),
        high.model_copy(update={"name": "b", "risk": low.risk}),
    ]
    assert turned[0].linkage_rate.estimate > turned[1].linkage_rate.estimate
    assert turned[0].power.power > turned[1].power.power
    assert [item.name for item in rank_rows(turned)] == ["b", "a"]


def test_risks_at_different_false_rates_are_not_ranked_against_each_other_and_the_rate_is_named(result):
    low, high = row(result, "low"), row(result, "high")
    other = high.model_copy(update={"risk": high.risk.model_copy(update={"false_rate": 0.10})})
    found = rank_rows([low, other])
    assert [(item.place.first, item.place.last, place(item, found)) for item in found] == [(1, 1, "1 of 1")] * 2
    cells = [row[2] for row in risk_table("x", found).rows]
    assert ", at" not in cells[0] and cells[1].endswith(", at 10%")


def test_chance_is_named_once_before_the_first_risk(result, capsys):
    show(result, Console(width=200, force_terminal=False))
    for text in (capsys.readouterr().out, leaderboard_markdown(result), report_page(result)):
        words = " ".join(text.split())
        assert words.count("beyond the 5% expected by chance") == 1
        risk = f"{row(result, 'low').risk.estimate:.1%}"
        assert words.index("beyond the 5% expected by chance") < words.index(risk)


def test_a_release_of_too_few_rows_is_not_assessable_and_has_no_place(folders, tmp_path):
    for name in ("original.csv", "control.csv"):
        (tmp_path / name).write_bytes((folders[0] / name).read_bytes())
    lines = (folders[0] / "low.csv").read_text().splitlines()[:4]
    (tmp_path / "few.csv").write_text("\n".join(lines) + "\n")
    write(tmp_path, manifest("small", {"few": {"file": "few.csv", **MADE}}, control={"file": "control.csv"}))
    (few,) = cvpl.benchmark(tmp_path).rows
    assert (few.status, few.place, few.risk, few.ranked_by) == ("not_assessable", None, None, None)
    assert few.reasons and few.verdict.kind == "not_assessable"


def test_releases_with_different_controls_are_not_ranked_against_each_other(result):
    low, high = row(result, "low"), row(result, "high")
    other = high.inputs | {"control": high.inputs["control"].model_copy(update={"sha256": "other"})}
    found = rank_rows([low, high.model_copy(update={"inputs": other})])
    assert [(item.place.first, item.place.last, place(item, found)) for item in found] == [(1, 1, "1 of 1")] * 2


def test_a_second_run_audits_nothing_anew(folders, run_once, result, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("audited anew")

    monkeypatch.setattr(benchmarking, "audit", refuse)
    again = cvpl.benchmark(folders, folder=run_once[0], only=["low", "high", "dead", "sample", "known", "blind"])
    kept = {item.name: item for item in result.rows}
    assert len(again.rows) == 6
    assert all(item.seconds == kept[item.name].seconds and item.status == kept[item.name].status for item in again.rows)


def test_a_run_that_was_interrupted_goes_on_where_it_was(folders, tmp_path, monkeypatch, capsys):
    real, asked = benchmarking.audit, []

    def interrupted(*arguments, **more):
        asked.append(arguments[1].name)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return real(*arguments, **more)

    monkeypatch.setattr(benchmarking, "audit", interrupted)
    call = ["benchmark", str(folders[0]), "--out", str(tmp_path), "--only", "high,low"]
    assert run(call) == 5
    assert "run the same command to resume" in capsys.readouterr().err
    assert not (tmp_path / "benchmark.json").exists()
    assert run(call) == 0
    assert asked == ["high.csv", "low.csv", "low.csv"]


def test_with_only_the_leaderboard_holds_what_is_named_and_other_results_stay(folders, tmp_path, capsys):
    for name in ("low", "high"):
        assert run(["benchmark", str(folders[0]), "--out", str(tmp_path), "--only", name, "--overwrite"]) == 0
    assert list(pd.read_csv(tmp_path / "leaderboard.csv").release) == ["high"]
    assert sorted(item.name for item in tmp_path.glob("results/first/*.run.json")) == ["high.run.json", "low.run.json"]
    capsys.readouterr()
    run(["benchmark", "--help"])
    assert "then has only these" in " ".join(re.sub("[│┃|]", " ", capsys.readouterr().out).split())


def test_a_fault_of_the_program_is_a_row_too_and_tells_no_cell(folders, monkeypatch):
    def faulty(*_, **__):
        raise RuntimeError("a cell of the table")

    monkeypatch.setattr(benchmarking, "audit", faulty)
    found = cvpl.benchmark(folders[0], only=["high", "low"])
    assert [item.status for item in found.rows] == ["failed", "failed"]
    assert found.rows[0].reasons[0].startswith("internal error (RuntimeError at ")
    assert "a cell" not in found.to_json()


def damaged(folder):
    (folder / "results" / "first" / "low.json").write_text("{")


def begun(folder):
    (folder / "results" / "first" / "low.run.json").unlink()


def changed(folder):
    file = folder / "results" / "first" / "low.json"
    file.write_text(file.read_text().replace('"lower_bound": false', '"lower_bound": true'))


@pytest.mark.parametrize("harm", [damaged, begun, changed])
def test_a_kept_result_that_is_not_whole_is_made_anew(folders, kept_once, harm, monkeypatch):
    audited = []
    real = benchmarking.audit
    monkeypatch.setattr(benchmarking, "audit", lambda *given, **more: audited.append(1) or real(*given, **more))
    before = cvpl.benchmark(folders[0], folder=kept_once, only=["low"])
    assert not audited
    harm(kept_once)
    after = cvpl.benchmark(folders[0], folder=kept_once, only=["low"])
    assert audited
    assert without_seconds(after.to_json()) == without_seconds(before.to_json())


def test_a_flipped_bit_in_a_kept_file_is_noticed(folders, kept_once):
    """Any bit of either file: the result is not used, and one line says so."""
    kept, (entry, *_) = KeptResults(kept_once), read_manifests([folders[0]], None)[0].entries
    audited = cvpl.benchmark(folders[0], folder=kept_once, only=[entry.name]).rows[0]
    files = sorted(kept_once.glob(f"results/first/{entry.name}.*json"))
    assert len(files) == 2 and kept.find("first", entry.name, audited.fingerprint) is not None
    rng = np.random.default_rng(3)
    for file in files:
        content = file.read_bytes()
        for bit in rng.choice(8 * len(content), examples(60), replace=False):
            turned = bytearray(content)
            turned[bit // 8] ^= 1 << int(bit % 8)
            file.write_bytes(turned)
            said = []
            assert kept.find("first", entry.name, audited.fingerprint, said.append) is None
            assert len(said) == 1 and "is damaged" in said[0]
        file.write_bytes(content)
    assert kept.find("first", entry.name, audited.fingerprint, never) is not None


def never(text):
    raise AssertionError(text)


def test_a_damaged_result_is_said_in_one_line_and_the_run_ends_as_it_would_have(folders, kept_once, capsys):
    call = ["benchmark", str(folders[0]), "--out", str(kept_once), "--only", "low", "--overwrite"]
    assert run(call) == 0
    before = without_seconds((kept_once / "benchmark.json").read_text())
    file = kept_once / "results" / "first" / "low.run.json"
    file.write_text(file.read_text().replace('"seconds": ', '"seconds": 1'))
    capsys.readouterr()
    assert run(call) == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "damaged" in line]
    assert line == f"{file.with_name('low.json')}: this kept result is damaged. The release is audited again."
    assert without_seconds((kept_once / "benchmark.json").read_text()) == before


def test_a_table_that_changes_within_one_tick_of_the_clock_is_another(folders, tmp_path):
    """Neither its size nor its time tells."""
    for name in ("original.csv", "control.csv", "low.csv"):
        (tmp_path / name).write_bytes((folders[0] / name).read_bytes())
    write(tmp_path, manifest("first", {"low": {"file": "low.csv", **MADE}}, control={"file": "control.csv"}))
    (entry,) = read_manifests([tmp_path], None)[0].entries
    before, file = fingerprint(entry), tmp_path / "low.csv"
    times = file.stat()
    content = file.read_bytes()
    with file.open("rb+") as opened:
        opened.write(content[:-2] + (b"1" if content[-2:-1] != b"1" else b"2") + content[-1:])
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert file.stat().st_size == times.st_size
    assert fingerprint(entry) != before


def test_a_result_depends_on_all_code_that_computes_figures(tmp_path):
    assert {"search", "attack", "evaluation"} <= {path.name for path in Path(cvpl.__file__).parent.iterdir()}
    assert fingerprinting.code_digest() == fingerprinting.code_digest(Path(cvpl.__file__).parent)
    digests = []
    for changed in (None, "search/exact.py", "reports/page.py"):
        folder = tmp_path / str(len(digests))
        for name in ("search/exact.py", "reports/page.py"):
            (folder / name).parent.mkdir(parents=True)
            (folder / name).write_text("new" if name == changed else "old")
        digests.append(fingerprinting.code_digest(folder))
    assert digests[0] == digests[2] != digests[1]


def test_a_result_of_inputs_that_changed_during_the_audit_is_not_kept(folders, tmp_path, monkeypatch):
    marks = iter(["before", "after"])
    monkeypatch.setattr(benchmarking, "fingerprint", lambda entry: next(marks))
    cvpl.benchmark(folders[0], folder=tmp_path, only=["low"])
    assert not list(tmp_path.glob("results/*/*.json"))


def test_households_and_subgroups_are_parted_with_their_people(folders):
    """An audit with `control: absent` tells what one with the two parts as tables of their own does."""
    released = pd.read_csv(folders[1] / "sample.csv")
    original = pd.read_csv(folders[1] / "original.csv")
    original["home"] = original.index // 3
    there = original.person_id.isin(released.person_id)
    config = CONFIG | {"columns": CONFIG["columns"] | {"home": {"role": "group"}}, "report": {"subgroups": ["gender"]}}
    parted = cvpl.audit(original, released, config | {"control": "absent"})
    by_hand = cvpl.audit(original[there], released, config, control=original[~there])
    parts = [json.loads(item.to_json()) for item in (parted, by_hand)]
    assert parts[0]["provenance"]["config"].pop("control") == "absent"
    assert [item["inputs"]["control"].pop("name") for item in parts] == ["original", "control"]
    # Whether a column is all but unique is seen in the whole table, and a part of it has fewer values twice.
    unique = [[item for item in one["preflight"] if item["check"] == "identifier_unique_values"] for one in parts]
    assert all(item in unique[1] for item in unique[0])
    for one in parts:
        one["preflight"] = [item for item in one["preflight"] if item["check"] != "identifier_unique_values"]
    assert parts[0] == parts[1]


def test_the_command_that_repeats_such_an_audit_names_no_control(folders):
    alone = cvpl.audit(folders[1] / "original.csv", folders[1] / "sample.csv", CONFIG | {"control": "absent"})
    assert command(alone) == "cvpl audit original.csv sample.csv --config audit.yaml"


@pytest.mark.parametrize("what", ["seed", "control", "release"])
def test_a_result_is_not_used_for_other_inputs(folders, kept_once, tmp_path, what):
    folder = shutil.copytree(folders[0], tmp_path / "data")
    content = yaml.safe_load((folder / "benchmark.yaml").read_text())
    before = cvpl.benchmark(folder, folder=kept_once, only=["low"])
    assert before.rows[0].seconds == cvpl.benchmark(folders[0], folder=kept_once, only=["low"]).rows[0].seconds
    if what == "seed":
        write(folder, content | {"seed": 7})
    else:
        file = folder / {"control": "control.csv", "release": "low.csv"}[what]
        file.write_text("\n".join(file.read_text().splitlines()[:-1]) + "\n")
    after = cvpl.benchmark(folder, folder=kept_once, only=["low"])
    assert after.rows[0].fingerprint != before.rows[0].fingerprint
    kept = json.loads((kept_once / "results" / "first" / "low.run.json").read_text())
    assert kept["fingerprint"] == after.rows[0].fingerprint


def test_the_same_input_gives_the_same_bytes_but_for_seconds(folders, run_once, result):
    again = cvpl.benchmark(folders)
    assert without_seconds(again.to_json()) == without_seconds(result.to_json())
    plain = [
        item.model_copy(update={"rows": [r.model_copy(update={"seconds": 0}) for r in item.rows]})
        for item in (result, again)
    ]
    assert leaderboard_markdown(plain[0]) == leaderboard_markdown(plain[1])
    assert leaderboard_csv(plain[0]) == leaderboard_csv(plain[1])


def test_files_are_written_and_read_back(run_once, result):
    out = run_once[0]
    assert sorted(item.name for item in out.iterdir()) == [
        "benchmark.json", "leaderboard.csv", "leaderboard.md", "report.html", "results",
    ]  # fmt: skip
    assert read_any(out)[0] == result
    jsonschema.validate(json.loads(result.to_json()), benchmark_schema())
    table = pd.read_csv(out / "leaderboard.csv")
    assert list(table.release) == [item.name for item in result.rows]
    assert table.power.iloc[0] == row(result, "low").power.power
    assert table.held_against.iloc[4] == "originals not released"
    assert table.held_against.isna().tolist() == [item.status != "assessed" for item in result.rows]


def test_what_failed_stands_under_place_and_not_under_risk(result):
    rows = result.of("first")
    shown = risk_table("x", rows)
    cells = [dict(zip((head.name for head in shown.heads), row, strict=True)) for row in shown.rows[2:]]
    assert [(cell["place"], cell["risk"]) for cell in cells] == [("not assessable", "n/a"), ("failed", "n/a")]


@pytest.mark.parametrize(
    ("status", "reasons", "expected"),
    [
        ("failed", ["a.csv, row 1: text. Mend it.", "a.csv, row 42: text. Mend it."],
         "a.csv, row 1: text. Mend it. a.csv, row 42: text. Mend it. Warnings: swings with encoding, few records."),
        ("failed", ["internal error"], "internal error. Warnings: swings with encoding, few records."),
        ("not_assessable", ["most are alone", "most are alike"],
         "most are alone; most are alike. Warnings: swings with encoding, few records."),
        ("assessed", [], "warnings: swings with encoding, few records."),
    ],
)  # fmt: skip
def test_reasons_and_warnings_are_joined_as_sentences(result, status, reasons, expected):
    warnings = [
        {"rule": rule, "message": rule, "docs": None} for rule in ("swings_with_encoding", "columns", "few_records")
    ]
    text = row(result, "low").model_dump() | {"status": status, "reasons": reasons, "warnings": warnings}
    assert note(BenchmarkRow.model_validate(text)) == expected


def test_a_row_keeps_the_warnings_of_its_audit_and_every_leaderboard_shows_them(result):
    """In the JSON with rule and message, in Markdown and on the page as a note of rules and as sentences."""
    warning = {"rule": "few_records", "message": "only 12 people carry `search.sample`", "docs": None}
    more = [{"rule": "columns", "message": f"column '{name}' is absent", "docs": None} for name in "ab"]
    one = BenchmarkRow.model_validate(row(result, "low").model_dump() | {"warnings": [warning, *more]})
    assert [(item["rule"], item["message"]) for item in json.loads(one.model_dump_json())["warnings"]] == [
        ("few_records", "only 12 people carry `search.sample`"), ("columns", "column 'a' is absent"),
        ("columns", "column 'b' is absent"),
    ]  # fmt: skip
    text = result.model_copy(update={"rows": [one], "groups": result.groups[:1]})
    markdown, page = leaderboard_markdown(text), report_page(text)
    assert "- `low`: warnings: few records." in markdown
    assert "- Only 12 people carry `search.sample`. All releases." in markdown
    assert "2 on columns that are absent" in markdown and "2 on columns that are absent" in page
    assert "warnings: few records." in page and "Only 12 people carry" in page


def test_the_source_of_a_table_is_shown_as_it_is_written(result):
    group = result.groups[0].model_copy(update={"source": "https://example.org/data", "licence": "mine"})
    text = result.model_copy(update={"groups": [group]})
    assert "\n- Source: https://example.org/data\n- Licence: mine\n" in leaderboard_markdown(text)
    page = report_page(text)
    assert ">Source: https://example.org/data</p>" in page and ">Licence: mine</p>" in page


def test_settings_and_options_in_a_reason_are_code_on_the_page_and_names_are_not(result):
    words = "Allow more with `--memory SIZE` or `search.memory`; `x` and ` onerror=` are names."
    failed = row(result, "broken").model_copy(update={"reasons": [words]})
    text = result.model_copy(update={"rows": [failed], "groups": result.groups[:1]})
    for page, code in ((report_page(text), "<code>{}</code>"), (leaderboard_markdown(text), "`{}`")):
        assert code.format("--memory SIZE") in page and code.format("search.memory") in page
        assert code.format("x") not in page and code.format(" onerror=") not in page


def test_the_published_schemas_are_those_of_the_code():
    assert json.loads((SCHEMAS / "benchmark.json").read_text()) == benchmark_schema()
    assert json.loads((SCHEMAS / "manifest.json").read_text()) == ManifestConfig.model_json_schema()


def wrong(**changes):
    return manifest("x", {"low": {"file": "low.csv", **MADE}}) | changes


RELEASE = {"file": "low.csv", **MADE}
WRONG = {
    "an unknown key": (wrong(colour="red"), "unknown setting `colour`. Allowed here: `columns`"),
    "an unknown key of a release": (
        wrong(releases={"low": RELEASE | {"colour": 1}}),
        "unknown setting `releases.low.colour`. Allowed here: `file`",
    ),
    "a misspelt key": (wrong(licens="free"), "unknown setting `licens`. Did you mean `licence`?"),
    "a key of the manifest in a release": (
        wrong(releases={"low": RELEASE | {"source": "x"}}),
        "unknown setting `releases.low.source`. `source` belongs at the top level.",
    ),
    "a missing original": (
        wrong(original="none.csv"), "`original`: there is no such file: 'none.csv' in the folder FOLDER",
    ),
    "a missing release": (
        wrong(releases={"low": RELEASE, "gone": RELEASE | {"file": "gone.csv"}}),
        "`releases.gone.file`: there is no such file: 'gone.csv' in the folder FOLDER",
    ),
    "a missing control": (
        wrong(control={"file": "/gone.csv"}), "`control.file`: there is no such file: '/gone.csv'. Correct the path",
    ),
    "a missing hierarchy": (
        wrong(columns=CONFIG["columns"] | {"gender": {"role": "attribute", "type": "category", "hierarchy": "l/h"}}),
        "wrong.yaml, l/h: the hierarchy file cannot be opened: there is no such file",
    ),
    "no title": ({key: item for key, item in wrong().items() if key != "title"}, "`title`: this setting is required"),
    "a name with a slash": (wrong(name="a/b"), "a name has up to 60 letters"),
    "a release's name with dots": (wrong(releases={"..": RELEASE}), "a name has up to 60 letters"),
    "names alike": (wrong(releases={"a": RELEASE, "A": RELEASE}), "two release names differ only in"),
    "an unknown family": (wrong(releases={"a": RELEASE | {"family": "magic"}}), "`releases.a.family`: input should be"),
    "a path for a control": (wrong(control="x.csv"), "`control`: write {file: PATH}, or absent"),
    "absent without truth": (
        wrong(control="absent", truth=CONFIG["truth"] | {"complete": False}),
        "not all matches are known",
    ),
    "no attacker": ({key: item for key, item in wrong().items() if key != "attacker"}, "no attacker is set"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_manifest_is_refused_with_its_problem(folders, tmp_path, name):
    content, text = WRONG[name]
    path = write(tmp_path, content, "wrong.yaml")
    with pytest.raises(cvpl.InputError) as refused:
        read_manifests([path], folders[0])
    assert text.replace("FOLDER", str(folders[0])) in str(refused.value)
    assert str(refused.value).count("\n") == 0 and str(refused.value).startswith("wrong.yaml")


def test_a_data_folder_that_is_not_there_is_one_problem(tmp_path, capsys):
    path = write(tmp_path, wrong(original="none.csv"), "one.yaml")
    assert run(["benchmark", str(path), "--data", str(tmp_path / "gone")]) == 2
    said = capsys.readouterr().err
    assert f"--data {tmp_path / 'gone'}: there is no such folder." in said and "one.yaml" not in said


@pytest.mark.parametrize("given", ["benchmark.yaml", "./benchmark.yaml", "."])
def test_a_manifest_of_the_current_folder_is_reported_by_its_name_alone(tmp_path, monkeypatch, given):
    write(tmp_path, wrong(colour="red", original="/gone.csv", releases={"low": RELEASE | {"file": "/gone.csv"}}))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(cvpl.InputError) as refused:
        read_manifests([given])
    assert {problem.where for problem in refused.value.problems} == {"benchmark.yaml"}


def test_an_out_that_cannot_be_written_is_reported_before_any_audit(folders, tmp_path, monkeypatch, capsys):
    def refuse(*_, **__):
        raise AssertionError("audited")

    monkeypatch.setattr(benchmarking, "audit", refuse)
    (tmp_path / "results").write_text("a file where the folder of the results is to be")
    assert run(["benchmark", str(folders[0]), "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"--out {tmp_path}: cannot write in '{tmp_path / 'results'}'" in said


def test_no_kept_audit_is_reported_where_none_was_finished(folders, tmp_path, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(benchmarking, "audit", interrupted)
    assert run(["benchmark", str(folders[0]), "--out", str(tmp_path)]) == 5
    said = capsys.readouterr().err
    assert "Interrupted" in said and "kept" not in said


def test_all_problems_of_all_manifests_are_reported_at_once_and_nothing_is_done(folders, tmp_path, capsys):
    one = write(tmp_path, wrong(colour="red", original="none.csv"), "one.yaml")
    two = write(tmp_path, wrong(control={"file": "gone.csv"}), "two.yaml")
    code = run(["benchmark", str(one), str(two), "--data", str(folders[0]), "--out", str(tmp_path / "out")])
    said = capsys.readouterr().err
    assert code == 3 and "3 problems found" in said
    assert (
        "one.yaml: unknown setting `colour`" in said
        and "one.yaml: `original`" in said
        and "two.yaml: `control.file`" in said
    )
    assert not (tmp_path / "out").exists()


def test_a_folder_without_a_manifest_is_reported_by_its_name(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(cvpl.InputError, match=r"^empty/benchmark\.yaml: the manifest cannot be opened"):
        read_manifests([tmp_path / "empty"])


def test_a_manifest_twice_is_refused(folders):
    with pytest.raises(cvpl.InputError, match="another manifest has the same `name`"):
        read_manifests([folders[0], folders[0]])


def test_an_unknown_release_is_refused_with_those_that_there_are(folders):
    with pytest.raises(cvpl.UsageError, match=r"no release 'lo' \(did you mean 'low'\?\); choose among first/broken"):
        cvpl.benchmark(folders[0], only=["lo"])


def test_everybody_or_nobody_absent_is_no_control(folders, tmp_path):
    config = CONFIG | {"control": "absent"}
    with pytest.raises(cvpl.InputError, match="finds 200 originals with a match, 0 without"):
        cvpl.audit(folders[0] / "original.csv", folders[0] / "low.csv", config)


def test_releases_that_are_compared_need_one_control(folders):
    config, table = CONFIG | {"control": "absent"}, folders[1] / "original.csv"
    with pytest.raises(cvpl.InputError, match="a comparison needs the same control for every release"):
        cvpl.compare(table, [folders[1] / "sample.csv"], config)
    with pytest.raises(cvpl.InputError, match="a surface needs the same control for every release"):
        cvpl.surface(table, "perturbation", ["low"], config)


def test_the_tables_fit_a_narrow_terminal(run_once, folders, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    run(["benchmark", *map(str, folders), "--out", str(run_once[0]), "--only", "low,high,sample", "--overwrite"])
    said = capsys.readouterr().out
    assert "3 releases of 2 data sets." in said and "1 of 2" in said
    assert all(len(line) <= 80 for line in said.splitlines() if not line.startswith("Written"))


def test_a_formula_in_a_manifest_is_no_formula_in_the_table(result):
    made = result.rows[0].made.model_copy(update={"by": "=1+1"})
    text = result.model_copy(update={"rows": [result.rows[0].model_copy(update={"made": made})]})
    assert ",'=1+1," in leaderboard_csv(text)


def test_a_row_holds_what_a_leaderboard_needs():
    needed = {"linkage_rate", "control", "attributable_rate", "power", "top1_hit_rate", "utility", "seconds", "made"}
    assert needed <= set(BenchmarkRow.model_fields)


# Tables made by others: every manifest of ours describes what is there.

SIDE_FILES = {"adult_study_2021/published_closeness.csv", "german/german.csv"}
ORIGINALS = {"adult/adult.csv", "adult_study_2021/trn.csv.gz", "adult_study_2021/val.csv.gz", "stroke/stroke.csv",
             "nist_ma/ma2019.csv"}  # fmt: skip


@pytest.fixture(scope="module")
def ours():
    return read_manifests(sorted(MANIFESTS.glob("*.yaml")), SHARED)


@needs_data
def test_every_shared_release_has_a_row(ours):
    there = {item.relative_to(SHARED).as_posix() for item in [*SHARED.glob("*/*.csv"), *SHARED.glob("*/*.csv.gz")]}
    there = {name for name in there if not name.startswith("multi_table/")}  # releases of two tables have no manifest
    described = {entry.made.file for item in ours for entry in item.entries}
    assert described == there - SIDE_FILES - ORIGINALS
    assert [len(item.entries) for item in ours] == [1, 10, 15, 4]


@needs_data
def test_every_column_that_a_manifest_names_is_in_its_tables(ours):
    for item in ours:
        blanks = item.config.reading.strip
        original = list(pd.read_csv(SHARED / item.config.original, nrows=1, skipinitialspace=blanks))
        for entry in item.entries:
            first = entry.file.read_text().splitlines()[0] if entry.file.suffix == ".csv" else ""
            released = pd.read_csv(entry.file, nrows=1).rename(columns=lambda name: "" if "Unnamed" in name else name)
            config = entry.config.config
            assert set(config.columns) <= {*original, *released}, f"{item.name}/{entry.name}"
            undeclared = {*original, *released} - set(config.columns) - {config.truth.protected if config.truth else ""}
            assert not undeclared, f"{item.name}/{entry.name} {first}"


@needs_data
def test_the_smallest_shared_release_is_audited_from_its_manifest(tmp_path):
    content = yaml.safe_load((MANIFESTS / "stroke.yaml").read_text()) | {"attacker": "paper"}
    path = write(tmp_path, content, "stroke.yaml")
    found = cvpl.benchmark(path, data=SHARED, only=["k2"])
    assert found.rows[0].status == "assessed" and found.rows[0].inputs["protected"].rows == 5110


def test_a_manifest_names_tables_of_a_duckdb_file(tmp_path):
    """And a kept result is of this table of this file."""
    folder = two_data_sets(*(_folder(tmp_path, name) for name in ("first", "second")))[1]
    file = folder / "people.duckdb"
    with duckdb.connect(file) as con:
        for name in ("original", "noise", "sample"):
            con.execute(f"CREATE TABLE {name} AS FROM read_csv('{folder / name}.csv')")
    releases = {name: {"file": f"people.duckdb#{name}", **MADE} for name in ("noise", "sample")}
    write(folder, manifest("second", releases, original="people.duckdb#original"))
    (found,) = read_manifests([folder])
    marks = [fingerprint(entry) for entry in found.entries]
    assert len(set(marks)) == 2
    with duckdb.connect(file) as con:
        con.execute("DELETE FROM noise WHERE rowid > 50")
    assert not {fingerprint(entry) for entry in found.entries} & set(marks)
    write(folder, manifest("second", releases, original="nowhere.duckdb#original"))
    with pytest.raises(InputError, match="no such file"):
        read_manifests([folder])


def _folder(place, name):
    (place / name).mkdir()
    return place / name
