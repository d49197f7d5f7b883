"""The attacker: what it knows, and the five operators it uses, as one frozen value.

CVPL = threshold ∘ similarity ∘ projection ∘ vectorization ∘ blocking        (paper, eq. cvpl-composition)
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from cvpl.operators.blocking import Blocking, Ladder
from cvpl.operators.projection import Pca, Projection, ProjectionOperator, projection_operator
from cvpl.operators.similarity import Similarity, SimilarityOperator, similarity_operator
from cvpl.operators.threshold import DEFAULT, Threshold
from cvpl.operators.vectorization import Vectorization
from cvpl.settings import Settings
from cvpl.tables.columns import Table

Evidence = Literal["best", "margin", "reference", "density"]
"""What speaks for a link: the best candidate's score, by how much it beats the second best or the best reference, or by
how much denser the release is about the record than the reference people are."""


class Attacker(Settings):
    """Everything that defines an attack. The defaults are the paper's attacker, without blocking.

    `knows` lists the columns the attacker has (None: all observable ones); without a column it can neither block nor
    compare by it. `knows_people` is the share of the originals it has, drawn by the audit's seed. With `alignment` set
    to `release` it coarsens its own data to the release's grain before comparing; `none` is the paper. `evidence` is
    what a record is linked by: `best`, the score of its best candidate; `margin`, that minus the second best;
    `reference`, that minus its best score among reference people, half of the control, who are not in the release;
    `density`, the logarithm of the mean of exp(score) over the whole release minus that over the reference people.
    """

    knows: tuple[str, ...] | None = None
    knows_people: Annotated[float, Field(gt=0, le=1)] = 1.0
    alignment: Literal["none", "release"] = "none"
    blocking: Blocking = Blocking()
    ladder: Ladder | None = None
    vectorization: Vectorization = Vectorization()
    projection: Projection = Pca()
    similarity: Similarity = "cosine"
    evidence: Evidence = "best"
    threshold: Threshold = DEFAULT

    @model_validator(mode="after")
    def _fits_together(self) -> Attacker:
        if self.on_scale and isinstance(self.threshold, float) and not -1 <= self.threshold <= 1:
            raise ValueError(
                f"a threshold of {self.threshold:g} lies off the scale of {self.similarity}, where nobody or everybody "
                "would be linked; set one from -1 to 1"
            )
        if self.evidence == "density" and not (self.compares_values and self.blocking.compares_everybody):
            raise ValueError(
                "evidence by density adds up what every released record is worth; set `similarity: rarity` or "
                "`similarity: agreement`, and `blocking: none`"
            )
        return self

    @property
    def needs_reference(self) -> bool:
        """Whether it compares with people outside the release, who are half of the control."""
        return self.evidence in ("reference", "density")

    @property
    def on_scale(self) -> bool:
        """Whether what it links by is read on the scale of the threshold grid; a weight or a difference is not."""
        return self.evidence == "best" and not self.compares_values and self.threshold != "false_rate"

    @property
    def compares_values(self) -> bool:
        """Whether it asks which values agree, instead of comparing vectors."""
        return self.similarity_operator.compares == "values"

    @property
    def projects(self) -> bool:
        """Whether similarity is taken after the projection; Jaccard and agreement look at the columns themselves."""
        return self.similarity_operator.compares == "embeddings"

    @property
    def similarity_operator(self) -> SimilarityOperator:
        """What the similarity can be asked, whether it is written as a name or as settings."""
        return similarity_operator(self.similarity)

    @property
    def projection_operator(self) -> ProjectionOperator:
        """What the projection can be asked, whether it is written as a name or as settings."""
        return projection_operator(self.projection)

    def view(self, table: Table) -> Table:
        """The columns of `table` that this attacker knows."""
        return table if self.knows is None else table.only(self.knows)
