"""A plan before the work, and a budget that is obeyed."""

from __future__ import annotations

import re

import numpy as np
import pytest

import cvpl
from cvpl.assessment.planning.resources import needed_bytes
from cvpl.cli.main import run
from cvpl.config import resolved as resolved_module
from cvpl.config.loading import load
from cvpl.config.written import parse_size
from cvpl.errors import LimitError
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.reports.plan import duration, plan_lines
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.workflows.audit import plan_audit
from cvpl.workflows.made_tables import CONFIG as DEMO

CONFIG = DEMO.replace("attacker: default", "attacker: paper").replace("report: {", "report: {suppress_below: 1, ")


RECORDS = 2_000


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    rng = np.random.default_rng(12)
    people = Touchpoints(records=RECORDS).draw(rng)
    for ending in ("csv", "parquet"):
        people.write(folder / f"original.{ending}")
        Perturbation("medium").protect(people, np.random.default_rng(1)).write(folder / f"released.{ending}")
    (folder / "audit.yaml").write_text(CONFIG, encoding="utf-8")
    return folder


def arguments(tables, *more, ending="csv"):
    files = [str(tables / f"{name}.{ending}") for name in ("original", "released")]
    return ["audit", *files, "--config", str(tables / "audit.yaml"), *more]


def test_the_plan_tells_what_the_audit_then_does(tables, capsys):
    assert run(arguments(tables, "--plan")) == 0
    page = capsys.readouterr().out
    result = cvpl.audit(tables / "original.csv", tables / "released.csv", tables / "audit.yaml")
    assert f"{result.blocks.pairs:,} share a block" in page
    assert re.search(rf"blocks\s+{result.blocks.schemes[0].count:,},", page)
    assert f"{result.blocks.schemes[0].largest:,} protected records" in page
    assert re.search(r"memory\s+about .* of the .* allowed", page) and re.search(r"time\s+about", page)
    assert "Nothing was audited" in page


def test_the_plan_counts_what_levers_leave(tables):
    config = f"{CONFIG}\nsearch: {{max_block: 10}}\n"
    (tables / "narrow.yaml").write_text(config, encoding="utf-8")
    plan = plan_audit(tables / "original.csv", tables / "released.csv", tables / "narrow.yaml")
    assert plan.attackers[0].largest == 10 and 0 < plan.attackers[0].examined < 0.5
    assert "lower bounds" in dict(plan_lines(plan))["examined"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_does_not_fit_is_refused_before_a_column_is_read(tables, ending, monkeypatch, capsys):
    monkeypatch.setattr(ColumnReader, "read", lambda *_: pytest.fail("a column was read"))
    assert run(arguments(tables, "--memory", "50MB", ending=ending)) == 4
    text = capsys.readouterr().err
    assert "--memory" in text and f"{RECORDS:,} original and {RECORDS:,} protected" in text


def test_the_memory_changes_nothing_but_its_own_need(tables):
    files = tables / "original.parquet", tables / "released.parquet", tables / "audit.yaml"
    assert cvpl.audit(*files, memory=parse_size("450MB")).to_json() == cvpl.audit(*files).to_json()


@pytest.mark.parametrize(
    ("text", "size"), [("4GB", 4 * 10**9), ("512 MiB", 512 << 20), ("1.5gb", 15 * 10**8), ("2000000", 2_000_000)]
)
def test_sizes_are_read_as_people_write_them(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["much", "4 TB", "-1GB", "", "1kB"])
def test_what_is_no_size_is_refused(tables, text, capsys):
    assert run(arguments(tables, "--memory", text)) == 2
    assert "512MB or 4GB" in capsys.readouterr().err


def test_durations_read_well():
    assert [duration(value) for value in (3.4, 119, 121, 600)] == ["3 s", "119 s", "2 min", "10 min"]


def test_the_plan_of_the_family_asks_fewer_people_and_leaves_out_who_cannot_run(tables, monkeypatch, capsys):
    monkeypatch.setattr(resolved_module, "MOST_PAIRS", RECORDS * 1_500)
    (tables / "family.yaml").write_text(DEMO, encoding="utf-8")
    files = tables / "original.csv", tables / "released.csv", tables / "family.yaml"
    found = {attacker.name: attacker for attacker in plan_audit(*files).attackers}
    assert found["paper"].asked == RECORDS and found["rarity"].asked == 1_500
    assert found["rarity"].pairs == 1_500 * RECORDS
    assert not any("reference" in name or "density" in name for name in found)
    Touchpoints(records=500).draw(np.random.default_rng(13)).write(tables / "others.csv")
    held = plan_audit(*files, control=tables / "others.csv", attackers=["paper", "rarity_density"])
    assert [attacker.name for attacker in held.attackers] == ["paper", "rarity_density"]
    assert run(["audit", *map(str, files[:2]), "--config", str(files[2]), "--plan", "--attackers", "rarity,paper"]) == 0
    assert f"1,500 people searched for, {1_500 * RECORDS:,} pairs, no blocking" in capsys.readouterr().out


LINKAGE_ALONE = "canaries: false\nsensitivity: false\nsingling_out: false\ninference: false\n"


def family_files(tables, more=""):
    (tables / "family.yaml").write_text(DEMO + more, encoding="utf-8")
    return tables / "original.parquet", tables / "released.parquet", tables / "family.yaml"


def least_memory(resolved):
    """The fewest bytes that place_for allows with tables of these records."""
    return needed_bytes({"original": RECORDS, "protected": RECORDS}, resolved, on_disk=True)


def test_memory_is_reckoned_for_the_attackers_that_are_chosen(tables):
    files = family_files(tables, LINKAGE_ALONE)
    family = load(files[2])
    one = family.only(["paper"])
    between = (least_memory(family) + least_memory(one)) // 2
    with pytest.raises(LimitError):
        plan_audit(*files, memory=between)
    assert [item.name for item in plan_audit(*files, attackers=["paper"], memory=between).attackers] == ["paper"]
    assert cvpl.audit(*files, attackers=["paper"], memory=between).attacker == "paper"


def test_memory_is_reckoned_with_the_attackers_that_are_drawn(tables):
    files = tables / "original.parquet", tables / "released.parquet", tables / "audit.yaml"
    one = load(files[2])
    drawn = one.with_drawn(7, reference=False)
    between = (least_memory(one) + least_memory(drawn)) // 2
    with pytest.raises(LimitError):
        cvpl.audit(*files, randomize=7, memory=between)


def test_the_plan_holds_the_drawn_attackers_and_their_seed(tables, capsys):
    files = family_files(tables)
    planned = plan_audit(*files, attackers=["paper"], randomize=7)
    assert [item.name for item in planned.attackers] == ["paper", "drawn_1", "drawn_2", "drawn_3"]
    assert "--randomize-seed 7 " in dict(plan_lines(planned))["drawn"]
    arguments = ["audit", *map(str, files[:2]), "--config", str(files[2]), "--plan", "--attackers", "paper"]
    assert run([*arguments, "--randomize"]) == 0
    page = capsys.readouterr().out
    timed = re.compile(r"time +about .*", re.DOTALL)  # the last line, which may be wrapped
    assert "drawn_3" in page
    seed = re.search(r"--randomize-seed (\d+) ", page)[1]
    assert run([*arguments, "--randomize-seed", seed]) == 0
    # The longest line, which is often that of the time, decides how far all are padded.
    assert timed.sub("", capsys.readouterr().out).split() == timed.sub("", page).split()


def test_replicates_of_old_configurations_are_accepted_ignored_and_pointed_out(tables, tmp_path):
    people = Touchpoints(records=300).draw(np.random.default_rng(12))
    files = tmp_path / "original.parquet", tmp_path / "released.parquet"
    people.write(files[0])
    Perturbation("medium").protect(people, np.random.default_rng(1)).write(files[1])
    plain = cvpl.audit(*files, tables / "audit.yaml").to_json()
    old = tables / "old.yaml"
    old.write_text(f"{CONFIG}\nintervals: {{method: block_bootstrap, replicates: 1000}}\n", encoding="utf-8")
    result = cvpl.audit(*files, old)
    assert result.provenance.config["intervals"] == {"method": "block_bootstrap"}
    assert result.to_json().replace('"block_bootstrap"', '"blocks"') == plain
    note = "intervals are computed in closed form; `intervals.replicates` is ignored"
    assert ("note", note) in plan_lines(plan_audit(*files, old))
    assert "note" not in dict(plan_lines(plan_audit(*files, tables / "audit.yaml")))


def test_a_column_encoded_by_frequency_needs_no_memory_for_its_labels(tmp_path):
    rows = [f"{row % 9},words {row}" for row in range(3000)]
    for side in ("o.csv", "p.csv"):
        (tmp_path / side).write_text("x,t\n" + "\n".join(rows) + "\n")

    def needed(**settings):
        columns = {"x": {"role": "attribute", "type": "numeric"}}
        columns["t"] = {"role": "attribute", "type": "category", **settings}
        config = {"columns": columns, "attacker": "default", "threshold": 0.9, "seed": 1, "search": {"memory": "60GB"}}
        return plan_audit(tmp_path / "o.csv", tmp_path / "p.csv", config).needed

    assert needed(encode="frequency") < 1.1 * needed(vectorize=False) < needed(encode="one_hot") / 1.5
