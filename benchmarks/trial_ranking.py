"""How many of the people who are most often linked a ranking finds, by the number of rounds of a trial.

    python benchmarks/trial_ranking.py OUT [DRAWS] [WORLD...]

Simulated people are protected in 64 + 256 rounds, each on a random half of them, and attacked. The truth is how
often each person is linked when in, over the last 256 rounds. A ranking sees the first 4, 8, 16, 32 or 64 rounds, and
is asked for the tenth that is linked most often. A cell is the share of the true top tenth that it finds, as a mean
over draws; one in ten would be found by chance. Rounds are kept in OUT, and an interrupted benchmark resumes.

links       by the share of rounds in which the person is in and linked
rarity      by the rarity of the person's values among all people, without a round
combined    what `cvpl trial --per-person` ranks by: evidence and rarity (`evaluation/trials/person_ranking.py`)
ceiling     by the links in half of the last rounds, against the other half: what is left to find

The second table has in how many of the draws a ranking finds fewer than rarity does, and how many fewer at most.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np

import cvpl
from cvpl.evaluation.trials.exposure import linked_at
from cvpl.evaluation.trials.person_ranking import evidence_of_rounds, expected_evidence
from cvpl.laboratory.simulation import Touchpoints
from cvpl.randomness import stream
from cvpl.workflows.simulate import CONFIG
from cvpl.workflows.trial import trial as trial_module
from cvpl.workflows.trial.assembly import FinishedTrial
from cvpl.workflows.trial.per_person import person_rarity

PEOPLE, READ, TRUE = 400, 64, 256
ROUNDS = (4, 8, 16, 32, 64)
DRAWS = 10
TENTH = 0.1
FALSE_RATE = 0.05
WORLDS: dict[str, tuple[str, str | float, str]] = {
    "noise, high": ("perturbation", "high", "rarity"),
    "synthetic": ("synthetic", 1.0, "rarity"),
    "noise, medium": ("perturbation", "medium", "rarity"),
    "mondrian, k = 10": ("mondrian", 10, "contained"),
}
"""The mechanism, its strength, and the attacker."""


def run(world: str, draw: int) -> dict[str, np.ndarray]:
    """The evidence of everybody in every round, who was in, and the rarity of each person."""
    method, strength, attacker = WORLDS[world]
    ran = []
    with TemporaryDirectory() as place:
        table, config = Path(place) / "people.csv", Path(place) / "audit.yaml"
        Touchpoints(records=PEOPLE).draw(stream(draw, f"people of {world}")).write(table)
        config.write_text(CONFIG + "canaries: false\n")

        def keep(_file: Path, found: FinishedTrial, *_: object) -> None:
            ran.append((found.rounds, person_rarity(found)))

        with mock.patch.object(trial_module, "write_per_person", keep):
            rounds = READ + TRUE
            cvpl.trial(
                table,
                method,
                config,
                rounds=rounds,
                strength=strength,
                attackers=[attacker],
                seed=draw,
                per_person=Path(place) / "ranks.csv",
            )
    ((rounds_found, rarity),) = ran
    return {"scores": rounds_found.scores(attacker), "inside": rounds_found.inside, "rarity": rarity}


def kept(out: Path, world: str, draw: int) -> dict[str, np.ndarray]:
    """A run from its file, or run now."""
    file = out / f"{world.replace(' ', '_').replace(',', '')}_{draw:02d}.npz"
    if not file.exists():
        found = run(world, draw)
        draft = file.with_suffix(".draft.npz")
        np.savez_compressed(draft, **found)
        draft.rename(file)
    with np.load(file) as arrays:
        return dict(arrays)


def shares(found: dict[str, np.ndarray]) -> dict[tuple[str, int], float]:
    """The share of the true top tenth that each ranking finds, by its name and the number of rounds."""
    scores, inside, rarity = found["scores"], found["inside"], found["rarity"]
    linked = linked_at(scores, inside, FALSE_RATE)
    truth = rate(linked[:, READ:], inside[:, READ:])
    told = {("rarity", 0): recall(rarity, truth)}
    # Rounds 1 and 2 are the two halves of one split, so every pair of rounds has everybody in once.
    half = np.arange(TRUE) // 2 % 2 == 0
    sides = [rate(linked[:, READ:][:, side], inside[:, READ:][:, side]) for side in (half, ~half)]
    told["ceiling", TRUE // 2] = recall(*sides)
    for rounds in ROUNDS:
        first = slice(0, rounds)
        told["links", rounds] = recall(rate(linked[:, first], inside[:, first]), truth)
        evidence = evidence_of_rounds(scores[:, first], inside[:, first])
        told["combined", rounds] = recall(expected_evidence(evidence, rarity), truth)
    return told


def rate(linked: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """The share of rounds in which a person is in and linked, of those in which the person is in."""
    return (linked & inside).sum(axis=1) / np.maximum(1, inside.sum(axis=1))


def recall(ranking: np.ndarray, truth: np.ndarray) -> float:
    """The share of the true top tenth in the ranking's; ties count in part."""
    size = int(TENTH * len(truth))
    return float((in_top(ranking, size) * in_top(truth, size)).sum() / size)


def in_top(values: np.ndarray, size: int) -> np.ndarray:
    """The chance of each person to be among the `size` largest, if ties are broken at random."""
    edge = np.sort(values)[-size]
    above = values > edge
    return above + (values == edge) * (size - above.sum()) / (values == edge).sum()


def main(out: Path, draws: int, worlds: Sequence[str]) -> None:
    """Run what is missing, and print the tables."""
    out.mkdir(parents=True, exist_ok=True)
    rows, second = [], []
    for world in worlds:
        told = [shares(kept(out, world, draw)) for draw in range(draws)]
        mean = {key: float(np.mean([one[key] for one in told])) for key in told[0]}
        cells = [mean["rarity", 0], *(mean[name, at] for at in ROUNDS for name in ("links", "combined"))]
        rows.append(f"| {world} | {' | '.join(f'{cell:.2f}' for cell in (*cells, mean['ceiling', TRUE // 2]))} |")
        for name in ("links", "combined"):
            lost = [[one["rarity", 0] - one[name, at] for one in told] for at in ROUNDS]
            second.append(
                f"| {world} | {name} | "
                + " | ".join(f"{sum(it > 0 for it in item)}, {max(item):+.2f}" for item in lost)
                + " |"
            )
    heads = [f"{name}, {at}" for at in ROUNDS for name in ("links", "combined")]
    print(f"| mechanism | rarity | {' | '.join(heads)} | ceiling |\n{'|---' * (len(heads) + 3)}|")
    print("\n".join(rows))
    print(f"\n| mechanism | ranking | {' | '.join(map(str, ROUNDS))} |\n{'|---' * (len(ROUNDS) + 2)}|")
    print("\n".join(second))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else DRAWS, sys.argv[3:] or list(WORLDS))
