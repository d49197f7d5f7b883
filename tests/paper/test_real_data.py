"""The paper's protocol on real tables: its cells on a small table, its findings as predicates, its page and journal."""

import json
from copy import deepcopy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import cvpl
from cvpl.assessment.ensemble import run_attackers
from cvpl.cli.main import run as command
from cvpl.laboratory.frame import CategoryCodes, Frame
from cvpl.workflows.planned_audit import read_plan
from cvpl_paper import real_data
from cvpl_paper.baselines.fellegi_sunter import Estimation, fit_fellegi_sunter
from cvpl_paper.real_cells import RealCell, association, shuffle_pair
from cvpl_paper.real_data import FIGURES, PAGE, RealData
from cvpl_paper.real_findings import all_findings, contributions
from cvpl_paper.real_page import beyond_the_family, most_found, not_assessable
from cvpl_paper.real_run import RealRun
from cvpl_paper.real_tables import ADULT, GERMAN, TABLES
from cvpl_paper.weighed import at_the_start, weighed
from examples import TIMES
from shared_data import SHARED, needs_data

ROWS = 150
RUN = RealCell.run
GROUPS = {
    "education": "Bachelors;College;High\nMasters;College;High\nHS-grad;School;Low\n11th;School;Low\n",
    "occupation": "Sales;Desk\nClerk;Desk\nRepair;Hand\nFarming;Hand\n",
    "native-country": "Here;Near\nThere;Near\nYonder;Far\n",
}


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A folder like that of the real tables, with few people drawn at random."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(5)
    (folder / "adult" / "hierarchies").mkdir(parents=True)
    (folder / "german").mkdir()
    for name, text in GROUPS.items():
        lines = "".join(f"{line};*\n" for line in text.splitlines())
        (folder / "adult" / "hierarchies" / f"adult_hierarchy_{name}.csv").write_text(lines)
    labels = {name: [line.split(";")[0] for line in text.splitlines()] for name, text in GROUPS.items()}
    labels |= {"salary-class": ["<=50K", ">50K"], "sex": ["Male", "Female"]}
    for table, separator in ((ADULT, ", "), (GERMAN, ",")):
        columns = {}
        for name in (*table.protected, *table.numbers, *table.labels, *table.kept_out):
            if table.protected.get(name) == "numeric" or name in (*table.numbers, *table.kept_out):
                columns[name] = rng.integers(20, 60, ROWS).astype(str)
            else:
                columns[name] = rng.choice(labels.get(name, ["A1", "A2", "A3"]), ROWS)
        if table is ADULT:
            columns["occupation"][::40] = "?"
        lines = [separator.join(columns), *(separator.join(row) for row in zip(*columns.values(), strict=True))]
        (folder / table.file).write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="session")
def figures(data):
    """The figures of a cell on the small table, each kind of cell computed once.

    Except in a full run, both ways have the figures of one in cells that change something, and all releases of the
    second table, which is there for the page only.
    """

    @cache
    def of(table, way, people, change):
        k = 1 if way == "unprotected" else 20
        column = TABLES[table].kept_out[0] if change == "kept" else ""
        return RUN(RealCell(data, table, way, k, people, 42, change, column))

    def found(cell):
        way = "mondrian" if TIMES == 1 and (cell.table == "german" or cell.change) else cell.way
        return deepcopy(of(cell.table, way, cell.people, cell.change))

    return found


@pytest.fixture(scope="session")
def small(data, figures):
    """A run on the Adult-like table, every k having the figures of 20."""
    cells = [cell for cell in RealData(data).cells() if cell.table == "adult"]
    return RealRun(cells, {cell.key: figures(cell) for cell in cells})


def test_the_protocol_is_the_papers(data):
    """Unprotected and two ways at k = 5, 10, 20, with everybody and with people set aside; keys tell cells apart."""
    cells = RealData(data).cells()
    assert len({cell.key for cell in cells}) == len(cells)
    adult = [cell for cell in cells if cell.table == "adult"]
    plain = {(cell.release, cell.people) for cell in adult if not cell.change}
    ways = ["unprotected", *(f"{way} {k}" for way in ("k-anonymity", "mondrian") for k in (5, 10, 20))]
    assert plain == {(way, people) for way in ways for people in ("everybody", "two thirds")}
    assert {cell.changed for cell in adult if cell.change} == {
        "apart", "elsewhere", "left out", "kept fnlwgt", "kept education-num"
    }  # fmt: skip
    assert list(ADULT.protected) == ["age", "education", "occupation", "native-country"]


def test_a_cell_repeats_whatever_the_folder(data, tmp_path):
    """The same cell gives the same figures again, and its key does not tell where the tables are."""
    cell = RealCell(data, "german", "mondrian", 5, "two thirds", 42, "kept", "credit_amount")
    there = tmp_path / "elsewhere"
    there.symlink_to(data)
    moved = replace(cell, data=there)
    assert moved.key == cell.key
    assert json.dumps(moved.run(), sort_keys=True) == json.dumps(cell.run(), sort_keys=True)


def test_a_cells_figures_are_those_of_an_audit(data, figures):
    """The unprotected table against itself, audited by hand: the same rates, recall and top-1."""
    config = ADULT.config(data, 42) | {"truth": {"original": "row_number", "protected": "row_number"}}
    table = data / ADULT.file
    exact = {"attacker": "paper", "report": {"suppress_below": 1}}
    result = cvpl.audit(table, table, config | exact)
    found = figures(RealCell(data, "adult", "unprotected", 1, "everybody", 42))["attackers"]["paper"]
    assert found["linkage_rate"] == result.linkage_rate.estimate == 1.0
    assert found["false_link_rate"] == pytest.approx(result.truth.false_link_rate)
    assert found["top1_hit_rate"] == pytest.approx(result.truth.top1_hit_rate)
    assert found["blocking_recall"] == result.truth.blocking_recall == 1.0


def test_compatible_blocks_lose_nobody(small):
    """Every released person shares a block with themselves where keys need only be compatible."""
    for release in small.releases("adult"):
        assert small.mean("adult", release, "everybody", "attackers", "compatible", "blocking_recall") == 1.0


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([0, 0, 1, 1], [0, 0, 1, 1], 1.0),
        ([0, 0, 1, 1], [0, 1, 0, 1], 0.0),
        ([0, 0, 1, 1, -1, 0], [0, 0, 1, 1, 1, -1], 1.0),  # rows that lack one of them do not count
        ([0, 0, 0, 0], [0, 1, 0, 1], None),
        # 3 and 1 against 1 and 3: χ² = 4 · 1² / 2 = 2 over 8 rows, V = sqrt(2 / 8)
        ([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 0, 1, 1, 1], 0.5),
    ],
)
def test_association_by_hand(one, other, expected):
    """Cramér's V is 1 for one column twice, 0 for columns that cross, and undefined with one group."""
    columns = [CategoryCodes(np.array(codes, dtype=np.int32), ("a", "b")) for codes in (one, other)]
    found = association(*columns)
    assert found is None if expected is None else found == pytest.approx(expected)


@pytest.mark.parametrize(("change", "kept"), [("apart", False), ("elsewhere", True)])
def test_shuffling_breaks_a_correlation_or_moves_it(change, kept):
    """Apart, the second column alone moves; elsewhere, both move together and say of each other what they did."""
    codes = np.arange(400, dtype=np.int32) % 2
    pair = {name: CategoryCodes(codes, ("a", "b")) for name in ADULT.pair}
    frame = Frame(np.arange(400), {}, {}, pair | {"race": CategoryCodes(codes, ("a", "b"))}, (*ADULT.pair, "race"))
    moved = shuffle_pair(RealCell(SHARED, "adult", "mondrian", 20, "two thirds", 1, change), ADULT, frame)
    first, second = (moved.category(name) for name in ADULT.pair)
    assert (association(first, second) == pytest.approx(1.0)) == kept
    assert association(second, moved.category("race")) < 0.2
    assert (association(first, moved.category("race")) < 0.2) == kept
    np.testing.assert_array_equal(np.sort(second.codes), np.sort(codes))


def test_fellegi_sunter_at_its_start_is_em_without_a_step(data):
    """Its weights are those with which EM begins; both estimates weigh the same pairs."""
    config = GERMAN.config(data, 42) | {"truth": {"original": "row_number", "protected": "row_number"}}
    table = data / GERMAN.file
    resolved, inputs = read_plan(table, table, config | {"attacker": "paper"}, None, None)
    measured = run_attackers(resolved, inputs, lambda phase, share: None).chosen.measured
    fitted = fit_fellegi_sunter(measured.attack)
    start = at_the_start(measured.attack, fitted).estimate.parameters
    begun = fit_fellegi_sunter(measured.attack, estimation=Estimation(most_steps=0)).estimate.parameters
    np.testing.assert_allclose(start.m, begun.m)
    np.testing.assert_allclose(start.u, begun.u)
    assert start.share == pytest.approx(begun.share)
    found = weighed(measured)
    assert found["start"]["top1_hit_rate"] == pytest.approx(1.0)  # sixteen untouched columns agree with nobody else's
    assert found["start"]["power"]["0.05"] == 1.0


def changed_figures(run, at, value):
    """A run with one figure set in the cells of a release, `at` being release, change and the way to the figure."""
    release, changed, *path = at
    cells = {key: deepcopy(figure) for key, figure in run.figures.items()}
    for cell in run.cells:
        if (cell.people, cell.release, cell.changed) == ("two thirds", release, changed):
            place = cells[cell.key]
            for part in path[:-1]:
                place = place[part]
            place[path[-1]] = value
    return RealRun(run.cells, cells)


RATE = ("attackers", "paper", "linkage_rate")


@pytest.mark.parametrize(
    ("rates", "verdict"),
    [
        ({"as it is": 0.4, "apart": 0.1, "elsewhere": 0.4}, "Came true."),
        ({"as it is": 0.4, "apart": 0.4, "elsewhere": 0.4}, "Came true, for another reason."),
        ({"as it is": 0.4, "apart": 0.1, "elsewhere": 0.1}, "Came true, for another reason."),
        ({"as it is": 0.0, "apart": 0.0, "elsewhere": 0.0}, "Did not come true."),
    ],
)
def test_a_correlation_explains_links_that_go_with_it_and_stay_with_it(small, rates, verdict):
    """Links that fall when the correlation is broken, and stay when it is kept in other rows, are due to it."""
    run = small
    for release in ("k-anonymity 20", "mondrian 20"):
        for changed, rate in rates.items():
            run = changed_figures(run, (release, changed, *RATE), rate)
    assert all_findings(run, ADULT)[0].verdict == verdict


def test_attribution_is_dominated_by_the_two_largest(small):
    """It came true only if the two are the largest by every measure, on both releases."""
    run = small
    columns = [name for name, _ in contributions(small, ADULT, "k-anonymity 20", "structural")]
    for release in ("k-anonymity 20", "mondrian 20"):
        for column in columns:
            shares = dict.fromkeys(("structural", "link", "removal", "power_drop"), float(column in ADULT.expected))
            run = changed_figures(run, (release, "as it is", "contribution", column), shares)
    assert all_findings(run, ADULT)[1].verdict == "Came true."
    other = changed_figures(run, ("mondrian 20", "as it is", "contribution", "race", "power_drop"), 2.0)
    assert all_findings(other, ADULT)[1].verdict == "Did not come true."


@pytest.mark.parametrize(
    ("weights", "cosine", "verdict"),
    [
        (0.5, 0.6, "Came true, and CVPL degrades less."),
        (0.5, 0.4, "Came true, but CVPL does not degrade less."),
        (0.95, 0.4, "Did not come true."),
    ],
)
def test_degradation_is_read_off_what_is_left_of_top1(small, weights, cosine, verdict):
    """Of the estimate that finds more in the unprotected table, and of the cosine on the same pairs."""
    run = small
    paths = {("fellegi_sunter", "start"): weights, ("attackers", "compatible"): cosine, ("fellegi_sunter", "em"): 0.1}
    for path, value in paths.items():
        run = changed_figures(run, ("unprotected", "as it is", *path, "top1_hit_rate"), 0.1 if "em" in path else 1.0)
        for release in ("k-anonymity 20", "mondrian 20"):
            run = changed_figures(run, (release, "as it is", *path, "top1_hit_rate"), value)
    assert all_findings(run, ADULT)[2].verdict == verdict


def test_who_finds_most_need_not_be_the_headline(small):
    """The highest top-1 of all attackers is told beside the headline's, which is chosen by power."""
    at = ("mondrian 20", "as it is")
    run = changed_figures(small, (*at, "fellegi_sunter", "start", "top1_hit_rate"), 1.5)
    assert most_found(run, ADULT, "mondrian 20") == ("Fellegi-Sunter at its start", 1.5)
    run = changed_figures(run, (*at, "family", "members", "rarity", "top1_hit_rate"), 2.0)
    assert most_found(run, ADULT, "mondrian 20") == ("rarity", 2.0)


@pytest.mark.parametrize(
    ("top1", "power", "text"), [(0.9, 0.9, True), (0.9, 0.0, True), (0.0, 0.9, True), (0, 0, False)]
)
def test_a_baseline_that_beats_the_family_is_reported(small, top1, power, text):
    """By top-1 or by power, whichever of its estimates it is."""
    run, at = small, ("mondrian 20", "as it is")
    for name in small.figures["adult/mondrian 20/two thirds/as it is/42"]["family"]["members"]:
        run = changed_figures(run, (*at, "family", "members", name, "top1_hit_rate"), 0.5)
    run = changed_figures(run, (*at, "family", "power"), 0.5)
    for estimate, share in (("start", 1.0), ("em", 0.1)):
        run = changed_figures(run, (*at, "fellegi_sunter", estimate, "top1_hit_rate"), share * top1)
        run = changed_figures(run, (*at, "fellegi_sunter", estimate, "power", "0.05"), share * power)
    assert (beyond_the_family(run, ADULT, "mondrian 20") is not None) == text


def test_an_attacker_that_cannot_speak_is_named_with_the_reason(small):
    run = changed_figures(small, ("mondrian 20", "as it is", "attackers", "paper", "faults"), ["it is blind"])
    assert "paper on mondrian 20, since it is blind" in not_assessable(run, ADULT, "two thirds")
    assert "it is blind" not in not_assessable(run, ADULT, "everybody")


def test_the_command_writes_the_page_and_goes_on_where_it_was(data, figures, tmp_path, monkeypatch, capsys):
    """Stopped after some cells and called again, it runs the others only, and writes what one run writes."""
    done = []

    def run(cell):
        done.append(cell.key)
        return figures(cell)

    monkeypatch.setattr(RealCell, "run", run)
    call = ["reproduce", "--data", str(data), "--workers", "1", "--out"]
    assert command([*call, str(tmp_path / "whole")]) == 0
    whole = {name: (tmp_path / "whole" / name).read_bytes() for name in (PAGE, FIGURES)}
    journal = (tmp_path / "whole" / "real_data_journal.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "real_data_journal.jsonl").write_text("".join(journal[:20]) + '{"key": "adu')
    every, done[:] = list(done), []
    assert command([*call, str(tmp_path / "cut")]) == 0
    assert done == every[19:]
    assert {name: (tmp_path / "cut" / name).read_bytes() for name in whole} == whole
    page = whole[PAGE].decode()
    assert all(f"## E{number}: " in page for number in (1, 2, 3)) and "German Credit" in page
    assert "nan" not in page.lower().split()
    assert command(["reproduce", "--quick", "--data", str(data), "--out", str(tmp_path / "both")]) == 2
    assert "--quick" in capsys.readouterr().err


def test_other_tables_are_another_run(data, figures, tmp_path, monkeypatch):
    """The journal names the tables by their checksums, so that figures of others are never taken for theirs."""
    monkeypatch.setattr(RealCell, "run", figures)
    monkeypatch.setattr(real_data, "TABLES", {"german": GERMAN})
    RealData(data).run(tmp_path, workers=1)
    other = tmp_path / "other"
    (other / "german").mkdir(parents=True)
    lines = (data / GERMAN.file).read_text().splitlines(keepends=True)
    (other / GERMAN.file).write_text("".join(lines[:-1]))
    with pytest.raises(cvpl.UsageError, match="journal of another run"):
        RealData(other).run(tmp_path, workers=1)


def test_a_folder_without_the_tables_is_refused(tmp_path, capsys):
    assert command(["reproduce", "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 3
    assert "none of the real tables is in this folder" in capsys.readouterr().err


@needs_data
def test_twenty_alike_are_distinguished_by_what_is_untouched(tmp_path):
    """Of a thousand real people Mondrian removes nobody, top-1 is far above 1/k, and fnlwgt finds them all."""
    folder = tmp_path / "adult"
    folder.mkdir()
    (folder / "hierarchies").symlink_to(SHARED / "adult" / "hierarchies")
    lines = (SHARED / ADULT.file).read_text().splitlines(keepends=True)
    (folder / "adult.csv").write_text("".join(lines[:1001]))
    found = RealCell(tmp_path, "adult", "mondrian", 20, "everybody", 42).run()
    assert (found["released"], found["removed"]) == (1000, 0)
    assert found["attackers"]["compatible"]["blocking_recall"] == 1.0
    assert found["attackers"]["compatible"]["top1_hit_rate"] > 4 / 20
    assert 0 < found["utility"] < 1
    careless = RealCell(tmp_path, "adult", "mondrian", 20, "two thirds", 42, "kept", "fnlwgt").run()
    assert careless["attackers"]["rarity_reference"]["top1_hit_rate"] > 0.99
