"""The sections of any result."""

from __future__ import annotations

from cvpl.reports.sections.audit import audit_sections
from cvpl.reports.sections.benchmark import benchmark_sections
from cvpl.reports.sections.comparison import comparison_sections
from cvpl.reports.sections.section import ReportSection
from cvpl.reports.sections.surface import surface_sections
from cvpl.reports.sections.trial import trial_sections
from cvpl.result import BenchmarkResult, ComparisonResult, SurfaceResult, TrialResult
from cvpl.result.file import AnyResult


def sections_of(result: AnyResult) -> list[ReportSection]:
    """The sections of the report of an audit, a comparison, a surface, a benchmark or a trial."""
    if isinstance(result, ComparisonResult):
        return comparison_sections(result)
    if isinstance(result, SurfaceResult):
        return surface_sections(result)
    if isinstance(result, BenchmarkResult):
        return benchmark_sections(result)
    if isinstance(result, TrialResult):
        return trial_sections(result)
    return audit_sections(result)
