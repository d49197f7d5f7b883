"""An attack whose evidence is that of several attackers joined into one score."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.search.best import BestCandidates

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CombinedAttack(Attack):
    """The attack of one member, whose candidates it takes, with the joined evidence of several.

    `joined` are the scores of the originals and of the control. It is read at a false-positive rate.
    """

    joined: tuple[Floats, Floats] = field(kw_only=True)
    members: tuple[str, ...] = field(kw_only=True)
    candidates_of: str = field(kw_only=True)

    @classmethod
    def of(
        cls, attack: Attack, joined: tuple[Floats, Floats], members: tuple[str, ...], candidates_of: str
    ) -> CombinedAttack:
        """The attack of the member `candidates_of` with the joined evidence."""
        kept = {part.name: getattr(attack, part.name) for part in fields(Attack)}
        kept["attacker"] = attack.attacker.model_copy(update={"threshold": "false_rate"})
        return cls(**kept, joined=joined, members=members, candidates_of=candidates_of)

    @property
    def reads_best(self) -> bool:
        """Never: a joined score does not hang on one row of the release."""
        return False

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the member whose candidates it takes, its name, and all members."""
        return super().settings | {"candidates_of": self.candidates_of, "combines": list(self.members)}

    def evidence(self, table: str, found: BestCandidates) -> Floats:
        """The joined score of the originals, or of the control."""
        return self.joined[0] if table == "original" else self.joined[1]
