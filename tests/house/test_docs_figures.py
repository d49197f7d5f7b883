"""The figures of the demo that pages state are those of the demo.

`STATED` has what a page says, with a name in braces for each figure. The sentence must stand in the page with the
figure of the result, so a test fails if the sentence has gone or the figure has changed. `make test` audits the demo,
and its release by the paper's attacker; `make test-full` also runs the other audits of the demo that pages show.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

import cvpl
from cvpl.cli.main import run
from cvpl.result import AuditResult
from cvpl.result.file import read_result
from cvpl.wording import HIDDEN, percent
from examples import TIMES

TOP = Path(__file__).parents[2]
FALSE_RATE = 0.05
BLOCKINGS = [["age", "gender", "region"], ["age", "gender"], ["gender"], []]
EVERY_SCHEME = {"any_of": [["age", "gender"], ["region", "ad_channel"], {"lsh": {"bits": 8}}]}
PROJECTIONS = {
    "pca": "paper",
    "fitted on the original": {"projection": {"pca": {"fit": "original"}}},
    "fitted on the release": {"projection": {"pca": {"fit": "protected"}}},
    "all components": {"projection": {"pca": {"variance": 1.0, "max": 1000}}},
    "robust": {"projection": "robust_pca"},
    "random": {"projection": "random"},
    "none": {"projection": "identity"},
}
SIMILARITIES = ("cosine", "euclidean", "mahalanobis", "jaccard", "agreement")
VECTORIZATIONS = {
    "one_hot": "paper",
    "frequency": {"vectorization": {"encode": "frequency"}},
    "robust": {"vectorization": {"scale": "robust"}},
    "unscaled": {"vectorization": {"scale": "none"}},
}
SEVERAL = {
    "main": "paper",
    "everybody": {"blocking": "none"},
    "raw": {"projection": "identity"},
    "demographics": {"knows": ["age", "gender", "region"]},
    "some_people": {"knows_people": 0.1},
    "euclid": {"similarity": "euclidean", "threshold": 0.5},
    "weights": {"similarity": "agreement"},
}
RECIPIENTS = {"broker": ["age", "gender", "region"], "shop": ["purchase_place", "purchase_time", "brand_product"]}
POLICIES = [
    "ema-policy-0070",
    {"figure": "risk", "max": 0.05},
    {"figure": "maximum_subgroup_rate", "max": 0.20},
]
SCENARIOS = ("data_holder", "neighbour", "motivated_intruder", "marketer", "journalist")
OPTIONS: dict[str, dict[str, Any]] = {
    "two members": {"attackers": ["paper", "rarity_reference"]},
    "randomized": {"randomize": 7},
    "subgroups": {"attackers": ["rarity"]},
    "population": {"population": 1_000_000},
    **{name: {"scenario": name} for name in SCENARIOS},
}
"""The options of audits with the demo's own configuration."""
CHANGES: dict[str, dict[str, Any]] = {
    "paper": {"attacker": "paper"},
    "stricter": {"attacker": "paper", "threshold": 0.95},
    "several": {"attackers": SEVERAL},
    "projections": {"attackers": PROJECTIONS},
    "similarities": {"attackers": {name: {"similarity": name} for name in SIMILARITIES}},
    "vectorizations": {"attackers": VECTORIZATIONS},
    "existential": {"attacker": {"threshold": {"calibrate": "existential", "alpha": 0.05}}},
    "pairwise": {"attacker": {"threshold": {"calibrate": "pairwise", "alpha": 0.001}}},
    "bonferroni": {"attacker": {"threshold": {"calibrate": "bonferroni", "alpha": 0.05}}},
    "ladder": {"attacker": {"ladder": {"rungs": BLOCKINGS, "stop_below": 0.005}}},
    "any_of": {"attacker": {"blocking": EVERY_SCHEME}},
    "unblocked": {"attacker": {"blocking": "none"}},
    "recipients": {"attacker": "default", "recipients": RECIPIENTS},
    "policies": {"attacker": "default", "policy": POLICIES},
    "subgroups": {"attacker": "default", "report": {"subgroups": ["gender", "income"], "suppress_below": 10}},
    **{name: {"attacker": "default"} for name in OPTIONS if name != "subgroups"},
}
"""What the configuration of an audit of the demo's tables has instead of `attacker: default`."""
RUNS = ["demo", *CHANGES] if TIMES > 1 else ["demo", "paper", "stricter"]
STATED: dict[str, list[tuple[str, str]]] = {
    "demo": [
        (
            "README.md",
            "has a risk of {paper risk}, the strongest of the [family](docs/concepts/attackers.md) {risk}. A gate",
        ),
        ("docs/tutorial.md", "``` {verdict} ```"),
        (
            "docs/tutorial.md",
            "X this release {risk} ({risk low} to {risk high}); c chance 0% (as strangers); n test release with nobody "
            "in it {nobody}; o the originals as they are {identity}.",
        ),
        ("docs/tutorial.md", "| risk | {risk} ({risk low} to {risk high}) | the share of people"),
        ("docs/tutorial.md", "because of the release: ({power 5 number} - 5) / (100 - 5) |"),
        ("docs/tutorial.md", "| power at 5% | {power 5} |"),
        ("docs/tutorial.md", "| power at 1%, 10% | {power 1}, {power 10} |"),
        ("docs/tutorial.md", "| top-1 hit rate | {top-1} |"),
        ("docs/tutorial.md", "| linkage, control and attributable rate | {linked}, {control}, {attributable} |"),
        (
            "docs/tutorial.md",
            "| blocking recall | {blocking recall} | the share of true pairs that are compared at all; this",
        ),
        ("docs/tutorial.md", "| found again in a slightly perturbed copy of the originals | {found again} |"),
        (
            "docs/tutorial.md",
            "`unblocked` links {unblocked linked} and has a risk of {unblocked risk}; `rarity_margin` links "
            "{rarity_margin linked} and has a risk of {rarity_margin risk}. `paper`, the attacker of the paper, has "
            "{paper risk}:",
        ),
        (
            "docs/tutorial.md",
            "{2 linked} of the second tenth are linked and at least {10 (rarest) at least} of the last. Of the group "
            "`Other`, about {Other records} people, at least {Other at least} are linked.",
        ),
        ("docs/tutorial.md", '**"In at least one group, {maximum attributable} of the people or more are linked'),
        (
            "docs/tutorial.md",
            "With other blockings its power moves by {spread by blocking} points, with other encodings and scalings by "
            "{spread by encoding}, from {least by encoding} to {most by encoding}.",
        ),
        ("docs/tutorial.md", "| the {points of the warning} points from above, before rounding;"),
        ("docs/how-to.md", "``` {verdict} ```"),
        (
            "docs/concepts/attackers.md",
            "The paper's attacker finds the right person for {paper top-1}, the `fellegi_sunter_em` attacker for "
            "{fellegi_sunter_em top-1}, in the same release.",
        ),
        ("docs/concepts/attackers.md", "{unblocked linked} and {nearest linked} above belong to attackers"),
        (
            "docs/concepts/attackers.md",
            "interval of power at 5% from {combined low} to {combined high} (`attackers[]`, by itself) to {power low} "
            "to {power high} (the headline).",
        ),
        ("docs/concepts/canaries.md", "{nobody} nobody in it the originals {identity}"),
        (
            "docs/concepts/canaries.md",
            "[risk](verdict.md): {risk}, between {nobody} in a release that contains nobody and {identity} on the "
            "originals. Power at 5%, the true-positive rate at a 5% false-positive rate, is {power 5}, between "
            "{independent power}, which is chance within error, and {identity power}.",
        ),
        (
            "docs/concepts/canaries.md",
            "runs from {unblocked independent low} to {unblocked independent high}; that of `rarity`, read at 5%, from "
            "{rarity independent low} to {rarity independent high}.",
        ),
        (
            "docs/concepts/sensitivity.md",
            "Its spread is {spread by blocking} points over blockings and {spread by encoding} over encodings",
        ),
        (
            "docs/concepts/sensitivity.md",
            "*linkage rate* moves from {least varied linked} to {most varied linked}, and",
        ),
        ("docs/concepts/report.md", 'as "{risk} → {risk without purchase_time}" (`cvpl demo`)'),
        ("docs/concepts/regulators.md", "| risk | {identity} | 5.0%, upper end | {risk} ({risk low} to {risk high}) |"),
        (
            "docs/concepts/regulators.md",
            "| best candidate is right | {identity top-1} | none set | {best} ({best low} to {best high}) |",
        ),
        ("docs/concepts/regulators.md", "| unique by quasi-identifiers | {unique before} | none set | {unique} |"),
        ("docs/concepts/regulators.md", "| average 1 / class size | {average before} | none set | {average} |"),
        ("docs/concepts/regulators.md", "rarest tenth of people is linked to {tail of a tenth short}."),
        ("docs/concepts/scenarios.md", "| none | {risk} ({risk low} to {risk high}) | {top-1} | {found 1} |"),
        ("docs/concepts/membership.md", "| 1% | {found 1} | {found 1 low} to {found 1 high} | {found 1 by} |"),
        ("docs/concepts/membership.md", "| 5% | {found 5} | {found 5 low} to {found 5 high} | {found 5 by} |"),
        ("docs/concepts/membership.md", "| 10% | {found 10} | {found 10 low} to {found 10 high} | {found 10 by} |"),
        ("docs/concepts/membership.md", "The area under the curve is {area} ({area low} to {area high})."),
        ("docs/concepts/control.md", "| 1% | {power 1} |"),
        ("docs/concepts/control.md", "| 5% | {power 5} |"),
        ("docs/concepts/control.md", "| 10% | {power 10} |"),
        ("docs/concepts/validity.md", "by `combined`, the demo's headline, {found again}."),
        ("docs/concepts/truth.md", "the demo's headline, top-1 is {top-1} ([Attackers]"),
        ("docs/concepts/threat-model.md", "the `rarity` attacker for {rarity top-1} ([Attackers]"),
        ("docs/reference/constants.md", "the demo's spreads are {blocking spread} and {encoding spread} ("),
    ],
    "paper": [
        ("docs/tutorial.md", "| linkage rate | {linked} |"),
        ("docs/tutorial.md", "| control rate | {control} |"),
        ("docs/tutorial.md", "| rate at 0.7 | {worst case} |"),
        ("docs/tutorial.md", "| mean rate | {mean rate} |"),
        ("docs/tutorial.md", "| precision at 1 | {precision at 1} |"),
        (
            "docs/tutorial.md",
            "| blocking recall | {blocking recall} | the share of true pairs that are compared at all; the",
        ),
        ("docs/tutorial.md", "| matching recall | {matching recall} |"),
        (
            "docs/tutorial.md",
            "| total recall | {total recall} | the share of true pairs that are linked: {blocking recall} of",
        ),
        ("docs/tutorial.md", "| false link rate | {false link rate} |"),
        ("docs/tutorial.md", "| blocks | {blocks} | with {candidates} candidates per original"),
        (
            "docs/tutorial.md",
            "| components | {components} | of {features} features, holding {variance} of the variance |",
        ),
        ("docs/concepts/truth.md", "| ... whose match shares the block | {blocking recall} |"),
        ("docs/concepts/truth.md", "whose match reaches the threshold | {matching recall} |"),
        ("docs/concepts/truth.md", "the product of the two | {total recall} |"),
        ("docs/concepts/truth.md", "| ... whose best candidate is a match | {top-1} |"),
        ("docs/concepts/truth.md", "a *wrong* candidate reaches the threshold | {false link rate} |"),
        ("docs/concepts/truth.md", "| all wrong pairs: it reaches the threshold | {pairwise} |"),
        ("docs/concepts/truth.md", "the best candidate is a match | {precision at 1} |"),
        ("docs/concepts/truth.md", "links that are not the person | {recall gap} |"),
        ("docs/concepts/truth.md", "0 apart, 1 alike | {overlap} |"),
        ("docs/concepts/truth.md", "ties halved | {separation} |"),
        ("docs/concepts/truth.md", "| number of wrong pairs | {wrong pairs} |"),
        ("docs/concepts/truth.md", "to each of them leaves a top-1 of {top-1}."),
        ("docs/concepts/validity.md", "{alike originals} and {alike released} (`paper/result.json`)"),
        ("docs/concepts/validity.md", "2% of the values swapped. {found again} are found again in it"),
        ("docs/concepts/validity.md", "| share of the variance that the kept components hold | {explained variance} |"),
        ("docs/concepts/validity.md", "| top-1 in the perturbed copy | {perturbed top-1} |"),
        ("docs/concepts/validity.md", "| distance of the mean embeddings over the pooled spread | {shift} |"),
        ("docs/concepts/validity.md", "over the size of the original's | {covariances} |"),
        ("docs/concepts/validity.md", "a utility check | {correlations} |"),
        ("docs/concepts/thresholds.md", "it is {worst case}, where the control rate is {worst case control} ("),
        ("docs/concepts/thresholds.md", "There it is {mean rate}."),
        ("docs/concepts/thresholds.md", "while the best candidate is right for {top-1},"),
        ("docs/concepts/control.md", "({linked} - {control}) / (100% - {control}) = {attributable}"),
        ("docs/concepts/rates.md", "p = {pair probability}; predicted {predicted}, observed {observed} over all;"),
        ("docs/concepts/rates.md", "over all; {last predicted} against {last observed} for the records"),
        ("docs/concepts/threat-model.md", "it finds the right person for {top-1}, the same"),
        ("docs/reference/constants.md", "*more* than its power does ({attributable} against {risk})"),
    ],
    "unblocked": [("docs/concepts/blocking.md", "to {power 5} without blocking")],
    "any_of": [
        ("docs/how-to.md", "On the demo: linkage rate {linked}, control {control}, attributable {attributable}."),
    ],
    "ladder": [("docs/concepts/blocking.md", "On the demo's tables this gives {rungs} (")],
    "existential": [("docs/concepts/thresholds.md", "| {threshold} | {linked} | {control} | {false link rate} |")],
    "pairwise": [("docs/concepts/thresholds.md", "| {threshold} | {linked} | {control} | {false link rate} |")],
    "two members": [
        (
            "docs/how-to.md",
            "headline `rarity_reference`, risk {risk} ({risk low} to {risk high}), strongest of 2.",
        )
    ],
    "randomized": [
        (
            "docs/concepts/attackers.md",
            "`drawn_2` (three columns) has power {drawn_2 linked}, `drawn_3` {drawn_3 linked}.",
        )
    ],
    "population": [
        ("docs/concepts/control.md", "| 1% | {power 1} | {right 1} | {right 1 low} to {right 1 high} |"),
        ("docs/concepts/control.md", "| 5% | {power 5} | {right 5} | {right 5 low} to {right 5 high} |"),
        ("docs/concepts/control.md", "| 10% | {power 10} | {right 10} | {right 10 low} to {right 10 high} |"),
        ("docs/concepts/membership.md", "| {found 1 by} | {found 1 right} |"),
        ("docs/concepts/membership.md", "| {found 5 by} | {found 5 right} |"),
        ("docs/concepts/membership.md", "| {found 10 by} | {found 10 right} |"),
    ],
    "recipients": [
        (
            "docs/concepts/regulators.md",
            "A broker with age, gender and region has a risk of {broker} ({broker low} to {broker high}). The shop, "
            "which knows what was bought, where and when, has one of {shop} ({shop low} to {shop high}).",
        )
    ],
    "policies": [
        (
            "docs/how-to.md",
            "the upper ends are {top1_hit_rate value} for top-1, {risk value} for the risk, and 100% for the largest "
            "group.",
        )
    ],
    "subgroups": [
        ("docs/concepts/who-is-at-risk.md", "| everybody | 5,000 | {linked} | {control} | {attributable} |"),
        ("docs/concepts/who-is-at-risk.md", "| gender F | {F row} |"),
        ("docs/concepts/who-is-at-risk.md", "| gender M | {M row} |"),
        ("docs/concepts/who-is-at-risk.md", "| gender Other | {Other row} |"),
        ("docs/concepts/who-is-at-risk.md", "| income, lowest quarter | {lowest quarter row} |"),
        ("docs/concepts/who-is-at-risk.md", "| income, highest quarter | {highest quarter row} |"),
        ("docs/concepts/who-is-at-risk.md", "| rarity 1 (commonest) | {1 (commonest) row} |"),
        ("docs/concepts/who-is-at-risk.md", "| rarity 2 | {2 row} |"),
        ("docs/concepts/who-is-at-risk.md", "| rarity 5 | {5 row} |"),
        ("docs/concepts/who-is-at-risk.md", "| rarity 8 | {8 row} |"),
        ("docs/concepts/who-is-at-risk.md", "| rarity 10 (rarest) | {10 (rarest) row} |"),
        ("docs/concepts/who-is-at-risk.md", "In at least one group, {maximum attributable} of the people or more"),
    ],
    **{
        name: [
            (
                "docs/concepts/scenarios.md",
                f"| `{name}` | {{risk}} ({{risk low}} to {{risk high}}) | {{top-1}} | {{found 1}} |",
            )
        ]
        for name in SCENARIOS
    },
    "bonferroni": [("docs/concepts/thresholds.md", "| {threshold} | {linked} | {control} | {false link rate} |")],
}
"""What pages say of an audit, by the audit: the page, and the sentence with a name for each figure."""


@pytest.fixture(scope="module")
def audits(tmp_path_factory):
    """The result of an audit of the demo's tables, by the name in `RUNS`; each runs once."""
    folder = tmp_path_factory.mktemp("demo")
    assert run(["demo", "--out", str(folder)]) == 0
    config = yaml.safe_load((folder / "audit.yaml").read_text(encoding="utf-8"))

    @cache
    def audit(name: str) -> AuditResult:
        if name == "demo":
            return read_result(folder)
        changed = {key: value for key, value in config.items() if key != "attacker"} | CHANGES[name]
        if name == "subgroups":
            changed["columns"] = {**config["columns"], "income": {"role": "sensitive", "type": "numeric"}}
        files = folder / "original.csv", folder / "released.csv"
        return cvpl.audit(*files, changed, control=folder / "holdout.csv", **OPTIONS.get(name, {}))

    return audit


@cache
def text(page: str) -> str:
    """A page in one line."""
    return " ".join((TOP / page).read_text(encoding="utf-8").split())


@pytest.mark.parametrize(("name", "page", "sentence"), [(name, *one) for name in RUNS for one in STATED.get(name, ())])
def test_a_page_states_the_figures_of_the_demo(audits, name, page, sentence):
    assert sentence.format_map(figures(audits(name))) in text(page)


def test_the_table_of_the_family_is_the_demo_s(audits):
    rows = sorted(audits("demo").attackers, key=lambda row: -(power_at(row) or 0))
    page = text("docs/concepts/attackers.md")
    for row in rows:
        name = f"`{row.name}`" + (" (the headline)" if row.name == audits("demo").attacker else "")
        assert cells(name, power_at(row), row.linkage_rate.estimate, row.control_rate, row.top1_hit_rate) in page


def test_the_table_of_sensitivity_is_the_demo_s(audits):
    page = text("docs/concepts/sensitivity.md")
    shown = {
        "blocking as configured": "as configured",
        "none": "none",
        "age in half the width": "'age' in half the width",
        "without region": "without 'region'",
        "one-hot, robust scaling": "one_hot, robust",
        "one-hot, no scaling": "one_hot, none",
        "frequency, z-scores": "frequency, z_score",
        "frequency, robust scaling": "frequency, robust",
    }
    found = {row.name: row for row in audits("demo").sensitivity.variations}
    for name, key in shown.items():
        row = found[key]
        change = f"{100 * row.attributable_rate:.1f}%"
        assert f"{cells(name, row.power, row.linkage_rate)} {change} |" in page


def test_the_table_of_contribution_is_the_paper_s_attacker_s_on_the_demo(audits):
    page = text("docs/concepts/contribution.md")
    for row in audits("paper").feature_contribution.columns:
        assert f"{cells(row.column, row.structural, row.link)} {-100 * row.removal:+.1f} |" in page


def test_the_difference_in_the_tutorial_is_the_demo_s(audits):
    page = (TOP / "docs" / "tutorial.md").read_text(encoding="utf-8")
    shown = {
        "risk": lambda result: result.risk.estimate,
        "linkage rate": lambda result: result.linkage_rate.estimate,
        "control rate": lambda result: result.control.rate,
        "attributable rate": lambda result: result.attributable_rate.estimate,
        "power at 5%": power_at,
        "top-1 hit rate": lambda result: result.truth.top1_hit_rate,
    }
    for name, of in shown.items():
        before, after = (of(audits(one)) for one in ("paper", "stricter"))
        points = f"{100 * (after - before):+.1f}".replace("+0.0", "0.0")
        assert re.search(rf"^{name} +{percent(before)} +{percent(after)} +{re.escape(points)} ", page, re.MULTILINE)


TABLES = {
    "several": ("docs/how-to.md", ("linked", "control", "attributable", "power", "top-1")),
    "projections": ("docs/concepts/projection.md", ("linked", "control", "power", "top-1")),
    "similarities": ("docs/concepts/similarity.md", ("linked", "control", "power", "top-1")),
    "vectorizations": ("docs/concepts/vectorization.md", ("linked", "control", "power", "top-1")),
}


def test_the_tables_of_several_attackers_are_the_demo_s(audits):
    for name in (name for name in TABLES if name in RUNS):
        page, columns = TABLES[name]
        for row in audits(name).attackers:
            found = {
                "linked": row.linkage_rate.estimate,
                "control": row.control_rate,
                "attributable": row.attributable_rate.estimate,
                "power": power_at(row),
                "top-1": row.top1_hit_rate,
            }
            assert cells(row.name, *(found[column] for column in columns)) in text(page)


def test_what_is_stated_has_its_audit():
    """No sentence and no table is there for an audit that never runs."""
    assert {*STATED, *TABLES} <= {"demo", *CHANGES}


def cells(name: str, *shares: float | None) -> str:
    """A row of a table, up to the last of these shares."""
    return " | ".join([f"| {name}", *(percent(share, k=10) for share in shares)]) + " |"


def power_at(row: Any, false_rate: float = FALSE_RATE) -> float:
    """The power of a result or an attacker at a false-positive rate."""
    (found,) = (item.power for item in row.power if item.false_rate == false_rate)
    return found


def figures(result: AuditResult) -> dict[str, str]:
    """Every figure of a result that pages state, by the name in their sentences."""
    found = {
        "verdict": result.verdict.sentence,
        "linked": percent(result.linkage_rate.estimate),
        "control": percent(result.control.rate),
        "attributable": percent(result.attributable_rate.estimate),
        "threshold": str(result.threshold),
        **{f"power {rate}": percent(power_at(result, rate / 100)) for rate in (1, 5, 10)},
        **with_ends("risk", result.risk),
        **of_truth(result),
    }
    if result.attacker == "combined":
        found |= of_attackers(result) | of_sensitivity(result) | of_the_family(result)
    elif result.growth is not None:
        found |= of_a_threshold(result)
    if result.membership is not None:
        found |= of_membership(result) | of_groups(result)
    found |= {f"{policy.figure} value": percent(policy.value) for policy in result.policies}
    for recipient in result.recipients:
        found |= with_ends(recipient.name, recipient.risk)
    if result.ladder is not None:
        found["rungs"] = ", ".join(percent(rung.linkage_rate) for rung in result.ladder.rungs)
    return found


def with_ends(name: str, rate: Any) -> dict[str, str]:
    """A rate, and the ends of its interval."""
    return {name: percent(rate.estimate), f"{name} low": percent(rate.low), f"{name} high": percent(rate.high)}


def of_truth(result: AuditResult) -> dict[str, str]:
    """The figures from the true matches, and of the copy in which people are found again."""
    truth, copy = result.truth, result.self_linkage.perturbed.top1_hit_rate
    shares = {
        "top-1": truth.top1_hit_rate,
        "blocking recall": truth.blocking_recall,
        "matching recall": truth.matching_recall,
        "total recall": truth.total_recall,
        "false link rate": truth.false_link_rate,
        "pairwise": truth.pairwise_false_link_rate,
        "precision at 1": truth.precision_at_1,
        "recall gap": truth.recall_gap,
        "found again": copy,
    }
    return {name: percent(share) for name, share in shares.items()}


def of_attackers(result: AuditResult) -> dict[str, str]:
    """The figures of each attacker, with its name before them."""
    found = {}
    for row in result.attackers:
        (at,) = (item for item in row.power if item.false_rate == FALSE_RATE)
        alone = row.canaries.independent
        shares = {
            "risk": row.risk.estimate,
            "linked": row.linkage_rate.estimate,
            "top-1": row.top1_hit_rate,
            "low": at.low,
            "high": at.high,
        }
        found |= {f"{row.name} {name}": percent(share) for name, share in shares.items()}
        found |= {
            f"{row.name} independent {name}": f"{100 * end:.1f}%"
            for name, end in (("low", alone.low), ("high", alone.high))
        }
    return found


def of_groups(result: AuditResult) -> dict[str, str]:
    """The rates of groups, with their label before them."""
    found = {"maximum attributable": percent(result.at_risk.maximum_attributable)}
    for row in (row for table in result.at_risk.tables for row in table.rows):
        found[f"{row.label} linked"] = percent(row.linked)
        found[f"{row.label} at least"] = percent(row.at_least)
        found[f"{row.label} records"] = str(row.records)
        shown = (
            f"at least {percent(row.at_least)}"
            if row.at_most is None
            else f"{percent(row.at_least)} to {percent(row.at_most)}"
        )
        shares = percent(row.linked, shown), percent(row.control, HIDDEN), percent(row.attributable, HIDDEN)
        if row.control is None or row.attributable is None:
            shares = shares[0], percent(row.control, HIDDEN), HIDDEN
        found[f"{row.label} row"] = " | ".join([f"{row.records:,}", *shares])
    (tail,) = (row.linked for row in result.tail if row.share == 0.1)
    return found | {"tail of a tenth short": f"{100 * tail:.0f}%"}


def of_sensitivity(result: AuditResult) -> dict[str, str]:
    """How far figures move with other choices."""
    spread = result.sensitivity
    encodings = [row.power for row in spread.variations if row.choice == "encoding and scaling"]
    linked = [row.linkage_rate for row in spread.variations]
    warnings = [item.message for item in result.warnings if item.rule == "swings_with_encoding"]
    return {
        "spread by blocking": f"{100 * spread.spread_by_blocking:.1f}",
        "spread by encoding": f"{100 * spread.spread_by_encoding:.1f}",
        "blocking spread": f"{spread.spread_by_blocking:.3f}",
        "encoding spread": f"{spread.spread_by_encoding:.3f}",
        "least by encoding": percent(min(encodings)),
        "most by encoding": percent(max(encodings)),
        "least varied linked": percent(min(linked)),
        "most varied linked": percent(max(linked)),
        "points of the warning": " and ".join(re.findall(r"by (\S+) points", " ".join(warnings))),
    }


def of_the_family(result: AuditResult) -> dict[str, str]:
    """The canaries, the criteria, membership and what else only an audit by the family has."""
    (at,) = (item for item in result.power if item.false_rate == FALSE_RATE)
    (time,) = (row for row in result.feature_contribution.columns if row.column == "purchase_time")
    identity, nobody = result.canaries.identity, result.canaries.independent
    criteria = result.criteria
    return {
        "power 5 number": f"{100 * at.power:.1f}",
        "power low": percent(at.low),
        "power high": percent(at.high),
        "identity": percent(beyond_chance(identity.power)),
        "identity power": percent(identity.power),
        "identity top-1": percent(identity.top1_hit_rate),
        "independent power": percent(nobody.power),
        "nobody": percent(max(0.0, beyond_chance(nobody.power))),
        "risk without purchase_time": percent(result.risk.estimate - time.power_drop / (1 - FALSE_RATE)),
        "unique": percent(criteria.unique),
        "unique before": percent(criteria.original_unique),
        "average": percent(criteria.risk.prosecutor_average),
        "average before": percent(criteria.original_average),
        **with_ends("best", result.best_candidate),
    }


def of_membership(result: AuditResult) -> dict[str, str]:
    """Who is found to be in the release, and how many of those found are right."""
    area = result.membership.auc
    found = {"area": f"{area.estimate:.3f}", "area low": f"{area.low:.3f}", "area high": f"{area.high:.3f}"}
    for rate in result.membership.rates:
        name = f"found {100 * rate.false_rate:.0f}"
        found |= {name: percent(rate.power), f"{name} low": percent(rate.low), f"{name} high": percent(rate.high)}
        found |= {f"{name} by": rate.attacker, f"{name} right": percent(rate.precision)}
    for rate in [] if result.population is None else result.population.precision:
        name = f"right {100 * rate.false_rate:.0f}"
        found |= {name: percent(rate.precision), f"{name} low": percent(rate.low), f"{name} high": percent(rate.high)}
    return found


def beyond_chance(power: float) -> float:
    """The risk for a power at 5%."""
    return (power - FALSE_RATE) / (1 - FALSE_RATE)


def of_a_threshold(result: AuditResult) -> dict[str, str]:
    """What only a headline with a threshold has."""
    truth, valid, growth = result.truth.similarities, result.validity, result.growth
    lowest, last = result.risk_curve[0], growth.by_candidates[-1]
    return {
        "worst case": percent(result.worst_case_risk),
        "worst case control": percent(lowest.control_rate),
        "mean rate": percent(result.integrated_risk),
        "blocks": str(result.blocks.count),
        "candidates": str(result.blocks.mean_candidates),
        "components": str(result.projection.components),
        "features": str(result.projection.features),
        "variance": percent(result.projection.explained_variance),
        "overlap": str(truth.overlap),
        "separation": str(truth.separation),
        "wrong pairs": f"{truth.non_match_pairs:,}",
        "alike originals": percent(result.self_linkage.original.rate),
        "alike released": percent(result.self_linkage.protected.rate),
        "explained variance": str(valid.explained_variance),
        "perturbed top-1": str(valid.perturbed_top1),
        "shift": str(valid.shift),
        "covariances": str(valid.covariance_distance),
        "correlations": str(valid.correlation_preservation),
        "pair probability": str(growth.pair_probability),
        "predicted": percent(growth.overall.predicted),
        "observed": percent(growth.overall.observed),
        "last predicted": percent(last.predicted),
        "last observed": percent(last.observed),
    }
