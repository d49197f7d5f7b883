"""A result file that somebody changed is shown or refused: its report never ends in a fault of the program."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import cvpl
from cvpl.cli.main import run
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.workflows.made_tables import CONFIG
from examples import examples

EARLIER = Path(__file__).parents[1] / "fixtures" / "result-0.1.json"
NUMBERS = (math.nan, math.inf, 1e308, -1e308, -1, 0, 10**30, 1e17, 2)
TYPES = (None, "x", 5, [], {}, True, [1], {"a": 1})
NAMES = ("nobody", "", "\u202e", "x" * 5000, "<b>")


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(1)
    original, control = (Touchpoints(records=200).draw(rng) for _ in range(2))
    tables = [
        pd.DataFrame(table.to_columns()) for table in (original, Perturbation("low").protect(original, rng), control)
    ]
    config = yaml.safe_load(CONFIG) | {"attacker": "paper", "report": {"subgroups": ["region"]}, "inference": True}
    return cvpl.audit(tables[0], tables[1], config, control=tables[2], fail_above=0.5).to_json()


def places(value, above=()):
    """The paths of everything in a JSON value; of a list only the first few, and of the configuration nothing."""
    parts = value.items() if isinstance(value, dict) else enumerate(value[:5]) if isinstance(value, list) else ()
    for key, inner in parts:
        if key != "config":
            yield (*above, key), inner
            yield from places(inner, (*above, key))


def put(data, path, value):
    for key in path[:-1]:
        data = data[key]
    if value is DROPPED:
        del data[path[-1]]
    else:
        data[path[-1]] = value


DROPPED = object()


def changed(data, rng):
    """Change one place of the data, in one of five ways."""
    found = list(places(data))
    way = rng.integers(5)
    choices = {
        2: [path for path, value in found if isinstance(value, int | float) and not isinstance(value, bool)],
        3: [path for path, value in found if isinstance(value, list | dict)],
        4: [path for path, value in found if isinstance(value, str)],
    }.get(way, [path for path, _ in found])
    path = choices[rng.integers(len(choices))]
    value = dict(found)[path]
    new = [DROPPED, TYPES, NUMBERS, type(value)() if way == 3 else None, NAMES][way]
    put(data, path, new[rng.integers(len(new))] if isinstance(new, tuple) else new)


def code(tmp_path, data, kind):
    file = tmp_path / "result.json"
    file.write_text(json.dumps(data))
    return run(["report", str(file), "--format", kind, "--overwrite"])


def test_random_changes_are_shown_or_refused(tmp_path, result, capsys):
    rng = np.random.default_rng(8)
    for number in range(examples(16)):
        data = json.loads(EARLIER.read_text() if number % 4 == 0 else result)
        changed(data, rng)
        assert code(tmp_path, data, "md" if number % 4 else "html") in (0, 3)
        assert "Internal error" not in capsys.readouterr().err


CHANGES = {
    "no edges": (("evidence", "edges"), []),
    "no edges of similarities": (("truth", "similarities", "edges"), []),
    "no shares": (("truth", "similarities", "matches"), []),
    "one share less": (("evidence", "originals"), [1.0]),
    "no tables": (("inputs",), {}),
    "a number beyond all": (("linkage_rate", "estimate"), 1e300),
    "no number": (("linkage_rate", "estimate"), math.nan),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_result_that_contradicts_itself_is_refused(tmp_path, result, capsys, name):
    data = json.loads(result)
    put(data, *CHANGES[name])
    assert code(tmp_path, data, "html") == 3
    assert "this is not a result" in capsys.readouterr().err


KNOWN_NAMES = (
    ("compliance", "criterion"),
    ("compliance", "figure"),
    ("compliance", "status"),
    ("inference", "attacker"),
    ("inference", "score"),
    ("inference", "baseline"),
    ("inference", "kind"),
    ("inference", "column"),
)
"""Fields of two sections that hold a name this version knows."""


@pytest.mark.parametrize("kind", ["html", "md"])
@pytest.mark.parametrize(("section", "field"), KNOWN_NAMES)
def test_an_unknown_name_is_refused_with_its_place(tmp_path, result, capsys, section, field, kind):
    """Or shown, if it is a name from the data, such as that of a column."""
    data = json.loads(result)
    found = [path for path, value in places(data[section]) if path[-1] == field and isinstance(value, str)]
    assert found
    refused = 0
    for path in {tuple(part for part in path if isinstance(part, str)): path for path in found}.values():
        changed_data = json.loads(result)
        put(changed_data, (section, *path), "nobody")
        ended = code(tmp_path, changed_data, kind)
        said = capsys.readouterr().err
        assert ended == 3 or (ended == 0 and field == "column")
        if ended:
            refused += 1
            place = section if field == "column" else ".".join(map(str, (section, *path)))
            assert f"this is not a result: `{place}`" in said and "nobody" not in said
    assert refused


def test_a_result_of_another_version_is_no_result(tmp_path, result, capsys):
    assert code(tmp_path, json.loads(result) | {"schema": "cvpl/audit/99"}, "md") == 3
    assert "this is not a result. Name a file" in " ".join(capsys.readouterr().err.split())


def test_an_earlier_result_that_is_not_complete_is_refused(tmp_path, capsys):
    data = json.loads(EARLIER.read_text())
    data["attackers"][0]["power"][1].clear()
    assert code(tmp_path, data, "md") == 3
    assert "this is not a result" in capsys.readouterr().err


def test_the_result_as_it_was_written_is_shown(tmp_path, result):
    assert code(tmp_path, json.loads(result), "html") == 0
