"""How the figures of an audit are rounded before they leave, from its tables and its setting of k."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.contradictions import AuditWarning, CheckedFigures
from cvpl.result.publishing import Disclosure
from cvpl.tables.pair import Inputs


def disclosure_of(resolved: ResolvedConfig, inputs: Inputs) -> Disclosure:
    """The rounding for figures of whole tables. With fewer than 2 k people in a table figures stay exact."""
    sizes = _people(inputs)
    k = resolved.config.report.suppress_below
    return Disclosure(1 if _too_few(inputs, k) else k, sizes)


def disclosure_of_attacks(resolved: ResolvedConfig, inputs: Inputs, ensemble: EnsembleOutcome) -> Disclosure:
    """The rounding for figures of attacks, which may have searched for a part of the people only."""
    found = disclosure_of(resolved, inputs)
    measured = [outcome.measured for outcome in ensemble.outcomes.values()]
    sizes = {
        "originals": min(found.sizes["originals"], *(one.attack.original.rows for one in measured)),
        "pairs": ensemble.chosen.measured.attack.blocks.pairs,
    }
    controls = [one.controls for one in measured if one.has_control]
    if controls:
        sizes["controls"] = min(found.sizes["controls"], *controls)
    matched = [int(one.truth.has_match.sum()) for one in measured if one.truth is not None]
    if matched:
        sizes["matched"] = min(matched)
    return found.with_sizes(**sizes)


def few_people(resolved: ResolvedConfig, inputs: Inputs) -> list[AuditWarning]:
    """The warning on a table with so few people that its figures cannot be rounded."""
    k = resolved.config.report.suppress_below
    if not _too_few(inputs, k):
        return []
    message = (
        f"a table describes fewer than {2 * k} people, so the figures are exact and tell about single people: do not "
        "pass the result on"
    )
    return [AuditWarning("few_people", message)]


def published_figures(figures: CheckedFigures, disclosure: Disclosure) -> CheckedFigures:
    """The figures that the rules check, as they are published."""

    def share(value: float | None, of: str) -> float | None:
        return None if value is None else disclosure.share(value, of)

    return replace(
        figures,
        linkage_rate=share(figures.linkage_rate, "originals"),
        linkage_rate_of_matched=share(figures.linkage_rate_of_matched, "matched"),
        top1_hit_rate=share(figures.top1_hit_rate, "matched"),
        blocking_recall=share(figures.blocking_recall, "matched"),
        attributable_rate=share(figures.attributable_rate, "both" if figures.at_threshold else "risk"),
        power=share(figures.power, "risk"),
        step=share(figures.step, "originals"),
        spread_by_blocking=share(figures.spread_by_blocking, "risk"),
        spread_by_encoding=share(figures.spread_by_encoding, "risk"),
    )


def _too_few(inputs: Inputs, k: int) -> bool:
    return k > 1 and min(_people(inputs).values()) < 2 * k


def _people(inputs: Inputs) -> dict[str, int]:
    """The number of people in each table; where several rows are one cluster, of clusters."""
    pair, codes = inputs.pair, inputs.evaluation.groups.codes or {}
    tables = {"original": pair.original, "protected": pair.protected, "control": pair.control}
    names = {"original": "originals", "protected": "protected", "control": "controls"}
    return {
        names[role]: len(np.unique(codes[role])) if role in codes else table.rows
        for role, table in tables.items()
        if table is not None
    }
