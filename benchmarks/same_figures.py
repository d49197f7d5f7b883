"""Whether a change of the code changed a figure: every figure written before it, and compared after it.

    python benchmarks/same_figures.py write FOLDER [DATA]     audit the demo, small public releases, random small tables
    python benchmarks/same_figures.py compare BEFORE AFTER    list every figure that differs, to the last bit

Run `write` in a checkout before the change and in one after it. Small public releases are those of the manifests with
up to 5,200 rows, where DATA (../shared/data) is at hand. The random tables are those of the tests against the oracle,
audited by every variant of the operators. `compare` exits with 1 where a figure is not the same, and counts fields that
only one of the two has, since a field may be renamed. With `--within 1e-12` that much is allowed.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml

ROWS = 5_200
WORLDS = 12
HERE = Path(__file__).parent
NOT_FIGURES = ("provenance", "seconds", "versions", "file", "inputs", "configuration")
sys.path.insert(0, str(HERE.parent / "tests" / "support"))


def cvpl(*arguments: object) -> None:
    """Run a command; a release that cannot be audited is a row that says so, and exit code 3."""
    done = subprocess.run([sys.executable, "-m", "cvpl", *map(str, arguments)], stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 3):
        raise SystemExit(done.returncode)


def write(folder: Path, data: Path) -> None:
    """Everything that is compared, as JSON files."""
    folder.mkdir(parents=True, exist_ok=True)
    cvpl("demo", "--out", folder / "demo")
    for manifest in sorted((HERE / "manifests").glob("*.yaml")):
        written = yaml.safe_load(manifest.read_text())
        small = {name: item for name, item in written["releases"].items() if _rows(data / item["file"]) <= ROWS}
        if small and _rows(data / written["original"]) > 0:
            with TemporaryDirectory() as place:
                file = Path(place) / manifest.name
                exact = {**(written.get("report") or {}), "suppress_below": 1}
                file.write_text(yaml.safe_dump(written | {"releases": small, "report": exact}, sort_keys=False))
                cvpl("benchmark", file, "--data", data, "--out", folder / manifest.stem)
    (folder / "worlds.json").write_text(json.dumps(small_worlds()))


def _rows(file: Path) -> float:
    """The lines of a file, without end where it is not there or packed."""
    if not file.is_file() or file.suffix != ".csv":
        return math.inf
    return file.read_bytes().count(b"\n")


def small_worlds() -> dict[str, Any]:
    """Every figure of every variant of the attack, on random small tables."""
    from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: PLC0415 - a tool of the tests

    from attack_variants import GRID, VARIANTS  # noqa: PLC0415
    from cvpl.attack.attack import attack  # noqa: PLC0415
    from cvpl.evaluation.measurement import measure  # noqa: PLC0415
    from cvpl.search.machine import Budget  # noqa: PLC0415
    from worlds import BASE, World, package_attacker, worlds  # noqa: PLC0415

    found: dict[str, Any] = {}

    @seed(1)
    @settings(
        max_examples=WORLDS,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(worlds())
    def run(world: World) -> None:
        for name, variant in VARIANTS.items():
            made = attack(world.pair, package_attacker(BASE | variant), seed=7, budget=Budget(threads=1))
            measured = measure(made, world.matches, made.search_control(), grid=GRID, method="people")
            best = {key: getattr(made.found, key) for key in ("best", "row", "second", "second_row", "ties")}
            figures = {key: getattr(measured, key).value for key in ("rate", "base_rate", "attributable")}
            figures |= {"threshold": measured.threshold, "curve": measured.curve}
            power = None if measured.power is None else {rate: one.value for rate, one in measured.power.items()}
            found[f"{len(found)} {name}"] = _plain({**best, **figures, "power": power})

    run()
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every figure and sentence of a document, by its path."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in NOT_FIGURES:
                yield from leaves(part, f"{path}.{key}")
    elif isinstance(value, list):
        for at, part in enumerate(value):
            yield from leaves(part, f"{path}[{at}]")
    else:
        yield path, value


def compare(before: Path, after: Path, within: float) -> int:
    """Print what differs; 1 where a figure does."""
    files = sorted(str(file.relative_to(before)) for file in before.rglob("*.json"))
    differing = texts = compared = alone = 0
    for name in files:
        if not (after / name).is_file():
            print(f"{name}: only before")
            differing += 1
            continue
        old, new = (dict(leaves(json.loads((side / name).read_text()))) for side in (before, after))
        alone += len(old.keys() ^ new.keys())
        for path in old.keys() & new.keys():
            compared += 1
            a, b = old[path], new[path]
            if isinstance(a, str) and isinstance(b, str):
                texts += a != b
                continue
            if a == b or (_number(a) and _number(b) and abs(a - b) <= within):
                continue
            differing += 1
            print(f"{name}{path}: {a!r} before, {b!r} after")
    print(
        f"{compared:,} fields compared in {len(files)} files: {differing} figures differ, {texts} texts differ, ",
        end="",
    )
    print(f"{alone} fields stand in one of the two only")
    return int(differing > 0)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description="Whether a change of the code changed a figure.")
    actions = parser.add_subparsers(dest="action", required=True)
    writing = actions.add_parser("write")
    writing.add_argument("folder", type=Path)
    writing.add_argument("data", type=Path, nargs="?", default=Path("../shared/data"))
    comparing = actions.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--within", type=float, default=0.0)
    given = parser.parse_args()
    if given.action == "write":
        write(given.folder, given.data)
        return 0
    return compare(given.before, given.after, given.within)


if __name__ == "__main__":
    sys.exit(main())
