"""The command; see the package."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import __doc__ as about
from .draw import PACKAGES, ROOT, drawn
from .loading import preload
from .run import run
from .summary import records, summary, survivors


def main() -> None:
    """Run mutants, or sum up what was run."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", choices=[*PACKAGES, []], default=[])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--part", default="1/1", help="such as 1/2 and 2/2, for two processes side by side")
    parser.add_argument("--survivors", action="store_true", help="run again what no test noticed")
    parser.add_argument("--budget", type=float, default=float("inf"), help="run the first tests of so many seconds")
    parser.add_argument("--tests", nargs="+", help="names of the files of tests, if not all of the package")
    parser.add_argument("--at", nargs="+", default=("",), help="only at these ends of names, such as cells.py:89")
    parser.add_argument("--compiled", action="store_true", help="compile the changed loops")
    parser.add_argument("--summary", type=Path, nargs="+", help="say in Markdown what is in these outputs")
    parser.add_argument(
        "--open", type=Path, nargs="+", help="list what no test noticed, in the form of equivalent.yaml"
    )
    given = parser.parse_args()
    if given.summary is not None:
        print(summary(given.summary, given.count, given.seed))  # noqa: T201
        return
    if given.open is not None:
        print(survivors(given.open, given.count, given.seed))  # noqa: T201
        return
    preload()
    known = records([given.out])
    done = {key: line["source"] for key, line in known.items() if line["dead"] or not given.survivors}
    number, parts = map(int, given.part.split("/"))
    for package in given.packages or PACKAGES:
        wanted = drawn(package, given.count, given.seed)[number - 1 :: parts]
        wanted = [one for one in wanted if done.get(one.key) != one.source]
        wanted = [one for one in wanted if f"{one.file}:{one.line}".endswith(tuple(given.at))]
        names = given.tests or PACKAGES[package][1].split()
        tests = [file for name in names for file in (ROOT / "tests").glob(f"*/test_{name}.py")]
        loops = [one for one in wanted if one.has_loops and not given.compiled]
        both = {True: loops, False: [one for one in wanted if one not in loops]}
        for plain, some in sorted(both.items(), key=lambda part: -len(part[1])):
            if some:
                run(package, some, tests, plain, given.budget, given.out)


if __name__ == "__main__":
    main()
