"""Figures of an attack that need the true matches: recalls, true and false links, hits.

An original has a match if at least one is anywhere in the release; with several matches s(x, y*) is the largest among
those in the block. 0/0 is None.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
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
