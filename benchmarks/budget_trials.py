"""The lower bound on epsilon, for mechanisms whose epsilon is known.

    python benchmarks/budget_trials.py [TRIALS]

Every trial has 8 rounds of 1,000 people, each in by a coin. Mechanisms:

- roster: a public list of distinct people. Each is published with probability e^ε / (1 + e^ε) if in, 1 / (1 + e^ε) if
  out. This is ε-private, and no attacker can do better than to look who is published.
- randomized response: the records of those who are in, in a random order. Each cell is kept with odds of
  e^(ε / columns) against each other value, so that a record is ε-private. (Their number shows how many are in.)
- response in place: the same with a public row for each person; a person who is out gets a random record. ε-private.
- copy: the records of those who are in.
- marginals: records drawn from public shares, whoever is in.

The others are scored by two attackers: is the record released, and in how many columns does the best row agree. In
place, it is the agreement with the own row.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator

import numpy as np

from cvpl.evaluation.trials.one_run import BudgetReading, audit_budget
from cvpl.evaluation.trials.rounds import Bools, Floats, Ints
from cvpl.randomness import stream

TRIALS = 200
ROUNDS = 8
PEOPLE = 1_000
EPSILONS = (0.5, 1.0, 2.0, 4.0)
COLUMNS, VALUES = 6, 12
Scores = dict[str, Floats]
Mechanism = Callable[[Ints, Bools, np.random.Generator], Ints]


def roster(epsilon: float, inside: Bools, rng: np.random.Generator) -> Scores:
    """The scores of an attacker who sees who is published: 1 if so, else 0."""
    chance = 1 / (1 + math.exp(-epsilon))
    published = rng.random(inside.shape) < np.where(inside, chance, 1 - chance)
    return {"published": published.astype(np.float64)}


def answered(people: Ints, epsilon: float, rng: np.random.Generator) -> Ints:
    """Records with each cell kept with odds of e^(ε / columns) against each other value."""
    odds = math.exp(epsilon / COLUMNS)
    kept = rng.random(people.shape) < odds / (odds + VALUES - 1)
    return np.where(kept, people, (people + rng.integers(1, VALUES, people.shape)) % VALUES)


def response(epsilon: float) -> Mechanism:
    """The answered records of those who are in, in a random order."""
    return lambda people, inside, rng: rng.permutation(answered(people[inside], epsilon, rng))


def in_place(epsilon: float, inside: Bools, rng: np.random.Generator) -> Scores:
    """The agreement of people with their own row; those who are out have a row of random values.

    A cell of value v has probability 1 / VALUES if out, which is between the two probabilities that it has if in: their
    ratio is e^(ε / columns), so that one person in or out changes the release's probability by e^ε at most.
    """
    people = rng.integers(0, VALUES, (len(inside), COLUMNS))
    agreed = []
    for column in inside.T:
        rows = np.where(column[:, None], answered(people, epsilon, rng), rng.integers(0, VALUES, people.shape))
        agreed.append((rows == people).sum(axis=1).astype(np.float64))
    return {"own row": np.stack(agreed, axis=1)}


def copy(people: Ints, inside: Bools, rng: np.random.Generator) -> Ints:
    """The records of those who are in."""
    return rng.permutation(people[inside])


def marginals(people: Ints, inside: Bools, rng: np.random.Generator) -> Ints:
    """Records that have nothing to do with the people."""
    return rng.integers(0, VALUES, (int(inside.sum()), people.shape[1]))


def scored(people: Ints, release: Ints) -> Scores:
    """Two attackers: does the record occur, and the most columns in which a row agrees."""
    agreed = np.zeros((len(people), len(release)), dtype=np.int8)
    for column in range(people.shape[1]):
        agreed += people[:, column, None] == release[None, :, column]
    best = agreed.max(axis=1, initial=0).astype(np.float64)
    return {"exact": (best == people.shape[1]).astype(np.float64), "agreement": best + agreed.mean(axis=1)}


def by_records(mechanism: Mechanism, inside: Bools, rng: np.random.Generator) -> Scores:
    """The scores of a mechanism on a table of random people, in every round."""
    people = rng.integers(0, VALUES, (len(inside), COLUMNS))
    rounds = [scored(people, mechanism(people, column, rng)) for column in inside.T]
    return {name: np.stack([found[name] for found in rounds], axis=1) for name in rounds[0]}


def mechanisms() -> Iterator[tuple[str, float, Callable[[Bools, np.random.Generator], Scores]]]:
    """The name, the true epsilon, and the scores of a trial."""
    for epsilon in EPSILONS:
        yield "roster", epsilon, lambda inside, rng, e=epsilon: roster(e, inside, rng)
    for epsilon in EPSILONS:
        yield "randomized response", epsilon, lambda inside, rng, e=epsilon: by_records(response(e), inside, rng)
    for epsilon in EPSILONS:
        yield "response in place", epsilon, lambda inside, rng, e=epsilon: in_place(e, inside, rng)
    yield "copy", math.inf, lambda inside, rng: by_records(copy, inside, rng)
    yield "marginals", 0.0, lambda inside, rng: by_records(marginals, inside, rng)


def trial(scores: Callable[[Bools, np.random.Generator], Scores], rng: np.random.Generator) -> BudgetReading:
    """One trial: coins, scores, bound."""
    inside = rng.random((PEOPLE, ROUNDS)) < 0.5
    return audit_budget(scores(inside, rng), inside, rng)


def main(trials: int) -> None:
    """Print a row for each mechanism."""
    print(f"| mechanism | ε | bound above ε, of {trials} | smallest bound | median | largest |")
    print("|---|---|---|---|---|---|")
    for name, epsilon, scores in mechanisms():
        rng = stream(0, f"budget trials {name} {epsilon}")
        found = np.array([trial(scores, rng).epsilon for _ in range(trials)])
        figures = [f"{figure:.2f}" for figure in (found.min(), np.median(found), found.max())]
        print(f"| {name} | {epsilon} | {int((found > epsilon).sum())} | " + " | ".join(figures) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS)
