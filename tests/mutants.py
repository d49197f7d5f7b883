"""Mutation testing: would the tests notice if a line were wrong?

    python tests/mutants.py evaluation --count 300 --seed 1 --out mutants.jsonl
    python tests/mutants.py --summary mutants.jsonl

A mutant is the package with one small fault: a comparison, an operator, a constant or a condition is changed. The
mutants are drawn at random from all places of some modules, and the tests of these modules run on each until one
fails. A mutant that no test notices survives. What is in the output is not run again, so a stopped run goes on. If a
module has changed since, its mutants are run again. With `--survivors` those that no test noticed are, too. The last
run counts.

Each mutant runs in a fork of a process that has loaded everything. The fork forgets the changed module and all modules
that import it, directly or not, and loads them again, the changed one with its fault. Compiled functions that are
loaded again get a cache of their own, or the compiled code of the sound module would be used.

Only tests that call the changed function run, those of files that import its module first, then the quickest. What
each test calls is found on the sound code. What is called before a test, such as in a fixture, counts for all tests of
its file. All tests run for code outside functions, for compiled functions, and for functions that no test calls in its
own process.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import importlib
import importlib.abc
import importlib.util
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PATIENCE = 400
"""Seconds until a mutant counts as noticed: it hangs."""
PACKAGES = {
    "operators": (
        "cvpl/operators",
        "operators alignment rarity fellegi_sunter match_agreement containment hierarchy column_kinds against_oracle "
        "figures_by_hand levers edges metamorphic properties laws",
    ),
    "search": (
        "cvpl/search",
        "search_ways rarity compatible containment row_hash engines levers machine against_oracle figures_by_hand "
        "properties quick",
    ),
    "evaluation": (
        "cvpl/evaluation",
        "verdict_rules gate_rules warning_rules attack_rates figure_edges calibration rounded_rates intervals "
        "groups subgroups people policy contradictions control_likeness contribution_by_power figures_by_hand "
        "edges against_oracle verdict combined membership population formal_criteria singling_out inference "
        "trial_statistics release_report compare_mechanisms sensitivity surface compare intervals_by_simulation",
    ),
    "verdict": (
        "cvpl/assessment/verdict.py cvpl/assessment/gate.py cvpl/assessment/warnings.py cvpl/result/verdict.py "
        "cvpl/evaluation/risk.py cvpl/evaluation/contradictions.py",
        "verdict_rules gate_rules warning_rules verdict contradictions policy figures_by_hand",
    ),
}
"""The modules of each package, and the tests that look at them."""

_COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_CALLED = {"min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "any": "all", "all": "any"}
_CALLED |= {"minimum": "maximum", "maximum": "minimum", "argmax": "argmin", "argmin": "argmax"}


@dataclass(frozen=True)
class Mutant:
    """One fault: in which module, at which place of its tree, and what is changed."""

    package: str
    file: str
    place: int
    line: int
    what: str

    @property
    def key(self) -> str:
        return f"{self.package}:{self.file}:{self.place}"

    @property
    def source(self) -> str:
        """A fingerprint of the sound module, as in the output."""
        return hashlib.sha256((SOURCE / self.file).read_bytes()).hexdigest()[:12]


def places(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """The nodes that can be changed, in the order of the source, each with what is done to it."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr):
            continue
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
            yield node, f"{type(node.ops[0]).__name__} -> {_COMPARED[type(node.ops[0])].__name__}"
        elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _COMPUTED:
            yield node, f"{type(node.op).__name__} -> {_COMPUTED[type(node.op)].__name__}"
        elif isinstance(node, ast.BoolOp):
            yield node, "and <-> or"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            yield node, f"{type(node.op).__name__} removed"
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            yield node, f"constant {node.value!r} changed"
        elif isinstance(node, ast.If | ast.IfExp):
            yield node, "condition negated"
        elif isinstance(node, ast.Call) and _name(node.func) in _CALLED:
            yield node, f"{_name(node.func)} -> {_CALLED[_name(node.func)]}"
        waiting[:0] = [child for child in ast.iter_child_nodes(node) if not _is_description(node, child)]


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_description(parent: ast.AST, child: ast.AST) -> bool:
    """Annotations and decorators describe the code; they do not compute."""
    described = [getattr(parent, "annotation", None), getattr(parent, "returns", None)]
    return child in described or child in getattr(parent, "decorator_list", [])


def changed(source: str, place: int) -> str:
    """The source with the fault at one of its places."""
    tree = ast.parse(source)
    node = next(node for at, (node, _) in enumerate(places(tree)) if at == place)
    if isinstance(node, ast.Compare):
        node.ops[0] = _COMPARED[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp | ast.AugAssign):
        node.op = _COMPUTED[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.UnaryOp):
        _replace(tree, node, node.operand)
    elif isinstance(node, ast.Constant):
        value = node.value
        node.value = (
            not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else value * 1.5 + 0.1
        )
    elif isinstance(node, ast.If | ast.IfExp):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Call):
        other = _CALLED[_name(node.func)]
        if isinstance(node.func, ast.Name):
            node.func.id = other
        elif isinstance(node.func, ast.Attribute):
            node.func.attr = other
    return ast.unparse(ast.fix_missing_locations(tree))


def _replace(tree: ast.Module, old: ast.AST, new: ast.AST) -> None:
    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return copy.copy(new) if node is old else self.generic_visit(node)

    Swap().visit(tree)


def mutants(package: str) -> list[Mutant]:
    """Every mutant of a package."""
    return [
        Mutant(package, str(file.relative_to(SOURCE)), at, getattr(node, "lineno", 0), what)
        for file in files_of(package)
        for at, (node, what) in enumerate(places(ast.parse(file.read_text(encoding="utf-8"))))
    ]


def files_of(package: str) -> list[Path]:
    """The modules of a package."""
    parts = [SOURCE / part for part in PACKAGES[package][0].split()]
    return [file for part in parts for file in (sorted(part.rglob("*.py")) if part.is_dir() else [part])]


def _module(file: str) -> str:
    return file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def _spec(module: str, file: Path, loader: importlib.abc.Loader) -> Any:
    """How a module or a package is loaded from its file."""
    inside = [str(file.parent)] if file.name == "__init__.py" else None
    return importlib.util.spec_from_file_location(module, file, loader=loader, submodule_search_locations=inside)


class _OneModule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from a changed source."""

    def __init__(self, module: str, file: Path, source: str) -> None:
        self.module, self.file, self.source = module, file, source

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != self.module:
            return None
        return _spec(fullname, self.file, self)

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        exec(compile(self.source, str(self.file), "exec"), module.__dict__)  # noqa: S102 - the changed source


@dataclass(frozen=True)
class SoundRun:
    """What the tests do on the sound code: the seconds of each, and the functions it calls."""

    seconds: dict[str, float]
    calls: dict[str, list[str]]

    def order(self, mutant: Mutant) -> dict[str, int]:
        """The tests to run on a mutant, with their places.

        A file's tests stay together, since they share fixtures. Files that import the changed module come first.
        """
        function = _function(mutant)
        tests = [test for test in self.seconds if function in self.calls.get(test, [])] or list(self.seconds)
        files: dict[str, float] = {}
        for test in tests:
            files[_file(test)] = files.get(_file(test), 0.0) + self.seconds[test]
        module = _module(mutant.file)
        direct = {file: module in imported(ROOT / file) for file in files}
        tests.sort(key=lambda test: (not direct[_file(test)], files[_file(test)], _file(test), self.seconds[test]))
        return {test: place for place, test in enumerate(tests)}


def _file(test: str) -> str:
    return test.split("::", maxsplit=1)[0]


def functions(tree: ast.AST, path: str = "") -> Iterator[tuple[ast.FunctionDef, str]]:
    """The functions of a module with their qualified names, from the outer to the inner; compiled ones have none."""
    for child in ast.iter_child_nodes(tree):
        below = path
        if isinstance(child, ast.ClassDef):
            below = f"{path}{child.name}."
        elif isinstance(child, ast.FunctionDef):
            compiled = any("njit" in ast.unparse(one) for one in child.decorator_list)
            yield child, "" if compiled else f"{path}{child.name}"
            below = f"{path}{child.name}.<locals>."
        yield from functions(child, below)


def _function(mutant: Mutant) -> str:
    """The function around a mutant's line, as `_Calls` names it; "" if it is compiled, and outside of functions."""
    found = ""
    for node, name in functions(ast.parse((SOURCE / mutant.file).read_text(encoding="utf-8"))):
        if node.body[0].lineno <= mutant.line <= (node.end_lineno or 0):
            found = f"{mutant.file}:{name}" if name else ""
    return found


class _Calls(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads some modules so that their functions note when they are called; as a plugin of pytest, for each test.

    Functions called before a test, as by a fixture, count for all tests of its file.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = {_module(str(file.relative_to(SOURCE))): file for file in files}
        self.found: set[str] = set()
        self.before: dict[str, set[str]] = {}
        self.within: dict[str, set[str]] = {}

    def note(self, name: str) -> None:
        """Remember a call."""
        self.found.add(name)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname not in self.files:
            return None
        return _spec(fullname, self.files[fullname], self)

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        file = self.files[module.__name__]
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node, name in functions(tree):
            if name:
                noted = ast.parse(f"_note_call_({str(file.relative_to(SOURCE)) + ':' + name!r})").body
                node.body[1 if ast.get_docstring(node) is not None else 0 : 0] = noted
        module.__dict__["_note_call_"] = self.note
        exec(compile(ast.fix_missing_locations(tree), str(file), "exec"), module.__dict__)  # noqa: S102 - our own source

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: Any) -> Any:
        self.found = self.before.setdefault(_file(item.nodeid), set())
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        self.found = self.within.setdefault(item.nodeid, set())
        return (yield)

    def calls(self) -> dict[str, list[str]]:
        """The functions that each test calls, or its fixtures."""
        return {test: sorted(found | self.before[_file(test)]) for test, found in self.within.items()}


class _Chosen:
    """A plugin of pytest that runs the chosen tests in their order, times them, and remembers the first that failed."""

    name = ""

    def __init__(self, order: dict[str, int]) -> None:
        self.order, self.seconds = order, {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.order:
            items[:] = sorted((item for item in items if item.nodeid in self.order), key=self._place)

    def _place(self, item: Any) -> int:
        return self.order[item.nodeid]

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed and not self.name:
            self.name = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.name:
            self.name = f"{report.nodeid} (does not load)"


def _child(mutant: Mutant, sound: SoundRun, report: int, scratch: str) -> None:
    """In the fork: run the tests on the mutant, and write what was found to the pipe."""
    order: dict[str, int] = {}
    if mutant.place >= 0:
        order = sound.order(mutant)
        file = SOURCE / mutant.file
        source = file.read_text(encoding="utf-8")
        if "njit" in source:  # functions that call a compiled one contain its code
            os.environ["NUMBA_CACHE_DIR"] = numba.core.config.CACHE_DIR = scratch
        _forget([file])
        sys.meta_path.insert(0, _OneModule(_module(mutant.file), file, changed(source, mutant.place)))
    sys.path[:0] = [str(SOURCE), str(ROOT / "tests")]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(SOURCE), str(ROOT / "tests")])
    os.environ["TMPDIR"] = tempfile.tempdir = scratch
    os.chdir(ROOT)
    plugin, calls = _Chosen(order), _Calls(files_of(mutant.package))
    if mutant.place < 0:
        _forget(calls.files.values())
        sys.meta_path.insert(0, calls)
    files = [ROOT / "tests" / f"test_{name}.py" for name in PACKAGES[mutant.package][1].split()]
    files = [file for file in files if not order or any(_file(test) == f"tests/{file.name}" for test in order)]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        options = ["-x", "-q", "--assert=plain", f"--basetemp={scratch}/tests"]
        options += ["-p", "no:cacheprovider", "-p", "no:randomly"]
        plugins = [plugin] if mutant.place >= 0 else [plugin, calls]
        code = pytest.main([*options, *(str(file) for file in files if file.exists())], plugins=plugins)
    told = {"code": int(code), "by": plugin.name}
    if mutant.place < 0:
        told |= {"seconds": plugin.seconds, "calls": calls.calls()}
    with os.fdopen(report, "wb") as pipe:
        pipe.write(json.dumps(told).encode())


def sound_run(package: str) -> SoundRun:
    """Run the tests of a package on the sound code; raises RuntimeError if one fails there."""
    told = _run(Mutant(package, "", -1, 0, ""), SoundRun({}, {}))
    if told["code"] != 0:
        raise RuntimeError(f"{package}: a test fails without a mutant: {told['by']}")
    return SoundRun(told["seconds"], told["calls"])


def run(mutant: Mutant, sound: SoundRun) -> dict[str, Any]:
    """Whether the tests notice a mutant, by which test, and after how many seconds."""
    begin = time.monotonic()
    told = _run(mutant, sound)
    return {
        **{name: getattr(mutant, name) for name in ("package", "file", "place", "line", "what", "source")},
        "dead": told["code"] != 0,
        "by": told["by"],
        "seconds": round(time.monotonic() - begin, 1),
    }


def _run(mutant: Mutant, sound: SoundRun) -> dict[str, Any]:
    """Run the tests in a fork, and return what it wrote."""
    mine, theirs = os.pipe()
    scratch = tempfile.mkdtemp(prefix="mutant-")
    child = os.fork()
    if not child:
        os.setsid()
        os.close(mine)
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        try:
            _child(mutant, sound, theirs, scratch)
        except BaseException as error:  # told by the parent
            os.write(theirs, json.dumps({"code": None, "by": repr(error)}).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    late = threading.Timer(PATIENCE if mutant.place >= 0 else 10 * PATIENCE, os.killpg, (child, signal.SIGKILL))
    late.start()
    with os.fdopen(mine, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    hangs = not late.is_alive()
    late.cancel()
    shutil.rmtree(scratch, ignore_errors=True)
    told: dict[str, Any] = json.loads(said) if said else {"code": -1, "by": "hangs" if hangs else "ends the process"}
    if told["code"] not in (-1, 0, 1, 2):
        raise RuntimeError(f"{mutant.key}: the tests did not run: {told}")
    return told


def _preload() -> None:
    """Load what every mutant needs: the libraries, and the package from its sources."""
    import duckdb  # noqa: F401, PLC0415
    import hypothesis.strategies  # noqa: F401, PLC0415
    import pandas as pd  # noqa: F401, PLC0415
    import polars as pl  # noqa: F401, PLC0415
    import pyarrow as pa  # noqa: F401, PLC0415
    import pydantic  # noqa: F401, PLC0415
    import rich.console  # noqa: F401, PLC0415
    import scipy.stats  # noqa: F401, PLC0415
    import sklearn.ensemble  # noqa: F401, PLC0415
    import typer  # noqa: F401, PLC0415
    import yaml  # noqa: F401, PLC0415

    sys.path.insert(0, str(SOURCE))
    for file in sorted(SOURCE.rglob("*.py")):
        if file.name != "__main__.py":
            module = _module(str(file.relative_to(SOURCE)))
            importlib.import_module(module)
            _imports(module)


def _forget(files: Iterable[Path]) -> None:
    """Forget modules, all modules that import them, directly or not, and all modules in packages that do."""
    users: dict[str, set[str]] = {}
    loaded = {name for name in sys.modules if name.split(".")[0] == "cvpl"}
    for name in loaded:
        for used in _imports(name) & loaded:
            users.setdefault(used, set()).add(name)
    waiting, found = [_module(str(file.relative_to(SOURCE))) for file in files], set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += users.get(name, ())
    for name in found & loaded:
        package, _, short = name.rpartition(".")
        del sys.modules[name]
        if package in sys.modules:
            vars(sys.modules[package]).pop(short, None)


@cache
def _imports(module: str) -> set[str]:
    """What a loaded module imports, and the package that it is in."""
    return imported(Path(str(sys.modules[module].__file__))) | {module.rpartition(".")[0]} - {"cvpl"}


@cache
def imported(file: Path) -> set[str]:
    """What a file imports: modules, and names in them, which may be modules too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {str(node.module), *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def drawn(package: str, count: int, seed: int) -> list[Mutant]:
    """Some of the package's mutants, the same for the same seed."""
    every = mutants(package)
    rng = np.random.default_rng([seed, sorted(PACKAGES).index(package)])
    return [every[at] for at in rng.permutation(len(every))[:count]]


def main() -> None:
    """Run mutants, or sum up what was run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", choices=[*PACKAGES, []], default=[])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--part", default="1/1", help="such as 1/2 and 2/2, for two processes side by side")
    parser.add_argument("--survivors", action="store_true", help="run again what no test noticed")
    parser.add_argument("--summary", type=Path)
    given = parser.parse_args()
    if given.summary is not None:
        print(summary(given.summary))  # noqa: T201
        return
    _preload()
    known = _lines(given.out)
    done = {key: line["source"] for key, line in known.items() if line["dead"] or not given.survivors}
    number, parts = map(int, given.part.split("/"))
    for package in given.packages or PACKAGES:
        wanted = drawn(package, given.count, given.seed)[number - 1 :: parts]
        wanted = [one for one in wanted if done.get(one.key) != one.source]
        sound = sound_run(package) if wanted else SoundRun({}, {})
        for mutant in wanted:
            line = json.dumps(run(mutant, sound)) + "\n"
            with given.out.open("a", encoding="utf-8") as out:
                out.write(line)


def _lines(file: Path) -> dict[str, dict[str, Any]]:
    """The last line of each mutant."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    return {f"{line['package']}:{line['file']}:{line['place']}": line for line in lines}


def summary(file: Path) -> str:
    """How many mutants of each package were noticed, and the survivors."""
    lines = _lines(file).values()
    told = []
    for package in PACKAGES:
        mine = [line for line in lines if line["package"] == package]
        if mine:
            dead = sum(line["dead"] for line in mine)
            told.append(f"{package}: {dead} of {len(mine)} noticed ({dead / len(mine):.1%})")
            told += [
                f"  {line['file']}:{line['line']}: {line['what']}"
                for line in sorted(mine, key=lambda line: (line["file"], line["line"]))
                if not line["dead"]
            ]
    return "\n".join(told)


if __name__ == "__main__":
    main()
