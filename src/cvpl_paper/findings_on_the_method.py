"""Findings R8 to R13, on the method itself, and inconsistencies in the paper's own tables."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from cvpl_paper import paper
from cvpl_paper.cells import LADDER
from cvpl_paper.collected import Collected, figure
from cvpl_paper.finding import PaperFinding, known, listed, means, permutation_chance, ranks, spearman
from cvpl_paper.world import CONFIGURATIONS, OUTLIER_RATES

LEVEL = 0.05


def r8(run: Collected) -> PaperFinding:
    """Distances."""
    names = list(paper.SUMMARY)
    rates, near = np.array(means(run, names, "linkage_rate")), np.array(means(run, names, "dcr", "mean"))
    trend = spearman(rates, near)
    return PaperFinding(
        "R8",
        "linkage rate, DCR and NNDR measure different things",
        "Over the paper's thirteen configurations the linkage rate and the mean DCR are not ordered alike or exactly "
        "opposite: Spearman's correlation is between -0.9 and 0.9.",
        abs(trend) < 0.9,
        f"Correlation {trend:+.2f}; DCR {listed(near.tolist())}.",
        "All three are functions of the distances to near neighbours in one space. What they have in common is that "
        "none says whether the neighbour is the person: for that a control or true matches are needed.",
    )


def r9(run: Collected) -> PaperFinding:
    """Utility and risk."""
    names = list(paper.SUMMARY)
    rates, utility = np.array(means(run, names, "linkage_rate")), np.array(means(run, names, "utility"))
    pearson, by_rank = float(np.corrcoef(rates, utility)[0, 1]), spearman(rates, utility)
    chances = [permutation_chance(rates, utility), permutation_chance(ranks(rates), ranks(utility))]
    return PaperFinding(
        "R9",
        "there is no global relation of utility and linkage risk",
        "Neither Pearson's nor Spearman's correlation over the paper's thirteen configurations is significant at "
        f"{LEVEL:.0%} (permutation test).",
        min(chances) >= LEVEL,
        f"Pearson {pearson:+.2f} (p = {chances[0]:.3f}; the paper {paper.UTILITY_RISK['Pearson']:+.2f}), Spearman "
        f"{by_rank:+.2f} (p = {chances[1]:.3f}; the paper {paper.UTILITY_RISK['Spearman']:+.2f}).",
        "Thirteen points, seven of them one mechanism at settings that hardly differ, can show neither a relation "
        "nor its absence: the test depends on the choice of configurations.",
    )


def r10(run: Collected) -> PaperFinding:
    """Contributions of columns."""
    shares = {
        column: float(np.mean(means(run, list(CONFIGURATIONS), "contribution", column)))
        for column in paper.CONTRIBUTION
        if column != "gender"
    }
    keys = sum(shares[column] for column in ("region", "age"))
    return PaperFinding(
        "R10",
        "columns that are no quasi-identifiers contribute most",
        "Their share of the structural contribution is above one half.",
        1 - keys > 0.5,
        f"Quasi-identifiers {keys:.3f}, other columns {1 - keys:.3f} (the paper: 0.396 and 0.604).",
        "The structural contribution is a share of the variance that the projection keeps. Five of the seven columns "
        "are no quasi-identifiers, each z-scored number or hour brings a variance of 1, and so their sum is large by "
        "construction; it says nothing about who is linked. Gender, which the paper's table lists, is not in its "
        "vectors.",
    )


def r11(run: Collected) -> PaperFinding:
    """Progressive blocking."""
    rates = [known(run.mean("ladder", figure("rates", at), kind="ladder")) for at in range(len(LADDER))]
    text = "; ".join(f"{label}: {rate:.3f}" for (label, _), rate in zip(LADDER, rates, strict=True))
    return PaperFinding(
        "R11",
        "the linkage rate never falls as blocking is relaxed, and converges in three to four steps",
        "Rates along the ladder never fall, and the last step that the paper has adds less than 0.05.",
        bool(all(a <= b for a, b in pairwise(rates)) and rates[2] - rates[1] < 0.05),
        f"{text}.",
        "That it never falls is a theorem, and holds on every run: looser blocks hold the tighter ones' candidates. "
        "Whether it has converged cannot be seen from a few rungs: the paper's last two are one and the same "
        "blocking, and the rate goes on rising where gender and age are dropped too. More candidates find more "
        "look-alikes, of strangers too.",
    )


def r12(run: Collected) -> PaperFinding:
    """Outliers."""
    name = "k-anonymity 10"
    rates = [known(run.mean(name, figure("linkage_rate"), rate)) for rate in OUTLIER_RATES]
    spread = [known(run.mean(name, figure("block_rates", "sd"), rate)) for rate in OUTLIER_RATES]
    tail = [known(run.mean(name, figure("block_rates", "p95"), rate)) for rate in OUTLIER_RATES]
    steady = float(np.ptp(rates)) < 0.02
    grows = spread[-1] > spread[0] and tail[-1] > tail[0]
    return PaperFinding(
        "R12",
        "outliers leave the mean rate alone and widen its spread over blocks",
        "Over outlier rates of 0, 1 and 5% the mean rate moves by less than 0.02, and both the standard deviation "
        "and the 95th percentile of the blocks' rates are larger at 5% than at 0 (k = 10).",
        bool(steady and grows),
        f"Mean rates {listed(rates)}; standard deviations {listed(spread)}; 95th percentiles {listed(tail)}.",
        "Outliers are planted evenly over the blocks: with one in twenty of them a block's rate can move by 0.05 on "
        "average, and here it moves by less than it differs between seeds. The spread over blocks is that of small "
        "blocks.",
    )


def r13(run: Collected) -> PaperFinding:
    """Block sizes."""
    name = "perturbation medium"
    count, mean = (known(run.mean(name, figure("blocks", key))) for key in ("count", "mean"))
    largest, median = (known(run.mean(name, figure("blocks", key))) for key in ("largest", "median"))
    work = known(run.mean(name, figure("blocks", "blocks_with_80_percent_of_work")))
    return PaperFinding(
        "R13",
        "block sizes are heavy-tailed, and half of the blocks hold four fifths of the work",
        "The mean block is larger than the median one, and at most 60% of the blocks hold 80% of the pairs.",
        bool(mean > median and work <= 0.6 * count),
        f"{count:.0f} blocks, mean {mean:.0f}, median {median:.0f}, largest {largest:.0f} records; {work:.0f} of them "
        "hold 80% of the pairs.",
        "Sizes are those of age decades, regions and genders, of which one is rare: uneven, but bounded by the "
        "largest shares, not heavy-tailed. The paper's 94 blocks with a mean of 955 would hold 89,770 records, and a "
        "mean below the median contradicts a heavy tail in its own figures.",
    )


def oddities(run: Collected) -> str:
    """Inconsistencies in the paper's own tables, and what this reproduction found about them."""
    names = run.family("k-anonymity")
    rates = {name: run.mean(name, figure("linkage_rate")) for name in names}
    equal_rates = [
        f"{one.split()[-1]} and {other.split()[-1]}"
        for one, other in pairwise(names)
        if abs(known(rates[one]) - known(rates[other])) < 0.0005
    ]
    recall = known(run.mean("k-anonymity 5", figure("blocking_recall")))
    kept = means(run, ["synthetic 0.95", "synthetic 0.6"], "dependence_kept")
    moved = means(run, ["synthetic 0.95", "synthetic 0.6"], "linkage_rate")
    points = (
        "**Identical rows for k = 10 and 20.** Full-domain generalization has few levels, and one level often serves "
        f"several k. Here neighbouring k have the same rate to three digits for {', '.join(equal_rates) or 'no pair'}.",
        "**Precision 0 at k = 5.** With a linkage rate above 0 this needs every true pair to be in different blocks. "
        "An interval is blocked by its middle: where intervals are wider than a block's decade, all but those around "
        f"the middle are lost. Here blocking recall at k = 5 is {recall:.3f}; it reaches 0 only if the release's "
        "spelling makes every key differ from the original's.",
        "**A retention that changes nothing.** It changes what the release keeps of the correlations (here "
        f"{kept[0]:.3f} at 0.95 and {kept[1]:.3f} at 0.60), and not the linkage rate (here {moved[0]:.3f} and "
        f"{moved[1]:.3f}): that is the rate of look-alikes, which come from the marginals.",
        "**94 blocks with a mean of 955 records.** Eight age decades, three genders and four regions make at most 96 "
        "blocks, so the count fits. But they would hold 89,770 records, not 10,000: the sizes are those of another "
        "table.",
        "**The ablations' default, 0.42 with a precision of 0.78,** is no row of the grid: perturbation medium has "
        "0.590 and 0.861, high 0.364 and 0.675. The ladder begins at 0.48. The paper does not name their release.",
        "**Gender contributes 7.3%** in the feature table, though the configuration leaves it out of the vectors.",
        "**The ladder's last two steps** (without the first region level; age and gender only) are the same blocking.",
    )
    return "\n".join(["## Oddities in the paper's own tables", "", *(f"- {point}" for point in points), ""])
