# ruff: noqa: T201 - this script prints its tables
"""What the baselines say of releases whose strength is known.

Run from the top of the project; prints the tables of docs/concepts/baselines.md, and how long each figure took:

    python docs/measurements/baselines.py

Simulated: 10,000 people of the simulator and as many controls, blocked as in the configuration of `cvpl demo`, one
seed. Fellegi-Sunter compares times by hour and day of week, the random candidate is read at the threshold 0.90.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from cvpl.attack.attack import Attack, attack
from cvpl.cli.demo import CONFIG
from cvpl.config.loading import load
from cvpl.evaluation.rates import linkage_rate
from cvpl.evaluation.truth import Truth, evaluate_truth, top1_hit_rate
from cvpl.laboratory.mechanisms import GaussianCopula, Perturbation, Rounding
from cvpl.laboratory.simulation import Touchpoints
from cvpl.randomness import stream
from cvpl.tables.pair import read_inputs
from cvpl_paper.baselines import distances, random_within_block, same_source
from cvpl_paper.baselines.agreement import Comparison
from cvpl_paper.baselines.fellegi_sunter import Estimation, LinkFigures, figures, fit_fellegi_sunter, link

THRESHOLD = 0.9
MECHANISMS: dict[str, Any] = {
    "noise, low": Perturbation("low"),
    "noise, medium": Perturbation("medium"),
    "noise, high": Perturbation("high"),
    "rounding: age 10, region level 1, day": Rounding(age=10, region_level=1, time="day"),
    "synthetic rows (copula)": GaussianCopula(0.95),
}
FORMS = ("chance_in_blocks", "estimated", "chance")


def releases() -> Iterator[tuple[str, Attack, Truth]]:
    """One attack a mechanism."""
    resolved = load({**yaml.safe_load(CONFIG), "attacker": "paper"})
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{name}.csv" for name in ("original", "released", "control")]
        people = Touchpoints().draw(stream(0, "people"))
        people.write(files[0])
        Touchpoints().draw(stream(0, "control")).write(files[2])
        for name, mechanism in MECHANISMS.items():
            mechanism.protect(people, stream(0, "noise")).write(files[1])
            known = {"reading": resolved.reading, "identity": resolved.identity, "declared": resolved.declared}
            inputs = read_inputs(files[0], files[1], resolved.specs, control=files[2], **known)
            done = attack(inputs.pair, resolved.attackers["main"], seed=0)
            if inputs.evaluation.matches is not None:
                yield name, done, evaluate_truth(done, inputs.evaluation.matches)


def table(title: str, head: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print one Markdown table."""
    names = list(head)
    print(f"\n### {title}\n\n| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for row in rows:
        cells = ("-" if cell is None else cell if isinstance(cell, str) else f"{cell:.3f}" for cell in row)
        print(f"| {' | '.join(cells)} |", flush=True)


def fellegi_sunter(done: Attack, truth: Truth, u: Any) -> LinkFigures:
    """All figures of Fellegi-Sunter under one form of u."""
    model = fit_fellegi_sunter(done, Comparison(times="features"), Estimation(u=u))
    return figures(done, link(done, model), truth)


def main() -> None:
    """Measure every baseline on every release, then print."""
    seconds: dict[str, list[float]] = {}
    links, others = [], []

    def timed(name: str, call: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = call()
        seconds.setdefault(name, []).append(time.perf_counter() - start)
        return result

    for name, done, truth in releases():
        links.append((name, "CVPL", linkage_rate(done.found.best, THRESHOLD), None, top1_hit_rate(truth), None))
        for u in FORMS:
            found = timed(f"Fellegi-Sunter, {u}", lambda: fellegi_sunter(done, truth, u))  # noqa: B023 - called at once
            rates = (found.linkage_rate, found.naive_linkage_rate, found.top1_hit_rate, found.precision_at_1)
            links.append((name, u, *rates))
        near = {
            blocked: timed("distances" + ("" if blocked else ", unblocked"), lambda: nearest(done, blocked))  # noqa: B023
            for blocked in (True, False)
        }
        source, training = (
            timed("same source", lambda: same_source.same_source_share(done, truth)),  # noqa: B023
            timed("training share", lambda: same_source.training_share(done)),  # noqa: B023
        )
        random = timed("random pick", lambda: random_within_block.expected_linkage_rate(done, THRESHOLD))  # noqa: B023
        hit = random_within_block.expected_top1_hit_rate(done, truth)
        others.append((name, random, hit, *near[True], *near[False], source.share, source.baseline, training.share))
    head = ("release", "u", "linkage rate", "weight >= 0", "top-1", "precision at 1")
    table("Fellegi-Sunter beside CVPL at 0.90", head, links)
    head = ("release", "random >= 0.90", "random top-1", "DCR", "NNDR", "DCR, no blocks", "NNDR, no blocks")
    table("The other baselines", (*head, "same source", "its baseline", "training share"), others)
    table("Seconds, the longest", ("figure", "seconds"), ((name, max(each)) for name, each in seconds.items()))


def nearest(done: Attack, blocked: bool) -> tuple[float | None, float | None]:
    """Mean DCR and NNDR."""
    found = distances.nearest_distances(done, blocked=blocked)
    closest, ratio = distances.distance_to_closest_record(found), distances.nearest_neighbour_distance_ratio(found)
    return closest.mean, ratio.mean


if __name__ == "__main__":
    main()
