"""What was compared, and how: inputs, blocks, search, space, columns."""

from __future__ import annotations

from pydantic import Field

from cvpl.result.section import Section


class Input(Section):
    """One input table: its name, size and, for a file, the SHA-256 of its bytes."""

    name: str
    rows: int
    columns: int
    sha256: str | None


class BlockSizeClass(Section):
    """The blocks that have from `fewest` to `most` protected records, and the pairs in them."""

    fewest: int
    most: int
    blocks: int
    pairs: int


class BlockScheme(Section):
    """How one scheme cut the tables up; sizes count protected records, work counts pairs."""

    count: int
    original_only: int
    protected_only: int
    smallest: int
    median: float
    mean: float
    largest: int
    pairs: int
    share_of_all_pairs: float
    work_in_largest_tenth: float
    blocks_with_80_percent_of_work: int
    sizes: list[BlockSizeClass] = Field(default_factory=list)


class Blocks(Section):
    """The blocks over all schemes, and each scheme's sizes. `without_candidates` counts originals that have none."""

    count: int
    pairs: int
    mean_candidates: float
    without_candidates: int
    schemes: list[BlockScheme]


class Search(Section):
    """How the pairs that share a block were searched: all of them, or by request some (`narrowed_by`)."""

    exact: bool
    narrowed_by: list[str]
    pairs: int
    share_examined: float


class ProjectionSummary(Section):
    """The dimension of the space in which records were compared; null where the similarity uses no projection."""

    components: int | None
    explained_variance: float | None
    features: int


class AlignedColumn(Section):
    """What an aligned attacker found the release to tell apart in a column."""

    column: str
    grain: str


class Contribution(Section):
    """One column's part: structural share with its spread, share of the links' similarity, drops if it were gone.

    `removal` is the drop of the linkage rate at the threshold, `power_drop` that of the power at 5%, with the middle
    95% over people drawn anew.
    """

    column: str
    role: str
    structural: float | None
    structural_low: float | None
    structural_high: float | None
    link: float | None
    removal: float | None
    power_drop: float | None = None
    power_drop_low: float | None = None
    power_drop_high: float | None = None


class Contributions(Section):
    """All columns, and how many originals were asked for `removal` and for `power_drop`."""

    columns: list[Contribution]
    removal_asked: int | None
    power_asked: int | None = None
