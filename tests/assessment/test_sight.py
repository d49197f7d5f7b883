"""Whether an audit says what its attackers cannot see: each finding on a release made for it, and on no healthy one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import cvpl
from changed_worlds import people as mixed_people
from changed_worlds import released
from cvpl.assessment import sight
from cvpl.assessment.sight import PlantedPeople
from cvpl.attack.attack import attack
from cvpl.operators.recoding import estimate_recoding
from worlds import make_pair

BLIND = {
    "unread_columns",
    "unmatched_columns",
    "unread_texts",
    "renamed_columns",
    "originals_not_found",
    "change_not_seen",
    "release_shifted",
    "columns_alone",
}
KINDS = {"age": "numeric", "income": "numeric", "weight": "numeric", "town": "category", "trade": "category"}
SEEING, BLINDED = ("ranks", "fellegi_sunter_em", "rarity"), ("fellegi_sunter_em", "rarity")


def people(count, rng):
    """Numbers and labels that hang together; nearly everybody has an income of his own."""
    skill, old = rng.normal(size=count), rng.normal(size=count)
    return pd.DataFrame(
        {
            "age": np.clip(np.rint(45 + 15 * old), 18, 90),
            "income": np.round(np.exp(10 + 0.5 * skill + 0.2 * old + 0.2 * rng.normal(size=count)), 0),
            "weight": np.round(75 + 10 * old + 4 * skill + 6 * rng.normal(size=count), 1),
            "town": np.array(["Ashby", "Bree", "Corby", "Dale"])[
                np.digitize(skill + 0.6 * rng.normal(size=count), [-0.6, 0.8, 1.6])
            ],
            "trade": np.array(["baker", "cook", "smith"])[np.digitize(old + 0.6 * rng.normal(size=count), [-1.0, 0.5])],
        }
    )


def with_noise(table, rng):
    return table.assign(
        **{
            name: np.round(table[name] + spread * rng.normal(size=len(table)), 1)
            for name, spread in (("age", 2), ("income", 3000), ("weight", 1.5))
        }
    )


def in_classes(table, rng):
    lows = {name: table[name] // width * width for name, width in (("age", 10), ("income", 10_000), ("weight", 10))}
    widths = {"age": 10, "income": 10_000, "weight": 10}
    return table.assign(
        **{name: [f"{low:.0f}-{low + widths[name] - 1:.0f}" for low in values] for name, values in lows.items()}
    )


def with_strong_noise(table, rng):
    """Noise of two standard deviations."""
    spreads = {name: 2 * table[name].std() for name in ("age", "income", "weight")}
    return table.assign(
        **{name: np.round(table[name] + spread * rng.normal(size=len(table)), 1) for name, spread in spreads.items()}
    )


def in_cells_of_ten(table, rng):
    """Ranges as wide as it takes to have ten people each, for some columns the whole range."""
    columns = {name: {"role": "quasi_identifier", "type": kind} for name, kind in KINDS.items()}
    done = cvpl.protect(table, "mondrian", 10, {"attacker": "default", "columns": columns, "seed": 1})
    return pd.DataFrame(done.to_columns())[list(table)]


def resampled(table, rng):
    """Every column drawn anew, on its own."""
    return pd.DataFrame({name: rng.choice(table[name], len(table)) for name in table})


def drawn_together(table, rng):
    """Records drawn with noise, as a generator does."""
    return with_noise(table.iloc[rng.integers(len(table), size=len(table))].reset_index(drop=True), rng)


def exchanged_within_columns(table, rng):
    """Every value of a column stands for another one of it, by a secret key."""
    keys = {name: sorted(set(table[name])) for name in table}
    return pd.DataFrame(
        {name: table[name].map(dict(zip(key, rng.permutation(key), strict=True))) for name, key in keys.items()}
    )


def hashed(table, rng):
    key = {value: rng.random() * 1e6 for value in sorted(set(table["income"]))}
    return with_noise(table, rng).assign(income=[key[value] for value in table["income"]])


def with_tokens(table, rng):
    return with_noise(table, rng).assign(town=[f"{rng.integers(1 << 40):x}" for _ in range(len(table))])


def in_dollars(table, rng):
    return with_noise(table, rng).assign(income=table["income"] * 40 + 5e6)


def exchanged(table, rng):
    noisy = with_noise(table, rng)
    return noisy.assign(age=noisy["weight"], weight=noisy["age"])


def under_another_name(table, rng):
    return with_noise(table, rng).rename(columns={"income": "salary"})


def logged(table, rng):
    return table.assign(
        income=np.log(table["income"]),
        weight=200 - table["weight"],
        town=table["town"].map({"Ashby": "a", "Bree": "b", "Corby": "c", "Dale": "d"}),
    )


def audited(release, attackers=SEEING, seed=0, kinds=KINDS, size=200, **more):
    """The audit of a release of strangers, changed by `release`."""
    rng = np.random.default_rng([seed, 12])
    original, control, strangers = (people(count, rng)[list(kinds)] for count in (size, size + 40, size))
    made = release(strangers, rng)
    return _audit(original, made.iloc[rng.permutation(len(made))], control, attackers, kinds, **more)


def _audit(original, made, control, attackers=SEEING, kinds=KINDS, recoded=None, canaries=True, settings=None, **more):
    column = {"role": "quasi_identifier", "recoded": recoded}
    config = {
        "columns": {name: column | {"type": kind} for name, kind in kinds.items()},
        "attacker": "default",
        "canaries": canaries,
        "sensitivity": False,
        "seed": 3,
        "search": {"threads": 1},
        **(settings or {}),
    }
    return cvpl.audit(original, made.reset_index(drop=True), config, control=control, attackers=attackers, **more)


def blind(result):
    """The checks of sight that close the gate."""
    return {finding.check for finding in result.preflight if finding.closes_gate} & BLIND


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("release", "size"),
    [
        (with_noise, 200),
        (with_strong_noise, 200),
        (in_classes, 200),
        (in_cells_of_ten, 200),
        (drawn_together, 200),
    ],
)
def test_a_healthy_release_has_no_finding(release, size, seed):
    """Noise, classes and synthetic data are read, and the risk of strangers cannot be told from 0."""
    result = audited(release, seed=seed, size=size)
    assert not blind(result)
    assert result.verdict.kind == "indistinguishable_from_zero"


NUMBERS = ["age", "income", "weight"]
LINKED = {"income": "numeric", "weight": "numeric"}


@pytest.mark.parametrize("release", [resampled, exchanged_within_columns])
def test_columns_that_go_with_nothing_are_not_safe_until_it_is_declared_that_they_were_drawn(release):
    """Values drawn column by column and values that a key exchanged look alike, and only one of them is safe."""
    unknown = audited(release, kinds=LINKED, size=400, fail_above=0.5)
    assert blind(unknown) == {"columns_alone"}
    assert unknown.verdict.kind == "undetermined"
    assert "or a secret key changed them" in unknown.verdict.sentence
    assert not unknown.policy.met
    declared = audited(release, kinds=LINKED, size=400, fail_above=0.5, recoded=False)
    assert declared.verdict.kind == "indistinguishable_from_zero"
    assert "it is declared, and cannot be checked here, that no key or code changed" in declared.verdict.sentence
    assert declared.policy.met


def collapsed(table, rng):
    """A synthesizer that leaves out the ends of two columns, and what they go with."""
    made = drawn_together(table, rng)
    values = {
        name: table[name].median() + 0.3 * table[name].std() * rng.random(len(made)) for name in ("income", "weight")
    }
    return made.assign(**{name: part.round(2) for name, part in values.items()})


def test_a_synthesizer_that_changes_distributions_is_told_once_it_is_declared_that_nothing_was_recoded():
    unknown = audited(collapsed, size=400, fail_above=0.5)
    assert blind(unknown) == {"unread_columns"}
    found = next(finding for finding in unknown.preflight if finding.check == "unread_columns")
    assert "recoded: false" in found.advice
    assert not unknown.policy.met
    declared = audited(collapsed, size=400, fail_above=0.5, recoded=False)
    assert declared.verdict.kind == "indistinguishable_from_zero"
    assert "cannot be checked here, that no key or code changed columns 'income', 'weight'" in declared.verdict.sentence
    assert declared.policy.met


def test_labels_that_the_originals_do_not_have_are_unread_whatever_is_declared():
    assert "unread_columns" in blind(audited(with_tokens, size=200, recoded=False))


def test_one_column_that_a_key_may_have_changed_closes_the_gate():
    """Others still go together, and the people may stand under the key's values all the same."""

    def released(table, rng):
        return with_noise(table, rng).assign(weight=rng.permutation(table["weight"]))

    result = audited(released, size=400, fail_above=0.5)
    assert blind(result) == {"columns_alone"}
    assert "column 'weight' of the release no longer has any relation to other columns" in result.verdict.sentence
    assert not result.policy.met
    assert audited(released, size=400, fail_above=0.5, recoded=False).policy.met


def test_columns_that_never_went_with_each_other_could_have_been_exchanged_by_a_key():
    """Nothing would show it: neither the distributions nor what goes with what."""
    rng = np.random.default_rng(9)
    original, control, strangers = (
        pd.DataFrame(rng.normal(size=(count, 4)).round(4), columns=list("abcd")) for count in (400, 440, 400)
    )
    kinds = dict.fromkeys("abcd", "numeric")
    unknown = _audit(original, strangers, control, kinds=kinds, fail_above=0.5)
    assert blind(unknown) == {"columns_alone"}
    assert "for it to show if a secret key had exchanged their values" in unknown.verdict.sentence
    declared = _audit(original, strangers, control, kinds=kinds, fail_above=0.5, recoded=False)
    assert not blind(declared) and declared.policy.met


def test_a_column_that_is_declared_recoded_cannot_be_read():
    """The owner says that a key changed the values, and they look as they did."""
    result = audited(with_noise, size=400, fail_above=0.5, recoded=True)
    assert blind(result) == {"unread_columns"}
    assert "a key or a code changed their values, as declared" in result.verdict.sentence
    assert not result.policy.met


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        (hashed, {"unread_columns"}),
        (with_tokens, {"unread_columns", "unmatched_columns"}),
        (in_dollars, {"unmatched_columns"}),
        (exchanged, {"renamed_columns"}),
        (under_another_name, {"renamed_columns"}),
    ],
)
def test_a_column_that_cannot_be_read_closes_the_gate(release, expected):
    """A low risk is no comfort then: it cannot be told, and the reason is in the sentence."""
    result = audited(release, fail_above=0.5, size=200)
    assert blind(result) == expected
    assert all(finding.closes_gate for finding in result.preflight if finding.check in BLIND)
    assert result.verdict.kind == "undetermined"
    assert not result.policy.met


def test_free_text_that_no_column_compares_closes_the_gate():
    """A column of sentences that the configuration does not declare."""
    rng = np.random.default_rng(5)
    words = [f"word{number}" for number in range(500)]
    notes = [" ".join(rng.choice(words, 25)).capitalize() + "." for _ in range(200)]
    assert "unread_texts" in blind(audited(lambda table, rng: with_noise(table, rng).assign(note=notes)))


def test_dates_that_are_declared_as_labels_are_no_texts():
    """Their parts are in every table, so by words a shifted date would count as read."""
    rng = np.random.default_rng(6)

    def dated(table):
        days = pd.Timestamp("1940-01-01") + pd.to_timedelta(rng.integers(0, 30_000, len(table)), unit="D")
        return table.assign(born=days.strftime("%Y-%m-%d"))

    original, control, strangers = (dated(people(count, rng)) for count in (200, 240, 200))
    moved = pd.to_datetime(strangers["born"]) + pd.to_timedelta(rng.integers(-2_000, 2_000, 200), unit="D")
    made = with_noise(strangers, rng).assign(born=moved.dt.strftime("%Y-%m-%d"))
    result = _audit(original, made, control, kinds=KINDS | {"born": "category"}, fail_above=0.5)
    assert "unread_columns" in blind(result)
    assert not result.policy.met


def test_columns_that_tell_nobody_apart_close_the_gate():
    """Two columns of few labels: the originals are not found in their own table."""
    kinds = {"town": "category", "trade": "category"}
    result = audited(lambda table, rng: table, kinds=kinds, attackers=BLINDED)
    assert "originals_not_found" in blind(result)
    assert result.verdict.kind == "undetermined"


def test_attackers_who_do_not_see_a_change_are_told_from_those_who_do():
    """Logged, mirrored and renamed at once: values and their frequencies find nobody, ranks do."""
    assert "change_not_seen" in blind(audited(logged, attackers=BLINDED))
    assert "change_not_seen" not in blind(audited(with_noise, attackers=BLINDED))


def test_people_whose_numbers_have_a_factor_of_their_own_are_found_by_ratios():
    """Every column keeps its distribution nearly, so no column shows the change: an attacker has to see through it."""
    rng = np.random.default_rng(8)
    original, control = (people(count, rng)[NUMBERS] for count in (200, 240))
    factors = np.exp(0.5 * rng.normal(size=(len(original), 1)))
    made = (original * factors).iloc[rng.permutation(len(original))]
    kinds = dict.fromkeys(NUMBERS, "numeric")
    found = {names: _audit(original, made, control, names, kinds) for names in (SEEING, (*SEEING, "ratios"))}
    assert [result.verdict.kind for result in found.values()] == ["indistinguishable_from_zero", "linkable"]
    assert found[*SEEING, "ratios"].attributable_rate.low > 0.9


def coarse(table, rng):
    halves = {name: np.where(table[name] > table[name].median(), "high", "low") for name in ("age", "income", "weight")}
    ends = {"age": ("18-45", "46-90"), "income": ("0-22000", "22001-900000"), "weight": ("20-75", "76-160")}
    return table.assign(**{name: [ends[name][half == "high"] for half in halves[name]] for name in halves})


@pytest.mark.parametrize("seed", [0, 1])
def test_coarse_classes_are_protection_and_open_the_gate(seed):
    """Nobody could tell people apart in two classes of each number, which is no blindness."""
    result = audited(coarse, seed=seed, fail_above=0.3)
    assert not blind(result)
    assert [finding.closes_gate for finding in result.preflight if finding.check == "coarse_classes"] == [False]
    assert result.verdict.kind == "indistinguishable_from_zero"
    assert result.policy.met


def with_overwhelming_noise(table, rng):
    made = with_strong_noise(table, rng)
    return made.assign(**{name: made[name] + 2 * made[name].std() * rng.normal(size=len(made)) for name in NUMBERS})


def with_gaps(table, rng):
    return table.mask(rng.random(table.shape) < 0.7)


@pytest.mark.parametrize(("release", "size"), [(with_overwhelming_noise, 300), (with_gaps, 1_000)])
def test_noise_and_empty_cells_that_hide_people_are_no_blindness(release, size):
    result = audited(release, ("fellegi_sunter_em", "nearest_unprojected", "rarity"), size=size, fail_above=0.5)
    assert not blind(result) and result.policy.met


def test_noise_that_hides_everybody_is_named_and_other_noise_is_not():
    said = "attackers hardly find people whose values got, at random, as much noise as the release seems to have"
    assert said in audited(with_overwhelming_noise, size=300).verdict.sentence
    assert said not in audited(with_noise, size=300).verdict.sentence


def test_values_that_lie_elsewhere_close_the_gate():
    """Attackers of the projected values do not count then, although others find who was moved the same way."""

    def moved(table, rng):
        return table.assign(**{name: table[name] + table[name].std() for name in NUMBERS})

    result = audited(moved, (*SEEING, "nearest"), size=300, fail_above=0.5)
    assert "release_shifted" in blind(result)
    assert "the values of the release lie elsewhere than those of the original" in result.verdict.sentence
    assert not result.policy.met


def test_without_canaries_the_originals_must_differ_from_each_other():
    kinds = {"town": "category", "trade": "category"}
    rng = np.random.default_rng(4)
    original, control, strangers = (people(rows, rng)[list(kinds)] for rows in (200, 240, 200))
    result = _audit(original, strangers, control, BLINDED, kinds, canaries=False)
    assert "originals_not_found" in blind(result)


def test_planted_people_have_no_relative_among_the_reference(monkeypatch):
    """Households are declared: the attack on planted people gets the units of the sampled rows."""
    rng = np.random.default_rng(4)
    homes = people(300, rng)

    def at_home(count, first):
        rows = pd.concat([homes.iloc[first : first + count // 4]] * 4, ignore_index=True)
        noise = 0.2 * homes[NUMBERS].std()
        return rows.assign(home=rows.groupby(list(homes)).ngroup().astype(str) + f"-{first}").assign(
            **{name: rows[name] + noise[name] * rng.normal(size=count) for name in NUMBERS}
        )

    seen = []

    def spying(pair, attacker, **options):
        done = attack(pair, attacker, **options)
        if done.reference is not None:
            seen.append((options["draw"], done.control_rows, pair.control.rows))
        return done

    monkeypatch.setattr(sight, "attack", spying)
    original, control, strangers = (at_home(count, first) for count, first in ((200, 0), (400, 60), (200, 200)))
    columns = {name: {"role": "quasi_identifier", "type": kind} for name, kind in KINDS.items()}
    config = {"columns": columns | {"home": {"role": "group"}}, "attacker": "default", "sensitivity": False, "seed": 3}
    cvpl.audit(original, strangers.drop(columns="home"), config, control=control, attackers=("rarity_reference",))
    assert seen
    for draw, asked, rows in seen:
        reference = np.setdiff1d(np.arange(rows), asked)
        units = draw.cluster_codes["control"]
        assert len(units) == rows == 400 and len(reference)
        assert not set(units[reference]) & set(units[asked])


def test_without_a_control_columns_alone_are_asked():
    """Planted people need a control, but a gate on another figure must not pass what no attacker can read."""
    rng = np.random.default_rng(4)
    original, strangers = people(200, rng), people(200, rng)
    result = _audit(original, hashed(strangers, rng), None, BLINDED)
    found = {item.check for item in result.preflight}
    assert "unread_columns" in found
    assert not found & {"originals_not_found", "change_not_seen", "coarse_classes"}
    assert "there is no control, and no attacker can read column" in result.verdict.sentence
    plain = _audit(original, original.sample(frac=1, random_state=1), None, BLINDED)
    assert "no attacker can read" not in plain.verdict.sentence


@pytest.mark.parametrize("figure", ["power_at_5", "top1_hit_rate"])
def test_a_gate_on_true_matches_stays_closed_over_columns_that_nobody_can_read(figure):
    """Links are counted by row number, and whoever has the key of the hashes finds everybody."""
    rng = np.random.default_rng(4)
    original = people(200, rng)
    truth = {"original": "row_number", "protected": "row_number"}
    settings = {"truth": truth, "policy": {"figure": figure, "max": 0.3}}
    result = _audit(original, hashed(original, rng), None, BLINDED, settings=settings)
    assert [policy.met for policy in result.policies] == [False]
    assert any("no attacker can read" in reason for reason in result.policies[0].reasons)


def test_rare_labels_under_new_names_are_unread():
    """Common labels as they were read as a column that is understood; whoever has the tokens finds everybody."""
    rng = np.random.default_rng(8)
    shares = np.r_[np.full(3, 0.2), np.full(40, 0.01)]
    labels = [[f"{column}{label}" for label in range(43)] for column in "abcd"]
    kinds = dict.fromkeys("abcd", "category")
    drawn = [np.array(names)[rng.choice(43, 1_200, p=shares)] for names in labels]
    everybody = pd.DataFrame(dict(zip("abcd", drawn, strict=True)))
    original, control = everybody[:400].reset_index(drop=True), everybody[400:].reset_index(drop=True)
    tokens = {name: name if int(name[1:]) < 3 else f"t{rng.integers(10**9)}" for names in labels for name in names}
    merged = {name: name if int(name[1:]) < 3 else f"other {name[0]}" for names in labels for name in names}
    found = {
        change: {item.check for item in _audit(original, original.replace(new), control, BLINDED, kinds).preflight}
        for change, new in (("tokens", tokens), ("merged", merged))
    }
    assert "unread_columns" in found["tokens"]
    assert "unread_columns" not in found["merged"]


@pytest.mark.parametrize("release", [with_noise, hashed, coarse, logged])
def test_originals_and_controls_who_change_places_have_the_same_findings(release):
    """A release of strangers looks the same to both."""
    rng = np.random.default_rng(6)
    one, other, strangers = (people(220, rng) for _ in range(3))
    made = release(strangers, rng)
    there, back = _audit(one, made, other, BLINDED), _audit(other, made, one, BLINDED)
    assert blind(there) == blind(back)
    assert there.verdict.kind == back.verdict.kind


@pytest.mark.parametrize(
    ("found", "attainable", "seen", "coarse"),
    [
        (0.15, 0.2, True, False),
        (0.149, 0.2, False, False),
        (0.4, 0.8, True, False),
        (0.399, 0.8, False, False),
        (0.0, 0.149, False, True),
        (0.0, 0.15, False, False),
    ],
)
def test_people_count_as_seen_if_15_percent_and_half_of_those_who_can_be_found_are(found, attainable, seen, coarse):
    planted = PlantedPeople("ranks", found, attainable)
    assert (planted.seen, planted.coarse) == (seen, coarse)


def sights(change, seed=0, size=600):
    """How every column of a release of strangers is read, by its name."""
    rng = np.random.default_rng([seed, 31])
    own, others = mixed_people(size, 0.02, rng), mixed_people(size, 0.02, rng)
    pair = make_pair(_COLUMNS, own, change(released(others, "none", rng), rng))
    recoding = estimate_recoding(pair.original, pair.protected, np.random.default_rng(1))
    return {sight.column: sight.seen for sight in recoding.sights}


_COLUMNS = {
    "income": {"role": "attribute", "type": "numeric"},
    "spent": {"role": "attribute", "type": "numeric"},
    "children": {"role": "attribute", "type": "numeric"},
    "height": {"role": "attribute", "type": "numeric"},
    "rooms": {"role": "attribute", "type": "numeric"},
    "came": {"role": "attribute", "type": "datetime"},
    "left": {"role": "attribute", "type": "datetime"},
    "town": {"role": "attribute", "type": "category"},
    "trade": {"role": "attribute", "type": "category"},
}


def _each(name, change):
    def changed(table, rng):
        return table | {name: [None if value is None else change(value) for value in table[name]]}

    return changed


def _keyed(name):
    def changed(table, rng):
        key = {value: float(rng.random()) for value in sorted({v for v in table[name] if v is not None})}
        return table | {name: [None if value is None else key[value] for value in table[name]]}

    return changed


def test_columns_of_an_unchanged_release_are_read_as_they_are():
    found = sights(lambda table, rng: table)
    assert found.pop("rooms") == "constant"
    assert set(found.values()) == {"as_is"}


@pytest.mark.parametrize(
    ("change", "column", "seen"),
    [
        (_each("income", lambda v: v * 1.1), "income", "as_is"),
        (_each("income", lambda v: float(np.log(v))), "income", "recoded"),
        (_each("income", lambda v: 50_000 - v), "income", "recoded"),
        (_each("income", lambda v: 1 / v), "income", "recoded"),
        (_each("height", lambda v: v / 2.54 + 7), "height", "recoded"),
        (_each("children", lambda v: 5 - v), "children", "recoded"),
        (_each("town", lambda v: v[::-1]), "town", "recoded"),
        (_each("town", lambda v: "everywhere"), "town", "constant"),
        (_each("height", lambda v: 1.0), "height", "constant"),
        (_keyed("income"), "income", "unlike"),
        (_keyed("height"), "height", "unlike"),
    ],
    ids=[
        "units",
        "log",
        "mirrored",
        "inverse",
        "inches",
        "turned",
        "renamed",
        "one",
        "one number",
        "hash",
        "hash alone",
    ],
)
def test_the_change_of_a_column_is_understood_or_not(change, column, seen):
    """The other columns are read as they are."""
    found = sights(change)
    assert found.pop(column) == seen
    assert set(found.values()) <= {"as_is", "constant"}


_CODES, _SHARES = "abcdefgh", (0.35, 0.2, 0.15, 0.1, 0.08, 0.06, 0.04, 0.02)
_CODE_BOOK = dict(zip(_CODES, "hgfedcba", strict=True))


@pytest.mark.parametrize("changed", [False, True], ids=["none", "key"])
@pytest.mark.parametrize("seed", range(4))
def test_labels_that_a_key_exchanges_are_not_taken_as_they_are_also_if_they_go_with_nothing(changed, seed):
    """Their shares are the same in another order."""
    rng = np.random.default_rng(seed)
    own, others = ({name: rng.choice(list(_CODES), 600, p=_SHARES).tolist() for name in ("c", "d")} for _ in range(2))
    made = others | {"c": [_CODE_BOOK[value] if changed else value for value in others["c"]]}
    pair = make_pair({name: {"role": "attribute", "type": "category"} for name in own}, own, made)
    found = {sight.column: sight.seen for sight in estimate_recoding(pair.original, pair.protected, rng).sights}
    assert (found["c"] != "as_is") == changed
    assert found["d"] == "as_is"


def test_noise_on_a_column_of_mostly_zeros_is_noise():
    """Half of the zeros come below zero: far from the originals' distribution, and still on their scale."""
    rng = np.random.default_rng(7)

    def draw():
        gains = np.where(rng.random(600) < 0.9, 0.0, np.exp(8 + rng.normal(size=600)))
        return {"gain": gains.tolist(), "age": rng.normal(45, 15, 600).tolist()}

    own, made = draw(), draw()
    made["gain"] = [value + 1000 * rng.normal() for value in made["gain"]]
    pair = make_pair({name: {"role": "attribute", "type": "numeric"} for name in own}, own, made)
    found = {sight.column: sight.seen for sight in estimate_recoding(pair.original, pair.protected, rng).sights}
    assert found == {"gain": "as_is", "age": "as_is"}


def test_a_change_is_brought_to_people_as_the_release_made_it():
    """`to_release` of an original is its released value, up to the sampling of the release's values."""
    rng = np.random.default_rng(8)
    own = mixed_people(500, 0.0, rng)
    towns = {"Ashby": "t1", "Bree": "t2", "Corby": "t3", "Dale": "t4"}
    made = own | {
        "income": [float(np.log(value)) for value in own["income"]],
        "spent": [-value for value in own["spent"]],
        "town": [towns[value] for value in own["town"]],
    }
    pair = make_pair(_COLUMNS, own, made)
    recoding = estimate_recoding(pair.original, pair.protected, rng)
    brought = recoding.to_release(pair.original)
    assert brought.columns["income"].values == pytest.approx(np.array(made["income"]))
    assert brought.columns["spent"].values == pytest.approx(np.array(made["spent"]))
    labels = brought.columns["town"].labels
    assert [labels[code] for code in brought.columns["town"].codes] == made["town"]
    for name in ("children", "height", "came", "left", "trade"):
        assert brought.columns[name].bits()[0].tolist() == pair.original.columns[name].bits()[0].tolist()
    assert recoding.describe()
    assert not estimate_recoding(pair.original, replace(pair.original, name="protected"), rng).describe()


def _ages(count, rng):
    """Ages of several people each, with what goes with them, and money that most people have none of."""
    age = rng.integers(20, 60, count)
    return pd.DataFrame(
        {
            "age": age,
            "hours": np.clip(np.rint(20 + age / 3 + 4 * rng.normal(size=count)), 0, 60),
            "trade": np.array(["baker", "cook", "smith"])[np.digitize(age + 6 * rng.normal(size=count), [33, 46])],
            "gain": np.where(rng.random(count) < 0.9, 0, np.rint(np.exp(8 + rng.normal(size=count)))),
        }
    )


def _sights_of_ages(change):
    rng = np.random.default_rng(4)
    everybody, strangers = _ages(3_000, rng), _ages(1_000, rng)
    types = {"age": "numeric", "hours": "numeric", "gain": "numeric", "trade": "category"}
    columns = {name: {"role": "attribute", "type": kind} for name, kind in types.items()}
    pair = make_pair(columns, everybody.to_dict("list"), change(strangers, rng).to_dict("list"))
    return {sight.column: sight.seen for sight in estimate_recoding(pair.original, pair.protected, rng).sights}


def test_values_of_several_people_tell_whether_they_were_drawn_or_changed_by_a_key():
    """Equal values still go with the same, whatever a key made of them; drawn ones go with nothing."""

    def drawn(table, rng):
        return table.assign(**{name: rng.permutation(table[name]) for name in ("age", "hours")})

    def keyed(table, rng):
        keys = {name: sorted(set(table[name])) for name in ("age", "hours")}
        return table.assign(
            **{n: table[n].map(dict(zip(key, rng.permutation(key), strict=True))) for n, key in keys.items()}
        )

    assert _sights_of_ages(drawn)["age"] == "as_is"
    assert _sights_of_ages(keyed)["age"] in ("alone", "unlike")


def test_zeros_that_a_synthesizer_spreads_a_little_keep_their_scale():
    def spread(table, rng):
        return table.assign(gain=table["gain"] + np.rint(15 * rng.normal(size=len(table))))

    assert _sights_of_ages(spread)["gain"] == "as_is"


def test_every_section_of_a_release_that_nobody_can_read_says_that_its_figures_may_be_too_low():
    """A reader who jumps to who is in the release, or to what is inferred, must not be comforted there."""
    found = audited(hashed, size=200)
    text = found.to_markdown()
    said = "The attackers cannot see part of this release: these figures may be too low."
    assert text.count(said) >= 3 and said in text[text.index("### Membership") :][:200]
    assert said not in audited(with_noise, size=200).to_markdown()
