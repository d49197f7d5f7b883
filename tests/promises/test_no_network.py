"""The package runs no code from a file, and opens no connection unless a person asks for a data set."""

from __future__ import annotations

import ast
import socket
from pathlib import Path

import pytest

import cvpl

PACKAGE = Path(cvpl.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
LOADER = PACKAGE / "datasets"
FROM_A_FILE = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
NETWORK = {
    "socket",
    "ssl",
    "http",
    "urllib",
    "requests",
    "httpx",
    "aiohttp",
    "ftplib",
    "smtplib",
    "xmlrpc",
    "telnetlib",
}
CALLS = {"eval", "exec", "compile", "__import__"}


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def called(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            yield name, node


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_no_module_runs_code_from_a_file_or_opens_a_connection(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = set(imported(tree))
    assert not names & FROM_A_FILE
    if LOADER not in file.parents:
        assert not names & NETWORK
    for name, node in called(tree):
        if isinstance(node.func, ast.Name):
            assert name not in CALLS
        arguments = {word.arg: getattr(word.value, "value", None) for word in node.keywords}
        assert not arguments.get("shell")
        assert not arguments.get("allow_pickle")


def test_yaml_makes_no_object_of_a_tag(tmp_path):
    path, made = tmp_path / "audit.yaml", tmp_path / "made"
    path.write_text(f"columns: !!python/object/apply:os.mkdir ['{made}']\n", encoding="utf-8")
    with pytest.raises(cvpl.InputError, match="not YAML"):
        cvpl.audit(tmp_path / "a.csv", tmp_path / "b.csv", path)
    assert not made.exists()


def test_the_tests_themselves_reach_nobody():
    with pytest.raises(ConnectionRefusedError, match="no test may"), socket.socket() as opened:
        opened.connect(("192.0.2.1", 80))
