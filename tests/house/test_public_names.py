"""The public surface, pinned."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import pytest

import cvpl


def test_the_public_names_are_these():
    assert cvpl.__all__ == [
        "Attacker",
        "AuditConfig",
        "AuditResult",
        "BenchmarkResult",
        "ComparisonResult",
        "CvplError",
        "InputError",
        "LimitError",
        "Proposal",
        "Release",
        "SimulatedPeople",
        "Split",
        "SurfaceResult",
        "TrialResult",
        "UsageError",
        "audit",
        "benchmark",
        "compare",
        "propose",
        "protect",
        "simulate",
        "split",
        "surface",
        "trial",
        "write_report",
    ]


@pytest.mark.parametrize("name", cvpl.__all__)
def test_every_public_name_is_there_and_documented(name):
    assert getattr(cvpl, name).__doc__.strip()


def test_dir_lists_every_public_name_and_nothing_else():
    assert dir(cvpl) == sorted([*cvpl.__all__, "__version__", "charts", "datasets"])


def test_the_version_is_that_of_the_installed_package():
    assert cvpl.__version__ == version("cvpl")


def test_without_metadata_the_version_is_unknown(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    assert cvpl.__version__ == "unknown"


@pytest.mark.parametrize("kind", ["AuditResult", "ComparisonResult", "SurfaceResult", "BenchmarkResult", "TrialResult"])
def test_every_result_has_these_methods(kind):
    methods = ["from_json", "to_frame", "to_html", "to_json", "to_markdown", "write"]
    assert [name for name in methods if not getattr(getattr(cvpl, kind), name).__doc__] == []


@pytest.mark.parametrize("name", ["audit", "benchmark", "compare", "surface", "trial"])
def test_long_calls_take_progress(name):
    assert inspect.signature(getattr(cvpl, name)).parameters["progress"].default is None


@pytest.mark.parametrize("name", ["charts", "datasets"])
def test_a_public_module_is_there_without_an_import_of_its_own(name):
    code = f"import cvpl; print(len(cvpl.{name}.__all__) > 0, cvpl.{name}.__doc__.strip() > '')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "True True"


def test_the_data_sets_are_these():
    from cvpl import datasets  # noqa: PLC0415 - the names of a module

    assert datasets.__all__ == ["Dataset", "adult", "adult_study", "german_credit", "nist_ma", "stroke"]
    assert all(getattr(datasets, name).__doc__ for name in datasets.__all__)


def test_an_unknown_name_is_refused_like_any_other():
    with pytest.raises(AttributeError, match="no attribute 'audits'"):
        cvpl.audits  # noqa: B018 - the access is the test


def test_importing_the_package_loads_nothing_heavy():
    heavy = "{'numpy', 'duckdb', 'pydantic', 'rich', 'yaml', 'urllib.request', 'http.client', 'socket'}"
    code = f"import sys, cvpl, cvpl.datasets; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"


def test_a_public_name_is_never_hidden_by_a_module_of_the_same_name():
    """Importing every module leaves `cvpl.audit` the function it is."""
    code = (
        "import importlib, pkgutil, cvpl\n"
        "for module in pkgutil.walk_packages(cvpl.__path__, 'cvpl.'):\n"
        "    if not module.name.endswith('__main__'):\n"
        "        importlib.import_module(module.name)\n"
        "print([name for name in cvpl.__all__ if not callable(getattr(cvpl, name))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"


def test_the_charts_are_these():
    from cvpl import charts  # noqa: PLC0415 - loads Altair

    assert charts.__all__ == [
        "Chart",
        "ChartText",
        "Drawing",
        "at_risk",
        "attackers",
        "block_sizes",
        "compared_contributions",
        "compared_rulers",
        "contributions",
        "drawing",
        "evidence",
        "exposure",
        "frontier",
        "funnel",
        "heat_map",
        "numbers",
        "png",
        "rarity",
        "release_risks",
        "release_utilities",
        "risk_and_utility",
        "risk_curve",
        "roc",
        "round_curves",
        "round_powers",
        "scale",
        "similarities",
        "svg",
    ]
    assert all(getattr(charts, name).__doc__ for name in charts.__all__ if name != "Chart")
