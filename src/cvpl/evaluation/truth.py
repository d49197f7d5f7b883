"""Figures of an attack that need the true matches: recalls, true and false links, hits, similarities, precision.

An original has a match if at least one is anywhere in the release; with several matches s(x, y*) is the largest among
those in the block. 0/0 is None.

Precision at the true prior: of the people whom an attacker links, how many are in the table. Power and false-positive
rate are rates among people who are in the table, and among people who are not. How often a link is right also depends
on how many people there are of each kind. In a result the precision is made of the published power: it must not tell
more than the power does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.result import Membership, Population, Power, Precision
from cvpl.search.best import TIE, BestCandidates
from cvpl.search.blocks import LeftOut, share_block
from cvpl.tables.evaluation_only import Scenario, TrueMatches

Floats = NDArray[np.float64]


Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Truth:
    """For each original of an attack: whether it has a match, whether one shares its block, and their scores.

    `match_similarity` is the best match's score, -inf if no match is a candidate; `best_wrong` is the score of the best
    candidate that is not a match; `hit` is the share of matches among the candidates tied for the best.
    """

    has_match: NDArray[np.bool_]
    in_block: NDArray[np.bool_]
    match_similarity: Floats
    best_wrong: Floats
    wrong_candidates: Ints
    hit: Floats
    matches: LeftOut
    complete: bool
    scenario: Scenario


def evaluate_truth(attack: Attack, matches: TrueMatches) -> Truth:
    """Score the true pairs by name, and find the best wrong candidate of every original.

    Attackers with the same search share the result.
    """
    known = attack.shared.cache("truth", attack.keys.search)
    if matches not in known:
        known[matches] = compare_with_truth(attack, matches)
    found: Truth = known[matches]
    return found


def compare_with_truth(attack: Attack, matches: TrueMatches) -> Truth:
    """The true matches of an attack, compared with what it found."""
    found, count = attack.found, len(attack.found)
    query, row = _of_known_people(attack, matches)
    # A match shares the block even if the search skipped it.
    shared, searched = (
        share_block(blocks.partitions("original", "protected"), query, row)
        for blocks in (attack.blocks, attack.searched)
    )
    score = np.full(len(query), -np.inf)
    score[shared] = attack.scorer.pairs(query[shared], row[shared])

    has_match, in_block = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    has_match[query] = True
    in_block[query[shared]] = True
    similarity = np.full(count, -np.inf)
    np.maximum.at(similarity, query, score)
    right = np.zeros(count)
    np.add.at(right, query, searched & (score >= found.best[query] - TIE))
    in_set = np.bincount(query[searched], minlength=count)
    pairs = LeftOut(query, row)
    return Truth(
        has_match=has_match,
        in_block=in_block,
        match_similarity=similarity,
        best_wrong=_best_wrong(attack, pairs),
        wrong_candidates=found.candidates - in_set,
        hit=np.divide(right * in_block, found.ties, out=np.zeros(count), where=found.ties > 0),
        matches=pairs,
        complete=matches.complete,
        scenario=matches.scenario,
    )


def _of_known_people(attack: Attack, matches: TrueMatches) -> tuple[Ints, Ints]:
    """The true pairs of the people whom the attacker knows, by their index among those people."""
    if attack.holds_all:
        return matches.original, matches.protected
    place = np.minimum(np.searchsorted(attack.people, matches.original), len(attack.people) - 1)
    kept = attack.people[place] == matches.original
    return place[kept].astype(np.int64), matches.protected[kept]


def _best_wrong(attack: Attack, matches: LeftOut) -> Floats:
    """The best candidate that is not a match: the best, else the second, else one more search for the rest."""
    found = attack.found
    width = attack.protected.rows
    true_pairs = np.sort(matches.query * width + matches.candidate)
    best_is_match = are_true_pairs(true_pairs, found.row, width)
    second_is_match = are_true_pairs(true_pairs, found.second_row, width)
    wrong = np.where(best_is_match, found.second, found.best)
    open_question = np.flatnonzero(best_is_match & second_is_match)
    if open_question.size:
        again: BestCandidates = attack.search(open_question, matches)
        wrong[open_question] = again.best
    return wrong


def own_match_left_out(attack: Attack, truth: Truth) -> Floats:
    """The evidence of every original with its own matches left out of the release."""
    if attack.attacker.evidence == "best":
        return truth.best_wrong
    known = attack.shared.cache("found without matches", attack.keys.search)
    if truth.matches not in known:
        everyone = np.arange(len(attack.found), dtype=np.int64)
        known[truth.matches] = attack.search(everyone, truth.matches)
    return attack.evidence("original", known[truth.matches])


def are_true_pairs(true_pairs: Ints, row: Ints, width: int) -> NDArray[np.bool_]:
    """Whether each record and its row are a true pair; `width` is the number of rows."""
    if not len(true_pairs):
        return np.zeros(len(row), dtype=bool)
    pair = np.arange(len(row)) * width + row
    place = np.minimum(np.searchsorted(true_pairs, pair), len(true_pairs) - 1)
    found: NDArray[np.bool_] = (true_pairs[place] == pair) & (row >= 0)
    return found


def share(part: float, whole: float) -> float | None:
    """Part / whole, and None for 0/0."""
    return part / whole if whole else None


def recall_counts(truth: Truth, threshold: float) -> tuple[int, int, int]:
    """Counts of originals with a match, with a match in the block, and with one there at or above the threshold."""
    linked = truth.in_block & (truth.match_similarity >= threshold)
    return int(truth.has_match.sum()), int(truth.in_block.sum()), int(linked.sum())


def blocking_recall(truth: Truth) -> float | None:
    """R_block: the share of originals with a match whose match shares the block (paper, eq. blocking-recall)."""
    return share(int(truth.in_block.sum()), int(truth.has_match.sum()))


def matching_recall(truth: Truth, threshold: float) -> float | None:
    """R_match(τ) = TLR(τ): s(x, y*) >= τ, among originals whose match shares the block (paper, eq. matching-recall)."""
    _, in_block, linked = recall_counts(truth, threshold)
    return share(linked, in_block)


def total_recall(truth: Truth, threshold: float) -> float | None:
    """R_total(τ) = R_block · R_match(τ), as one ratio of counts (paper, eq. total-recall)."""
    with_match, _, linked = recall_counts(truth, threshold)
    return share(linked, with_match)


def false_link_rate(truth: Truth, threshold: float) -> float:
    """FLR(τ): the share of all originals that have a wrong candidate with s >= τ (paper, eq. flr)."""
    return float(np.mean(truth.best_wrong >= threshold))


def top1_hit_rate(truth: Truth) -> float | None:
    """The share of originals with a match whose best candidate is one; with r matches among t tied it counts r/t."""
    return share(float(truth.hit[truth.has_match].sum()), int(truth.has_match.sum()))


def precision_at_1(truth: Truth, best: Floats, threshold: float) -> float | None:
    """The hits among linked originals over all linked originals; None without links or with incomplete truth."""
    linked = best >= threshold
    return share(float(truth.hit[linked].sum()), int(linked.sum())) if truth.complete else None


BINS = 40


@dataclass(frozen=True, eq=False)
class Distributions:
    """Shares of matches and of wrong candidates in equal bins between a low and a high score.

    `overlap` is the sum over bins of the smaller share: 0 if disjoint, 1 if equal. `separation` is the probability that
    a match scores above a wrong candidate, with ties counted as half.
    """

    edges: Floats
    matches: Floats
    non_matches: Floats
    overlap: float
    separation: float


def compare(matches: Floats, non_matches: Floats, k: int = 1) -> Distributions | None:
    """Both distributions on common bins; None if either is empty. `non_matches` must be in ascending order.

    The bins reach from the k-th lowest score to the k-th highest, and scores beyond them are in the outer bins. A
    person has several wrong candidates, so as large a part of these is beyond.
    """
    matches = matches[np.isfinite(matches)]
    if not matches.size or not non_matches.size:
        return None
    part = round(len(non_matches) * (k - 1) / len(matches))
    ends = inner_ends(matches, k), inner_ends(non_matches, 1 + part)
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    edges = bin_edges(low, high, k)
    shares = [
        np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] / len(values) for values in (matches, non_matches)
    ]
    below = np.searchsorted(non_matches, matches, "left") + np.searchsorted(non_matches, matches, "right")
    separation = float(below.mean() / (2 * len(non_matches)))
    return Distributions(edges, shares[0], shares[1], float(np.minimum(*shares).sum()), separation)


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of several samples in common, equal bins; `without` are the shares of non-finite values."""

    edges: Floats
    shares: tuple[Floats, ...]
    without: tuple[float, ...]


def bin_edges(low: float, high: float, k: int) -> Floats:
    """Equal bins between two scores, or around one; with k above 1 between round numbers outside of them.

    The round numbers are multiples of a twentieth of the range, rounded up to 1, 2 or 5 times a power of ten.
    """
    if k > 1 and high > low:
        part = (high - low) / 20
        power = 10.0 ** np.floor(np.log10(part))
        step = power * next(digit for digit in (1, 2, 5, 10) if digit * power >= part * (1 - 1e-9))
        low, high = step * np.floor(low / step + 1e-9), step * np.ceil(high / step - 1e-9)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, BINS + 1)


def inner_ends(values: Floats, k: int) -> tuple[float, float]:
    """The k-th lowest and the k-th highest value; the middle one if there are fewer than 2 k."""
    ordered = np.sort(values)
    at = min(k - 1, (len(ordered) - 1) // 2)
    return float(ordered[at]), float(ordered[len(ordered) - 1 - at])


def bin_shares(*samples: Floats, k: int = 1) -> Shares | None:
    """Each sample's shares between the k-th lowest and the k-th highest finite value of all; None if there is none.

    Values beyond them are in the outer bins.
    """
    finite = [values[np.isfinite(values)] for values in samples]
    together = np.concatenate(finite)
    if not together.size:
        return None
    low, high = inner_ends(together, k)
    edges = bin_edges(low, high, k)
    shares = tuple(
        np.histogram(np.clip(some, edges[0], edges[-1]), edges)[0] / max(1, len(values))
        for some, values in zip(finite, samples, strict=True)
    )
    gone = (1 - len(some) / max(1, len(values)) for some, values in zip(finite, samples, strict=True))
    return Shares(edges, shares, tuple(gone))


def exceedance(ascending: Floats, threshold: float) -> float | None:
    """P(S >= τ) over scores in ascending order; None without any."""
    if not len(ascending):
        return None
    return float((len(ascending) - np.searchsorted(ascending, threshold, side="left")) / len(ascending))


def population_size(setting: float, people: int) -> int:
    """The number of people in the population: the setting itself or, if it is below 1, `people` / setting.

    A setting below 1 is a sampling fraction: the share of the population that is in the table.
    """
    return round(people / setting) if setting < 1 else int(setting)


def precision_at_prior(power: float, false_rate: float, people: int, population: int) -> float | None:
    """The share of the linked who are in the table, if everybody in the population is looked for.

        n power / (n power + (N - n) α)        n: people in the table, N: people in the population

    α is the false-positive rate, and so the share of the N - n people outside the table that are linked. With N = n
    everybody is in the table, and the precision is 1. None if nobody is linked.
    """
    right, wrong = people * power, (population - people) * false_rate
    return None if right + wrong <= 0 else right / (right + wrong)


def population(setting: float | None, people: int, powers: Sequence[Power] | None, k: int = 1) -> Population | None:
    """The precision at every false-positive rate with a power; None if the population is not given.

    A published power of 0 stands for fewer than k people, so it has no precision, unless k is 1.
    """
    if setting is None:
        return None
    size = population_size(setting, people)
    return Population(
        size=size,
        people=people,
        share=people / size,
        precision=[precision_of(power, people, size, k) for power in powers or ()],
    )


def precision_of(power: Power, people: int, size: int, k: int) -> Precision:
    """The precision at one false-positive rate, from the published power and its interval."""
    ends = None if power.low is None or power.high is None else (power.low, power.high)
    low, high = (
        (None, None) if ends is None else (_precision_at_rates(end, power.false_rate, people, size) for end in ends)
    )
    untold = k > 1 and power.power <= 0
    found = None if untold else _precision_at_rates(power.power, power.false_rate, people, size)
    return Precision(false_rate=power.false_rate, precision=found, low=low, high=high)


def _precision_at_rates(power: float, false_rate: float, people: int, size: int) -> float | None:
    return precision_at_prior(min(1.0, max(0.0, power)), false_rate, people, size)


def add_precision(found: Membership | None, population: Population | None, k: int = 1) -> Membership | None:
    """The published section with the precision at the population's prior, from its published rates."""
    if found is None or population is None:
        return found
    rates = []
    for rate in found.rates:
        told = precision_of(rate, population.people, population.size, k)
        rates.append(
            rate.model_copy(
                update={"precision": told.precision, "precision_low": told.low, "precision_high": told.high}
            )
        )
    return found.model_copy(update={"rates": rates, "prior": population.share})
