"""A test bench of the verdict: more than 300 releases of which it is known who is in them, and what the audit says.

    python benchmarks/verdict_bench.py OUT.jsonl                 run what is missing, and print the summary
    python benchmarks/verdict_bench.py OUT.jsonl --part 1/2      run the first of two parts, beside another process
    python benchmarks/verdict_bench.py OUT.jsonl --processes 2   run both parts, and print the summary
    python benchmarks/verdict_bench.py OUT.jsonl --tenth         run a tenth of it, small releases of all sorts
    python benchmarks/verdict_bench.py OUT.jsonl --thirtieth     run a thirtieth, of at most 500 people and controls,
                                                                 with fewer fresh controls, and without `combined`,
                                                                 whose truth takes a minute
    python benchmarks/verdict_bench.py OUT.jsonl summary         print the summary of what stands there

Every release is audited by the default family, and its figure, (power - a) / (1 - a) of the strongest attacker at a
false rate a (5% with enough controls), is held against two truths:

    expected           what that attacker achieves on average over fresh people, releases and references, with its
                       threshold set by at least 100,000 fresh controls (verdict_truth.py). Intervals should hold it.
    distinguishable    the share of the people who are planted in the release with a row that no control has. An upper
                       end below it says less than is true; each such release is listed with its reason.

Canaries take as long again as the audit, so every fifth release of up to 2,000 people is audited with them. One line a
release is written to OUT.jsonl, and expected figures to OUT.truth.jsonl; what stands there is not run again. The exit
code is 1 where something that must never happen did, or where the intervals hold the expected figure significantly less
often than 93% of the time.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, get_args

import numpy as np

import cvpl
from cvpl.config.attackers import FAMILY
from verdict_truth import CONTROLS, Truth, expected_figure
from verdict_worlds import How, Kind, Rest, Setting, config_of, draw

Line = dict[str, Any]

SHARES = (0.02, 0.05, 0.10, 0.25, 0.50, 1.0)
SMALL = (
    (200, 50),
    (200, 200),
    (200, 2_000),
    (500, 200),
    (500, 2_000),
    (1_000, 500),
    (1_000, 1_000),
    (1_000, 5_000),
    (2_000, 200),
    (2_000, 2_000),
    (2_000, 20_000),
)
"""People and controls of most releases."""
GATED = ((500, 2_000), (1_000, 2_000), (2_000, 2_000), (2_000, 5_000))
"""... of releases of strangers, which a gate at 10% should let pass."""
LARGE: tuple[tuple[Kind, int, int, float, How, Rest], ...] = (
    *((kind, 5_000, 5_000, 0.0, "verbatim", "strangers") for kind in get_args(Kind)),
    *((kind, 5_000, 2_000, 0.05, "perturbed", "strangers") for kind in get_args(Kind)),
    *((kind, 5_000, 500, 0.25, "verbatim", "independent") for kind in get_args(Kind)),
    *((kind, 5_000, 10_000, 0.02, "verbatim", "strangers") for kind in get_args(Kind)),
    *((kind, 5_000, 5_000, 0.10, "smote", "strangers") for kind in get_args(Kind)),
    *((kind, 5_000, 2_000, 0.50, "smote", "copula") for kind in get_args(Kind)),
    ("continuous", 20_000, 20_000, 0.10, "perturbed", "strangers"),
    ("mixed", 20_000, 20_000, 0.0, "verbatim", "strangers"),
    ("mixed", 20_000, 5_000, 0.25, "smote", "independent"),
    ("categorical", 20_000, 20_000, 0.05, "perturbed", "copula"),
)
TENTH, THIRTIETH = 30, 10
FEWER_CONTROLS = CONTROLS // 5
"""Fresh controls of each world for a thirtieth: the error of the threshold is then far below an interval's width."""
ENOUGH = 0.93
GATES = (0.05, 0.10)
SIGNIFICANT = 0.05
_CANARIES_EVERY = 5


@dataclass(frozen=True)
class Release:
    """One release of a setting."""

    setting: Setting
    repetition: int
    canaries: bool

    @property
    def key(self) -> str:
        """Its name in the file."""
        return f"{self.setting.key}#{self.repetition}"

    @property
    def seed(self) -> int:
        """From which the world is drawn, and which the audit has."""
        return zlib.crc32(self.key.encode())


def releases() -> list[Release]:
    """The whole grid, the same in every run: every kind, share and change with sizes and other rows dealt in turn."""
    rng = np.random.default_rng(20)
    sizes, rests = _deck(SMALL, rng), _deck(get_args(Rest), rng)
    settings: dict[Setting, int] = {}
    for kind in get_args(Kind):
        for share in SHARES:
            for how in get_args(How):
                for _ in range(2):
                    settings.setdefault(Setting(kind, *next(sizes), share, how, next(rests)), 2)
        for size in GATED:
            settings[Setting(kind, *size, 0.0, "verbatim", "strangers")] = 4
        for size in ((200, 200), (1_000, 1_000)):
            for rest in ("independent", "copula"):
                settings[Setting(kind, *size, 0.0, "verbatim", rest)] = 2
    for large in LARGE:
        settings[Setting(*large)] = 1
    flat = [(setting, at) for setting, count in settings.items() for at in range(count)]
    return [
        Release(setting, at, number % _CANARIES_EVERY == 0 and setting.people <= 2_000)
        for number, (setting, at) in enumerate(flat)
    ]


def sample(count: int, people: int = 1_000, controls: int = 2_000) -> list[Release]:
    """Releases of at most so many people and controls, spread evenly over shares, changes and kinds."""
    small = [item for item in releases() if item.setting.people <= people and item.setting.controls <= controls]
    small.sort(key=lambda item: (item.setting.share, item.setting.how, item.setting.kind, item.key))
    return [small[round(at)] for at in np.linspace(0, len(small) - 1, count)]


def _deck(cards: Sequence[Any], rng: np.random.Generator) -> Iterable[Any]:
    """The cards in a random order, again and again, so that each turns up as often as any other."""
    while True:
        for at in rng.permutation(len(cards)):
            yield cards[int(at)]


@dataclass(frozen=True)
class Figures:
    """What an audit says of a release. The ends are None where there is no interval."""

    attacker: str
    false_rate: float | None
    estimate: float | None
    low: float | None
    high: float | None
    verdict: str
    nothing_shows: bool
    gate_5: bool
    gate_10: bool

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return self.low is not None and self.high is not None


def figures_of(result: cvpl.AuditResult) -> Figures:
    """The verdict's figure, its kind, and whether gates at 5% and 10% let the release pass."""
    risk, verdict = result.risk, result.verdict
    met = {policy.max: policy.met for policy in result.policies}
    said = verdict.kind, "nothing shows" in verdict.sentence, met[GATES[0]], met[GATES[1]]
    if risk is None or risk.basis != "control":
        return Figures(result.attacker, None, None, None, None, *said)
    return Figures(risk.attacker, risk.false_rate, risk.estimate, risk.low, risk.high, *said)


def run(release: Release, truth_of: Callable[[Setting, str], Truth], attackers: Sequence[str] | None = None) -> Line:
    """Make one release, audit it with the default attackers or with some, and say what is true of it."""
    setting = release.setting
    world = draw(setting, np.random.default_rng(release.seed))
    tables = [world.frame(name) for name in ("original", "protected", "control")]
    config = config_of(setting.kind, release.seed, canaries=release.canaries)
    config["report"] = {"suppress_below": 1}
    config["policy"] = [{"figure": "risk", "max": limit} for limit in GATES]
    started = time.perf_counter()
    result = cvpl.audit(tables[0], tables[1], config, control=tables[2], attackers=attackers)
    took = time.perf_counter() - started
    figures = figures_of(result)
    started = time.perf_counter()
    line = {
        "release": release.key,
        **vars(setting),
        "canaries": release.canaries,
        "seconds": round(took, 2),
        "among": result.picked.among if result.picked else 1,
        "distinguishable": world.distinguishable,
        **vars(figures),
    }
    if figures.known:
        truth = truth_of(setting, figures.attacker)
        line["expected"], line["error"] = truth.at(figures.false_rate)
        line["worlds"], line["fresh_controls"] = truth.worlds, truth.controls
    line["truth_seconds"] = round(time.perf_counter() - started, 2)
    return line


class Truths:
    """Expected figures by setting and attacker, kept in a file."""

    def __init__(self, path: Path, controls: int = CONTROLS) -> None:
        self.path = path
        self.controls = controls
        self.known = {(line["setting"], line["attacker"]): Truth.from_dict(line) for line in read_lines(path)}

    def __call__(self, setting: Setting, attacker: str) -> Truth:
        """What stands in the file, or else is found now."""
        key = setting.key, attacker
        if key not in self.known:
            self.known[key] = expected_figure(setting, attacker, controls=self.controls)
            add_line(self.path, {"setting": key[0], "attacker": key[1], **self.known[key].to_dict()})
        return self.known[key]


def read_lines(path: Path) -> list[Line]:
    """What stands in a file, nothing if there is none."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def add_line(path: Path, line: Line) -> None:
    """One more line, written at once so that two processes may share the file."""
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def run_missing(out: Path, asked: Sequence[Release], part: tuple[int, int], *, fewer: bool) -> None:
    """Run what does not stand in the file; a part has all releases of its settings, which share expected figures."""
    out.parent.mkdir(parents=True, exist_ok=True)
    truths = Truths(out.with_suffix(".truth.jsonl"), FEWER_CONTROLS if fewer else CONTROLS)
    done = {line["release"] for line in read_lines(out)}
    order = {setting: at for at, setting in enumerate(dict.fromkeys(item.setting for item in asked))}
    mine = [item for item in asked if order[item.setting] % part[1] == part[0] - 1 and item.key not in done]
    for number, release in enumerate(mine, start=1):
        line = run(release, truths, list(FAMILY) if fewer else None)
        add_line(out, line)
        print(f"{number}/{len(mine)} {release.key} {line['seconds']}s + {line['truth_seconds']}s", file=sys.stderr)


# What came of it.


@dataclass(frozen=True)
class Count:
    """One thing that was counted: how often it happened among how many, what is asked for, and whether that is met."""

    what: str
    asked: str
    found: int
    among: int
    met: bool
    fails: bool = False
    """Whether the run fails for it."""

    @property
    def row(self) -> str:
        """Its row of the summary."""
        share = f"{self.found / self.among:.1%}" if self.among else "-"
        return (
            f"| {self.what} | {self.asked} | {self.found} of {self.among} ({share}) | {'yes' if self.met else 'NO'} |"
        )


def covers(line: Line) -> bool:
    """Whether the interval holds the expected figure, whose own error is not allowed for."""
    return bool(line["low"] <= line["expected"] <= line["high"])


def falls_short(line: Line) -> bool:
    """Whether the upper end lies below the distinguishable share."""
    return bool(line["high"] < line["distinguishable"])


def at_most(hits: int, trials: int, chance: float) -> float:
    """The probability of at most so many hits in so many trials."""
    return sum(math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(hits + 1))


def counts(lines: Sequence[Line]) -> list[Count]:
    """Everything that is counted."""
    known = [line for line in lines if line["high"] is not None]
    held = sum(map(covers, known))
    rare = bool(known) and at_most(held, len(known), ENOUGH) < SIGNIFICANT
    short = sum(map(falls_short, known))
    tenths = [line for line in lines if line["distinguishable"] >= 0.10]
    silent = sum(line["nothing_shows"] for line in tenths)
    planted = [line for line in lines if line["distinguishable"] >= 0.15]
    open_5 = sum(line["gate_5"] for line in planted)
    empty = [
        line
        for line in lines
        if line["share"] == 0 and line["rest"] == "strangers" and line["people"] >= 500 and line["controls"] >= 2_000
    ]
    open_10 = sum(line["gate_10"] for line in empty)
    nothing = "nothing shows (upper end < 5%) over >= 10% distinguishable people"
    passed = "a gate at 5% passes >= 15% distinguishable people"
    strangers = "a gate at 10% passes pure strangers (>= 500 people, >= 2,000 controls)"
    below = "the upper end lies below the distinguishable share"
    holds = "the interval holds the expected figure"
    return [
        Count(holds, "at least 93%", held, len(known), met=held >= ENOUGH * len(known), fails=rare),
        Count(below, "at most 5%", short, len(known), met=short <= 0.05 * len(known)),
        Count(nothing, "never", silent, len(tenths), met=not silent, fails=silent > 0),
        Count(passed, "never", open_5, len(planted), met=not open_5, fails=open_5 > 0),
        Count(strangers, "at least 85%", open_10, len(empty), met=open_10 >= 0.85 * len(empty)),
    ]


def reason(line: Line) -> str:
    """Why an upper end lies below the distinguishable share, as far as the expected figure tells."""
    expected, share = line["expected"], line["distinguishable"]
    if expected + 2 * line["error"] < share:
        seen = f"expects {expected:.3f} of {share:.3f}"
        return f"{line['attacker']} {seen}: it does not see all of the {line['how']} copies among {line['rest']}"
    return f"chance: {line['attacker']} expects {expected:.3f} of {share:.3f}, and this draw came out low"


def summary(lines: Sequence[Line]) -> str:
    """The tables, in Markdown."""
    known = [line for line in lines if line["high"] is not None]
    parts = ["| counted | asked for | found | met |", "|---|---|---|---|", *(count.row for count in counts(lines)), ""]
    parts += ["| people | controls | releases | with an interval | holds the expected figure | median width |"]
    parts += ["|---|---|---|---|---|---|"]
    for size in sorted({(line["people"], line["controls"]) for line in lines}):
        own = [line for line in lines if (line["people"], line["controls"]) == size]
        parts.append(f"| {size[0]:,} | {size[1]:,} | {len(own)} | {_cells(own)} |")
    parts += [
        "",
        "| | releases | with an interval | holds the expected figure | median width |",
        "|---|---|---|---|---|",
    ]
    for name in ("people", "kind", "how", "rest", "share", "canaries", "verdict"):
        # Without planted people nothing is changed, and without others there is no rest.
        counted = [line for line in lines if not (name == "how" and line["share"] == 0)]
        counted = [line for line in counted if not (name == "rest" and line["share"] == 1)]
        for value in sorted({line[name] for line in counted}):
            own = [line for line in counted if line[name] == value]
            parts.append(f"| {name} {value} | {len(own)} | {_cells(own)} |")
    parts += ["", "| picked attacker | releases | holds the expected figure |", "|---|---|---|"]
    for name in sorted({line["attacker"] for line in known}):
        own = [line for line in known if line["attacker"] == name]
        parts.append(f"| {name} | {len(own)} | {sum(map(covers, own))} |")
    parts += ["", "Intervals that do not hold the expected figure:", ""]
    parts += [f"- {_told(line)}{_near(line)}" for line in known if not covers(line)] or ["- none"]
    parts += ["", "Upper ends below the distinguishable share:", ""]
    parts += [f"- {_told(line)}: {reason(line)}" for line in known if falls_short(line)] or ["- none"]
    parts += ["", f"Without an interval: {len(lines) - len(known)} of {len(lines)} releases."]
    if known:
        worst = max(line["error"] / (line["high"] - line["low"]) for line in known)
        middle = median(line["error"] for line in known)
        parts.append(f"Standard error of the expected figure: median {middle:.4f}, at most {worst:.1%} of the width.")
    return "\n".join(parts)


def _cells(own: Sequence[Line]) -> str:
    known = [line for line in own if line["high"] is not None]
    width = f"{median(line['high'] - line['low'] for line in known):.3f}" if known else "-"
    return f"{len(known)} | {sum(map(covers, known))} | {width}"


def _told(line: Line) -> str:
    ends = f"{line['estimate']:.3f} [{line['low']:.3f}, {line['high']:.3f}] at {line['false_rate']:.0%}"
    return f"`{line['release']}` {line['attacker']} {ends}, expected {line['expected']:.3f} ± {line['error']:.4f}"


def _near(line: Line) -> str:
    """Whether the error of the expected figure could account for it."""
    away = max(line["low"] - line["expected"], line["expected"] - line["high"])
    return " (within two standard errors of the end)" if away <= 2 * line["error"] else ""


def side_by_side(out: Path, processes: int, rest: Sequence[str]) -> None:
    """Run so many parts, each in a process of its own."""
    commands = [
        [sys.executable, __file__, str(out), "--part", f"{at}/{processes}", *rest] for at in range(1, processes + 1)
    ]
    running = [subprocess.Popen(command) for command in commands]
    codes = [process.wait() for process in running]
    if any(codes):
        raise SystemExit(max(codes))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run or sum up; 1 where something that must not happen did."""
    parser = argparse.ArgumentParser(description="A test bench of the verdict on releases with a known truth.")
    parser.add_argument("out", type=Path, help="the file with one line a release")
    parser.add_argument("action", nargs="?", choices=("run", "summary"), default="run")
    parser.add_argument("--part", metavar="I/N", help="run the I-th of N parts, and sum nothing up")
    parser.add_argument("--processes", type=int, default=1, help="so many parts side by side")
    parser.add_argument("--tenth", action="store_true", help="some thirty small releases")
    parser.add_argument("--thirtieth", action="store_true", help="ten of them, with fewer fresh controls")
    given = parser.parse_args(arguments)
    asked = sample(TENTH) if given.tenth else sample(THIRTIETH, 500, 500) if given.thirtieth else releases()
    if given.action == "run":
        if given.part is None and given.processes > 1:
            rest = ["--tenth"] if given.tenth else ["--thirtieth"] if given.thirtieth else []
            side_by_side(given.out, given.processes, rest)
        else:
            at, parts = map(int, (given.part or "1/1").split("/"))
            run_missing(given.out, asked, (at, parts), fewer=given.thirtieth)
    if given.part is not None and given.action == "run":
        return 0
    wanted = {release.key for release in asked}
    lines = [line for line in read_lines(given.out) if line["release"] in wanted]
    print(summary(lines))
    return int(not lines or any(count.fails for count in counts(lines)))


if __name__ == "__main__":
    sys.exit(main())
