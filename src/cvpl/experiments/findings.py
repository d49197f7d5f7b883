"""The paper's findings R1 to R13: each as a predicate on the figures, whether it holds here, and why or why not.

The reasons are argued from what the paper's figures mix: how many strangers are linked all the same (the control's
rate), how many true pairs share a block (blocking recall), and how far the tables lie apart in the attacker's space
(shift).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cvpl.experiments import paper
from cvpl.experiments.cells import LADDER
from cvpl.experiments.collected import Collected, figure
from cvpl.experiments.world import CONFIGURATIONS, OUTLIER_RATES
from cvpl.streams import stream

PERMUTATIONS = 9_999
LEVEL = 0.05


@dataclass(frozen=True)
class Finding:
    """A finding of the paper: its claim as a predicate, whether that holds here, the figures, and the reason."""

    number: str
    claim: str
    predicate: str
    holds: bool
    evidence: str
    reason: str

    def markdown(self) -> str:
        """As a section of the page."""
        verdict = "**Holds here.**" if self.holds else "**Does not hold here.**"
        parts = [f"## {self.number}: {self.claim}", f"Predicate: {self.predicate}", f"{verdict} {self.evidence}"]
        return "\n\n".join([*parts, self.reason]) + "\n"


def findings_page(run: Collected, how: str) -> str:
    """All findings, one by one, behind a summary."""
    found = all_findings(run)
    lines = ["# The paper's findings, re-examined", "", how, "", "| finding | claim | here |", "|---|---|---|"]
    lines += [f"| {it.number} | {it.claim} | {'holds' if it.holds else 'does not hold'} |" for it in found]
    return "\n".join([*lines, "", *(it.markdown() for it in found)])


def all_findings(run: Collected) -> list[Finding]:
    """R1 to R13."""
    return [
        _r1(run), _r2(run), _r3(run), _r4(run), _r5(run), _r6(run), _r7(run), _r8(run), _r9(run), _r10(run), _r11(run),
        _r12(run), _r13(run),
    ]  # fmt: skip


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _rates(run: Collected, names: Sequence[str], *path: str | int) -> list[float]:
    return [_number(run.mean(name, figure(*path))) for name in names]


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.3f}" for value in values)


def _r1(run: Collected) -> Finding:
    names = run.family("k-anonymity")
    ks = np.array([int(CONFIGURATIONS[name].strength) for name in names], dtype=float)
    rates = _rates(run, names, "linkage_rate")
    trend = _spearman(ks, np.array(rates))
    control, recall = _rates(run, names, "control_rate"), _rates(run, names, "blocking_recall")
    shift, top1 = _rates(run, names, "shift"), _rates(run, names, "top1_hit_rate")
    low, high = float(np.mean(rates[:4])), float(np.mean(rates[4:]))
    return Finding(
        "R1",
        "existential linkage rises with k, while 1/k falls",
        "Spearman's correlation of k and the linkage rate is above 0.5, and the mean rate of k = 10 to 50 is above "
        "that "
        "of k = 2 to 7.",
        bool(trend > 0.5 and high > low),
        f"Rates for k = {', '.join(f'{k:.0f}' for k in ks)}: {_listed(rates)}; correlation {trend:+.2f}; means "
        f"{low:.3f} "
        f"and {high:.3f}.",
        f"The rate follows what generalization does to the representation and to the blocks, not the size of the "
        "classes: "
        f"the shift is {_listed(shift)} and the blocking recall {_listed(recall)}. Strangers are linked at "
        f"{_listed(control)}. "
        f"The right person is the best candidate for {_listed(top1)} of those with a match: the rate says little of "
        "that. "
        "A step between neighbouring k comes from a change of level (an interval's middle falls into another block), "
        "and "
        "levels of equal k stay equal: the paper's identical rows for k = 10 and 20 are what one level for both would "
        "give.",
    )


def _r2(run: Collected) -> Finding:
    names = run.family("k-anonymity")
    curves = [np.mean([it["curve"] for it in run.of("grid", name)], axis=0) for name in names]
    falls = all(np.all(np.diff(curve) <= 1e-12) for curve in curves)
    moderate = [float(np.mean(curve[:16])) for curve in curves]  # thresholds 0.70 to 0.85
    rises = _spearman(np.arange(len(names), dtype=float), np.array(moderate)) > 0.5
    peak, floor = max(float(curve[0]) for curve in curves), max(float(curve[25]) for curve in curves)
    return Finding(
        "R2",
        "the risk surface falls with the threshold, rises with k up to 0.85, and is below 0.05 from 0.95 on",
        "Every curve falls; Spearman's correlation of k and the mean rate over 0.70 to 0.85 is above 0.5; the largest "
        "rate "
        "at 0.95 is below 0.05.",
        bool(falls and rises and floor < paper.SURFACE_FLOOR),
        f"Curves fall: {'yes' if falls else 'no'}. Mean rates over 0.70 to 0.85: {_listed(moderate)}. Largest rate at "
        "0.70: "
        f"{peak:.3f} (the paper: {paper.SURFACE_PEAK}); at 0.95: {floor:.3f}.",
        "That a curve falls is no finding: the rate is the share of best similarities at or above the threshold. How "
        "it "
        "moves with k is R1 again.",
    )


def _r3(run: Collected) -> Finding:
    names = [*run.family("perturbation")]
    overlap, separation = (
        _rates(run, names, "distributions", "overlap"),
        _rates(run, names, "distributions", "separation"),
    )
    grows = all(later > earlier for earlier, later in pairwise(separation))
    return Finding(
        "R3",
        "true and false similarities overlap under weak protection, and stronger protection separates them",
        "From the weakest to the strongest perturbation the chance that a match scores above a wrong candidate rises.",
        grows,
        f"Perturbation low, medium, high: overlap {_listed(overlap)}, separation {_listed(separation)}.",
        "It is the other way round, and must be: noise moves matches away from their originals and leaves the wrong "
        "candidates where they were. Overlap grows with protection.",
    )


def _r4(run: Collected) -> Finding:
    names = list(paper.SUMMARY)
    rates, precision = _rates(run, names, "linkage_rate"), _rates(run, names, "precision_at_1")
    collapsed = [rate for rate, right in zip(rates, precision, strict=True) if right < 0.01]
    linked = _rates(run, names, "fellegi_sunter", "naive_linkage_rate")
    control = _rates(run, run.family("synthetic"), "control_rate")
    holds = bool(collapsed) and min(collapsed) > 0.01 and float(np.ptp(rates)) > float(np.ptp(linked))
    return Finding(
        "R4",
        "the linkage rate varies, and stays above 0 where precision collapses, while classical figures saturate",
        "Where precision at 1 is below 0.01 the linkage rate is above 0.01, and over the configurations it varies more "
        "than "
        "the rate of Fellegi-Sunter.",
        holds,
        f"Linkage rates range over {np.ptp(rates):.3f}, those of Fellegi-Sunter over {np.ptp(linked):.3f}. Where "
        "precision "
        f"collapses, on synthetic releases, the rate is {min(collapsed, default=float('nan')):.3f} to "
        f"{max(collapsed, default=float('nan')):.3f}.",
        f"But on those releases strangers who were never in the table are linked at {_listed(control)}: the rate that "
        "stays "
        "is the base rate, not risk that the release adds.",
    )


def _r5(run: Collected) -> Finding:
    names = list(paper.SUMMARY)
    mine, theirs = _rates(run, names, "linkage_rate"), _rates(run, names, "fellegi_sunter", "naive_linkage_rate")
    right, wrong = _rates(run, names, "precision_at_1"), _rates(run, names, "fellegi_sunter", "naive_precision_at_1")
    strict = _rates(run, names, "fellegi_sunter", "linkage_rate")
    strict_right = [_number(run.mean(name, figure("fellegi_sunter", "precision_at_1"))) for name in names]
    precise = [value for value in strict_right if np.isfinite(value)]
    means = [float(np.mean(values)) for values in (theirs, mine, wrong, right)]
    return Finding(
        "R5",
        "Fellegi-Sunter links nearly everybody, and less precisely than CVPL",
        "Over the paper's thirteen configurations its mean linkage rate is above CVPL's, and its mean precision below.",
        means[0] > means[1] and means[2] < means[3],
        f"Mean linkage rates {means[0]:.3f} and {means[1]:.3f}; mean precisions {means[2]:.3f} and {means[3]:.3f}.",
        f"That it links nearly everybody is a matter of the rule: a weight of 0 says only that agreement is likelier "
        "for a "
        f"match, before the share of matches among the pairs is counted. By the posterior probability it links "
        f"{np.mean(strict):.3f} "
        f"(precision {np.mean(precise) if precise else float('nan'):.3f}). Its weights find the right person where "
        "values "
        "survive unchanged, as in k-anonymity's other columns, where the cosine is thrown off by the shift.",
    )


def _r6(run: Collected) -> Finding:
    names = run.family("perturbation")
    rates, useful = _rates(run, names, "linkage_rate"), _rates(run, names, "utility")
    control, recall = _rates(run, names, "control_rate"), _rates(run, names, "blocking_recall")
    attributable, top1 = _rates(run, names, "attributable_rate"), _rates(run, names, "top1_hit_rate")
    holds = all(a > b for values in (rates, useful) for a, b in pairwise(values))
    return Finding(
        "R6",
        "more perturbation lowers linkage and utility step by step",
        "Linkage rate and utility fall from low to medium to high.",
        holds,
        f"Linkage rates {_listed(rates)}; utility {_listed(useful)}.",
        f"The fall is partly one of blocking: age noise puts true pairs into different decades, and the blocking "
        "recall is "
        f"{_listed(recall)}. Strangers are linked at {_listed(control)}, so that {_listed(attributable)} is "
        "attributable to "
        f"the release; the best candidate is right for {_listed(top1)}.",
    )


def _r7(run: Collected) -> Finding:
    names = run.family("synthetic")
    rates, control = _rates(run, names, "linkage_rate"), _rates(run, names, "control_rate")
    training, kept = _rates(run, names, "training", "share"), _rates(run, names, "dependence_kept")
    steady, memorized = float(np.ptp(rates)) < 0.01, float(np.mean(training)) > 0.6
    return Finding(
        "R7",
        "synthetic releases keep a steady linkage rate, near-random precision, and the closest original is the source",
        "The linkage rate is above 0.05 and moves by less than 0.01 over the retentions, and more than 60% of the "
        "synthetic "
        "records lie closer to an original than to a person set aside.",
        bool(min(rates) > 0.05 and steady and memorized),
        f"Linkage rates for retentions 0.95 to 0.60: {_listed(rates)}. Training share: {_listed(training)} (the paper: "
        f"{paper.SAME_SOURCE}, against one half).",
        f"Strangers are linked at {_listed(control)}: nothing is attributable to the release, and a copula, which "
        "keeps "
        "only marginals and correlations, has nobody to memorize. The retention does have an effect, on what it "
        "governs: "
        f"of the size of the original's correlations the releases keep {_listed(kept)}. That the paper's figures do "
        "not "
        "move with it at all suggests that its generator did not use it, or that, as here, the linkage rate does not "
        "see "
        "it. Its 81.2% cannot be a share of same sources, since a synthetic record has none.",
    )


def _r8(run: Collected) -> Finding:
    names = list(paper.SUMMARY)
    rates, near = np.array(_rates(run, names, "linkage_rate")), np.array(_rates(run, names, "dcr", "mean"))
    trend = _spearman(rates, near)
    return Finding(
        "R8",
        "linkage rate, DCR and NNDR measure different things",
        "Over the paper's thirteen configurations the linkage rate and the mean DCR are not ordered alike or exactly "
        "opposite: Spearman's correlation is between -0.9 and 0.9.",
        abs(trend) < 0.9,
        f"Correlation {trend:+.2f}; DCR {_listed(near.tolist())}.",
        "All three are functions of the distances to near neighbours in one space. What they have in common is that "
        "none "
        "says whether the neighbour is the person: for that a control or true matches are needed.",
    )


def _r9(run: Collected) -> Finding:
    names = list(paper.SUMMARY)
    rates, useful = np.array(_rates(run, names, "linkage_rate")), np.array(_rates(run, names, "utility"))
    pearson, spearman = float(np.corrcoef(rates, useful)[0, 1]), _spearman(rates, useful)
    chances = [_permutation(rates, useful), _permutation(_ranks(rates), _ranks(useful))]
    return Finding(
        "R9",
        "there is no global relation of utility and linkage risk",
        f"Neither Pearson's nor Spearman's correlation over the paper's thirteen configurations is significant at "
        f"{LEVEL:.0%} (permutation test).",
        min(chances) >= LEVEL,
        f"Pearson {pearson:+.2f} (p = {chances[0]:.3f}; the paper {paper.UTILITY_RISK['Pearson']:+.2f}), Spearman "
        f"{spearman:+.2f} (p = {chances[1]:.3f}; the paper {paper.UTILITY_RISK['Spearman']:+.2f}).",
        "Thirteen points, seven of them one mechanism at settings that hardly differ, can carry neither a relation nor "
        "its "
        "absence: the test is one of the choice of configurations.",
    )


def _r10(run: Collected) -> Finding:
    shares = {
        column: float(np.mean(_rates(run, list(CONFIGURATIONS), "contribution", column)))
        for column in paper.CONTRIBUTION
        if column != "gender"
    }
    keys = sum(shares[column] for column in ("region", "age"))
    return Finding(
        "R10",
        "columns that are no quasi-identifiers contribute most",
        "Their share of the structural contribution is above one half.",
        1 - keys > 0.5,
        f"Quasi-identifiers {keys:.3f}, other columns {1 - keys:.3f} (the paper: 0.396 and 0.604).",
        "The structural contribution is a share of the variance that the projection keeps. Five of the seven columns "
        "are no "
        "quasi-identifiers, each z-scored number or hour brings a variance of 1, and so their sum is large by "
        "construction; "
        "it says nothing of who is linked. Gender, which the paper's table lists, is not in its vectors.",
    )


def _r11(run: Collected) -> Finding:
    rates = [_number(run.mean("ladder", figure("rates", at), kind="ladder")) for at in range(len(LADDER))]
    told = "; ".join(f"{label}: {rate:.3f}" for (label, _), rate in zip(LADDER, rates, strict=True))
    return Finding(
        "R11",
        "the linkage rate never falls as blocking is relaxed, and converges in three to four steps",
        "Rates along the ladder never fall, and the last step that the paper has adds less than 0.05.",
        bool(all(a <= b for a, b in pairwise(rates)) and rates[2] - rates[1] < 0.05),
        f"{told}.",
        "That it never falls is a theorem, and holds on every run: looser blocks hold the tighter ones' candidates. "
        "Whether "
        "it has converged cannot be seen from a few rungs: the paper's last two are one and the same blocking, and the "
        "rate "
        "goes on rising where gender and age are dropped too. More candidates find more look-alikes, of strangers too.",
    )


def _r12(run: Collected) -> Finding:
    name = "k-anonymity 10"
    means = [_number(run.mean(name, figure("linkage_rate"), rate)) for rate in OUTLIER_RATES]
    spread = [_number(run.mean(name, figure("block_rates", "sd"), rate)) for rate in OUTLIER_RATES]
    tail = [_number(run.mean(name, figure("block_rates", "p95"), rate)) for rate in OUTLIER_RATES]
    steady = float(np.ptp(means)) < 0.02
    grows = spread[-1] > spread[0] and tail[-1] > tail[0]
    return Finding(
        "R12",
        "outliers leave the mean rate alone and widen its spread over blocks",
        "Over outlier rates of 0, 1 and 5% the mean rate moves by less than 0.02, and both the standard deviation and "
        "the "
        "95th percentile of the blocks' rates are larger at 5% than at 0 (k = 10).",
        bool(steady and grows),
        f"Mean rates {_listed(means)}; standard deviations {_listed(spread)}; 95th percentiles {_listed(tail)}.",
        "A person with a rare channel, product, hour or lag has fewer look-alikes, and so is linked less often by "
        "anybody "
        "but their own record; with one in twenty such, blocks of fifty people hold two or three. Small blocks spread "
        "most.",
    )


def _r13(run: Collected) -> Finding:
    name = "perturbation medium"
    count, mean = (_number(run.mean(name, figure("blocks", key))) for key in ("count", "mean"))
    largest, median = (_number(run.mean(name, figure("blocks", key))) for key in ("largest", "median"))
    work = _number(run.mean(name, figure("blocks", "blocks_with_80_percent_of_work")))
    return Finding(
        "R13",
        "block sizes are heavy-tailed, and half of the blocks hold four fifths of the work",
        "The mean block is larger than the median one, and at most 60% of the blocks hold 80% of the pairs.",
        bool(mean > median and work <= 0.6 * count),
        f"{count:.0f} blocks, mean {mean:.0f}, median {median:.0f}, largest {largest:.0f} records; {work:.0f} of them "
        "hold "
        "80% of the pairs.",
        "Sizes are those of age decades, regions and genders, of which one is rare: uneven, but bounded by the largest "
        "shares, not heavy-tailed. The paper's 94 blocks with a mean of 955 would hold 89,770 records, and a mean "
        "below the "
        "median speaks against a heavy tail in its own figures.",
    )


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks, ties at their mean."""
    below = (values[:, None] > values).sum(axis=1)
    return np.asarray(below + ((values[:, None] == values).sum(axis=1) - 1) / 2, dtype=float)


def _spearman(one: np.ndarray, other: np.ndarray) -> float:
    left, right = _ranks(one), _ranks(other)
    if left.std() == 0 or right.std() == 0:
        return 0.0
    return float(np.corrcoef(left, right)[0, 1])


def _permutation(one: np.ndarray, other: np.ndarray) -> float:
    """The chance of a correlation as strong as this one among random pairings, the pairing itself counted."""
    rng = stream(0, "permutations")
    left, right = one - one.mean(), other - other.mean()
    drawn = np.array([abs(left @ rng.permutation(right)) for _ in range(PERMUTATIONS)])
    return float((1 + (drawn >= abs(left @ right) - 1e-12).sum()) / (1 + PERMUTATIONS))
