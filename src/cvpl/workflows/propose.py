"""A proposed configuration for two tables, wherever they are."""

from __future__ import annotations

from typing import Literal

from cvpl.config.loading import LimitsLike
from cvpl.tables.source.source import is_spark_frame
from cvpl.workflows.proposal import Proposal, propose_here


def propose(
    original: object,
    released: object,
    *,
    compare_sensitive: bool = False,
    limits: LimitsLike | None = None,
    engine: Literal["spark"] | None = None,
) -> Proposal:
    """Propose a configuration for a table and its release, with a reason for every guess.

    Tables are paths (CSV, TSV, Parquet, Excel, DuckDB) or dataframes that support Arrow. Roles, types, blocking keys
    and identities are guessed from names, counts and how the two tables agree; comments contain no cell. A column that
    seems sensitive is proposed as such, so no attacker compares it; with `compare_sensitive` it is compared. `limits`
    are those of `reading.limits` that are not the default, such as {"rows": 2_000_000_000}; the proposal has them too.
    With `engine="spark"`, or for DataFrames of Spark, the tables stay in the cluster, as in an audit.
    Raises InputError if the tables cannot be compared, and LimitError if one is beyond a limit.
    """
    found = propose_here
    if engine is not None or is_spark_frame(original):
        from cvpl.workflows.cluster_audit import propose_in_cluster  # noqa: PLC0415 - nothing of Spark unless needed

        found = propose_in_cluster
    return found(original, released, compare_sensitive=compare_sensitive, limits=limits)
