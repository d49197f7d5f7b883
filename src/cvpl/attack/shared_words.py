"""How well the words of one released record fit the texts of a person.

    score(x) = max over released y of   sum over text columns of   sum over the words w of y of
               2 log(N / n_w) if x has w at the same place, log(N / n_w) at another, minus log(N / n_w) if x lacks w

N is the number of released records with a text and n_w that of those whose text has the word. Words in more than
`USUAL` of them, as a mark of redaction is, count nothing. The words that redaction leaves are all the person's own,
while those of another person's text are not, so a person is found by a few words that are left. Places count only in
favour: a mark for each redacted word keeps them, and words cut out move them. A word that y repeats counts once, at its
first place. A missing text counts 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.words import USUAL, is_text, words_of
from cvpl.tables.columns import ColumnData, Labels, Table

Floats = NDArray[np.float64]

SCORES_AT_ONCE = 2_000_000
_ANYWHERE = -1


def text_columns(original: Table, released: Table, columns: Sequence[str]) -> list[str]:
    """The columns that hold texts in either table."""
    return [name for name in columns if any(_holds_texts(table.columns[name]) for table in (original, released))]


def fitting_words(people: Table, released: Table, texts: Sequence[str]) -> Floats:
    """The score of each record of `people`; 0 without text columns or released records."""
    from scipy.sparse import hstack  # noqa: PLC0415 - loading it takes a while, and few tables have texts

    if not texts or not released.rows:
        return np.zeros(people.rows)
    parts = [_words_of_records(people.columns[name], released.columns[name]) for name in texts]
    own, there = (hstack([part[side] for part in parts], format="csr") for side in (0, 1))
    lacked = np.sum([part[2] for part in parts], axis=0)
    transposed, result = there.T.tocsr(), np.empty(people.rows)
    step = max(1, SCORES_AT_ONCE // released.rows)
    for start in range(0, people.rows, step):
        result[start : start + step] = ((own[start : start + step] @ transposed).toarray() - lacked).max(axis=1)
    return result


def _holds_texts(column: ColumnData) -> bool:
    return isinstance(column, Labels) and is_text(column.labels, column.counts())


def _words_of_records(own: ColumnData, released: ColumnData) -> tuple[Any, Any, Floats]:
    """Sparse tables with a row for each record, and what each released record costs whoever has none of its words.

    A column stands for a word anywhere, or for a word at one place. A person has 2 for the former and 1 for the latter,
    a released record the weight of the word.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415 - see `fitting_words`

    assert isinstance(own, Labels)  # noqa: S101 - only columns of labels hold texts
    assert isinstance(released, Labels)  # noqa: S101
    counts = released.counts()
    texts = [words_of(label) for label in released.labels]
    records: Counter[str] = Counter()
    for label in np.flatnonzero(counts).tolist():
        records.update(dict.fromkeys(texts[label], int(counts[label])))
    total = int(counts.sum())
    weights = {word: float(np.log(total / n)) for word, n in records.items() if n <= USUAL * total}
    columns: dict[tuple[str, int], int] = {}
    places, has, weighs, costs, ends = [], [], [], [], [0]
    for words in texts:
        seen: set[str] = set()
        for place, word in enumerate(words):
            weight = weights.get(word, 0.0)
            first = word not in seen
            seen.add(word)
            for at, mine in ((_ANYWHERE, 2.0), (place, 1.0)):
                if weight and (first or at == place):
                    places.append(columns.setdefault((word, at), len(columns)))
                    has.append(mine)
                    weighs.append(weight if first else 0.0)
        costs.append(sum(weights.get(word, 0.0) for word in seen))
        ends.append(len(places))
    # The last row is that of a missing text.
    shape, ends = (len(texts) + 1, len(columns)), [*ends, ends[-1]]
    asked, found = (csr_array((np.array(data, dtype=np.float64), places, ends), shape=shape) for data in (has, weighs))
    return asked[own.codes], found[released.codes], np.array([*costs, 0.0])[released.codes]
