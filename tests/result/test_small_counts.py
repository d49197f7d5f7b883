"""Figures do not tell of a few people: each is rounded to what so many people support, in every result."""

from __future__ import annotations

import io
import json
import math
import re
import typing
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from scipy.stats import binom

import cvpl
from cvpl import result as out
from cvpl.charts.attackers import block_sizes
from cvpl.reports.markdown import sections_markdown
from cvpl.reports.page import report_page
from cvpl.reports.sections.audit import audit_sections
from cvpl.reports.sections.reviewers import provenance_section
from cvpl.reports.terminal import show_sections
from cvpl.result.publishing import (
    ABOVE_ZERO,
    Count,
    Disclosure,
    Section,
    Share,
    Stated,
    grid_of,
    marks_of,
    rounded_count,
    rounded_statistic,
)
from cvpl.wording import percent, share_words
from examples import examples

K = 10
CITIES = ("north", "south", "east", "west", "centre", "coast")
COLUMNS = {
    "who": {"role": "id"},
    "city": {"role": "quasi_identifier", "type": "category", "block": "exact"},
    "age": {"role": "quasi_identifier", "type": "numeric"},
    "pay": {"role": "attribute", "type": "numeric"},
}
SETTINGS = {"columns": COLUMNS, "attacker": "paper", "canaries": False, "sensitivity": False}
EXACT = {"report": {"suppress_below": 1}}
shares = st.floats(-1, 1)
sizes = st.integers(1, 100_000)


def drawn(rng, size, cities, first=0):
    return pd.DataFrame(
        {
            "who": np.arange(first, first + size),
            "city": rng.choice(CITIES[:cities], size),
            "age": rng.integers(18, 80, size).astype(float),
            "pay": rng.normal(100, 20, size),
        }
    )


def released(rng, original, noise=5.0):
    changes = noise * rng.normal(size=(2, len(original)))
    noisy = original.assign(age=original.age + changes[0].round(), pay=original.pay + changes[1])
    return noisy.iloc[rng.permutation(len(noisy))]


def world(seed, unusual=False, size=None):
    """Originals, their release and a control; `unusual` replaces one original by a person like no other.

    Worlds differ in their size, in the number of cities and in the noise of the release.
    """
    rng = np.random.default_rng(seed)
    size = size or int(rng.integers(150, 400))
    cities, noise = int(rng.integers(3, 7)), rng.uniform(1, 8)
    original, control = drawn(rng, size, cities), drawn(rng, size, cities, 1000)
    if unusual:
        original.loc[0, ["city", "age", "pay"]] = "island", 95.0, 170.0
    return original, released(np.random.default_rng(seed + 1), original, noise), control


def audited(tables, settings=SETTINGS, **more):
    original, protected, control = tables
    return cvpl.audit(original, protected, settings, control=control, **more)


@given(people=sizes, k=st.integers(2, 30))
def test_the_step_is_the_smallest_of_1_2_and_5_times_a_power_of_ten_that_hides_k_people(people, k):
    step = grid_of(people, k).step
    steps = sorted({digit * 10.0**-power for power in range(7) for digit in (1, 2, 5)} - {2.0, 5.0})
    assert step == pytest.approx(min([item for item in steps if item >= k / people * (1 - 1e-12)], default=1.0))


@given(value=shares, people=sizes)
def test_ends_of_intervals_are_rounded_outward_and_keep_their_side_of_0(value, people):
    grid = grid_of(people, K)
    low, high = grid.low_end(value), grid.high_end(value)
    assert low <= value + 1e-6 and value - 1e-6 <= high
    assert (low > 0) == (value > 0) and (high < 0) == (value < 0)
    assert abs(grid.nearest(value) - value) <= grid.step * (0.5 + 1e-6) or min(abs(value), 1 - value) < grid.step / 2
    assert grid.nearest(value) != 0 or abs(value) * people < K  # 0 stands for fewer than k people
    assert grid.nearest(value) != 1 or (1 - value) * people < K
    assert grid.nearest(grid.nearest(value)) == grid.nearest(value)
    assert grid.low_end(low) == low and grid.high_end(high) == high


@given(value=shares, people=sizes)
def test_with_k_of_1_every_figure_is_exact(value, people):
    grid = grid_of(people, 1)
    assert (grid.nearest(value), grid.low_end(value), grid.high_end(value)) == (value, value, value)
    assert rounded_count(people, 1) == people
    assert rounded_statistic(value, people, 1) == value


@pytest.mark.parametrize(("count", "down", "up"), [(0, 0, 0), (1, 0, 10), (9, 0, 10), (10, 10, 10), (19, 10, 20)])
def test_a_count_is_a_multiple_of_k_and_0_stands_for_fewer_than_k(count, down, up):
    assert (rounded_count(count, K), rounded_count(count, K, up=True)) == (down, up)


@pytest.mark.parametrize(
    ("value", "people", "shown"),
    [(0.012345, 1e6, 0.0123), (123456, 1e6, 123000), (0.987, 100, 1.0), (77.3, 300, 75), (0, 100, 0)],
)
def test_a_statistic_has_the_digits_that_its_people_support(value, people, shown):
    assert rounded_statistic(value, people, K) == pytest.approx(shown)


def sections():
    """All sections of results, and of what they contain."""
    waiting = [out.AuditResult, out.ComparisonResult, out.SurfaceResult, out.BenchmarkResult, out.TrialResult]
    found = []
    while waiting:
        section = waiting.pop()
        if section in found:
            continue
        found.append(section)
        for info in section.model_fields.values():
            waiting += [part for part in parts(info.annotation) if isinstance(part, type) and issubclass(part, Section)]
    return found


def parts(annotation):
    yield annotation
    for part in typing.get_args(annotation):
        yield from parts(part)


@pytest.mark.parametrize("section", sections(), ids=lambda section: section.__name__)
def test_every_number_of_a_result_says_what_it_is(section):
    chosen = {"strength", "inside", "isolated", "rises_at"}  # settings of a mechanism, which may be words too
    numbers = {name for name, info in section.model_fields.items() if {int, float} & set(parts(info.annotation))}
    assert numbers - chosen <= set(marks_of(section))


def leaves(section):
    """Every number of a result with the name and the mark of its field."""
    marks = marks_of(type(section))
    for name, value in section:
        items = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [value]
        for item in items:
            if isinstance(item, Section):
                yield from leaves(item)
            elif type(item) in (int, float):
                yield name, marks.get(name), item


def check_tells_of_k_people(found, people):
    """Every share is a multiple of a step of at least k of all people, and every count is one of k."""
    steps = [step for step in (1.0, 0.5, 0.2, 0.1, 0.05, 0.02) if step >= K / people]
    seen = 0
    for name, mark, value in leaves(found):
        if isinstance(mark, Count):
            assert value % K == 0 or value <= mark.kept, name
        if isinstance(mark, Share) and not mark.stated_without and abs(value) != ABOVE_ZERO:
            assert any(is_multiple(value, step) for step in steps), (name, value)
            seen += 1
    assert seen > 50


def is_multiple(value, step):
    return math.isclose(value / step, round(value / step), abs_tol=1e-6)


@settings(max_examples=examples(2), deadline=None)
@given(seed=st.integers(0, 10_000), size=st.sampled_from([60, 120]))
def test_no_figure_of_an_audit_tells_of_fewer_than_ten_people(seed, size):
    found = audited(world(seed, unusual=True, size=size))
    assert found.suppress_below == K
    check_tells_of_k_people(found, size)
    assert not [row for row in found.growth.by_candidates if row.records < K]
    for end in ("originals_with_match", "matches_in_block", "matches_linked"):
        assert getattr(found.truth, end) % K == 0


def test_canaries_are_rounded_because_originals_and_controls_are_searched_for_in_both():
    tables, more = world(3, unusual=True, size=120), {"canaries": True}
    exact, told = audited(tables, SETTINGS | EXACT | more).canaries, audited(tables, SETTINGS | more).canaries
    for rounded in (told.identity, told.independent):
        assert is_multiple(rounded.linkage_rate, 0.1) and is_multiple(rounded.power, 0.1)  # of 120 people
    assert not is_multiple(exact.independent.linkage_rate, 0.1) or not is_multiple(exact.independent.power, 0.1)


def test_with_k_of_1_a_block_of_one_shows_and_with_k_of_10_it_does_not():
    tables = world(3, unusual=True, size=120)
    exact, published = audited(tables, SETTINGS | EXACT), audited(tables)
    assert exact.blocks.schemes[0].smallest == 1 and exact.blocks.schemes[0].sizes[0].blocks == 1
    assert published.blocks.schemes[0].smallest >= K
    assert published.blocks.schemes[0].count == 0 and published.blocks.schemes[0].sizes[0].blocks == 0
    assert "fewer than 10 blocks" in block_sizes(published).description
    assert "none tells of fewer than 10 people" in provenance_section(published).sentences[0].text


def test_the_verdict_the_gate_and_the_page_agree_on_the_published_figures():
    tables = world(5, size=120)
    exact = audited(tables, SETTINGS | EXACT)
    step = grid_of(120, K).step
    limit = math.ceil(exact.risk.high / step) * step
    for maximum, met in ((limit, True), (limit - step / 2, False)):
        found = audited(tables, fail_above=maximum)
        assert found.policy.value == found.risk.high == pytest.approx(limit)
        figure = [reason for reason in found.policy.reasons if "upper interval end" in reason]
        assert (not figure) == met
    assert found.verdict.kind == exact.verdict.kind
    assert found.risk.low <= exact.risk.low and exact.risk.high <= found.risk.high


def a_risk(estimate, low, high):
    return out.Risk(estimate=estimate, low=low, high=high, power=0.1, false_rate=0.05, basis="control", attacker="main")


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [
        (0.004, 0.03, "linkable"),
        (0.0004, 0.002, "linkable"),
        (0.0, 0.002, "indistinguishable_from_zero"),
        (-0.004, 0.004, "indistinguishable_from_zero"),
        (-0.03, -0.004, "undetermined"),
    ],
)
def test_rounding_never_turns_one_kind_of_verdict_into_another(low, high, kind):
    exact = a_risk((low + high) / 2, low, high)
    rounded = Disclosure(K, {"originals": 200, "controls": 200}).published(exact)
    assert {out.verdict_of(out.VerdictFigures(risk=risk)).kind for risk in (exact, rounded)} == {kind}
    assert rounded.low <= rounded.estimate <= rounded.high
    if low > 0:
        assert rounded.estimate >= 0.05  # somebody can be linked, so it does not read 0


def test_a_table_of_fewer_than_twenty_people_is_told_exactly_with_a_warning():
    found = audited(world(1, size=19))
    assert found.suppress_below == 1
    assert [warning.message for warning in found.warnings if warning.rule == "few_people"]
    assert not [warning for warning in audited(world(1, size=60)).warnings if warning.rule == "few_people"]


def numbers(value, at=""):
    """All numbers of a JSON document by their place; sizes of tables and settings are left out."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in ("provenance", "inputs", "settings"):
                yield from numbers(item, f"{at}.{key}")
    elif isinstance(value, list):
        yield f"{at}.length", float(len(value))
        for number, item in enumerate(value):
            yield from numbers(item, f"{at}.{number}")
    elif isinstance(value, int | float):
        yield at, float(value)


def right_guesses(first, second):
    """How many of the documents a linear rule puts on the right side, when it is fitted on all other pairs."""
    documents = [dict(numbers(json.loads(text))) for text in (*first, *second)]
    names = sorted({name for document in documents for name in document})
    X = np.array([[document.get(name, -1.0) for name in names] for document in documents])
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    y = np.repeat([-1.0, 1.0], len(first))
    pair = np.tile(np.arange(len(first)), 2)
    right = 0
    for own in range(len(first)):
        fit = pair != own
        gram = X[fit] @ X[fit].T + len(names) * 0.1 * np.eye(int(fit.sum()))
        scores = X[~fit] @ X[fit].T @ np.linalg.solve(gram, y[fit])
        right += int((np.sign(scores) == y[~fit]).sum())
    return right, 2 * len(first)


def beyond_chance(right, of):
    """Whether so many right guesses have a chance of less than 5%."""
    return binom.sf(right - 1, of, 0.5) < 0.05


def outputs_of_pairs(pairs, more):
    """The results of worlds without and with one unusual person."""
    return [
        [audited(world(100 + 7 * seed, unusual), SETTINGS | more).to_json() for seed in range(pairs)]
        for unusual in (False, True)
    ]


def test_results_do_not_tell_whether_an_unusual_person_is_in_the_table():
    assert not beyond_chance(*right_guesses(*outputs_of_pairs(examples(5), {})))


def test_exact_results_tell_whether_an_unusual_person_is_in_the_table():
    right, of = right_guesses(*outputs_of_pairs(5, EXACT))
    assert beyond_chance(right, of)


def test_a_comparison_and_a_difference_are_made_of_published_figures(tmp_path):
    original, one, control = world(8, size=120)
    other = released(np.random.default_rng(77), one)
    found = cvpl.compare(original, {"one": one, "other": other}, SETTINGS, control=control)
    assert found.suppress_below == K
    step = grid_of(120, K).step
    for release in found.releases:
        check = [release.risk.estimate, release.risk.high, release.linkage_rate.estimate, release.top1_hit_rate]
        assert all(is_multiple(value, step) for value in check)
    for difference in found.differences:
        assert is_multiple(difference.estimate, step)
        assert difference.tied == (difference.low <= 0 <= difference.high)
    risks = [release.risk.estimate for release in found.releases]
    assert all(first >= second for first, second in pairwise(risks))


def test_a_stated_number_is_not_rounded():
    assert isinstance(marks_of(out.Input)["rows"], Stated)
    assert audited(world(2, size=61)).inputs["original"].rows == 61


def odd_few(size, few):
    """Tables of which a few records have another label, a gap, a number beyond 2^53 or another spelling."""
    rng = np.random.default_rng(4)
    original = pd.DataFrame(
        {
            "city": rng.choice(["north", "south"], size),
            "job": rng.choice(["a1", "b2", "c3"], size),
            "code": rng.choice([str(code) for code in range(3, 30)], size),
            "serial": [str(2**53 + 1)] * few + ["5"] * (size - few),
            "pay": [str(pay) for pay in rng.integers(100, 900, size)],
        }
    )
    protected = original.sample(frac=1, random_state=1).reset_index(drop=True)
    protected.loc[: few - 1, "city"] = "elsewhere"
    protected.loc[: few - 1, "job"] = "d4"
    protected.loc[: few - 1, "code"] = "3.0"
    protected.loc[: few - 1, "pay"] = "much"
    original.loc[: few - 1, "job"] = "NA"
    return original, protected


def odd_texts(size, few, k):
    """What audits with and without a configuration say of such tables, apart from the figures of attacks."""
    original, protected = odd_few(size, few)
    names = {"city": "category", "job": "category", "code": "category", "serial": "numeric"}
    columns = {name: {"role": "attribute", "type": kind} for name, kind in names.items()}
    settings = {"columns": columns, "attacker": "paper", "canaries": False, "sensitivity": False}
    found = cvpl.audit(original, protected, settings | {"report": {"suppress_below": k}})
    texts = [warning.message for warning in found.warnings if warning.rule == "columns"]
    assert texts.pop(0).startswith("not declared")
    guessed = cvpl.propose(original, protected, compare_sensitive=True)
    told = guessed.assumptions
    return texts, [*told.notes, *(text for item in told.columns for text in (item.reason, item.doubt or ""))], guessed


def told_numbers(texts):
    """The counts and shares in texts; sizes of tables, 2^53 and its digits are no counts."""
    known = re.compile(r"2\^53|about 16 digits|in [\d,]+ rows|fewer than \d+|at most 10")
    for text in texts:
        yield from re.findall(r"(?<![\w'`])\d[\d,]*(?:\.\d+)?%?", known.sub("", text))


def test_notices_and_assumptions_tell_no_count_or_share_of_a_few_people():
    few, guessed, proposal = odd_texts(250, 3, K)
    assert few == []  # what is true of 3 records is not told at all
    comments = [line for line in proposal.text.splitlines() if line.lstrip().startswith("#")]
    assert len(guessed) > 5
    shares = [0.05 * step for step in range(21)]
    for number in told_numbers([*guessed, *(line for line in comments if "threshold" not in line)]):
        if number.endswith("%"):
            assert min(abs(float(number[:-1]) / 100 - share) for share in shares) < 1e-9, number
        else:
            assert int(number.replace(",", "")) % K == 0, number


def test_notices_tell_of_many_records_by_rounded_figures():
    many = odd_texts(250, 63, K)[0]
    assert [" ".join(text.split()[:7]) for text in many] == [
        "column 'city': 25.0% of the release's values",
        "column 'job': 25.0% of the release's values",
        "column 'code' of protected: at least 60",
        "column 'serial' of original: at least 60",
        "column 'serial' of protected: at least 60",
    ]
    exact = odd_texts(250, 3, 1)[0]
    assert [re.search(r": ([\d.]+%?) ", text)[1] for text in exact] == ["1.2%", "1.2%", "3", "3", "3"]


def test_a_share_of_at_least_k_records_never_reads_0():
    for size in (20, 21, 49, 51, 99, 240):
        found = Disclosure(K, {"originals": size, "protected": size}).share_of_records(K, size)
        assert found is not None and found > 0
        assert Disclosure(K, {"originals": size, "protected": size}).share_of_records(K - 1, size) is None


def plain_zeros(text):
    """The figures of a text that read 0; the ends of intervals are bounds."""
    return re.findall(r"(?<!to )(?<![\d.,])0(?:\.0)?%(?! to)", " ".join(text.split()))


def test_no_figure_reads_0_where_fewer_than_ten_people_are_meant():
    """All outputs show the sections; only the scale of a chart begins at 0%."""
    tables = world(5, size=120)
    for suppressed, words in ((SETTINGS, "pay fewer than 10 values"), (SETTINGS | EXACT, "pay 0.0%")):
        found = audited(tables, suppressed)
        unchanged = [item.share for item in found.preflight if item.column == "pay"]
        assert unchanged == [0]
        screen = Console(file=io.StringIO(), width=300)
        show_sections(audit_sections(found), screen)
        texts = [screen.file.getvalue(), sections_markdown(audit_sections(found)), report_page(found)]
        for text in texts[:2]:
            assert words in text
            assert (plain_zeros(text) == []) == (suppressed is SETTINGS)
        assert words in texts[2]


@pytest.mark.parametrize(("value", "k", "text"), [(0, 10, "<10 people"), (0.0, 1, "0.0%"), (0.0004, 10, "<0.1%")])
def test_a_rounded_share_of_0_is_put_in_words(value, k, text):
    assert percent(value, k=k) == text
    assert share_words(value, k=k) == text.replace("<10 people", "fewer than 10 people")


def test_a_share_of_0_names_what_is_counted():
    """A number without a unit in a column of percentages is read as a percentage."""
    assert percent(0.0, k=10, of="records") == "<10 records"
    assert share_words(0.0, k=10, of="records") == "fewer than 10 records"
    assert f"{share_words(0.0, k=10, of='')} of the control" == "fewer than 10 of the control"
    assert share_words(0.2, k=10) == "20.0%" and share_words(None, "hidden", k=10) == "hidden"


def test_the_attributable_rate_without_a_threshold_is_the_risk():
    """Half of the controls are a reference sample for some attackers; that must not part one figure into two."""
    tables, names = world(6, size=600), ("rarity", "rarity_reference", "nearest_reference")
    declared = {"columns": {name: item | {"recoded": False} for name, item in COLUMNS.items()}, "attacker": "default"}
    found = audited(tables, SETTINGS | declared, attackers=names, quick=True)
    assert found.threshold is None and found.risk.false_rate == 0.05
    own = found.attributable_rate
    assert (own.estimate, own.low, own.high) == (found.risk.estimate, found.risk.low, found.risk.high)
    plain = [row for row in found.attackers if row.threshold is None and row.risk is not None]
    assert len(plain) == 3
    assert [row.attributable_rate.estimate for row in plain] == [row.risk.estimate for row in plain]
    assert found.truth.top1_hit_rate == next(row for row in found.attackers if row.name == found.attacker).top1_hit_rate


def test_a_rate_at_a_threshold_is_rounded_by_the_smaller_table():
    ends = {"low": 0.3111, "high": 0.3222, "method": "none", "basis": "control"}
    point = {"linkage_rate": 0.5, "low": None, "high": None, "attributable_rate": 0.317}
    disclosure = Disclosure(K, {"originals": 1000, "controls": 100})
    for threshold, shown in ((0.9, 0.3), (None, 0.32)):
        found = disclosure.published(out.CurvePoint(threshold=threshold, **point))
        assert found.attributable_rate == pytest.approx(shown)
    assert disclosure.published(out.Attributable(estimate=0.317, **ends)).estimate == pytest.approx(0.3)
