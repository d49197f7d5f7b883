"""Loading modules again, one of them with a fault."""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.util
import os
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numba

from .draw import SOURCE
from .functions import module_name
from .uncompiled import module_tree, wide


def _spec(module: str, file: Path, loader: importlib.abc.Loader) -> Any:
    """How a module or a package is loaded from its file."""
    inside = [str(file.parent)] if file.name == "__init__.py" else None
    return importlib.util.spec_from_file_location(module, file, loader=loader, submodule_search_locations=inside)


class OneModule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
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
        module.__dict__["_wide_"] = wide
        exec(compile(self.tree, str(self.file), "exec"), module.__dict__)  # noqa: S102 - the changed source


def uncompile() -> None:
    """Load the modules with compiled functions again, uncompiled."""
    os.environ["NUMBA_DISABLE_JIT"], numba.core.config.DISABLE_JIT = "1", 1
    files = [file for file in SOURCE.rglob("*.py") if "njit" in file.read_text(encoding="utf-8")]
    forget(files)
    for file in files:
        name = module_name(str(file.relative_to(SOURCE)))
        sys.meta_path.insert(0, OneModule(name, file, module_tree(file, plain=True)))


def preload() -> None:
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
            module = module_name(str(file.relative_to(SOURCE)))
            importlib.import_module(module)
            _imports(module)


def forget(files: Iterable[Path]) -> None:
    """Forget modules, all modules that import them, directly or not, and all modules in packages that do."""
    users: dict[str, set[str]] = {}
    loaded = {name for name in sys.modules if name.split(".")[0] == "cvpl"}
    for name in loaded:
        for used in _imports(name) & loaded:
            users.setdefault(used, set()).add(name)
    waiting, found = [module_name(str(file.relative_to(SOURCE))) for file in files], set()
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
