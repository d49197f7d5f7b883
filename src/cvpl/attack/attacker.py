"""The attacker: what it knows, and the five operators it uses, as one immutable value.

CVPL = threshold ∘ similarity ∘ projection ∘ vectorization ∘ blocking        (paper, eq. cvpl-composition)
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from cvpl.operators.blocking import Blocking, BlockingLadder
from cvpl.operators.projection import Pca, Projection, ProjectionOperator, projection_operator
from cvpl.operators.similarity import Agreement, Similarity, SimilarityOperator, similarity_operator
from cvpl.operators.threshold import DEFAULT, Threshold
from cvpl.operators.vectorization import Vectorization
from cvpl.settings import Settings
from cvpl.tables.columns import Table

Alignment = Literal["none", "release", "cells", "ranks", "differences", "ratios"]
"""What the attacker does with its own values: nothing; generalize them to the released ones; generalize them only where
the release has single values, and compare other cells by the values that they allow; compare the ranks of numbers and
times, and labels under their names in the release; compare differences between times, and between numbers; or compare
ratios between numbers."""
Evidence = Literal["best", "margin", "reference", "density", "values", "between", "words"]
"""The evidence for a link: the best candidate's score, its lead over the second best or over the best reference person,
how much denser the release is around the record than the reference, how much more often the release has its single
values than other people, how exactly a released record lies on the line between it and another person, or how well the
words of one released record fit its texts."""


class Attacker(Settings):
    """Everything that defines an attack. The defaults are the paper's attacker, without blocking.

    `knows` lists the columns the attacker has (None: all observable ones); without a column it can neither block nor
    compare by it. `knows_people` is the share of the originals it has, sampled by the audit's seed. `errors` is the
    share of its values that are wrong: another person's, drawn by the seed. With `alignment` set to `release` it
    generalizes its own data to the granularity of the release before comparing; with `cells` a released interval,
    group, set or mask agrees with every value that it allows; `none` is the paper. `evidence` is the score of a link:
    `best`, the score of its best candidate; `margin`, that minus the second best; `reference`, that minus its best
    score among reference people, half of the control, who are not in the release; `density`, the logarithm
    of the mean of exp(score) over the whole release minus that over the reference people; `values`, the sum over
    columns of how much more often the release has its value than other people; `between`, how exactly a released
    record lies on the line between it and another known person (`attack.interpolation`). With `alignment` set to
    `ranks` both tables are compared by rank scores, and labels by the names that they seem to have in the release
    (`operators.recoding`); with `differences`, by the differences between times, and between numbers, of one record;
    with `ratios`, by the ratios between its numbers, and nothing else.
    """

    knows: tuple[str, ...] | None = None
    knows_people: Annotated[float, Field(gt=0, le=1)] = 1.0
    errors: Annotated[float, Field(ge=0, lt=1)] = 0.0
    alignment: Alignment = "none"
    blocking: Blocking = Blocking()
    ladder: BlockingLadder | None = None
    vectorization: Vectorization = Vectorization()
    projection: Projection = Pca()
    similarity: Similarity = "cosine"
    evidence: Evidence = "best"
    threshold: Threshold = DEFAULT

    @model_validator(mode="after")
    def _fits_together(self) -> Attacker:
        if self.on_scale and isinstance(self.threshold, float) and not -1 <= self.threshold <= 1:
            raise ValueError(
                f"a threshold of {self.threshold:g} is outside the scale of {self.similarity}, so it would link nobody "
                "or everybody; set one from -1 to 1"
            )
        if self.alignment == "cells" and not (self.compares_values and self.evidence in ("best", "margin")):
            raise ValueError(
                "cells are compared by the values that they allow; set `similarity: rarity` or `similarity: "
                "agreement`, and `evidence: best` or `evidence: margin`"
            )
        if self.evidence == "values" and not self.compares_values:
            raise ValueError(
                "evidence by single values counts values; set `similarity: rarity` or `similarity: agreement`"
            )
        if self.evidence in ("between", "words") and not (
            self.similarity == "euclidean" and self.projection == "identity"
        ):
            raise ValueError(
                "points between two people and shared words are found beside the nearest records; set `similarity: "
                "euclidean`, `projection: identity`"
            )
        if self.evidence == "density" and not (self.compares_values and self.blocking.compares_everybody):
            raise ValueError(
                "evidence by density sums over every released record; set `similarity: rarity` or `similarity: "
                "agreement`, and `blocking: none`"
            )
        return self

    @property
    def needs_reference(self) -> bool:
        """Whether it compares with people outside the release, who are half of the control."""
        return self.evidence in ("reference", "density")

    @property
    def on_scale(self) -> bool:
        """Whether its evidence is on the scale of the threshold grid; a weight or a difference is not."""
        return self.evidence == "best" and not self.compares_values and self.threshold != "false_rate"

    @property
    def scores_every_pair(self) -> bool:
        """Whether neither a tree nor an index saves pairs: distances, densities, cosines of whole vectors."""
        whole = self.similarity_operator.unit and self.projection == "identity"
        return self.similarity_operator.by_distance or self.evidence == "density" or whole

    @property
    def compares_values(self) -> bool:
        """Whether it compares values for agreement, instead of vectors."""
        return self.similarity_operator.compares == "values"

    @property
    def estimates_matches(self) -> bool:
        """Whether it estimates from the release how often matches agree."""
        return isinstance(self.similarity, Agreement) and self.similarity.agreement.m == "release"

    @property
    def projects(self) -> bool:
        """Whether similarity is computed after the projection; Jaccard and agreement use the columns themselves."""
        return self.similarity_operator.compares == "embeddings"

    @property
    def similarity_operator(self) -> SimilarityOperator:
        """The operator of the similarity, given by name or as settings."""
        return similarity_operator(self.similarity)

    @property
    def projection_operator(self) -> ProjectionOperator:
        """The operator of the projection, given by name or as settings."""
        return projection_operator(self.projection)

    def view(self, table: Table) -> Table:
        """The columns of `table` that this attacker knows."""
        return table if self.knows is None else table.only(self.knows)
