"""How many people are searched: all of them, or a sample if the release is large or a quick look is taken."""

from __future__ import annotations

from cvpl.attack.attacker import Attacker

MOST_PAIRS = 2_500_000_000
"""The most pairs that a member of the family without blocking compares; it searches fewer people if needed, ..."""
MOST_DENSITIES = 400_000_000
"""Densities are summed over every pair, so fewer of them, ..."""
MOST_DISTANCES = 250_000_000
"""... and distances are computed one by one, so still fewer, ..."""
FEWEST_ASKED = 1_000
"""... but it searches at least this many people."""
QUICK_PEOPLE = 4_000
"""The most originals, and the most controls, of a quick look: the 95% interval of the strongest attacker
then has a half-width of at most 6 points."""
FIRST_ANSWER_PEOPLE = 2_000
"""The same for the quick look with which a long audit begins, since the audit then refines it."""
FEWEST_QUICK = 2_000
QUICK_PAIRS = 400_000_000
"""In a release that makes more pairs, from 100,000 records on, fewer people are searched, but at least these."""
FEWEST_SCORED = 250
SCORED_PAIRS = 500_000_000
"""The most pairs of a quick look by a member that has to score every pair, and the fewest people: in more than 250,000
released records it searches fewer people than the others."""


def max_queries(attacker: Attacker, released: int, *, family: bool, quick: int | None) -> int | None:
    """The most originals, and the most controls, that an attacker searches in `released` records; None: all.

    `family` says whether it is a member of the family, `quick` is the most people of a quick look, None for an audit.
    """
    limits = [] if quick is None else [min(quick, max(FEWEST_QUICK, QUICK_PAIRS // max(1, released)))]
    if family and attacker.blocking.compares_everybody:
        pairs = MOST_DENSITIES if attacker.evidence == "density" else MOST_PAIRS
        pairs = MOST_DISTANCES if attacker.similarity_operator.by_distance else pairs
        limits.append(max(FEWEST_ASKED, pairs // max(1, released)))
        if quick is not None and attacker.scores_every_pair:
            limits.append(max(FEWEST_SCORED, SCORED_PAIRS // max(1, released)))
    return min(limits, default=None)
