"""What was compared and how: inputs, blocks, search, projection and columns."""

from __future__ import annotations

from pydantic import Field

from cvpl.result.section import Section


class Input(Section):
    """One input table: its name, its size and, for a file, its SHA-256 checksum."""

    name: str
    rows: int
    columns: int
    sha256: str | None


class BlockSizeClass(Section):
    """The number of blocks with `fewest` to `most` protected records, and of pairs in them."""

    fewest: int
    most: int
    blocks: int
    pairs: int


class BlockScheme(Section):
    """The blocks of one scheme; sizes count protected records, work counts pairs."""

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
    """The blocks over all schemes, and each scheme's sizes. `without_candidates` counts originals without one."""

    count: int
    pairs: int
    mean_candidates: float
    without_candidates: int
    schemes: list[BlockScheme]


class Search(Section):
    """How the pairs that share a block were searched: all of them, or fewer on request (`narrowed_by`)."""

    exact: bool
    narrowed_by: list[str]
    pairs: int
    share_examined: float


class ProjectionSummary(Section):
    """The dimension of the space in which records were compared; null if the similarity uses no projection."""

    components: int | None
    explained_variance: float | None
    features: int


class AlignedColumn(Section):
    """The grain of a column in the release, as detected by an aligned attacker."""

    column: str
    grain: str


class Contribution(Section):
    """One column's contribution: its structural share with its spread, its share in the links, and drops without it.

    `removal` is the drop in the linkage rate at the threshold without the column, `power_drop` that in the power at 5%,
    with its middle 95% over bootstrap samples of people.
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
    """All columns, and the numbers of originals used for `removal` and for `power_drop`."""

    columns: list[Contribution]
    removal_asked: int | None
    power_asked: int | None = None
