"""All warnings of an audit: disqualified attackers, contradictions, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cvpl.assessment.disclosure import published_figures
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.config.resolved import FEWEST_WITH_REFERENCE
from cvpl.evaluation.contradictions import AuditWarning, contradictions, figures_of
from cvpl.evaluation.control_likeness import ControlTests
from cvpl.evaluation.measurement import Measurement
from cvpl.operators.vectorization import MOST_LABELS
from cvpl.result import Sensitivity, Warning_
from cvpl.result.publishing import Disclosure
from cvpl.tables.pair import Inputs


def attackers_left_out(ensemble: EnsembleOutcome) -> AuditWarning:
    """The warning on members of the family that were not run, and why."""
    names = ", ".join(f"'{name}'" for name in ensemble.left_out)
    why = f"without a control of at least {FEWEST_WITH_REFERENCE} people there is no reference sample"
    return AuditWarning("attackers_left_out", f"{why}: {names} were not run")


def too_many_labels(ensemble: EnsembleOutcome) -> list[AuditWarning]:
    """A warning on each column that some attackers encode by frequency, because it has too many labels."""
    found = []
    for column, names in ensemble.with_too_many_labels.items():
        who = ("attacker " if len(names) == 1 else "attackers ") + ", ".join(f"'{name}'" for name in names)
        compares = "compares" if len(names) == 1 else "compare"
        message = (
            f"column '{column}' has too many labels for a feature each (at most {MOST_LABELS:,} in all columns): "
            f"{who} {compares} how common its labels are instead, and cannot tell apart labels that are equally common"
        )
        found.append(AuditWarning("too_many_labels", message))
    return found


def notices(
    measured: Measurement,
    ensemble: EnsembleOutcome,
    inputs: Inputs,
    likeness: ControlTests | None,
    disclosure: Disclosure,
    swings: Sensitivity | None = None,
) -> list[AuditWarning]:
    """All warnings, the most general first. `swings` are the variations of one attacker."""
    found = [AuditWarning("not_assessable", reason) for reason in ensemble.reasons]
    if not ensemble.reasons:
        found += [AuditWarning("attacker_disqualified", text) for text in ensemble.disqualified]
    seen = figures_of(measured)
    if swings is not None:
        seen = replace(
            seen,
            swinging=swings.attacker,
            spread_by_blocking=swings.spread_by_blocking,
            spread_by_encoding=swings.spread_by_encoding,
        )
    found += contradictions(published_figures(seen, disclosure))
    if likeness is not None:
        found += [AuditWarning("control_unlike", alarm) for alarm in likeness.figures.alarms]
    if ensemble.left_out:
        found.append(attackers_left_out(ensemble))
    found += too_many_labels(ensemble)
    if not measured.attack.exact:
        asked, share = (
            ", ".join(measured.attack.levers.used),
            f"{disclosure.statistic(measured.attack.share_examined):.2%}",
        )
        found.append(
            AuditWarning(
                "pairs_left_out",
                f"as requested ({asked}), only {share} of the pairs that share a block were searched: the linkage rate "
                "is a lower bound, and may be far too low",
            )
        )
    if measured.threshold is None and measured.attack.attacker.on_scale:
        found.append(
            AuditWarning("threshold_not_attainable", "no threshold keeps the false link rate as low as requested")
        )
    if ensemble.basis == "control":
        why = "does not count: its projection cannot map people outside the two tables"
        found += [AuditWarning("control_unused", f"attacker '{name}' {why}") for name in ensemble.not_read]
    if inputs.pair.control is not None and measured.control is None:
        found.append(AuditWarning("control_unused", "this projection cannot map people outside the two tables"))
    if inputs.evaluation.matches is not None and not len(inputs.evaluation.matches.original):
        found.append(AuditWarning("no_matches", "no declared identity is in both tables: no match is known"))
    told = [notice.describe(disclosure) for notice in inputs.pair.measured]
    return found + [AuditWarning("columns", text) for text in (*inputs.pair.notices, *told) if text is not None]


def warning_sections(found: Iterable[AuditWarning]) -> list[Warning_]:
    """Warnings with a link to their documentation, as a result has them."""
    return [Warning_(rule=warning.rule, message=warning.message, docs=warning.docs) for warning in found]
