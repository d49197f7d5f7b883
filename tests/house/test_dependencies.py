"""What the package imports is what it declares."""

from __future__ import annotations

import ast
import json
import re
import runpy
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]


def imported():
    """The outermost names of all modules that the package imports, at the top or inside functions."""
    names = set()
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {"cvpl", "cvpl_paper"}


def declared():
    """The distributions that pyproject.toml names for users, extras included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(item for extra in extras for item in extra)]
    return {re.match(r"[\w.-]+", item)[0].lower() for item in wanted}


def test_every_package_that_is_imported_is_declared():
    known = packages_distributions()
    extras = {
        "dp_accounting": "dp-accounting",
        "python_calamine": "python-calamine",
        "umap": "umap-learn",
        "weasyprint": "weasyprint",
    }
    missing = {
        name
        for name in imported()
        if not {item.lower() for item in known.get(name, [extras.get(name, name)])} & declared()
    }
    assert missing == set()


def test_every_locked_package_has_hashes():
    blocks = re.split(r"\n(?=[\w.-]+==)", (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8"))
    assert len(blocks) > 50
    assert [block.splitlines()[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_the_bill_of_materials_is_that_of_the_lock():
    made = runpy.run_path(str(ROOT / "requirements" / "sbom.py"))
    written = (ROOT / "requirements" / "cvpl.cdx.json").read_text(encoding="utf-8")
    assert written == made["text"](), "run python requirements/sbom.py"
    found = json.loads(written)
    names = {component["name"] for component in found["components"]}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {re.match(r"[\w.-]+", item)[0] for item in project["dependencies"]} < names
    assert "pytest" not in names
    known = {component["bom-ref"] for component in found["components"]}
    assert {needed for entry in found["dependencies"] for needed in entry["dependsOn"]} <= known
    assert all(component["properties"] for component in found["components"])
