"""The layout of the package: few modules at the root, few layers, no circle of imports; and what tests may use."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
PACKAGE = ROOT / "src" / "cvpl"
PACKAGES = (PACKAGE, ROOT / "src" / "cvpl_paper")
MOST_ROOT_MODULES = 8
MOST_LAYERS = 13
FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc"}


def modules() -> dict[str, Path]:
    """Every module of both packages by its dotted name."""
    found = {}
    for path in (path for package in PACKAGES for path in package.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imports() -> dict[str, set[str]]:
    """Which modules each one imports, wherever the import stands, also by `import_module`."""
    known = modules()
    found: dict[str, set[str]] = {name: set() for name in known}
    for name, path in known.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                whole = {f"{node.module}.{alias.name}" for alias in node.names} & known.keys()
                found[name] |= whole or {node.module} & known.keys()
            elif isinstance(node, ast.Import):
                found[name] |= {alias.name for alias in node.names} & known.keys()
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module":
                found[name] |= {one.value for one in node.args if isinstance(one, ast.Constant)} & known.keys()
    return found


def circles(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """Modules that reach each other, by taking away what nothing in a circle can be."""
    left = {name: {other for other in others if other != name} for name, others in arrows.items()}
    while True:
        used = {other for others in left.values() for other in others}
        ends = {name for name, others in left.items() if not others & left.keys() or name not in used}
        if not ends:
            return [sorted(left)] if left else []
        left = {name: others - ends for name, others in left.items() if name not in ends}


def layers() -> list[str]:
    """The layers of the import contract, from the top."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return contracts[0]["layers"]


def test_a_circle_is_seen():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == [["b", "c"]]
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []


def test_the_house_is_small_at_its_root_and_has_no_circle():
    """At most eight modules at the root, at most thirteen layers, no circle; the figures are printed."""
    root = sorted(path.name for path in PACKAGE.glob("*.py"))
    rings = circles(imports())
    print(f"root modules: {len(root)} ({', '.join(root)}); layers: {len(layers())}; circles: {len(rings)}")  # noqa: T201
    assert len(root) <= MOST_ROOT_MODULES
    assert len(layers()) <= MOST_LAYERS
    assert rings == []


def test_every_room_stands_in_the_contract_and_on_the_page():
    """A new package is placed in a layer, and explained in docs/architecture.md."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
    placed = {room.strip() for layer in layers() for room in layer.split(":")}
    assert [room for room in rooms if room not in placed] == []
    assert [room for room in rooms if f"`{room}/`" not in page] == []


def test_no_module_is_named_after_nothing():
    assert [name for name in modules() if name.split(".")[-1] in FORBIDDEN_NAMES] == []


def private_names() -> set[str]:
    """Names of the package that begin with an underscore, but for what notebooks and named tuples ask for."""
    found = set()
    for path in modules().values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
    return {name for name in found if name.startswith("_") and not name.endswith("_")} - {"_fields"}


def uses_of(private: set[str], source: str) -> list[str]:
    """The private names of the package that a test imports, asks an object for, or replaces."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("cvpl", "cvpl_paper"):
            found += [alias.name for alias in node.names if alias.name.startswith("_")]
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") != "self":
            found += [node.attr] * (node.attr in private)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("setattr"):
            texts = [one.value for one in node.args[:2] if isinstance(one, ast.Constant)]
            found += [text for text in texts if str(text).split(".")[-1] in private]
    return found


@pytest.mark.parametrize(
    "line",
    [
        "from cvpl.cli.main import _hidden",
        "main._hidden()",
        "monkeypatch.setattr(main, '_hidden', 1)",
        "monkeypatch.setattr('cvpl.cli.main._hidden', 1)",
    ],
)
def test_a_private_name_is_seen(line):
    assert uses_of({"_hidden"}, line)
    assert not uses_of({"_hidden"}, line.replace("_hidden", "shown"))


def test_no_test_uses_a_private_name_of_the_package():
    """A test of a public name outlives a change of what is behind it."""
    private = private_names()
    used = {
        str(path.relative_to(TESTS)): names
        for path in sorted(TESTS.rglob("*.py"))
        if (names := uses_of(private, path.read_text(encoding="utf-8")))
    }
    assert used == {}


def test_every_test_that_is_named_is_there():
    """In the docs, the Makefile, the checks and the sources."""
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "Makefile", ROOT / "pyproject.toml"]
    texts += [*ROOT.glob(".ci/*"), *ROOT.glob(".github/**/*.yml"), *modules().values(), *ROOT.glob("benchmarks/*.py")]
    texts.remove(ROOT / "CHANGELOG.md")  # which tells of the past
    named = {
        (str(path.relative_to(ROOT)), name)
        for path in texts
        for name in re.findall(r"\btests(?:/\w+)+\.py", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 30
    assert sorted(pair for pair in named if not (ROOT / pair[1]).is_file()) == []


def test_no_two_classes_share_a_name():
    """One concept, one type: a document and a measurement of the same thing are one class."""
    names = [
        node.name
        for path in (path for package in PACKAGES for path in package.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert sorted({name for name in names if names.count(name) > 1}) == []
