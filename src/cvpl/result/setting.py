"""What was compared and how: inputs, blocks, search, scenario and assumptions, and how far to trust the figures."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cvpl.result.publishing import (
    Count,
    Measured,
    Number,
    OfBoth,
    OfControls,
    OfOriginals,
    OfRisk,
    OfTables,
    People,
    Section,
    Share,
    Statistic,
    Whole,
)


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


class AssumedColumn(Section):
    """How a column was used: its role and type, whether it is a blocking key, why, and what the user should check.

    `unread` says that the release has labels in it that nothing explains, so that they match no original label.
    """

    column: str
    role: str
    type: str | None
    blocks: bool
    reason: str
    doubt: str | None
    unread: bool = False


class Assumptions(Section):
    """The guesses of an audit without a configuration: its columns, and how the tables were read and matched."""

    columns: list[AssumedColumn]
    notes: list[str]


OfAsked = Annotated[float, Share("asked")]


class SelfRate(Section):
    """A self-linkage diagnostic over `asked` of `records` records."""

    rate: OfAsked | None
    top1_hit_rate: OfAsked | None
    asked: Whole
    records: Whole


class SelfLinkage(Section):
    """Whether the representation can distinguish records: within each table, and in a slightly perturbed copy."""

    original: SelfRate
    protected: SelfRate
    perturbed: SelfRate | None


class Validity(Section):
    """Whether the figures can be interpreted as risk, the reasons if not, and the measures behind it."""

    assessable: bool
    reasons: list[str]
    explained_variance: OfTables | None
    perturbed_top1: OfTables | None
    attainable_top1: OfTables
    zero_share_original: OfTables
    zero_share_protected: OfTables
    duplicate_share: OfTables
    shift: Measured | None
    covariance_distance: Measured | None
    correlation_preservation: OfTables | None


class ColumnLikeness(Section):
    """The distance between a column's distributions in the control and the originals."""

    column: str
    distance: OfBoth
    missing: OfBoth
    differs: bool


class ControlLikeness(Section):
    """Whether control and originals look like one population; `alarms` has a sentence for each difference."""

    alike: bool
    enough: bool
    area: OfBoth
    copies_beyond_chance: OfBoth
    columns: list[ColumnLikeness]
    alarms: list[str]


class Variation(Section):
    """Figures under another choice of blocking, or of encoding and scaling; power at a false-positive rate of 5%."""

    choice: str
    name: str
    linkage_rate: OfOriginals
    control_rate: OfControls | None
    attributable_rate: OfBoth | None
    power: OfRisk | None


class Sensitivity(Section):
    """How much the figures vary: largest minus smallest power (linkage rate if the power is unknown)."""

    attacker: str
    asked: Whole
    variations: list[Variation]
    spread_by_blocking: OfRisk | None
    spread_by_encoding: OfRisk | None


class Warning_(Section):  # noqa: N801 - Warning is Python's own
    """A warning: its rule, its sentence, and the page of the docs that explains it."""

    rule: str
    message: str
    docs: str | None = None


class UtilityFigures(Section):
    """The four utility figures of a release, each from 0 to 1, or null if undefined.

    `distance_basis` states whether distances are compared between the same people or only by their distributions.
    """

    correlation_preservation: OfTables | None
    marginal_similarity: OfTables | None
    downstream_accuracy_ratio: OfTables | None
    distance_preservation: OfTables | None
    distance_basis: Literal["same_people", "distributions"]


class MeanUtility(UtilityFigures):
    """The four figures, and their mean."""

    mean: OfTables | None
