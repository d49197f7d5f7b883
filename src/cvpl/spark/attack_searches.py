"""The searches of an attack in a cluster, from an attacker that was fitted before.

They return what the searches of `cvpl.attack` return, under the same names and keys, so that an attack on one machine
takes them as its own.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attacker import Attacker
from cvpl.attack.prepared_attack import PreparedAttack
from cvpl.attack.representation import Representation
from cvpl.attack.shared_work import WorkKeys
from cvpl.operators.alignment import CommonForm
from cvpl.operators.blocking import Key, Lsh
from cvpl.search.best import BestCandidates
from cvpl.search.levers import Levers
from cvpl.spark.cluster_table import ClusterTable
from cvpl.spark.densities import densities, read_densities
from cvpl.spark.search import read_found, search

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Step = tuple[str, Hashable]
"""The name and the key of a search, as in `SharedWork`."""
DENSITY = "density of"


@dataclass(frozen=True, eq=False)
class SearchOrder:
    """What a cluster needs to search as an attacker does: its people, and its representation.

    People are rows of the original table and of the control; None means all of them. There are no `reference` rows if
    the attacker needs no reference people.
    """

    attacker: Attacker
    keys: WorkKeys
    representation: Representation
    form: CommonForm | None
    people: Ints | None
    control: Ints | None
    reference: Ints

    @classmethod
    def of(cls, ready: PreparedAttack, attacker: Attacker, originals: int, controls: int) -> SearchOrder:
        """The order for a prepared attack on so many originals and controls."""
        tables, strangers = ready.tables, ready.strangers
        return cls(
            attacker,
            ready.keys,
            ready.representation.bare(),
            tables.form,
            None if len(tables.people) == originals else tables.people,
            None if len(strangers.rows) == controls else strangers.rows,
            strangers.reference_rows,
        )


def can_be_searched(attacker: Attacker, levers: Levers) -> bool:
    """Whether tasks search as the attacker does: blocks of equal keys, or none; what it knows is as in the tables."""
    blocking = attacker.blocking
    equal = blocking.compares_everybody or blocking.match == "equality"
    plain = len(blocking.any_of) == 1 and not isinstance(blocking.any_of[0], Lsh)
    as_it_is = attacker.alignment not in ("ranks", "differences", "ratios")
    return equal and plain and as_it_is and not levers.used and not attacker.errors


def search_all(
    order: SearchOrder, tables: Mapping[str, ClusterTable], done: Collection[Step] = ()
) -> dict[Step, DataFrame]:
    """The searches of one attack that are not `done`, each kept in the cluster; `tables` by their roles."""
    knows = order.attacker.knows
    known = {role: table if knows is None else table.only(knows) for role, table in tables.items()}
    asked = {"original": _take_records(known["original"], order, order.people)}
    if "control" in known and order.representation.maps_others:
        asked["control"] = _take_records(known["control"], order, order.control)
    wanted: dict[Step, tuple[ClusterTable, ClusterTable]] = {
        ("found", order.keys.search): (asked["original"], known["protected"])
    }
    if "control" in asked:
        wanted["found in control", order.keys.control] = asked["control"], known["protected"]
    if len(order.reference) and order.attacker.evidence == "reference":
        reference = replace(_take_records(known["control"], order, order.reference), name="reference")
        for role, queries in asked.items():
            wanted[f"found in reference, {role}", order.keys.control] = queries, reference
    found = {step: _search(order, *sides) for step, sides in wanted.items() if step not in done}
    if len(order.reference) and order.attacker.evidence == "density":
        reference = replace(_take_records(known["control"], order, order.reference), name="reference")
        for role, queries in asked.items():
            for among in (known["protected"], reference):
                step = f"{DENSITY} {among.name}, {role}", order.keys.control
                if step not in done:
                    found[step] = densities(order.representation, queries, among)
    return found


def read_step(step: Step, folder: Path) -> BestCandidates | Floats:
    """What a search found, from Parquet files with its frame."""
    return read_densities(folder) if step[0].startswith(DENSITY) else read_found(folder)


def _take_records(table: ClusterTable, order: SearchOrder, rows: Ints | None) -> ClusterTable:
    """Some of the records, at the granularity of the release if the attacker is aligned to it."""
    kept = table if rows is None else table.kept(rows)
    return kept if order.form is None else replace(kept, steps=(*kept.steps, order.form.apply))


def _search(order: SearchOrder, queries: ClusterTable, candidates: ClusterTable) -> DataFrame:
    return search(order.representation, _scheme(order.attacker, candidates), queries, candidates).frame


def _scheme(attacker: Attacker, table: ClusterTable) -> tuple[Key, ...]:
    """The keys of the attacker's blocks, without those on columns that the tables lack."""
    (scheme,) = attacker.blocking.only([spec.name for spec in table.specs]).any_of
    assert not isinstance(scheme, Lsh)  # noqa: S101 - see `can_be_searched`
    return scheme
