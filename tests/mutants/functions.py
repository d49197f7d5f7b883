"""The functions of a module, those that are loaded, and which of them a test calls."""

from __future__ import annotations

import ast
import gc
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from .draw import SOURCE, VECTORS, Mutant
from .uncompiled import is_compiled, module_tree


def file_of_test(test: str) -> str:
    """The file of a test, from its name in pytest."""
    return test.split("::", maxsplit=1)[0]


def module_name(file: str) -> str:
    """The name of a module, from its file below the sources."""
    return file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def functions(tree: ast.AST, plain: bool, path: str = "") -> Iterator[tuple[ast.FunctionDef, str]]:
    """The functions of a module with their qualified names, from the outer to the inner; compiled ones have none.

    They have one if `plain`, when they run uncompiled.
    """
    for child in ast.iter_child_nodes(tree):
        below = path
        if isinstance(child, ast.ClassDef):
            below = f"{path}{child.name}."
        elif isinstance(child, ast.FunctionDef):
            yield child, "" if is_compiled(child) and not plain else f"{path}{child.name}"
            below = f"{path}{child.name}.<locals>."
        yield from functions(child, plain, below)


def function_around(mutant: Mutant, plain: bool) -> str:
    """The function around a mutant's line, as `Calls` names it; "" if it is compiled, and outside of functions."""
    found = ""
    for node, name in functions(ast.parse((SOURCE / mutant.file).read_text(encoding="utf-8")), plain):
        if node.body[0].lineno <= mutant.line <= (node.end_lineno or 0):
            found = f"{mutant.file}:{name}" if name else ""
    return found


def runs_in_python(mutant: Mutant, plain: bool) -> bool:
    """Whether the fault is in a function that Python runs."""
    return mutant.file != VECTORS and bool(function_around(mutant, plain))


class Loaded:
    """The functions that are loaded, by the file of their code."""

    def __init__(self) -> None:
        self.functions: dict[str, list[Any]] = {}
        gc.unfreeze()  # frozen objects, as the tests leave them, are not listed
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


class Calls:
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
        """Let the functions of some files note their calls; what the tests load late is loaded first."""
        modules = [importlib.import_module(module_name(str(file.relative_to(SOURCE)))) for file in files]
        loaded = Loaded()
        for file, module in zip(files, modules, strict=True):
            tree, name_of_file = module_tree(file, plain), str(file.relative_to(SOURCE))
            for node, name in functions(tree, plain):
                if name:
                    noted = ast.parse(f"_note_call_({name_of_file + ':' + name!r})").body
                    node.body[1 if ast.get_docstring(node) is not None else 0 : 0] = noted
            vars(module)["_note_call_"] = self.note
            loaded.change(file, ast.fix_missing_locations(tree))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: Any) -> Any:
        self.found = self.before.setdefault(file_of_test(item.nodeid), set())
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        self.found = self.within.setdefault(item.nodeid, set())
        return (yield)

    def calls(self) -> dict[str, list[str]]:
        """The functions that each test calls, or its fixtures."""
        return {test: sorted(found | self.before[file_of_test(test)]) for test, found in self.within.items()}
