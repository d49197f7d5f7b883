"""Power of the family of `attacker: default` beside other tools' membership attacks, on releases of a published study.

    python benchmarks/membership_peers.py DATA FOLDER ENVIRONMENTS [RELEASE...]

DATA holds the study's Adult tables: `trn` are the members, `val` people in no release. Half of `val`, drawn by the
seed, is the reference that an attack may use, the same half as in an audit; the other half is the control. All 15
columns are compared. Each attack gives every member and every control person a score, and has its power: the share of
the members that it finds where it takes 1%, 5% or 10% of the control people for members.

The peers: distance to the closest released record (DCR), alone and against that to the closest reference person;
SynthEval's classifier (`peers/membership.py`); a density ratio as in DOMIAS, of whose two bandwidths the stronger
counts. Ours is the strongest of the family, picked on other people than those it is counted on, so that it gains
nothing by the pick; a peer's stronger bandwidth is picked on the very people, which favours the peer.

"At least the peers" says that for no peer the 95% interval of the difference of the powers at 5%, over the same people
drawn anew, is all below 0. It is told twice. With the pick held, the interval leaves out that another attacker might
have been picked; with the pick made anew in each draw, it is too wide. Where members and control people are shuffled,
so that no attack has any power (measured at 30dc25c2), 10 of 240 intervals were all below 0 with the pick held, in
8 of 60 shuffles, and none with the pick made anew; 6 are to be expected. The answers with the pick held are strict.

The scores are kept in FOLDER, release by release, and an interrupted run goes on; remove the folder after a change of
an attack. The figures are written to FOLDER/membership_peers.json, the tables to the standard output.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import membership_attacks
from adult_study import RELEASES
from against_peers import TOOLS, environment
from cvpl.attack.attack import attack
from cvpl.config.loading import load
from cvpl.estimates import FALSE_RATES
from cvpl.evaluation.rates import power_at
from cvpl.randomness import stream
from cvpl.tables.pair import read_inputs
from paired_power import CrossFitted, Scores, draws, interval, once, ranked_and_checked

SEED = 42
HEADLINE = 0.05
AT = FALSE_RATES.index(HEADLINE)
OURS = "cvpl"
WAYS = ("pick held", "pick made anew")
PEERS = ("DCR", "DCR against reference", "SynthEval classifier", "density ratio")
SCRIPT = Path(__file__).parent / "peers" / "membership.py"


def table(data: Path, name: str) -> pd.DataFrame:
    """One table of the study."""
    return pd.read_csv(data / f"{name}.csv.gz")


def split(people: int) -> dict[str, np.ndarray]:
    """The rows of `val` that are reference, and those that are control, as an audit with the same seed takes them."""
    order = stream(SEED, "reference people").permutation(people)
    return {"reference": np.sort(order[: people // 2]), "control": np.sort(order[people // 2 :])}


def kept(file: Path, make: Callable[[], dict[str, Scores]]) -> dict[str, Scores]:
    """The scores in `file`; made and written where there is none."""
    if not file.exists():
        start = time.perf_counter()
        made = make()
        half_written = file.with_suffix(".part")
        with half_written.open("wb") as out:
            np.savez(out, **{f"{name}|{at}": side for name, both in made.items() for at, side in enumerate(both)})
        half_written.replace(file)
        seconds = time.perf_counter() - start
        print(f"    {file.parent.name}, {file.stem}: {seconds:.0f} s", file=sys.stderr, flush=True)
    return scores_of(file)


def scores_of(file: Path) -> dict[str, Scores]:
    """The scores in a file."""
    with np.load(file) as stored:
        names = dict.fromkeys(key.split("|")[0] for key in stored)
        return {name: (stored[f"{name}|0"], stored[f"{name}|1"]) for name in names}


def by_distance_and_density(data: Path, release: str, rows: dict[str, np.ndarray]) -> dict[str, Scores]:
    """The attacks by all pairs."""
    members, strangers = table(data, "trn"), table(data, "val")
    people = pd.concat([members, strangers.iloc[rows["control"]]], ignore_index=True)
    sides = membership_attacks.Sides(people, table(data, release), strangers.iloc[rows["reference"]])
    found = membership_attacks.distances(sides) | membership_attacks.density_ratios(sides)
    return {name: (scores[: len(members)], scores[len(members) :]) for name, scores in found.items()}


def by_classifier(data: Path, release: str, split_file: Path, python: Path) -> dict[str, Scores]:
    """SynthEval's, in its environment."""
    out = split_file.parent / "classifier.npz"
    subprocess.run([str(item) for item in (python, SCRIPT, data, release, split_file, out, SEED)], check=True)
    with np.load(out) as found:
        return {"SynthEval classifier": (found["members"], found["controls"])}


def by_family(data: Path, release: str, rows: dict[str, np.ndarray]) -> dict[str, Scores]:
    """Every member of the family that an audit under `attacker: default` runs; age and sex are blocked where any is."""
    columns = {
        name: {"role": "quasi_identifier", "type": "numeric" if pd.api.types.is_numeric_dtype(values) else "category"}
        for name, values in table(data, "trn").items()
    }
    columns["age"]["block"], columns["sex"]["block"] = {"bin": 10}, "exact"
    resolved = load({"columns": columns, "attacker": "default", "seed": SEED})
    files = [data / f"{name}.csv.gz" for name in ("trn", release, "val")]
    pair = read_inputs(
        *files[:2], resolved.specs, control=files[2], reading=resolved.reading, declared=resolved.declared
    ).pair
    found = {}
    with threadpool_limits(limits=1, user_api="blas"):
        for name, attacker in resolved.attackers.items():
            done = attack(pair, attacker, seed=SEED, budget=resolved.budget)
            control = np.full(pair.control.rows, np.nan)
            control[done.control_rows] = done.evidence("control", done.search_control())
            found[name] = done.scores, control[rows["control"]]
            if np.isnan(found[name][1]).any():
                raise ArithmeticError(f"{name} takes other people for reference than the peers do")
    return found


def figures(peers: dict[str, Scores], family: dict[str, Scores]) -> dict:
    """Powers, differences and their intervals on one release."""
    widths = {name: power_at(*scores, HEADLINE) for name, scores in peers.items() if name.startswith("density ratio")}
    widest = max(widths, key=lambda name: widths[name])
    chosen = {name: peers[widest if name == "density ratio" else name] for name in PEERS}
    attacks = {name: ranked_and_checked(scores) for name, scores in chosen.items()}
    ours = CrossFitted.of(family, HEADLINE, stream(SEED, "folds"))
    people = chosen["DCR"]
    powers = {name: item.powers(once(people)) for name, item in attacks.items()}
    picks = ours.picks(once(people))
    powers[OURS] = ours.inside(once(people), picks)
    drawn = {name: [] for name in (*PEERS, OURS, "made anew")}
    for counts in draws(people, stream(SEED, "people drawn anew")):
        for name, item in attacks.items():
            drawn[name].append(item.powers(counts))
        drawn[OURS].append(ours.inside(counts, picks))
        drawn["made anew"].append(ours.inside(counts, ours.picks(counts)))
    replicates = {name: np.array(item) for name, item in drawn.items()}
    return {
        "powers": {
            name: {
                str(rate): {"power": float(power[at]), "interval": interval(replicates[name][:, at])}
                for at, rate in enumerate(FALSE_RATES)
            }
            for name, power in powers.items()
        },
        "differences": {
            name: {
                "difference": float(powers[OURS][AT] - powers[name][AT]),
                "pick held": interval(replicates[OURS][:, AT] - replicates[name][:, AT]),
                "pick made anew": interval(replicates["made anew"][:, AT] - replicates[name][:, AT]),
            }
            for name in PEERS
        },
        "picked": [list(family)[at] for at in picks],
        "bandwidth": widest.removeprefix("density ratio, "),
        "bandwidths": widths,
        "family": {name: {str(rate): power_at(*item, rate) for rate in FALSE_RATES} for name, item in family.items()},
    }


def show(found: dict[str, dict]) -> None:
    """Both tables, as Markdown."""
    names = (OURS, *PEERS)
    print(f"Power at {HEADLINE:.0%} false rate, with its 95% interval.\n")
    print("| release |", " | ".join(names), "| picked |")
    print("|---" * (len(names) + 2) + "|")
    for release, item in found.items():
        cells = [item["powers"][name][str(HEADLINE)] for name in names]
        shown = [f"{cell['power']:.3f} ({cell['interval'][0]:.3f}, {cell['interval'][1]:.3f})" for cell in cells]
        print(f"| {release} |", " | ".join(shown), f"| {', '.join(dict.fromkeys(item['picked']))} |")
    print(f"\nThe difference, {OURS} minus the peer, with its 95% interval while the pick is held.\n")
    print("| release |", " | ".join(PEERS), "|", " | ".join(f"at least the peers, {way}" for way in WAYS), "|")
    print("|---" * (len(PEERS) + 3) + "|")
    for release, item in found.items():
        cells = [(cell["difference"], *cell[WAYS[0]]) for cell in map(item["differences"].get, PEERS)]
        shown = ["{:+.3f} ({:+.3f}, {:+.3f})".format(*cell) for cell in cells]
        answers = ["yes" if reached(item, way) else "no" for way in WAYS]
        print(f"| {release} |", " | ".join(shown + answers), "|")


def reached(item: dict, way: str) -> bool:
    """Whether no peer is beyond the family by more than error."""
    return all(cell[way][1] >= 0 for cell in item["differences"].values())


def main(data: Path, folder: Path, environments: Path, wanted: list[str]) -> None:
    """Measure what is missing, and print the tables."""
    python = environment(environments, "syntheval", TOOLS["syntheval"])
    rows = split(len(table(data, "val")))
    found = {}
    for release in wanted or RELEASES:
        place = folder / f"seed_{SEED}" / release
        place.mkdir(parents=True, exist_ok=True)
        split_file = place / "split.npz"
        np.savez(split_file, **rows)
        peers = kept(place / "by_classifier.npz", lambda: by_classifier(data, release, split_file, python))  # noqa: B023
        peers |= kept(place / "by_distance_and_density.npz", lambda: by_distance_and_density(data, release, rows))  # noqa: B023
        family = kept(place / "by_family.npz", lambda: by_family(data, release, rows))  # noqa: B023
        found[release] = figures(peers, family)
        text = {"seed": SEED, "people": {name: len(row) for name, row in rows.items()}, "releases": found}
        (folder / "membership_peers.json").write_text(json.dumps(text, indent=1) + "\n")
    show(found)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
