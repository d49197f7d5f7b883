"""Agreement by containment (docs/concepts/attackers.md, "Cells: agreement by containment").

    score(x, y) = sum over columns of   log(m / share(y_c))   if the cell y_c allows x_c
                                        log(1 - m)            if it does not
                                        0                     if either is missing

A cell is a tuple (low, high), which allows low <= value < high for numbers and times; a label; or a plain value. A
suppressed cell is None. The page's "ends included" is about ranges as they are read; whoever writes a closed range as a
tuple takes the next value above its end.

Choices where the page is silent:
- Whether a label is a cell is a matter of its spelling: a set, a group or a mask that allows one label is a cell too,
  and so is one that allows nobody. A spelling that an original has is no mask, set or range; by a separator, a label
  with others below it is a group even then (docs/concepts/alignment.md).
- A set is written {A, B}, A~B, or A, B; it allows what each of its parts allows, groups among them. Without braces,
  each part is an original's label.
- A label that only begins like others, such as 12 for 123, is a plain label.
- "Allows several": an interval is a cell even if no original, or a single one, lies in it. An interval of one number is
  a plain value.
- An open end is read as docs/concepts/protected-values.md says: it stops at the originals' own end.
- In a column with cells, a plain value agrees with an equal value only: there is no tolerance.
- A group by a separator allows the labels below it, and the label that is the group's own name.
- A mask allows labels of its own length; if no original and no plain released label has this length, labels of any
  length that agree where both have a character and the mask no star.
- While the tolerance of a column is searched, "all other columns" are compared by this score, m included: cells by
  containment, other numbers with a tolerance of a tenth.
- The control plays no part in what a cell allows or is worth.
- The lowest possible score, for a margin without a second candidate, is log(1 - m) in every column with a released
  value: a column without one cannot differ.
- Under `similarity: agreement` a share is at least 1e-6, and at most m.
"""

import math
import statistics
from dataclasses import dataclass, field

from . import rarity

NEAR = 1e-6


@dataclass
class Cells:
    """A column of the release with cells, and the originals' values that are counted for its shares."""

    counted: list  # the originals' known values
    separator: str | None
    spelled: set  # labels that an original has: they are what they say
    lengths: set  # of the plain labels
    kept: dict = field(default_factory=dict)
    shares: dict = field(default_factory=dict)

    def allows(self, cell, value):
        """Whether the cell can stand for the value, kept for each pair."""
        if (cell, value) not in self.kept:
            self.kept[cell, value] = self.holds(cell, value)
        return self.kept[cell, value]

    def holds(self, cell, value):
        if isinstance(cell, tuple):
            return cell[0] <= value < cell[1]
        if not isinstance(cell, str) or cell == value:
            return cell == value
        if self.separator is not None and below(cell.split(self.separator), value.split(self.separator)):
            return True
        if cell in self.spelled:
            return False
        inside = parts(cell, self.spelled)
        if inside is not None:
            return any(self.allows(part, value) for part in inside)
        ends = span(cell)
        if ends is not None and amount(value) is not None:
            return ends[0] <= amount(value) < ends[1]
        grouped = self.separator is not None and self.separator in cell
        return "*" in cell and not grouped and masks(cell, value, len(cell) in self.lengths)

    def share(self, cell):
        """(originals with a value that the cell allows + 1) / (originals with a value + 1)."""
        if cell not in self.shares:
            inside = sum(1 for value in self.counted if self.allows(cell, value))
            self.shares[cell] = (inside + 1) / (len(self.counted) + 1)
        return self.shares[cell]


def parts(label, spelled):
    """The labels in a set, None for anything else; without braces, each part is an original's label."""
    if label.startswith("{") and label.endswith("}"):
        inside = [part.strip() for part in label[1:-1].split(",")]
        return inside if all(inside) and not any("{" in part for part in inside) else None
    for sign in ",~":
        inside = [part.strip() for part in label.split(sign)]
        if len(inside) > 1 and all(part in spelled for part in inside):
            return inside
    return None


def span(label):
    """The ends of a range that is a label, the second not included: 30-39, [30, 40), [30, 40] or (30, 40]."""
    first, last = label[:1], label[-1:]
    closed = first in "[(" and last in ")]"
    low, sign, high = (label[1:-1] if closed else label).partition("," if closed else "-")
    low, high = amount(low.strip()), amount(high.strip())
    if not sign or low is None or high is None or low > high:
        return None
    return math.nextafter(low, math.inf) if first == "(" else low, high if last == ")" else math.nextafter(
        high, math.inf
    )


def amount(label):
    """The number that a label is, None if it is none."""
    return float(label) if label.replace(".", "", 1).isdigit() else None


def below(group, path):
    """Whether a path lies in a group; the group's stars at its end say nothing, others match any part."""
    while len(group) > 1 and group[-1] and not group[-1].strip("*"):
        group = group[:-1]
    if len(path) < len(group):
        return False
    return all(one == other or (one and not one.strip("*")) for one, other in zip(group, path, strict=False))


def masks(mask, label, of_one_length):
    """Whether a label agrees with a mask at every position without a star."""
    if of_one_length and len(mask) != len(label):
        return False
    return all(one in ("*", other) for one, other in zip(mask, label, strict=False))


def generalized(cell, spelled, separator, anywhere):
    """Whether a released value is a cell that allows several values, by its spelling and the labels of all tables."""
    if isinstance(cell, tuple):
        return math.nextafter(cell[0], math.inf) < cell[1] if isinstance(cell[0], float) else cell[0] < cell[1]
    if not isinstance(cell, str):
        return False
    if separator is not None and any(
        label != cell and below(cell.split(separator), label.split(separator)) for label in spelled
    ):
        return True
    if cell in spelled:
        return False
    if separator is not None and cell.split(separator)[-1] == "*":
        # A group such as "N/*" that has no label in any table is a value like others.
        return any(label != cell and below(cell.split(separator), label.split(separator)) for label in anywhere)
    if span(cell) is not None:
        return any(amount(label) is not None for label in spelled)
    return "*" in cell or parts(cell, spelled) is not None


def columns_with_cells(original, protected, columns, control=None):
    """The columns in which some released cell allows several values."""
    found = {}
    for name, column in columns.items():
        if name not in original or name not in protected:
            continue
        known = [value for value in original[name] if value is not None]
        spelled, separator = set(known) if column["type"] == "category" else set(), column.get("separator")
        released = [cell for cell in protected[name] if cell is not None]
        anywhere = {*spelled, *released, *((control or {}).get(name) or ())} - {None}
        if any(generalized(cell, spelled, separator, anywhere) for cell in released):
            plain = [cell for cell in released if not generalized(cell, spelled, separator, anywhere)]
            lengths = {len(label) for label in known + plain} if column["type"] == "category" else set()
            found[name] = Cells(known, separator, spelled, lengths)
    return found


@dataclass
class Weights:
    """The score: cells by containment, other columns by rarity."""

    names: list
    m: float
    compared: list  # names of the columns with a released value
    cells: dict  # column -> Cells
    plain: rarity.Weights  # of the other columns

    def score(self, a, i, b, j, without=None):
        """The score of record i of table a with the released record j of table b, over all columns but `without`."""
        total = 0.0
        for name in self.names:
            x, y = a[name][i], b[name][j]
            if name == without or x is None or y is None:
                continue
            if name in self.cells:
                agree, worth = self.cells[name].allows(y, x), -math.log(self.cells[name].share(y))
            else:
                agree = self.plain.agree(name, x, y)
                worth = self.plain.weight(name, x) if agree else 0.0
            if agree and name not in self.cells:
                differ = math.log(1 - self.m)
                total += self.plain.level(name, x, y, math.log(self.m) + worth, differ)
                continue
            total += math.log(self.m) + worth if agree else math.log(1 - self.m)
        return total

    def largest(self):
        """Agreement on what nobody counted has."""
        counted = {name: len(values) for name, values in self.plain.known.items()}
        counted |= {name: len(cells.counted) for name, cells in self.cells.items()}
        return sum(math.log(self.m * (counted[name] + 1)) for name in self.names)

    def lowest(self):
        """Disagreement on every column in which a released record has a value."""
        return len(self.compared) * math.log(1 - self.m)


def fit(tables, names, columns, m, width=None):
    """Shares among the originals, frequencies in the release, tolerances from the release unless `width` is given."""
    used = {name: columns[name] for name in names}
    cells = columns_with_cells(tables["original"], tables["protected"], used, tables.get("control"))
    known = {
        name: [value for value in tables["protected"][name] if value is not None] for name in names if name not in cells
    }
    compared = [name for name in names if any(cell is not None for cell in tables["protected"][name])]
    spreads = {name: rarity.min_spread(tables, name, columns[name]) for name in known}
    if width is not None:
        own = {name: width * spread(tables["original"][name], columns[name]) for name in known}
        return Weights(names, m, compared, cells, rarity.Weights(list(known), known, own))
    meanwhile = Weights(
        names, m, compared, cells, rarity.Weights(list(known), known, {n: 0.1 * spreads[n] for n in known})
    )
    found, equal = dict.fromkeys(known, 0.0), {}
    if len(names) > 1:
        for name in known:
            if spreads[name] > 0:
                found[name], same = rarity.tolerance(
                    tables["original"], tables["protected"], name, meanwhile, spreads[name]
                )
                equal |= {name: same} if found[name] else {}
    return Weights(names, m, compared, cells, rarity.Weights(list(known), known, found, equal))


def spread(values, column):
    """The standard deviation of the known values, 0 for labels."""
    known = [rarity.amount(value) for value in values if value is not None]
    return 0.0 if column["type"] == "category" or not known else statistics.pstdev(known)


def agreement(a, i, b, j, names, m, u, cells):
    """The Fellegi-Sunter weight, where u of a column with cells is the share of the released cell."""
    total = 0.0
    for name in names:
        x, y = a[name][i], b[name][j]
        if x is None or y is None:
            continue
        if name in cells:
            agree, chance = cells[name].allows(y, x), min(m, max(NEAR, cells[name].share(y)))
        else:
            agree, chance = x == y, u[name]
        total += math.log(m / chance) if agree else math.log((1 - m) / (1 - chance))
    return total
