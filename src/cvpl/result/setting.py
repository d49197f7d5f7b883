"""What was compared and how: inputs, blocks, search, projection and columns."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cvpl.result.marks import Count, Measured, OfTables, People, Share, Statistic, Whole
from cvpl.result.section import Section


class Input(Section):
    """One input table: its name, its size and, for a file, its SHA-256 checksum."""

    name: str
    rows: Whole
    columns: Whole
    sha256: str | None


class BlockSizeClass(Section):
    """The number of blocks with `fewest` to `most` protected records, and of pairs in them."""

    fewest: Whole
    most: Whole
    blocks: People
    pairs: People


class BlockScheme(Section):
    """The blocks of one scheme; sizes count protected records, work counts pairs."""

    count: Annotated[int, Count(kept=1)]
    original_only: People
    protected_only: People
    smallest: People
    median: Annotated[float, Statistic(counts=True)]
    mean: Annotated[float, Statistic(counts=True)]
    largest: Annotated[int, Count(up=True)]
    pairs: Annotated[int, Statistic()]
    share_of_all_pairs: Measured
    work_in_largest_tenth: OfTables
    blocks_with_80_percent_of_work: Annotated[int, Count(kept=1)]
    sizes: list[BlockSizeClass] = Field(default_factory=list)


class Blocks(Section):
    """The blocks over all schemes, and each scheme's sizes. `without_candidates` counts originals without one."""

    count: Annotated[int, Count(kept=1)]
    pairs: Annotated[int, Statistic()]
    mean_candidates: Annotated[float, Statistic(counts=True)]
    without_candidates: People
    schemes: list[BlockScheme]


class Search(Section):
    """How the pairs that share a block were searched: all of them, or fewer on request (`narrowed_by`)."""

    exact: bool
    narrowed_by: list[str]
    pairs: Annotated[int, Statistic()]
    share_examined: Measured


class ProjectionSummary(Section):
    """The dimension of the space in which records were compared; null if the similarity uses no projection."""

    components: Whole | None
    explained_variance: OfTables | None
    features: Whole


class AlignedColumn(Section):
    """The grain of a column in the release, as detected by an aligned attacker."""

    column: str
    grain: str


class Contribution(Section):
    """One column's contribution: its structural share with its spread, its share in the links, and drops without it.

    `removal` is the drop in the linkage rate at the threshold without the column, `power_drop` that in the power at 5%,
    with its middle 95% over bootstrap samples of people. `top1_drop` is the drop in the top-1 hit rate; it is measured
    without a control, where the power is blind to releases of equal records.
    """

    column: str
    role: str
    structural: OfTables | None
    structural_low: Annotated[float, Share("tables", "low")] | None
    structural_high: Annotated[float, Share("tables", "high")] | None
    link: OfTables | None
    removal: Annotated[float, Share("removal_asked")] | None
    power_drop: Annotated[float, Share("power_asked", ends="power_drop_")] | None = None
    power_drop_low: Annotated[float, Share("power_asked", "low")] | None = None
    power_drop_high: Annotated[float, Share("power_asked", "high")] | None = None
    top1_drop: Annotated[float, Share("top1_asked", ends="top1_drop_")] | None = None
    top1_drop_low: Annotated[float, Share("top1_asked", "low")] | None = None
    top1_drop_high: Annotated[float, Share("top1_asked", "high")] | None = None


class Contributions(Section):
    """All columns, and the numbers of originals used for `removal`, for `power_drop` and for `top1_drop`."""

    columns: list[Contribution]
    removal_asked: Whole | None
    power_asked: Whole | None = None
    top1_asked: Whole | None = None
