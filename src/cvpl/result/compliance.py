"""What formal criteria promise, beside what attackers achieve."""

from __future__ import annotations

from typing import Literal

from cvpl.result.marks import Number
from cvpl.result.section import Section

ComplianceStatus = Literal["contradicted", "not_contradicted", "promises_nothing", "not_comparable", "not_known"]
Promise = Literal[
    "k",
    "average_class_risk",
    "no_unique_record",
    "journalist_risk",
    "population_uniques",
    "presence",
    "distinct_l",
    "t_closeness",
    "none",
]
Answer = Literal["top1_hit_rate", "singled_out_rate", "membership_precision", "risk", "inference_accuracy"]


class ComplianceRow(Section):
    """One criterion of the release, what it promises, and the figure of the attackers that answers it.

    `value` is the criterion's own value, `promised` the largest value of the attackers' `figure` that it allows; null
    if it bounds none. `estimate`, `low` and `high` are what the attackers achieve. The status is `contradicted` only if
    `low` is above `promised`; `not_contradicted` does not confirm the promise. All numbers are made of published ones.
    """

    criterion: Promise
    column: str | None = None
    value: Number | None
    promised: Number | None = None
    figure: Answer | None = None
    estimate: Number | None = None
    low: Number | None = None
    high: Number | None = None
    status: ComplianceStatus


class Compliance(Section):
    """The rows of the table, and `beyond`: columns that attackers compare and that are no quasi-identifiers.

    The promises of the criteria are made for attackers who know the quasi-identifiers only.
    """

    rows: list[ComplianceRow]
    beyond: list[str]

    @property
    def contradicted(self) -> list[ComplianceRow]:
        """The promises that a measured lower end exceeds."""
        return [row for row in self.rows if row.status == "contradicted"]
