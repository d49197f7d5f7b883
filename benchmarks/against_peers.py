"""Other tools on the same tables, each in an environment of its own, and this package beside them in the same run.

    python benchmarks/against_peers.py FOLDER ENVIRONMENTS [PEER...]

Each peer gets the sizes from small to large until it needs more than ten minutes, or would by the way it grew; a row
shows the largest it finished.
Kernels search unblocked for the two best cosines of every original; tools measure as they do, and are held against a
whole audit by the command line.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import search_times
import tables
import times
from cvpl.operators.similarity import CosineScorer
from cvpl.search.exact import find_best

LIMIT = 600
HERE = Path(__file__).parent / "peers"
KERNELS = {"scikit-learn": ["scikit-learn"], "faiss": ["faiss-cpu"]}
TOOLS = {
    "sdmetrics": ["sdmetrics", "pyarrow"],
    "anonymeter": ["anonymeter", "pyarrow"],
    "syntheval": ["syntheval", "pyarrow"],
    "splink": ["splink", "pandas", "pyarrow"],
    "recordlinkage": ["recordlinkage", "pyarrow"],
}
KERNEL_SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
TOOL_SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
RELEASE = "high"


def environment(folder: Path, name: str, packages: list[str]) -> Path:
    """The Python of a peer's own environment, made if it is not there."""
    place = folder / name
    python = place / "bin" / "python"
    if not (place / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "numpy", *packages], check=True)
        (place / "ready").touch()
    return python


def run(arguments: list[str]) -> float | None:
    """The seconds that a peer says it took; None where it failed or did not finish."""
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=LIMIT + 120, check=True)
    except subprocess.TimeoutExpired:
        return None
    except subprocess.CalledProcessError as error:
        print(f"    {arguments[2]} failed: {error.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    seconds = float(done.stdout.split()[-2 if "kernels" in arguments[1] else -1])
    return seconds if seconds <= LIMIT else None


def largest(sizes: tuple[int, ...], attempt) -> tuple[int, float] | None:
    """The largest size that is finished, and its seconds; a size that would plainly take too long is not tried."""
    done: list[tuple[int, float]] = []
    for size in sizes:
        if len(done) > 1:
            (before, first), (last, second) = done[-2:]
            power = np.log(second / first) / np.log(last / before)
            if second * (size / last) ** power > 1.3 * LIMIT:
                break
        seconds = attempt(size)
        if seconds is None:
            break
        print(f"    {size:,}: {seconds:.1f} s", file=sys.stderr, flush=True)
        done.append((size, seconds))
    return done[-1] if done else None


def vectors(folder: Path, size: int) -> Path:
    """The embedded tables of one size, as the kernels get them."""
    file = folder / str(size) / "vectors.npz"
    if not file.exists():
        scorer, _ = search_times.prepared(tables.make(folder, size, (RELEASE,)), RELEASE)
        np.savez(file, a=scorer.a, b=scorer.b)
    return file


def our_kernel(file: Path) -> float:
    """The seconds of our own search of the same vectors."""
    with np.load(file) as both:
        scorer = CosineScorer(both["a"], both["b"])
    one = search_times.one_block(scorer)
    return min(search_times.timed(lambda: find_best(scorer, one))[0] for _ in range(2))


def main(folder: Path, environments: Path, wanted: list[str]) -> None:
    """Print a row for each peer."""
    print("| peer | what | records | peer | ours | times faster |")
    print("|---|---|---|---|---|---|")
    for name, packages in {**KERNELS, **TOOLS}.items():
        if wanted and name not in wanted:
            continue
        python = str(environment(environments, name, packages))
        if name in KERNELS:
            script, sizes, what = str(HERE / "kernels.py"), KERNEL_SIZES, "exact neighbours"
            found = largest(sizes, lambda n: run([python, script, name, str(vectors(folder, n))]))  # noqa: B023
        else:
            script, sizes, what = str(HERE / "tools.py"), TOOL_SIZES, "whole tool"

            def attempt(size: int) -> float | None:
                place = tables.make(folder, size, (RELEASE,))
                files = [str(place / f"{part}.parquet") for part in ("original", RELEASE)]
                return run([python, script, name, *files])  # noqa: B023

            found = largest(sizes, attempt)
        if found is None:
            print(f"| {name} | {what} | none of {sizes[0]:,} and more | - | - | - |", flush=True)
            continue
        size, theirs = found
        if name in KERNELS:
            search_times.warm_up()
            ours = our_kernel(vectors(folder, size))
        else:
            ours = times.audit(tables.make(folder, size, (RELEASE,)), RELEASE).seconds
        print(f"| {name} | {what} | {size:,} | {theirs:.1f} s | {ours:.2f} s | {theirs / ours:.1f} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
