"""The sections on techniques by column, on the tail and on recipients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from cvpl import result as out
from cvpl.assessment.diagnostics.recipients import RecipientRisk
from cvpl.assessment.verdict import bounded, risk_at
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.intervals.shares import CONFIDENCE
from cvpl.evaluation.tail import TailRow
from cvpl.evaluation.techniques import ColumnTechniques


def techniques(found: Sequence[ColumnTechniques] | None, resolved: ResolvedConfig) -> list[out.ColumnTechnique]:
    """Every declared column with its role; a column that was not compared has no technique. Empty in a quick look."""
    if found is None:
        return []
    seen = {item.column: item for item in found}
    rows = []
    for column, entry in resolved.config.columns.items():
        item = seen.get(column)
        if item is None:
            rows.append(out.ColumnTechnique(column=column, role=entry.role, techniques=[], told=False))
            continue
        shares = {} if item.shares is None else asdict(item.shares)
        rows.append(
            out.ColumnTechnique(
                column=column,
                role=entry.role,
                techniques=list(item.techniques),
                told=item.told,
                compared=item.compared,
                **shares,
            )
        )
    return rows


def tail(found: Sequence[TailRow]) -> list[out.TailShare]:
    """The rarest shares of people, and everybody."""
    return [out.TailShare(**asdict(row)) for row in found]


def recipients(found: Mapping[str, RecipientRisk], findings: Iterable[out.Finding]) -> list[out.Recipient]:
    """Each recipient with its columns and, if measured, its risk, whose upper end is 1 if the attackers are blind."""
    kept = list(findings)
    return [
        out.Recipient(
            name=name,
            columns=list(item.columns),
            # One attacker, which was not picked by this figure: its interval is at 95%.
            risk=None if item.risk is None else bounded(risk_at(item.risk, 1, CONFIDENCE), kept),
            reason=item.reason or None,
        )
        for name, item in found.items()
    ]
