"""The scenario in which the attackers were run."""

from __future__ import annotations

from typing import Literal

from cvpl.result.marks import Number
from cvpl.result.section import Section


class AttackerScenario(Section):
    """A situation that guidelines describe, as it was run.

    `source` is where it is described, `who` the attacker in it. `columns` are those that the attackers knew, `errors`
    the share of their values that were wrong, `people` whom they look for, and `knows_people` the share of the
    originals that they had. `answer` is the figure that answers the scenario: the `risk`, the `best_candidate`, or the
    membership rate at the `lowest_false_rate`. `stated` is false if columns or errors differ from the scenario's own.
    """

    name: str
    source: str
    who: str
    columns: list[str]
    errors: Number
    people: str
    knows_people: Number = 1.0
    answer: Literal["risk", "lowest_false_rate", "best_candidate"]
    stated: bool = True
