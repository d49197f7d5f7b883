"""The real tables of the paper's appendix E: which columns are protected, which are compared, which stay out.

Adult has the four columns that the paper names. German Credit has the closest to them: age itself, `skill_level` for
the occupation, `foreign_worker` for the native country, and `personal_status` (sex and marital status), since it has no
education: what a neighbour may know of a person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Column = dict[str, Any]

KS = (5, 10, 20)
"""The paper's k."""

Change = Literal["", "apart", "elsewhere", "left out", "kept"]
"""Changes of a release besides protection.

    apart       the second column of `pair` is shuffled over the rows: it is independent of the first
    elsewhere   both are shuffled together: they keep their correlation, but not with their own rows
    left out    neither is compared
    kept        a column that should stay out is published unchanged
"""


@dataclass(frozen=True)
class RealTable:
    """A table to be protected.

    `protected` are the columns that k is counted over, `numbers` and `labels` the others that are compared. `keys`
    defines the blocks. `hierarchies` names the file of a column's groups, `widths` a number's intervals. `kept_out` are
    columns that a careful release would not include. `pair` are the two columns whose correlation should explain the
    links, and `expected` those that should dominate the comparison; both may be empty.
    """

    name: str
    title: str
    file: str
    protected: Mapping[str, Literal["numeric", "category"]]
    numbers: tuple[str, ...]
    labels: tuple[str, ...]
    keys: Mapping[str, Any]
    kept_out: tuple[str, ...]
    seeds: tuple[int, ...]
    hierarchies: Mapping[str, str]
    widths: Mapping[str, tuple[int, ...]]
    pair: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()

    def files(self, data: Path) -> list[Path]:
        """The files of the table and its hierarchies."""
        return [data / self.file, *(data / file for file in self.hierarchies.values())]

    def config(self, data: Path, seed: int, *, kept: str = "", without: tuple[str, ...] = ()) -> dict[str, Any]:
        """The settings of an audit of its releases, without attackers.

        `kept` is one of `kept_out` that is still published and compared; `without` are columns that are protected and
        published, but not compared.
        """
        columns: dict[str, Column] = {
            name: {"role": "quasi_identifier", "type": kind} for name, kind in self.protected.items()
        }
        for kind, names in (("numeric", self.numbers), ("category", self.labels)):
            columns |= {name: {"role": "attribute", "type": kind} for name in names}
        if kept:
            columns[kept] = {"role": "attribute", "type": "numeric"}
        for name, rule in self.keys.items():
            columns[name] |= {"role": "quasi_identifier", "block": rule}
        for name, file in self.hierarchies.items():
            columns[name]["hierarchy"] = str(data / file)
        for name in without:
            columns[name]["vectorize"] = False
        widths = {name: list(width) for name, width in self.widths.items()}
        return {
            "columns": columns,
            "reading": {"strip": True, "missing": ["", "?"]},
            "truth": {"original": "row_number", "protected": "original_row"},
            "protect": {"columns": list(self.protected), "widths": widths},
            "search": {"threads": 1},  # cells run in parallel, each on its own core
            "seed": seed,
        }


_GROUPS = "adult/hierarchies/adult_hierarchy_{}.csv"

ADULT = RealTable(
    name="adult",
    title="Adult",
    file="adult/adult.csv",
    protected={"age": "numeric", "education": "category", "occupation": "category", "native-country": "category"},
    numbers=("capital-gain", "capital-loss", "hours-per-week"),
    labels=("workclass", "marital-status", "relationship", "race", "sex", "salary-class"),
    keys={"age": {"bin": 10}, "sex": "exact"},
    kept_out=("fnlwgt", "education-num"),
    seeds=(42,),
    hierarchies={name: _GROUPS.format(name) for name in ("education", "occupation", "native-country")},
    widths={"age": (5, 10, 20)},  # the intervals of the hierarchy file for age
    pair=("education", "salary-class"),
    expected=("workclass", "hours-per-week"),
)

GERMAN = RealTable(
    name="german",
    title="German Credit",
    file="german/german.csv",
    protected={
        "age": "numeric",
        "personal_status": "category",
        "skill_level": "category",
        "foreign_worker": "category",
    },
    numbers=(
        "month",
        "investment_as_income_percentage",
        "residence_since",
        "number_of_credits",
        "people_liable_for",
    ),
    labels=(
        "status",
        "credit_history",
        "purpose",
        "savings",
        "employment",
        "other_debtors",
        "property",
        "installment_plans",
        "housing",
        "telephone",
        "credit",
    ),
    keys={"age": {"bin": 10}},
    kept_out=("credit_amount",),
    seeds=(42, 43, 44, 45, 46),  # a thousand people are few, so figures are means over five draws
    hierarchies={},
    widths={"age": (5, 10, 20)},
)

TABLES: Mapping[str, RealTable] = {item.name: item for item in (ADULT, GERMAN)}
