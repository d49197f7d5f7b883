"""cvpl measures how well people can still be linked across a table and its protected release.

    import cvpl
    proposal = cvpl.propose("original.csv", "released.csv")
    result = cvpl.audit("original.csv", "released.csv", proposal.config, control="holdout.csv")
    result.verdict.sentence, result.risk, result.power_at(0.05), result.warnings
    result.to_frame()
    result.write("out")
    cvpl.write_report(result, "out/report.html")

Every public name is imported on first use, so `import cvpl` is fast.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cvpl.attack.attacker import Attacker as Attacker
    from cvpl.config.written import AuditConfig
    from cvpl.errors import CvplError as CvplError
    from cvpl.errors import InputError as InputError
    from cvpl.errors import LimitError as LimitError
    from cvpl.errors import UsageError as UsageError
    from cvpl.reports.files import write_report
    from cvpl.result import AuditResult as AuditResult
    from cvpl.result import BenchmarkResult as BenchmarkResult
    from cvpl.result import ComparisonResult as ComparisonResult
    from cvpl.result import SurfaceResult as SurfaceResult
    from cvpl.result import TrialResult as TrialResult
    from cvpl.workflows.audit import audit, propose
    from cvpl.workflows.benchmark.benchmark import benchmark as benchmark
    from cvpl.workflows.compare.compare import compare as compare
    from cvpl.workflows.made_tables import Release, SimulatedPeople, Split, protect, simulate, split
    from cvpl.workflows.proposal import Proposal as Proposal
    from cvpl.workflows.surface.surface import surface as surface
    from cvpl.workflows.trial.trial import trial as trial

    __version__: str

_HOMES = {
    "Attacker": "cvpl.attack.attacker",
    "AuditConfig": "cvpl.config.written",
    "AuditResult": "cvpl.result",
    "BenchmarkResult": "cvpl.result",
    "ComparisonResult": "cvpl.result",
    "CvplError": "cvpl.errors",
    "InputError": "cvpl.errors",
    "LimitError": "cvpl.errors",
    "Proposal": "cvpl.workflows.proposal",
    "Release": "cvpl.workflows.made_tables",
    "SimulatedPeople": "cvpl.workflows.made_tables",
    "Split": "cvpl.workflows.made_tables",
    "SurfaceResult": "cvpl.result",
    "TrialResult": "cvpl.result",
    "UsageError": "cvpl.errors",
    "audit": "cvpl.workflows.audit",
    "benchmark": "cvpl.workflows.benchmark.benchmark",
    "compare": "cvpl.workflows.compare.compare",
    "propose": "cvpl.workflows.audit",
    "protect": "cvpl.workflows.made_tables",
    "simulate": "cvpl.workflows.made_tables",
    "split": "cvpl.workflows.made_tables",
    "surface": "cvpl.workflows.surface.surface",
    "trial": "cvpl.workflows.trial.trial",
    "write_report": "cvpl.reports.files",
}

__all__ = [
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


_MODULES = ("charts", "datasets")
"""Public modules, also imported on first use."""


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name in _MODULES:
        return import_module(f"cvpl.{name}")
    if name == "__version__":
        return _version()
    if name not in _HOMES:
        raise AttributeError(f"module 'cvpl' has no attribute '{name}'")
    value = getattr(import_module(_HOMES[name]), name)
    if "cvpl.result.document" in sys.modules:
        import_module("cvpl.reports.views")
    globals()[name] = value
    return value


def _version() -> str:
    """The version of the installed package; "unknown" if the package is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - loads slowly

    try:
        return version("cvpl")
    except PackageNotFoundError:
        return "unknown"


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*__all__, *_MODULES, "__version__"])
