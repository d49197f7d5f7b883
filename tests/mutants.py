"""Mutation testing: would the tests notice if a line were wrong?

    python tests/mutants.py evaluation --count 300 --seed 1 --out mutants.jsonl
    python tests/mutants.py --summary mutants.jsonl

A mutant is the package with one small fault: a comparison, an operator, a constant or a condition is changed. The
mutants are drawn at random from all places of some modules, and the tests of these modules run on each until one
fails. A mutant that no test notices survives. What is in the output is not run again, so a stopped run goes on. If a
module has changed since, its mutants are run again. With `--survivors` those that no test noticed are, too. The last
run counts.

A mutant runs in a fork of a process that has loaded the package and the tests. If the fault is in a function, the fork
gives the loaded function its code. If it is outside of functions, the fork forgets the changed module and all modules
that import it, directly or not, and loads them again, the changed one with its fault. Compiled functions that are
loaded again get a cache of their own, or the compiled code of the sound module would be used.

Only tests that call the changed function run, those of files that import its module first, then the quickest. What
each test calls is found on the sound code. What is called before a test, such as in a fixture, counts for all tests of
its file. All tests run for code outside functions, and for functions that no test calls in its own process. With
`--budget 20` only the first tests run, those that take 20 seconds on the sound code.

Modules with compiled functions are run uncompiled, since compiling a changed loop takes long: with the tests that pass
there in a few seconds, and with numpy arrays in place of vectors (`plain_simd.py`). With `--compiled` they are
compiled, and all tests run for a compiled function.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import hashlib
import importlib
import importlib.abc
import importlib.util
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import hypothesis
import numba
import numpy as np
import pytest
from hypothesis import Phase

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PATIENCE = 1_200
"""Seconds until a mutant counts as noticed: it hangs."""
ONE_TEST = 30
"""Seconds of computing that a test may take on a mutant, besides five times those on the sound code."""
PLAIN_TEST = 4
"""Seconds of computing that a test may take uncompiled; it is left out if it takes longer."""
_PHASES = ("explicit", "reuse", "generate")
"""What hypothesis does: it does not look for a simpler example once a test has failed."""
VECTORS = "cvpl/search/tree/simd.py"
PACKAGES = {
    "operators": (
        "cvpl/operators",
        "operators alignment rarity fellegi_sunter match_agreement containment compatible hierarchy column_kinds laws "
        "properties edges figures_by_hand against_oracle",
    ),
    "search": (
        "cvpl/search",
        "search_ways rarity fellegi_sunter compatible containment row_hash engines levers machine figures_by_hand",
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
    def has_loops(self) -> bool:
        """Whether its module has compiled functions that can be run uncompiled."""
        return self.file != VECTORS and "njit" in (SOURCE / self.file).read_text(encoding="utf-8")

    def in_place(self, plain: bool) -> bool:
        """Whether the fault is in a function that Python runs."""
        return self.file != VECTORS and bool(_function(self, plain))

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


def changed(tree: ast.Module, place: int) -> ast.Module:
    """The tree with the fault at one of its places."""
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
    return ast.fix_missing_locations(tree)


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
    """Loads one module from a changed tree."""

    def __init__(self, module: str, file: Path, tree: ast.Module) -> None:
        self.module, self.file, self.tree = module, file, tree

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != self.module:
            return None
        return _spec(fullname, self.file, self)

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        module.__dict__["_wide_"] = _wide
        exec(compile(self.tree, str(self.file), "exec"), module.__dict__)  # noqa: S102 - the changed source


@dataclass(frozen=True)
class SoundRun:
    """What the tests do on the sound code, compiled or not: the seconds of each, and the functions it calls."""

    seconds: dict[str, float]
    calls: dict[str, list[str]]
    plain: bool = False
    budget: float = float("inf")

    def reaches(self, mutant: Mutant) -> list[str]:
        """The tests that call the changed function; outside of functions, uncompiled, any function of its file."""
        function = _function(mutant, self.plain)
        if self.plain and not function:
            return [test for test in self.seconds if any(_file_of(one) == mutant.file for one in self.calls[test])]
        return [test for test in self.seconds if function in self.calls.get(test, [])]

    def order(self, mutant: Mutant) -> dict[str, int]:
        """The tests to run on a mutant, with their places: the quick first, and first those that import the module."""
        tests = self.reaches(mutant) or ([] if self.plain else list(self.seconds))
        module = _module(mutant.file)
        tests.sort(key=lambda test: (module not in imported(ROOT / _file(test)), self.seconds[test]))
        spent, order = 0.0, {}
        for test in tests:
            if spent + self.seconds[test] <= self.budget:
                spent += self.seconds[test]
                order[test] = len(order)
        return order


def _file_of(function: str) -> str:
    return function.split(":", maxsplit=1)[0]


def _file(test: str) -> str:
    return test.split("::", maxsplit=1)[0]


def functions(tree: ast.AST, plain: bool, path: str = "") -> Iterator[tuple[ast.FunctionDef, str]]:
    """The functions of a module with their qualified names, from the outer to the inner; compiled ones have none.

    They have one if `plain`, when they run uncompiled.
    """
    for child in ast.iter_child_nodes(tree):
        below = path
        if isinstance(child, ast.ClassDef):
            below = f"{path}{child.name}."
        elif isinstance(child, ast.FunctionDef):
            yield child, "" if _is_compiled(child) and not plain else f"{path}{child.name}"
            below = f"{path}{child.name}.<locals>."
        yield from functions(child, plain, below)


def _is_compiled(function: ast.FunctionDef) -> bool:
    return any("njit" in ast.unparse(one) for one in function.decorator_list)


def _function(mutant: Mutant, plain: bool) -> str:
    """The function around a mutant's line, as `_Calls` names it; "" if it is compiled, and outside of functions."""
    found = ""
    for node, name in functions(ast.parse((SOURCE / mutant.file).read_text(encoding="utf-8")), plain):
        if node.body[0].lineno <= mutant.line <= (node.end_lineno or 0):
            found = f"{mutant.file}:{name}" if name else ""
    return found


def _tree(file: Path, plain: bool) -> ast.Module:
    """A sound module, with compiled functions that can run uncompiled if `plain`."""
    source = ROOT / "tests" / "plain_simd.py" if plain and file == SOURCE / VECTORS else file
    tree = ast.parse(source.read_text(encoding="utf-8"))
    return widened(tree) if plain else tree


class _Loaded:
    """The functions that are loaded, by the file of their code."""

    def __init__(self) -> None:
        self.functions: dict[str, list[Any]] = {}
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(str(SOURCE)):
                self.functions.setdefault(one.__code__.co_filename, []).append(one)

    def change(self, file: Path, tree: ast.Module) -> int:
        """Give the functions of a file the code of a changed tree; how many have other code now."""
        waiting, codes, count = [compile(tree, str(file), "exec")], {}, 0
        while waiting:
            code = waiting.pop()
            codes[code.co_qualname, code.co_firstlineno] = code
            waiting += [one for one in code.co_consts if isinstance(one, CodeType)]
        for function in self.functions.get(str(file), ()):
            code = function.__code__
            new = codes.get((code.co_qualname, code.co_firstlineno), code)
            if new != code:
                function.__code__ = new
                count += 1
        return count


class _Calls:
    """Functions that note when they are called; a plugin of pytest that tells the tests apart.

    Functions called before a test, as by a fixture, count for all tests of its file.
    """

    def __init__(self) -> None:
        self.found: set[str] = set()
        self.before: dict[str, set[str]] = {}
        self.within: dict[str, set[str]] = {}

    def note(self, name: str) -> None:
        """Remember a call."""
        self.found.add(name)

    def watch(self, files: Sequence[Path], plain: bool) -> None:
        """Let the functions of some loaded files note their calls."""
        loaded = _Loaded()
        for file in files:
            tree, name_of_file = _tree(file, plain), str(file.relative_to(SOURCE))
            for node, name in functions(tree, plain):
                if name:
                    noted = ast.parse(f"_note_call_({name_of_file + ':' + name!r})").body
                    node.body[1 if ast.get_docstring(node) is not None else 0 : 0] = noted
            vars(sys.modules[_module(name_of_file)])["_note_call_"] = self.note
            loaded.change(file, ast.fix_missing_locations(tree))

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


def widened(tree: ast.Module) -> ast.Module:
    """Compiled functions that read numbers from arrays as Numba does: small integers become wide."""
    reads = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and _is_compiled(function)
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
    }

    class Widen(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            read = id(node) in reads
            node = self.generic_visit(node)
            return ast.Call(ast.Name("_wide_", ast.Load()), [node], []) if read else node

    return ast.fix_missing_locations(Widen().visit(tree))


def _wide(value: Any) -> Any:
    return int(value) if isinstance(value, (np.int8, np.int16, np.int32)) else value


class _Session:
    """A plugin of pytest that runs tests in forks, times them, and remembers those that failed."""

    def __init__(self, work: Callable[[_Session], None]) -> None:
        self.work = work
        self.items: dict[str, Any] = {}
        self.limits: dict[str, float] = {}
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []

    def pytest_runtestloop(self, session: Any) -> bool:
        """Instead of the tests: what is to be done with them."""
        self.items = {item.nodeid: item for item in session.items}
        self.work(self)
        return True

    def test(self, tests: Iterable[str], go_on: bool = False) -> None:
        """Run tests in their order, until one fails."""
        items = [self.items[test] for test in tests if test in self.items]
        for at, item in enumerate(items):
            after = items[at + 1] if at + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self.failed and not go_on:
                return

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        """A test that takes too long ends the process, or calls what was set to be called instead."""
        signal.setitimer(signal.ITIMER_VIRTUAL, self.limits.get(item.nodeid, self.limits.get("", 0)))
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(f"{report.nodeid} (does not load)")


def _too_slow(*_: object) -> None:
    raise RuntimeError("too slow uncompiled")


def _uncompile() -> None:
    """Load the modules with compiled functions again, uncompiled."""
    os.environ["NUMBA_DISABLE_JIT"], numba.core.config.DISABLE_JIT = "1", 1
    files = [file for file in SOURCE.rglob("*.py") if "njit" in file.read_text(encoding="utf-8")]
    _forget(files)
    for file in files:
        sys.meta_path.insert(0, _OneModule(_module(str(file.relative_to(SOURCE))), file, _tree(file, plain=True)))


def _collected(files: Iterable[Path], plain: bool, scratch: str, work: Callable[[_Session], None]) -> int:
    """Load tests, and do something with them."""
    hypothesis.settings.register_profile("mutants", phases=[phase for phase in Phase if phase.name in _PHASES])
    hypothesis.settings.load_profile("mutants")
    sys.path[:0] = [str(SOURCE), str(ROOT / "tests")]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(SOURCE), str(ROOT / "tests")])
    os.environ["TMPDIR"] = tempfile.tempdir = scratch
    os.chdir(ROOT)
    options = ["-q", "-s", "--assert=plain", f"--basetemp={scratch}/tests"]
    options += ["-p", "no:cacheprovider", "-p", "no:randomly"]
    options += ["-W", "ignore::RuntimeWarning"] if plain else []  # integers overflow silently if compiled
    session = _Session(work)
    return int(pytest.main([*options, *(str(file) for file in files if file.exists())], plugins=[session]))


def _sound(files: Sequence[Path], plain: bool, session: _Session) -> dict[str, Any]:
    """In a fork with the tests: what they do on the sound code; uncompiled, slow tests fail."""
    calls = _Calls()
    calls.watch([file for file in files if not plain or file != SOURCE / VECTORS], plain)
    if plain:
        session.limits = {"": PLAIN_TEST}
        signal.signal(signal.SIGVTALRM, _too_slow)
    next(iter(session.items.values())).config.pluginmanager.register(calls)
    session.test(session.items, go_on=plain)
    passed = {test: seconds for test, seconds in session.seconds.items() if test not in session.failed}
    return {"failed": session.failed, "seconds": passed, "calls": calls.calls()}


def _judged(session: _Session, mutant: Mutant, sound: SoundRun) -> dict[str, Any]:
    """In a fork with the tests, whose package has a fault: whether they notice it."""
    order = sound.order(mutant)
    session.limits = {test: ONE_TEST + 5 * sound.seconds[test] for test in order}
    session.test(order)
    return {"dead": bool(session.failed), "by": session.failed[0] if session.failed else "", "tests": len(order)}


def _changed_in_place(session: _Session, mutant: Mutant, sound: SoundRun) -> dict[str, Any]:
    """In a fork with the tests: change the function, and run them."""
    file = SOURCE / mutant.file
    tree = changed(ast.parse(file.read_text(encoding="utf-8")), mutant.place)
    if not _Loaded().change(file, widened(tree) if sound.plain else tree):
        raise LookupError("no loaded function has the fault")
    return _judged(session, mutant, sound)


def _loaded_again(mutant: Mutant, sound: SoundRun, scratch: str) -> dict[str, Any]:
    """In a fork without the tests: load the module with its fault, load the tests, and run them."""
    file = SOURCE / mutant.file
    source = file.read_text(encoding="utf-8")
    tree = changed(ast.parse(source), mutant.place)
    if sound.plain:
        _uncompile()
        tree = widened(tree)
    elif "njit" in source:  # functions that call a compiled one contain its code
        os.environ["NUMBA_CACHE_DIR"] = numba.core.config.CACHE_DIR = scratch
    _forget([file])
    sys.meta_path.insert(0, _OneModule(_module(mutant.file), file, tree))
    told = {"dead": True, "by": "does not load", "tests": 0}
    files = dict.fromkeys(ROOT / _file(test) for test in sound.order(mutant))
    _collected(files, sound.plain, scratch, lambda session: told.update(_judged(session, mutant, sound)))
    return told


def _line(mutant: Mutant, sound: SoundRun, work: Callable[[str], dict[str, Any]]) -> str:
    """A line of the output: whether the tests notice a mutant, by which test, and after how many seconds."""
    begin = time.monotonic()
    told = _fork(work, PATIENCE)
    about = {name: getattr(mutant, name) for name in ("package", "file", "place", "line", "what", "source")}
    return json.dumps(about | told | {"plain": sound.plain, "seconds": round(time.monotonic() - begin, 1)}) + "\n"


def _fork(work: Callable[[str], dict[str, Any]], patience: float) -> dict[str, Any]:
    """Do something in a fork, and return what it says; a fork that hangs or is killed has noticed a fault."""
    mine, theirs = os.pipe()
    scratch = tempfile.mkdtemp(prefix="mutant-")
    child = os.fork()
    if not child:
        os.setsid()
        os.close(mine)
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        try:
            told = work(scratch)
        except BaseException as error:  # told by the parent
            told = {"error": repr(error), "kind": type(error).__name__}
        with os.fdopen(theirs, "wb") as pipe:
            pipe.write(json.dumps(told).encode())
        os._exit(0)
    os.close(theirs)
    late = threading.Timer(patience, os.killpg, (child, signal.SIGKILL))
    late.start()
    with os.fdopen(mine, "rb") as pipe:
        said = pipe.read()
    status = os.waitpid(child, 0)[1]
    hangs = not late.is_alive() or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGVTALRM)
    late.cancel()
    shutil.rmtree(scratch, ignore_errors=True)
    if not said:
        return {"dead": True, "by": "hangs" if hangs else "ends the process", "tests": None}
    told: dict[str, Any] = json.loads(said)
    if "error" in told:
        raise (LookupError if told["kind"] == "LookupError" else RuntimeError)(told["error"])
    return told


def _fingerprint(tests: Iterable[Path]) -> str:
    """Of all modules of the package and some tests; what they do on the sound code is kept until one changes."""
    found = hashlib.sha256()
    for file in [*sorted(SOURCE.rglob("*.py")), *tests]:
        found.update(file.read_bytes())
    return found.hexdigest()[:12]


def run(package: str, wanted: Sequence[Mutant], tests: Sequence[Path], plain: bool, budget: float, out: Path) -> None:
    """Run the tests of a package on some of its mutants, uncompiled or not."""

    def write(line: str) -> None:
        with out.open("a", encoding="utf-8") as file:
            file.write(line)

    def serve(session: _Session) -> None:
        told["error"] = "a run on a mutant failed"
        kept = out.with_suffix(f".{package}.{_fingerprint(tests)}{'.plain' * plain}.json")
        if not kept.exists():
            done = _fork(lambda _: _sound(files_of(package), plain, session), 10 * PATIENCE)
            kept.write_text(json.dumps(done), encoding="utf-8")
        told.update(json.loads(kept.read_text(encoding="utf-8")))
        if told["failed"] and not plain:
            told["error"] = f"{package}: a test fails without a mutant: {told['failed'][0]}"
            return
        sound = SoundRun(told["seconds"], told["calls"], plain, budget)
        for mutant in wanted:
            if mutant.in_place(plain):
                try:
                    write(_line(mutant, sound, lambda _, mutant=mutant: _changed_in_place(session, mutant, sound)))
                except LookupError:
                    told["left"].append(mutant.key)
        del told["error"]

    def with_tests(scratch: str) -> dict[str, Any]:
        if plain:
            _uncompile()
        _collected(tests, plain, scratch, serve)
        return told

    told: dict[str, Any] = {"left": [], "error": "the tests did not load", "kind": ""}
    told = _fork(with_tests, 1e6)
    sound = SoundRun(told["seconds"], told["calls"], plain, budget)
    for mutant in wanted:
        if not mutant.in_place(plain) or mutant.key in told["left"]:
            write(_line(mutant, sound, lambda scratch, mutant=mutant: _loaded_again(mutant, sound, scratch)))


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
    root = importlib.import_module("cvpl")  # a new one does not know the packages that stay
    for name in loaded - found:
        if name.count(".") == 1:
            setattr(root, name.partition(".")[2], sys.modules[name])


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
    parser.add_argument("--budget", type=float, default=float("inf"), help="run the first tests of so many seconds")
    parser.add_argument("--tests", nargs="+", help="names of the files of tests, if not all of the package")
    parser.add_argument("--at", nargs="+", default=("",), help="only at these ends of names, such as cells.py:89")
    parser.add_argument("--compiled", action="store_true", help="compile the changed loops")
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
        wanted = [one for one in wanted if f"{one.file}:{one.line}".endswith(tuple(given.at))]
        tests = [ROOT / "tests" / f"test_{name}.py" for name in given.tests or PACKAGES[package][1].split()]
        for plain in (False, True):
            some = [one for one in wanted if (one.has_loops and not given.compiled) == plain]
            if some:
                run(package, some, tests, plain, given.budget, given.out)


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
