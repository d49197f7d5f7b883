"""The paper's experiments: cells that stand alone, a journal that survives a kill, tables and findings."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from cvpl.cli.main import run as command
from cvpl.errors import UsageError
from cvpl.tables.columns import Labels, Numbers, Times
from cvpl.tables.in_memory import matches_of, pair_of
from cvpl.tables.pair import read_inputs
from cvpl_paper import cells as every_cell
from cvpl_paper import paper
from cvpl_paper.cells import VARIANTS, Cell, run_cell
from cvpl_paper.collected import Collected, figure, mean_of
from cvpl_paper.finding import PaperFinding
from cvpl_paper.findings import all_findings
from cvpl_paper.journal import JOURNAL, TIMINGS, Journal
from cvpl_paper.reproduction import FINDINGS, TABLES, TABLES_CSV, Reproduction
from cvpl_paper.running import run_all
from cvpl_paper.tables import PaperTable, all_tables
from cvpl_paper.world import CONFIGURATIONS, SEEDS, people, release, resolved
from examples import TIMES, examples_apart

SMALL = Reproduction(100 if TIMES > 1 else 200, SEEDS[:1], (0.0, 0.05))
"""What is killed. Except in a full run it is the quick run too, so that one process need not run its cells twice."""
ONCE = cache(run_cell)


@contextmanager
def cells_once():
    """A cell that ran in this process is not run again, except in a full run. That a cell repeats is another test."""
    with pytest.MonkeyPatch.context() as patch:
        if TIMES == 1:
            patch.setattr(every_cell, "run_cell", ONCE)
        yield


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The files of a quick run, made by the command; of fewer people and outlier rates, except in a full run."""
    folder = tmp_path_factory.mktemp("quick")
    with pytest.MonkeyPatch.context() as patch:
        if TIMES == 1:
            patch.setattr(Reproduction, "quick", lambda: SMALL)
        with cells_once():
            assert command(["reproduce", "--quick", "--out", str(folder)]) == 0
        yield folder


def test_the_grid_is_the_papers():
    """Nineteen configurations, three outlier rates and five seeds are 285 cells, each with a key of its own."""
    cells = Reproduction().cells()
    assert len(CONFIGURATIONS) == 19
    assert sum(cell.kind == "grid" for cell in cells) == 285
    assert len({cell.key for cell in cells}) == len(cells)
    assert {cell.records for cell in cells} == {10_000}


@pytest.mark.parametrize("name", list(CONFIGURATIONS)[:: examples_apart(3)])
def test_frames_are_the_pair_that_their_files_are(tmp_path, name):
    """What an experiment attacks in memory is, value by value, what reading the written tables gives."""
    original, control = people(150, 0.05, 7, "people"), people(150, 0.05, 7, "control")
    protected = release(CONFIGURATIONS[name], original, 7)
    frames = [original, protected, control]
    files = [tmp_path / f"{part}.csv" for part in ("original", "protected", "control")]
    for frame, file in zip(frames, files, strict=True):
        frame.write(file)
    settings = resolved()
    inputs = read_inputs(
        *files[:2], settings.specs, control=files[2], reading=settings.reading, identity=settings.identity
    )
    mine, matches = pair_of(frames, settings.specs), matches_of(original, protected)
    for here, there in zip(
        (mine.original, mine.protected, mine.control),
        (inputs.pair.original, inputs.pair.protected, inputs.pair.control),
        strict=True,
    ):
        assert (here.name, here.rows, here.specs) == (there.name, there.rows, there.specs)
        for column in here.columns:
            assert_equal(here.columns[column], there.columns[column])
    np.testing.assert_array_equal(matches.original, inputs.evaluation.matches.original)
    np.testing.assert_array_equal(matches.protected, inputs.evaluation.matches.protected)
    assert (matches.complete, matches.scenario) == (
        inputs.evaluation.matches.complete,
        inputs.evaluation.matches.scenario,
    )


def assert_equal(one, other):
    """Two columns hold the same values."""
    assert type(one) is type(other)
    parts = {Numbers: ("values", "low", "high"), Times: ("first", "last"), Labels: ("codes",)}[type(one)]
    for part in parts:
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
    if isinstance(one, Labels):
        assert one.labels == other.labels


def test_a_cell_repeats():
    """The same cell gives the same figures, and another seed others."""
    cell = Cell("grid", "perturbation low", 0.01, 42, 200)
    first = json.dumps(run_cell(cell), sort_keys=True)
    assert json.dumps(run_cell(cell), sort_keys=True) == first
    assert json.dumps(run_cell(Cell("grid", "perturbation low", 0.01, 43, 200)), sort_keys=True) != first


@pytest.mark.parametrize("table", VARIANTS)
def test_every_variant_runs(table):
    """Each ablation gives rates between 0 and 1; without a threshold everybody with a candidate is linked."""
    for variant in VARIANTS[table]:
        if variant == "UMAP":
            continue  # an extra
        figures = run_cell(Cell("ablation", f"{table}: {variant}", 0.0, 42, 150))
        assert 0 <= figures["linkage_rate"] <= figures["linkage_rate_without_threshold"] <= 1


def test_the_ladder_never_falls():
    """Looser blocking never links fewer, and ends with all pairs."""
    figures = run_cell(Cell("ladder", "ladder", 0.0, 42, 300))
    assert figures["rates"] == sorted(figures["rates"])
    assert figures["pairs"][-1] == 300 * 300


def test_retention_shows():
    """The size of the correlations that a synthetic release keeps falls with the retention."""
    kept = [
        np.mean([run_cell(Cell("grid", f"synthetic {item}", 0.0, seed, 3_000))["dependence_kept"] for seed in (1, 2)])
        for item in (0.95, 0.6)
    ]
    assert kept[1] < 0.8 * kept[0]


def test_the_journal_takes_up_where_it_stopped(tmp_path):
    """Finished cells are not run again, and a line that was cut off is taken away."""
    journal = Journal(tmp_path, {"records": 1})
    journal.add("a", {"x": 0.1}, 1.0)
    journal.add("b", {"x": None}, 2.0)
    with (tmp_path / JOURNAL).open("a") as file:
        file.write('{"key": "c", "figu')
    again = Journal(tmp_path, {"records": 1})
    assert again.finished == {"a": {"x": 0.1}, "b": {"x": None}}
    again.add("c", {"x": 3}, 3.0)
    assert Journal(tmp_path, {"records": 1}).finished["c"] == {"x": 3}
    assert again.seconds() == {"a": 1.0, "b": 2.0, "c": 3.0}


def test_the_journal_of_another_run_is_refused(tmp_path):
    """Cells of other settings would be taken for one's own."""
    Journal(tmp_path, {"records": 1})
    with pytest.raises(UsageError, match="journal of another run"):
        Journal(tmp_path, {"records": 2})


def test_a_flipped_bit_in_the_journal_is_noticed_and_only_that_cell_is_run_again(tmp_path):
    """Any bit of any line: what is left is a part of what was there, and one line says so."""
    journal = Journal(tmp_path, {"records": 1})
    for key in "abc":
        journal.add(key, {"x": ord(key) / 7, "y": None}, 1.0)
    file, finished = tmp_path / JOURNAL, dict(journal.finished)
    content = file.read_bytes()
    for place in range(0, 8 * len(content), examples_apart(211)):
        turned = bytearray(content)
        turned[place // 8] ^= 1 << place % 8
        file.write_bytes(turned)
        said = []
        again = Journal(tmp_path, {"records": 1}, on_damaged=said.append)
        assert len(said) == 1 and str(file) in said[0] and "damaged" in said[0]
        assert again.finished.items() <= finished.items() and len(again.finished) >= 1
        for key in sorted(finished.keys() - again.finished.keys()):
            again.add(key, finished[key], 1.0)
        assert sorted(file.read_bytes().splitlines()) == sorted(content.splitlines())


def test_a_line_of_another_run_is_no_line_of_this_one(tmp_path):
    """Its checksum is also one of the run."""
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        Journal(tmp_path / str(number), {"records": number}).add("ab"[number - 1], {"x": 0.5}, 1.0)
    other = (tmp_path / "2" / JOURNAL).read_bytes().splitlines(keepends=True)[1]
    with (tmp_path / "1" / JOURNAL).open("ab") as file:
        file.write(other)
    assert list(Journal(tmp_path / "1", {"records": 1}).finished) == ["a"]


def test_a_damaged_timing_does_not_count(tmp_path):
    journal = Journal(tmp_path, {})
    for key in "ab":
        journal.add(key, {}, 1.0)
    (tmp_path / TIMINGS).write_bytes((tmp_path / TIMINGS).read_bytes().replace(b"1.0", b"9.0", 1))
    assert journal.seconds() == {"b": 1.0}


def test_a_line_that_cannot_be_written_leaves_the_journal_as_it_was(tmp_path, monkeypatch):
    journal = Journal(tmp_path, {})
    before = (tmp_path / JOURNAL).read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space") as caught:
        journal.add("a", {}, 1.0)
    assert caught.value.filename == str(tmp_path / TIMINGS)
    assert ((tmp_path / JOURNAL).read_bytes(), (tmp_path / TIMINGS).read_bytes()) == (before, b"")


def test_neither_order_nor_workers_show(tmp_path):
    """Two processes, one process, and cells in reverse give the same figures."""
    cells = [Cell("grid", name, 0.0, 42, 150) for name in ("k-anonymity 5", "perturbation high", "synthetic 0.6")]
    runs = []
    for at, (order, workers) in enumerate(((cells, 2), (cells, 1), (cells[::-1], 1))):
        (tmp_path / str(at)).mkdir()
        runs.append(run_all(order, Journal(tmp_path / str(at), {}), workers=workers))
    assert runs[0] == runs[1] == runs[2]


def test_a_killed_run_ends_with_the_same_tables(tmp_path):
    """Killed without warning (in a full run several times) and taken up again, it ends with the very same files."""
    source = Path(__file__).parents[2] / "src"
    code = (
        f"import sys; sys.path.insert(0, {str(source)!r})\n"
        "from pathlib import Path\n"
        "from cvpl_paper.reproduction import Reproduction\n"
        "if __name__ == '__main__':\n"
        f"    Reproduction({SMALL.records}, {SMALL.seeds}, {SMALL.outliers}).run(Path(sys.argv[1]), workers=1)\n"
    )
    script = tmp_path / "run.py"
    script.write_text(code)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    with cells_once():
        SMALL.run(whole, workers=1)
    for lines in (9, 1, 40)[:: examples_apart(3)]:
        process = subprocess.Popen([sys.executable, script, killed])  # noqa: S603
        while process.poll() is None and _count(killed / JOURNAL) < lines:
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL  # half of the cells are still to come
    assert not (killed / TABLES).exists()
    with cells_once():
        SMALL.run(killed, workers=1)
    for name in (TABLES, TABLES_CSV, FINDINGS):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()


def _count(file):
    return file.read_bytes().count(b"\n") if file.exists() else 0


def test_the_quick_run(quick, capsys):
    """The command writes tables and thirteen findings; a second call finds every cell done and changes nothing."""
    first = {name: (quick / name).read_bytes() for name in (TABLES, TABLES_CSV, FINDINGS)}
    text = first[FINDINGS].decode()
    assert [f"## R{number}: " in text for number in range(1, 14)] == [True] * 13
    assert "nan" not in text.lower().split() and "nan" not in first[TABLES].decode()
    for title in ("R1", "R4", "R5", "R6", "R7", "R9", "R10", "R11", "R12", "R13"):
        assert f"({title})" in first[TABLES].decode()
    assert command(["reproduce", "--quick", "--out", str(quick), "--overwrite"]) == 0
    assert {name: (quick / name).read_bytes() for name in first} == first
    assert command(["reproduce", "--out", str(quick), "--overwrite"]) == 2
    assert "journal of another run" in capsys.readouterr().err


def test_findings_are_read_off_the_figures(quick):
    """Turning a figure around turns the finding that rests on it."""
    cells = Reproduction.quick().cells()
    figures = {json.loads(line)["key"]: json.loads(line)["figures"] for line in _lines(quick / JOURNAL)}
    collected = Collected(cells, figures)
    by_number = {finding.number: finding for finding in all_findings(collected)}
    assert by_number["R6"].holds
    swapped = dict(figures)
    low, high = "grid/perturbation low/0/42", "grid/perturbation high/0/42"
    swapped[low], swapped[high] = figures[high], figures[low]
    turned = {finding.number: finding for finding in all_findings(Collected(cells, swapped))}
    assert not turned["R6"].holds
    assert turned["R3"].holds != by_number["R3"].holds
    assert by_number["R13"].holds == turned["R13"].holds


def _lines(file):
    return [line for line in file.read_text().splitlines() if '"key"' in line]


def test_tables_set_both_figures_side_by_side():
    """A row has the paper's figure, ours and the difference; what is unknown is a dash, and an empty field."""
    rows = {"row": {"rate": (0.25, 0.5), "other": (None, 1234.0)}, "more": {"rate": (None, 0.1)}}
    text = PaperTable("t", "A table", rows, "A note.").markdown()
    assert "|  | rate, paper | rate, here | difference | other |" in text
    assert "| row | 0.250 | 0.500 | +0.250 | 1,234 |\n| more | - | 0.100 | - | - |" in text
    table = PaperTable("t", "A table", {"row": {"rate": (0.25, 0.5), "other": (None, 1234.0)}})
    assert table.csv() == "table,row,figure,paper,here,difference\nt,row,rate,0.25,0.5,0.25\nt,row,other,,1234.0,\n"


def test_the_papers_figures_are_in_the_tables(quick):
    """Every figure of the paper's summary stands beside ours, and its average is the one it prints."""
    figures = {json.loads(line)["key"]: json.loads(line)["figures"] for line in _lines(quick / JOURNAL)}
    tables = {table.name: table for table in all_tables(Collected(Reproduction.quick().cells(), figures))}
    for name, row in paper.SUMMARY.items():
        for what, value in row.items():
            assert tables["summary"].rows[name][what][0] == value
    for what in ("linkage rate", "precision at 1", "utility"):
        mean = np.mean([row[what] for row in paper.SUMMARY.values()])
        assert mean == pytest.approx(paper.SUMMARY_AVERAGE[what], abs=0.002)


def test_the_way_to_a_figure():
    """A way that ends on the way is None, and so is a mean of which a part is unknown."""
    assert figure("a", "b")({"a": {"b": 3}}) == 3
    assert figure("a", "b")({"a": None}) is None
    assert mean_of([1.0, None]) is None and mean_of([]) is None and mean_of([1.0, 3.0]) == 2


def test_a_finding_says_whether_it_holds():
    """The page tells the verdict in words."""
    finding = PaperFinding("R0", "a claim", "a predicate.", False, "Evidence.", "Reason.")
    assert (
        finding.markdown()
        == "## R0: a claim\n\nPredicate: a predicate.\n\n**Does not hold here.** Evidence.\n\nReason.\n"
    )
