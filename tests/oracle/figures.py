"""The figures that are read off an attack, with `truth` = (keys of original, keys of protected), None where unknown.

Choices where the sources are silent or say two things:
- Every rate with an empty denominator is None.
- A candidate whose key, or whose original's key, is unknown is no match; so it counts as wrong.
- `match_similarities` has one value per original with a match in its block, the largest (so P(S+ >= τ) is the true
  link rate);
  `true_pair_similarities` is the paper's S+ to the letter: every true pair, whatever its block.
- `recall_gap` is LR(τ) - total_recall(τ), the gap named in the paper's appendix A.2; their denominators differ.
- Strategy A takes floor of the float product αn. Where even no threshold at all breaks α, the result is -infinity.
  The mean of |C(x)| is over all originals, those without candidates too.
- Off the cosine scale (kind "agreement") risk curve, worst-case and integrated risk are None.
- `power_at` draws the last line to (1, 1), "everyone linked", even if no threshold links everyone; with
  everyone=False the curve ends at
  the last attainable point and stays flat after it.
- `growth_law` without pairs has neither p nor a prediction.
- `self_linkage_rate` keeps the attacker as fitted on both tables.
- Contributions list every vectorized column; an indicator belongs to its column; a zero vector contributes nothing.
"""

import math

from .latent import dot, norm

GRID = [percent / 100 for percent in range(70, 100)]


def share(count, total):
    return count / total if total else None


# Rates without truth


def linkage_rate(found, tau):
    """LR(τ) = |{x : max over C(x) of s(x, y) >= τ}| / n (paper, eq. cvpl-lr); no candidates, no link."""
    return share(sum(1 for s in found.best if s is not None and s >= tau), len(found.best))


def risk_curve(found):
    """(τ, LR(τ)) on 0.70 ... 0.99."""
    return None if found.kind == "agreement" else [(tau, linkage_rate(found, tau)) for tau in GRID]


def worst_case_risk(found):
    """LR at the grid's lowest threshold (paper, eq. worst-case-risk)."""
    return None if found.kind == "agreement" else linkage_rate(found, 0.70)


def integrated_risk(found):
    """Mean of clip((best - 0.70) / 0.29, 0, 1) (paper, eq. integrated-risk, per unit of τ)."""
    if found.kind == "agreement" or not found.best:
        return None
    total = 0.0
    for s in found.best:
        if s is not None:
            total += min(1.0, max(0.0, (s - 0.70) / 0.29))
    return total / len(found.best)


# Rates with truth


def is_match(truth, i, j):
    """(x, y) ∈ L* (paper, eq. true-linkage)."""
    return truth[0][i] is not None and truth[0][i] == truth[1][j]


def matches(truth, i):
    """L*(x): all matches of x, in its block or not."""
    return {j for j in range(len(truth[1])) if is_match(truth, i, j)}


def wrong(found, truth, i):
    """The candidates of x that are not matches; without truth, all of them."""
    return {j for j in found.candidates[i] if truth is None or not is_match(truth, i, j)}


def recall_counts(found, truth, tau):
    """Originals with a match, those of them with a match in the block, those of them with s(x, y*) >= τ."""
    with_match = in_block = linked = 0
    for i in range(len(found.best)):
        if not matches(truth, i):
            continue
        with_match += 1
        inside = matches(truth, i) & found.candidates[i]
        if not inside:
            continue
        in_block += 1
        if max(found.similarity(i, j) for j in inside) >= tau:
            linked += 1
    return with_match, in_block, linked


def blocking_recall(found, truth):
    """R_block (paper, eq. blocking-recall)."""
    with_match, in_block, _ = recall_counts(found, truth, 0.0)
    return share(in_block, with_match)


def matching_recall(found, truth, tau):
    """R_match(τ) (paper, eq. matching-recall)."""
    _, in_block, linked = recall_counts(found, truth, tau)
    return share(linked, in_block)


def total_recall(found, truth, tau):
    """R_total(τ) = R_block · R_match(τ) (paper, eq. total-recall), as one ratio of counts."""
    with_match, _, linked = recall_counts(found, truth, tau)
    return share(linked, with_match)


def true_link_rate(found, truth, tau):
    """TLR(τ) (paper, eq. tlr)."""
    return matching_recall(found, truth, tau)


def recall_gap(found, truth, tau):
    """LR(τ) - R_total(τ)."""
    total = total_recall(found, truth, tau)
    return None if total is None else linkage_rate(found, tau) - total


def match_similarities(found, truth):
    """S+ = {s(x, y*)} within blocks (paper, eq. true-match-dist)."""
    similarities = []
    for i in range(len(found.best)):
        inside = matches(truth, i) & found.candidates[i]
        if inside:
            similarities.append(max(found.similarity(i, j) for j in inside))
    return similarities


def true_pair_similarities(found, truth):
    """S+ over every pair of L* (paper, eq. true-match-dist)."""
    return [found.similarity(i, j) for i in range(len(found.best)) for j in sorted(matches(truth, i))]


def non_match_similarities(found, truth):
    """S- = {s(x, y) : y in C(x), no match} (paper, eq. non-match-dist)."""
    return [found.similarity(i, j) for i in range(len(found.best)) for j in sorted(wrong(found, truth, i))]


def best_wrong(found, truth):
    """Per original the largest similarity to a wrong candidate, None without one."""
    return [max((found.similarity(i, j) for j in wrong(found, truth, i)), default=None) for i in range(len(found.best))]


def false_link_rate(found, truth, tau):
    """FLR(τ): the originals with a wrong candidate at or above τ, among all n (paper, eq. flr)."""
    return share(sum(1 for s in best_wrong(found, truth) if s is not None and s >= tau), len(found.best))


def pairwise_false_link_rate(found, truth, tau):
    """P(S- >= τ) (paper, appendix A.3)."""
    similarities = non_match_similarities(found, truth)
    return share(sum(1 for s in similarities if s >= tau), len(similarities))


def hit(found, truth, i):
    """R / t: of the t candidates within 1e-6 of the best, r are matches; 0 without candidates."""
    ties = found.ties[i]
    return len(ties & matches(truth, i)) / len(ties) if ties else 0.0


def top1_hit_rate(found, truth):
    """Mean hit over the originals that have a match anywhere (paper, eq. unique-linkage)."""
    having = [i for i in range(len(found.best)) if matches(truth, i)]
    return share(sum(hit(found, truth, i) for i in having), len(having))


def precision_at_1(found, truth, tau, complete=True):
    """Mean hit over the records linked at τ (paper, eq. prec-at-1); None where truth is incomplete."""
    if not complete:
        return None
    linked = [i for i, s in enumerate(found.best) if s is not None and s >= tau]
    return share(sum(hit(found, truth, i) for i in linked), len(linked))


# Strategy A (paper, eq. precision-constrained)


def smallest_threshold(similarities, alpha, maximum):
    """The next float above the (floor(αN) + 1)-th largest; None above the similarity's maximum."""
    allowed = math.floor(alpha * len(similarities))
    ordered = sorted((s for s in similarities if s is not None), reverse=True)
    if allowed >= len(ordered):
        return -math.inf
    threshold = math.nextafter(ordered[allowed], math.inf)
    return None if threshold > maximum else threshold


def existential_threshold(found, truth, alpha, maximum=None):
    return smallest_threshold(best_wrong(found, truth), alpha, found.maximum if maximum is None else maximum)


def pairwise_threshold(found, truth, alpha, maximum=None):
    similarities = non_match_similarities(found, truth)
    return smallest_threshold(similarities, alpha, found.maximum if maximum is None else maximum)


def bonferroni_threshold(found, truth, alpha, maximum=None):
    """Pairwise at α / mean |C(x)| (paper, appendix A.3)."""
    candidates = sum(len(c) for c in found.candidates)
    if candidates == 0:
        return -math.inf
    return pairwise_threshold(found, truth, alpha / (candidates / len(found.candidates)), maximum)


# Control and power


def control_rate(found, tau):
    """LR(τ) of the control."""
    return linkage_rate(found.control, tau)


def attributable_rate(found, tau, truth=None):
    """((LR - base) / (1 - base), basis); the base is the control's rate, else the rate with the own match left out."""
    if found.control is not None:
        base, basis = control_rate(found, tau), "control"
    elif truth is not None:
        base, basis = false_link_rate(found, truth, tau), "own_match_left_out"
    else:
        return None, None
    rate = linkage_rate(found, tau)
    if rate is None or base is None or base == 1:
        return None, basis
    return (rate - base) / (1 - base), basis


def roc(originals, controls, everyone=True):
    """(control share >= t, original share >= t) from (0, 0) over every score t, falling, to (1, 1)."""
    scores = sorted({s for s in originals + controls if s is not None}, reverse=True)
    points = [(0.0, 0.0)]
    for t in scores:
        x = sum(1 for s in controls if s is not None and s >= t) / len(controls)
        y = sum(1 for s in originals if s is not None and s >= t) / len(originals)
        points.append((x, y))
    return [*points, (1.0, 1.0)] if everyone else points


def power_of_scores(originals, controls, alpha, everyone=True):
    """The ROC's height at α: linear between points, the upper end of a vertical step."""
    if not originals or not controls:
        return None
    return height(roc(originals, controls, everyone), alpha)


def height(points, alpha):
    """The height of a ROC at α."""
    left = [point for point in points if point[0] <= alpha][-1]
    right = [point for point in points if point[0] > alpha][:1]
    if left[0] == alpha or not right:
        return left[1]
    (x0, y0), (x1, y1) = left, right[0]
    return y0 + (y1 - y0) * (alpha - x0) / (x1 - x0)


def power_at(found, alpha, everyone=True):
    """The share of originals linked where a share α of the controls is."""
    return power_of_scores(found.best, found.control.best, alpha, everyone)


def power_curve(found, everyone=True):
    """(α, power) for α = 0.01 ... 0.30: the curve of a score off the cosine scale."""
    return [(percent / 100, power_at(found, percent / 100, everyone)) for percent in range(1, 31)]


def attributable_power(found, alpha=0.05, everyone=True):
    """(power - α) / (1 - α)."""
    power = power_at(found, alpha, everyone)
    return None if power is None else (power - alpha) / (1 - alpha)


# Growth with |C(x)|, self-linkage, progressive blocking


def growth_law(found, truth, tau):
    """(p, mean of 1 - (1 - p)^|C_wrong(x)|, what was observed) (paper, eq. existential-fp)."""
    p = pairwise_false_link_rate(found, truth, tau)
    observed = linkage_rate(found, tau) if truth is None else false_link_rate(found, truth, tau)
    if p is None:
        return None, None, observed
    sizes = [len(wrong(found, truth, i)) for i in range(len(found.best))]
    return p, sum(1 - (1 - p) ** m for m in sizes) / len(sizes), observed


def self_linkage_rate(found, table, tau):
    """Leave-one-out LR(D, D) of "original" or "protected" (paper, appendix E.2)."""
    return linkage_rate(found.within(table), tau)


def progressive(rungs, tau, tolerance):
    """Algorithm 2: the rates of the rungs run; stops at rung 2 or later once the gain is below `tolerance`."""
    rates = []
    previous = 0.0
    for i, rung in enumerate(rungs, start=1):
        found = rung() if callable(rung) else rung
        rates.append(linkage_rate(found, tau))
        if i >= 2 and rates[-1] - previous < tolerance:
            break
        previous = rates[-1]
    return rates


# Contributions (spec, definition 12)


def per_column(found, values, total):
    shares = {}
    for name in found.columns:
        mine = sum(value for (column, _), value in zip(found.features, values, strict=True) if column == name)
        shares[name] = mine / total if total else None
    return shares


def structural_contribution(found):
    """Σ over the column's features f and the components c of λ_c w_fc², as a share."""
    values = []
    for loadings in found.projection.loadings:
        values.append(sum(value * w * w for value, w in zip(found.projection.eigenvalues, loadings, strict=True)))
    return per_column(found, values, sum(values))


def link_contribution(found, pairs):
    """½ (u_i[f] (W z_j)[f] + u_j[f] (W z_i)[f]) / (|z_i| |z_j|) with u = v - centre, over the sum of s(i, j)."""
    loadings, centre = found.projection.loadings, found.projection.centre
    values = [0.0] * len(found.features)
    for i, j in pairs:
        z, y = found.embeddings[i], found.protected_embeddings[j]
        if norm(z) <= found.zero_norm or norm(y) <= found.zero_norm:
            continue
        for f in range(len(values)):
            u = found.vectors["original"][i][f] - centre[f]
            v = found.vectors["protected"][j][f] - centre[f]
            values[f] += 0.5 * (u * dot(loadings[f], y) + v * dot(loadings[f], z)) / (norm(z) * norm(y))
    return per_column(found, values, sum(found.similarity(i, j) for i, j in pairs))
