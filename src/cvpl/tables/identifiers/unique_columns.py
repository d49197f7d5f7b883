"""Nearly unique columns whose values are in both tables: anyone with the original can look them up.

For a row numbering, equal values alone prove nothing: a synthetic release may number its rows from 1 as the original
does. A numbering counts only if the records it pairs agree in the other columns more than neighbouring numbers do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.identifiers.known_texts import KnownTexts, as_value
from cvpl.tables.source.source import Source

if TYPE_CHECKING:
    import duckdb

LEAST_ROWS = 20
"""Fewer values are not enough evidence."""
NEARLY_UNIQUE = 0.9
_CARRIED_OVER = 0.5
_ABOVE_STRANGERS = 0.25
_DENSE = 3.0
_ERRORS = 5
_LEAST_EFFECT = 0.05
_MOST_PAIRS = 20_000
_SOME = 2_000
_MOST_COLUMNS = 20


class UniqueColumns:
    """A search for nearly unique columns of a release whose values are also in the original.

    `nearly_unique` has the columns of the release whose values are nearly all distinct. Of each, one value in so many
    is compared: the same values in every table. `key` is the column that the evaluation uses.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        texts: KnownTexts,
        sources: Sequence[Source],
        nearly_unique: Mapping[str, int],
        key: str | None = None,
    ) -> None:
        self._con = con
        self._texts = texts
        by_table = {source.table: source for source in sources}
        self._original, self._released = by_table["original"], by_table["protected"]
        self._control = by_table.get("control")
        self._unique = nearly_unique
        self._not_compared = {*nearly_unique, key}

    def share(self, column: str) -> float | None:
        """Return the share of the released values that are in the original column if they identify people, else None.

        They identify people if at least half of the released values come from the original, and values of the control
        are found clearly less often. A numbering, which a control may share, does if it pairs records that agree.
        """
        if column not in self._unique or column not in self._original.types or not self._is_unique(column):
            return None
        original, released, both = self._overlap(self._original, column)
        if not released or both < _CARRIED_OVER * released:
            return None
        sources = self._original, self._released
        if any(_is_dense(self._numbers(source, column), self._unique[column]) for source in sources):
            others = [
                name for name in self._released.types if name in self._original.types and name not in self._not_compared
            ]
            return both / released if self._agrees(column, others[:_MOST_COLUMNS]) else None
        if self._control is not None and column in self._control.types:
            strangers, _, found = self._overlap(self._control, column)
            # A release of a sample cannot hold more of the original's values than it has rows.
            most = min(1.0, released / original)
            if strangers and both / original - found / strangers < _ABOVE_STRANGERS * most:
                return None
        return both / released

    def _values(self, source: Source, column: str, part: int = 1) -> str:
        """Return SQL for the distinct values, or one in `part` of them, each with its first row."""
        read = self._texts.kept_distinct(source, column, part)
        return f"(SELECT {as_value('text')} AS value, min(place) AS place FROM {read} GROUP BY 1)"

    def _row(self, query: str) -> tuple[Any, ...]:
        return tuple(self._con.execute(query).fetchall()[0])

    def _is_unique(self, column: str) -> bool:
        """Whether the original's values are nearly all distinct, and enough."""
        read = self._texts.kept_distinct(self._original, column, self._unique[column])
        query = f"SELECT count(*), coalesce(sum(n), 0) FROM {read}"
        distinct, cells = (int(number) for number in self._row(query))
        return cells >= LEAST_ROWS and distinct >= NEARLY_UNIQUE * cells

    def _overlap(self, other: Source, column: str) -> tuple[int, int, int]:
        """Count the distinct values of the other table, of the release, and of both, among those compared."""
        o, p = (self._values(source, column, self._unique[column]) for source in (other, self._released))
        query = (
            "SELECT count(o.place), count(p.place), count(*) FILTER (o.place IS NOT NULL AND p.place IS NOT NULL) "
            f"FROM {o} AS o FULL JOIN {p} AS p USING (value)"
        )
        in_other, in_release, in_both = (int(number) for number in self._row(query))
        return in_other, in_release, in_both

    def _numbers(self, source: Source, column: str) -> NDArray[np.float64] | None:
        """Return the compared values as sorted numbers if they are numbers, times, or numbers after one fixed text."""
        number, start = _as_number("value"), _before_number("value")
        part = self._unique[column]
        values = self._values(source, column, part)
        some = f"(SELECT text AS value FROM {self._texts.kept_distinct(source, column, part)})"
        # Check a sample first: most text columns have no number.
        for looked_at in (f"{some} WHERE hash(value) // {part} % {1 + source.rows // part // _SOME} = 0", values):
            counts = f"count({number}), count(*), min({start}) IS NOT DISTINCT FROM max({start})"
            readable, all_values, one_start = self._row(f"SELECT {counts} FROM {looked_at}")
            if readable < NEARLY_UNIQUE * all_values or not one_start:
                return None
        query = f"SELECT DISTINCT {number} AS v FROM {values} WHERE {number} IS NOT NULL"
        found: NDArray[np.float64] = np.ma.filled(self._con.sql(query).fetchnumpy()["v"], np.nan).astype(np.float64)
        return np.sort(found[np.isfinite(found)])

    def _agrees(self, column: str, others: Sequence[str]) -> bool:
        """Whether records with equal numbers are closer in the other columns than records with neighbouring numbers.

        Each original is compared with its own released record and with those of the numbers before and after. False if
        there is no other column to compare.
        """
        if not others:
            return False
        o = self._texts.rows(self._original, others, "o", "SELECT a FROM chosen")
        p = self._texts.rows(self._released, others, "p", "SELECT b FROM chosen")
        pairs = (
            f"SELECT coalesce({_as_number('value')}, 0) AS number, value, a.place AS a, b.place AS b "
            f"FROM {self._values(self._original, column)} AS a JOIN {self._values(self._released, column)} AS b "
            "USING (value)"
        )
        most = f"(SELECT greatest(0, (count(*) - {_MOST_PAIRS}) // 2) FROM pairs)"
        scores = " + ".join(_nearer(f"o{at}", f"p{at}") for at in range(len(others)))
        query = (
            f"WITH pairs AS ({pairs}), "
            f"chosen AS (SELECT * FROM pairs ORDER BY number, value LIMIT {_MOST_PAIRS} OFFSET {most}), "
            f"cells AS (SELECT * FROM chosen JOIN {o} AS x ON a = x.place JOIN {p} AS y ON b = y.place), "
            f"scores AS (SELECT ({scores}) / {len(others)} AS score, lag(a) OVER w AS before, lead(a) OVER w AS after "
            "FROM cells WINDOW w AS (ORDER BY number, value)) "
            "SELECT avg(score), stddev_samp(score), count(score) FROM scores "
            "WHERE before IS NOT NULL AND after IS NOT NULL"
        )
        mean, spread, count = self._row(query)
        if mean is None or count < LEAST_ROWS:
            return False
        return bool(mean >= _LEAST_EFFECT and mean > _ERRORS * spread / math.sqrt(count))


def _as_number(value: str) -> str:
    """Return SQL for a value's number: the value itself, a time's seconds, or the number after a text."""
    day = f"regexp_matches({value}, '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}')"
    time = f"CASE WHEN {day} THEN epoch(TRY_CAST({value} AS TIMESTAMP)) END"
    behind = f"TRY_CAST(regexp_extract({value}, '^[^0-9]+([0-9]{{1,15}})$', 1) AS DOUBLE)"
    return f"coalesce(TRY_CAST({value} AS DOUBLE), {time}, {behind})"


def _before_number(value: str) -> str:
    """Return SQL for the text before a number that ends a value; NULL for numbers and times."""
    start = f"regexp_extract({value}, '^([^0-9]+)[0-9]{{1,15}}$', 1)"
    return f"CASE WHEN TRY_CAST({value} AS DOUBLE) IS NULL THEN nullif({start}, '') END"


def _nearer(o: str, p: str) -> str:
    """Return SQL for how much closer an original cell is to its own released cell than to the two neighbours', -1 to 1.

    Numbers are compared by distance, an interval by its first number, other texts by equality.
    """
    first = "TRY_CAST(regexp_extract({}, '-?[0-9]+([.][0-9]+)?') AS DOUBLE)"
    sides = []
    for shift in ("lag", "lead"):
        other = f"{shift}({p}) OVER w"
        away = f"abs({first.format(o)} - {first.format(other)}) - abs({first.format(o)} - {first.format(p)})"
        equal = f"coalesce({o} = {p}, false)::INTEGER - coalesce({o} = {other}, false)::INTEGER"
        sides.append(f"coalesce(sign({away}), {equal})")
    return f"({sides[0]} + {sides[1]}) / 2.0"


def _is_dense(numbers: NDArray[np.float64] | None, part: int) -> bool:
    """Whether numbers, of which one in `part` is known, fill their range like a numbering.

    They do if they take at least every third step of it, without outliers.
    """
    if numbers is None or len(numbers) < LEAST_ROWS:
        return False
    cut = len(numbers) // 50
    middle = numbers[cut : len(numbers) - cut]
    step = float(np.diff(middle).min())
    return bool((middle[-1] - middle[0]) / step + 1 <= _DENSE * part * len(middle))
