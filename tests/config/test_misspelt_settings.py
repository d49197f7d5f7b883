"""A misspelt setting or value is answered with the right one."""

import random

import pytest

from cvpl.config.loading import load
from cvpl.config.problems import NAME, allowed_range, keys_at, places_of, unknown_setting_advice
from cvpl.config.written import AuditConfig
from cvpl.errors import InputError
from cvpl.tables.source.csv_file import load_csv
from cvpl.tables.source.reading_settings import Reading

RIGHT = 0.97
"""The share of misspelt settings that are answered with the right one. Others are as near to another setting."""


def slip(word, rng):
    """One slip of the hand: two letters swapped, one left out or one doubled."""
    at = rng.randrange(len(word))
    if at + 1 < len(word) and word[at] != word[at + 1] and rng.random() < 0.4:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if len(word) > 3 and rng.random() < 0.5:
        return word[:at] + word[at + 1 :]
    return word[:at] + word[at] + word[at:]


def as_written(place, key):
    """A place with the numbers of the items of lists, which are in the path of an error."""
    tried = [()]
    for part in place:
        tried = [(*path, *between, part) for path in tried for between in ((), (0,), (0, 0))]
    tried += [(*path, *end) for path in tried for end in ((0,), (0, 0))]
    return next(path for path in tried if key in keys_at(AuditConfig, path))


def test_nearly_every_misspelt_setting_is_answered_with_the_right_one():
    rng = random.Random(3)  # noqa: S311 - examples, no secret
    right, wrong = 0, []
    for key, places in places_of(AuditConfig).items():
        for place in {place for place, _ in places}:
            if len(place) > 5 and NAME in place[:2]:
                continue  # the same settings under `attackers.NAME` as under `attacker`
            written = slip(key, rng)
            if written in keys_at(AuditConfig, as_written(place, key)):
                continue
            cure, _ = unknown_setting_advice((*as_written(place, key), written), AuditConfig)
            if f"`{key}`" in cure:
                right += 1
            else:
                wrong.append((place, key, written, cure))
    assert right > 100
    assert right / (right + len(wrong)) >= RIGHT, wrong


VALUES = {
    "a role": ({"columns": {"a": {"role": "atribute"}}}, "`attribute`"),
    "a type": ({"columns": {"a": {"role": "attribute", "type": "numric"}}}, "`numeric`"),
    "an encoding": ({"reading": {"encoding": "latn-1"}}, "`latin-1`"),
    "a figure": ({"policy": {"figure": "linkage_rat", "max": 0.1}}, "`linkage_rate`"),
    "a method": ({"intervals": {"method": "block"}}, "`blocks`"),
    "a similarity": ({"attacker": {"similarity": "cosin"}}, "`cosine`"),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_misspelt_value_is_answered_with_the_nearest(name):
    changes, meant = VALUES[name]
    with pytest.raises(InputError, match=f"Did you mean {meant}"):
        load({"columns": {"a": {"role": "attribute", "type": "numeric"}}, "attacker": "paper"} | changes)


def test_a_row_with_several_faults_counts_once(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "p.csv"
    path.write_bytes(b"a,b,c,d\n" + b"\xff,\xff,\xff,\xff\n" * 294)
    with pytest.raises(InputError) as caught:
        load_csv(duckdb.connect(), path, "t", Reading(), "p.csv")
    assert caught.value.problems[0].count == 294
    assert "(and 293 more rows)" in str(caught.value)


def bounds_in(schema):
    """The bounds of all numbers of a setting, from its JSON schema."""
    names = {"minimum": "ge", "exclusiveMinimum": "gt", "maximum": "le", "exclusiveMaximum": "lt"}
    if isinstance(schema, list):
        return [bounds for item in schema for bounds in bounds_in(item)]
    if not isinstance(schema, dict):
        return []
    own = {short: schema[name] for name, short in names.items() if name in schema}
    return ([own] if own else []) + [bounds for item in schema.values() for bounds in bounds_in(item)]


def bounded_settings():
    """Every numeric setting with a range: the place, the name, and its bounds."""
    found = []
    schemas = {}
    for key, places in places_of(AuditConfig).items():
        for place, model in places:
            if model not in schemas:
                schemas[model] = model.model_json_schema()
            schema = schemas[model]["properties"].get(key, {})
            found += [(place, key, bounds) for bounds in bounds_in(schema)]
    return found


def test_every_number_out_of_range_is_answered_with_the_whole_range():
    settings = bounded_settings()
    assert len({key for _, key, _ in settings}) > 20
    for place, key, bounds in settings:
        for bound, limit in bounds.items():
            found = allowed_range(AuditConfig, (*place, key), bound, limit)
            assert found is not None and dict(found.bounds) == bounds, (place, key, bounds)


RANGES = {
    "both ends": ({"policy": {"figure": "risk", "max": 1.5}}, "`policy.max`: input should be from 0 to 1"),
    "one end": ({"report": {"suppress_below": 0}}, "`report.suppress_below`: input should be at least 1"),
    "without the ends": ({"search": {"sample": 0}}, "`search.sample`: input should be above 0 and below 1"),
    "without one end": ({"search": {"sample": 2}}, "`search.sample`: input should be above 0 and below 1"),
    "in the middle": ({"search": {"threads": 0}}, "`search.threads`: input should be from 1 to 1,024"),
    "a large number": ({"seed": -1}, "`seed`: input should be at least 0 and below 9,223,372,036,854,775,808"),
    "in a short form": ({"attacker": {"blocking": {"lsh": {"bits": 64}}}}, "input should be from 1 to 62"),
    "in a list": ({"attacker": {"projection": {"pca": {"variance": 2}}}}, "input should be above 0 and at most 1"),
    "bytes": ({"reading": {"limits": {"bytes": 5}}}, "from 1,048,576 to 1,125,899,906,842,624"),
    "a size in words": ({"search": {"memory": "5kB"}}, "a size is from 1MiB to 1,048,576GiB"),
    "a limit": ({"reading": {"limits": {"rows": 0}}}, "from 1 to 1,125,899,906,842,624"),
}


@pytest.mark.parametrize("name", RANGES)
def test_a_number_out_of_range_names_the_whole_range(name):
    changes, text = RANGES[name]
    settings = {"columns": {"a": {"role": "attribute", "type": "numeric"}}, "attacker": "paper"}
    with pytest.raises(InputError) as refused:
        load(settings | changes)
    assert text in str(refused.value)
