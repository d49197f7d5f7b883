"""What a configuration may say, and how it is told what is wrong with it."""

from __future__ import annotations

import copy

import pytest
import yaml

from cvpl.config.loading import load, read_policy
from cvpl.config.manifest import ManifestConfig
from cvpl.config.problems import keys_at, places_of
from cvpl.config.written import AuditConfig
from cvpl.errors import InputError, UsageError
from cvpl.operators.blocking import Bin, Key, Level, Lsh, Truncate
from cvpl.operators.projection import Pca, SavedProjection
from cvpl.operators.threshold import Calibrate
from cvpl.workflows.made_tables import CONFIG as DEMO

CONFIG = DEMO.replace("attacker: default", "attacker: paper")

SMALLEST = """
columns:
  person_id:     {role: id}
  age:           {role: quasi_identifier, type: numeric, block: {bin: 10}}
  gender:        {role: quasi_identifier, type: category, block: exact}
  region:        {role: quasi_identifier, type: category, separator: "/", block: {level: 1}}
  purchase_time: {role: attribute, type: datetime, features: [hour, day_of_week]}
  days_after_ad: {role: attribute, type: numeric}
  ad_channel:    {role: attribute, type: category}
  income:        {role: sensitive}
attacker: paper        # a preset, or the operators with their settings
threshold: 0.90
seed: 42
"""


def changed(**settings):
    content = yaml.safe_load(SMALLEST)
    for key, value in settings.items():
        content[key] = content[key] | value if isinstance(value, dict) and isinstance(content.get(key), dict) else value
    return content


def problems(content) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(content)
    return [str(problem) for problem in caught.value.problems]


def test_the_smallest_file_is_the_papers_attacker():
    resolved = load(yaml.safe_load(SMALLEST))
    attacker = resolved.attackers["main"]
    assert attacker.blocking.any_of == (
        (
            Key(column="age", rule=Bin(bin=10)),
            Key(column="gender", rule="exact"),
            Key(column="region", rule=Level(level=1)),
        ),
    )
    assert (attacker.projection, attacker.similarity, attacker.threshold) == (Pca(), "cosine", 0.9)
    assert attacker.vectorization.scale == "z_score"
    assert [spec.name for spec in resolved.specs] == [
        "age", "gender", "region", "purchase_time", "days_after_ad", "ad_channel",
    ]  # fmt: skip
    assert resolved.identity.original == resolved.identity.protected == "person_id"


def test_the_demo_configuration_loads():
    assert load(yaml.safe_load(CONFIG)).identity.simulated


def test_everything_that_can_be_written_for_an_attacker():
    attackers = {
        "main": {
            "knows": ["age", "region", "purchase_time"],
            "knows_people": 0.5,
            "blocking": {"any_of": [["age"], [{"region": {"level": 2}}], {"lsh": {"bits": 12}}, []]},
            "ladder": {"rungs": [["age", "region"], ["age"], []], "stop_below": 0.01},
            "vectorization": {"scale": "robust", "encode": "frequency", "missing": "indicator"},
            "projection": {"pca": {"variance": 0.8, "min": 2, "max": 10, "fit": "original"}},
            "similarity": "mahalanobis",
            "threshold": {"calibrate": "existential", "alpha": 0.1},
        },
        "vendor": {"preset": "paper"},
        "short": "paper",
        "free": {"blocking": "none", "projection": "identity", "similarity": {"agreement": {"m": 0.8}}},
        "earlier": {"projection": {"saved": "projection.json"}},
        "times": {"blocking": [{"purchase_time": {"truncate": "month"}}]},
    }
    content = changed(attackers=attackers)
    del content["attacker"]
    resolved = load(content)
    main = resolved.attackers["main"]
    assert main.blocking.any_of == (
        (Key(column="age", rule=Bin(bin=10)),),
        (Key(column="region", rule=Level(level=2)),),
        Lsh(lsh={"bits": 12}),
        (),
    )
    assert [len(rung.any_of[0]) for rung in main.ladder.rungs] == [2, 1, 0]
    assert main.threshold == Calibrate(calibrate="existential", alpha=0.1)
    assert resolved.attackers["vendor"] == resolved.attackers["short"]
    assert resolved.attackers["free"].blocking.any_of == ((),)
    assert resolved.attackers["earlier"].projection == SavedProjection(saved="projection.json")
    assert resolved.attackers["times"].blocking.any_of[0][0].rule == Truncate(truncate="month")
    assert resolved.attackers["vendor"].threshold == 0.9


@pytest.mark.parametrize(("written", "size"), [("4GB", 4 * 10**9), ("512 MiB", 512 * 2**20), (2**21, 2**21)])
def test_a_memory_budget_is_a_size(written, size):
    assert load(changed(search={"memory": written})).budget.memory == size


WRONG = {
    "no attacker": ({"attacker": None}, ["no attacker is set"]),
    "unknown preset": ({"attacker": "strong"}, ["`attacker`: the presets are: default, paper"]),
    "unknown key": ({"tresholds": 0.9}, ["unknown setting `tresholds`. Did you mean `threshold`?"]),
    "role": ({"columns": {"age": {"role": "qi"}}}, ["`columns.age.role`: input should be 'id'"]),
    "no type": ({"columns": {"age": {"role": "attribute"}}}, ["column 'age': an observable column has no type"]),
    "bin of nothing": (
        {"columns": {"age": {"role": "attribute", "type": "numeric", "block": {"bin": 0}}}},
        ["`columns.age.block.bin`"],
    ),
    "rule of another type": (
        {"columns": {"age": {"role": "attribute", "type": "numeric", "block": {"prefix": 2}}}},
        ["column 'age': this rule cannot block a numeric column. Set `block` to exact or {bin: w}"],
    ),
    "level without levels": (
        {"columns": {"gender": {"role": "attribute", "type": "category", "block": {"level": 1}}}},
        ["column 'gender': a level rule needs levels"],
    ),
    "time without features": (
        {"columns": {"purchase_time": {"role": "attribute", "type": "datetime"}}},
        ["column 'purchase_time': a datetime column is compared by its features"],
    ),
    "features of a number": (
        {"columns": {"age": {"role": "attribute", "type": "numeric", "features": ["hour"]}}},
        ["column 'age': only a datetime column has features"],
    ),
    "blocking by a sensitive column": (
        {"columns": {"income": {"role": "sensitive", "block": "exact"}}},
        ["column 'income': a column with the role sensitive cannot be used for blocking"],
    ),
    "knows what nobody sees": (
        {"attacker": {"knows": ["income", "age"]}},
        ["column 'income': attacker 'main' knows a column that is not observable"],
    ),
    "blocks by what nobody sees": (
        {"attacker": {"blocking": ["nowhere"]}},
        ["column 'nowhere': attacker 'main' blocks by a column that is not observable"],
    ),
    "ladder upside down": (
        {"attacker": {"ladder": {"rungs": [["age"], ["age", "gender"]]}}},
        ["rung 2 does not relax rung 1"],
    ),
    "two ids": ({"columns": {"other": {"role": "id"}}}, ["2 columns have the role id"]),
    "threshold in words": ({"threshold": "high"}, ["`threshold`: write a number, {calibrate: existential"]),
    "memory in words": ({"search": {"memory": "lots"}}, ["`search.memory`: write a size such as 512MB or 4GB"]),
    "levers of later": ({"search": {"sample": 100}}, ["`search.sample`"]),
    "hierarchy that is not there": (
        {"columns": {"gender": {"role": "attribute", "type": "category", "hierarchy": "gone.csv"}}},
        ["configuration, gone.csv: the hierarchy file cannot be opened: there is no such file"],
    ),
    "several at once": (
        {"attacker": "x", "seed": -1, "policy": {"figure": "luck", "max": 2}},
        ["`attacker`", "`seed`", "`policy.figure`", "`policy.max`"],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_reported_with_its_place(name):
    settings, expected = WRONG[name]
    words = problems(changed(**copy.deepcopy(settings)))
    assert len(words) == len(expected)
    for part in expected:
        assert any(part in text for text in words), words


def test_a_file_that_is_not_yaml_is_reported_by_line(tmp_path):
    path = tmp_path / "audit.yaml"
    path.write_text("columns:\n  age: {role: id\nattacker: paper\n")
    assert "audit.yaml: the configuration is not YAML (line 3, column " in problems(path)[0]
    path.write_text("- just\n- a list\n")
    assert "not a mapping" in problems(path)[0]
    assert "cannot be opened" in problems(tmp_path / "gone.yaml")[0]


def test_paths_in_a_file_are_relative_to_it(tmp_path):
    """Those of the control, of hierarchies and of a saved projection."""
    (tmp_path / "gender.csv").write_text("M;one\nF;other\n")
    content = changed(control={"file": "holdout.csv"}, attacker={"projection": {"saved": "space.json"}})
    content["columns"]["gender"] |= {"hierarchy": "gender.csv", "block": {"level": 1}}
    path = tmp_path / "audit.yaml"
    path.write_text(yaml.safe_dump(content))
    resolved = load(path)
    assert resolved.control == tmp_path / "holdout.csv"
    assert resolved.attackers["main"].projection == SavedProjection(saved=str(tmp_path / "space.json"))
    gender = next(spec for spec in resolved.specs if spec.name == "gender")
    assert gender.path("F") == ("other", "F")


UNKNOWN = {
    "a slip": ({"sede": 1}, "unknown setting `sede`. Did you mean `seed`?"),
    "another case": (
        {"columns": {"age": {"role": "id", "Separator": "/"}}},
        "unknown setting `columns.age.Separator`. Did you mean `separator`?",
    ),
    "another word, with every place that takes the same": (
        {"attacker": {"vectorization": {"encoding": "one_hot"}}},
        "unknown setting `attacker.vectorization.encoding`. Did you mean `encode`? It can be set under `columns.NAME` "
        "or under `attacker.vectorization`.",
    ),
    "a setting of another place": (
        {"attacker": {"scale": "robust"}},
        "unknown setting `attacker.scale`. `scale` belongs under `attacker.vectorization`.",
    ),
    "a setting of another place, beside a few": (
        {"report": {"delimiter": ";"}},
        "unknown setting `report.delimiter`. `delimiter` belongs under `reading`. Allowed here: `subgroups`, "
        "`suppress_below`.",
    ),
    "a setting of the top": (
        {"truth": {"original": "person_id", "protected": "person_id", "seed": 3}},
        "unknown setting `truth.seed`. `seed` belongs at the top level. Allowed here: `original`, `protected`, "
        "`complete`, `simulated`.",
    ),
    "nearly a setting of another place": (
        {"delimeter": ";"},
        "unknown setting `delimeter`. Did you mean `delimiter`? It belongs under `reading`.",
    ),
    "like nothing": (
        {"search": {"xyz": 1}},
        "unknown setting `search.xyz`. Allowed here: `memory`, `threads`, `max_block`, `sample`, `sub_block`, `ann`.",
    ),
    "a required one": ({"columns": {"age": {"rol": "id"}}}, "unknown setting `columns.age.rol`. Did you mean `role`?"),
    "inside a shorthand": (
        {"attacker": {"projection": {"pca": {"varianc": 0.8}}}},
        "unknown setting `attacker.projection.pca.varianc`. Did you mean `variance`?",
    ),
    "the name of a shorthand": (
        {"attacker": {"projection": {"pcaa": {}}}},
        "`attacker.projection`: expected one of the keys pca, robust_pca, random, umap, saved, found `pcaa`. Did you "
        "mean `pca`?",
    ),
    "inside a blocking scheme": (
        {"attacker": {"blocking": {"any_of": [[{"age": {"bin": 1, "bars": 1}}]]}}},
        "unknown setting `attacker.blocking.any_of.0.0.age.bars`. Allowed here: `bin`, `level`, `prefix`, `truncate`.",
    ),
    "a known column": (
        {"attacker": {"knows": ["agee"]}},
        "column 'agee': attacker 'main' knows a column that is not observable. Did you mean `age`?",
    ),
    "a blocked column": (
        {"attacker": {"blocking": ["Gendr"]}},
        "column 'Gendr': attacker 'main' blocks by a column that is not observable. Did you mean `gender`?",
    ),
    "a column of a sub-block": (
        {"search": {"sub_block": {"by": ["regoin"]}}},
        "column 'regoin': `search.sub_block` blocks by a column that is not observable. Did you mean `region`?",
    ),
    "a subgroup": (
        {"report": {"subgroups": ["incom"]}},
        "column 'incom': `report.subgroups` names a column that is not declared. Did you mean `income`?",
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_name_is_one_problem_with_the_nearest_or_the_place(name):
    settings, expected = UNKNOWN[name]
    (words,) = problems(changed(**copy.deepcopy(settings)))
    assert words.removeprefix("configuration").lstrip(":, ") == expected


def test_a_setting_among_attackers_is_sought_there():
    content = changed(attackers={"one": {"scale": "robust"}})
    del content["attacker"]
    assert "`scale` belongs under `attackers.NAME.vectorization`" in problems(content)[0]


def test_every_setting_is_found_at_its_place():
    """The places come from the models: each of them can be written."""
    for key, places in places_of(ManifestConfig).items():
        for place, model in places:
            assert key in model.model_fields
            if "any_of" not in place and "rungs" not in place and "by" not in place:
                assert place[-1:] == ("NAME",) or key in keys_at(ManifestConfig, place)
    assert [path for path, _ in places_of(AuditConfig)["seed"]] == [()]


def test_an_unknown_attacker_is_answered_with_the_nearest():
    resolved = load(changed(attacker="default"))
    with pytest.raises(UsageError, match=r"there is no attacker 'raritty' \(did you mean 'rarity'\?\); choose among"):
        resolved.only(["paper", "raritty"])
    with pytest.raises(UsageError, match="there is no attacker 'zzz'; choose among paper"):
        resolved.only(["zzz"])
    with pytest.raises(UsageError, match="no attacker is named; choose among paper"):
        resolved.only([])


def test_a_misspelt_policy_file_is_answered_with_the_nearest(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text("{figur: risk, max: 0.05}")
    with pytest.raises(InputError) as caught:
        read_policy(path)
    assert str(caught.value) == "policy.yaml: unknown setting `figur`. Did you mean `figure`?"
    path.write_text("- {figure: risk, maxx: 0.05}")
    with pytest.raises(InputError) as caught:
        read_policy(path)
    assert str(caught.value) == "policy.yaml: unknown setting `maxx`. Did you mean `max`?"
