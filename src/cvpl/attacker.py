"""The attacker: what it knows, and the five operators it uses, as one frozen value.

CVPL = threshold ∘ similarity ∘ projection ∘ vectorization ∘ blocking        (paper, eq. cvpl-composition)
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from cvpl.operators.blocking import Blocking, Ladder
from cvpl.operators.projection import Pca, Projection
from cvpl.operators.similarity import Agreement, Similarity
from cvpl.operators.threshold import DEFAULT, Calibrate, Threshold
from cvpl.operators.vectorization import Vectorization
from cvpl.settings import Settings
from cvpl.tables.columns import Table

PRESETS = ("paper",)
"""`paper` is the paper's attacker: this class's defaults, blocking as the columns say."""


class Attacker(Settings):
    """Everything that defines an attack. The defaults are the paper's attacker, without blocking.

    `knows` lists the columns the attacker has (None: all observable ones); without a column it can neither block nor
    compare by it. `knows_people` is the share of the originals it has, drawn by the audit's seed. With `alignment` set
    to `release` it coarsens its own data to the release's grain before comparing; `none` is the paper.
    """

    knows: tuple[str, ...] | None = None
    knows_people: Annotated[float, Field(gt=0, le=1)] = 1.0
    alignment: Literal["none", "release"] = "none"
    blocking: Blocking = Blocking()
    ladder: Ladder | None = None
    vectorization: Vectorization = Vectorization()
    projection: Projection = Pca()
    similarity: Similarity = "cosine"
    threshold: Threshold = DEFAULT

    @model_validator(mode="after")
    def _threshold_on_the_scale(self) -> Attacker:
        if self.on_scale and not isinstance(self.threshold, Calibrate) and not -1 <= self.threshold <= 1:
            raise ValueError(
                f"a threshold of {self.threshold:g} lies off the scale of {self.similarity}, where nobody or everybody "
                "would be linked; set one from -1 to 1"
            )
        return self

    @property
    def on_scale(self) -> bool:
        """Whether its score lies on the scale of the threshold grid; a Fellegi-Sunter weight does not."""
        return not isinstance(self.similarity, Agreement)

    @property
    def projects(self) -> bool:
        """Whether similarity is taken after the projection; Jaccard and agreement look at the columns themselves."""
        return self.similarity != "jaccard" and not isinstance(self.similarity, Agreement)

    def view(self, table: Table) -> Table:
        """The columns of `table` that this attacker knows."""
        return table if self.knows is None else table.only(self.knows)
