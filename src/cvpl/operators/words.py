"""Features of texts: which words they contain, where a rare word counts more than a common one.

    v(text) = 4 w / |w|        w = sum over its words of log(N / n_word) e_word

N is the number of released records and n_word that of those whose text has the word; a word that the release lacks has
no weight, be it an original's or a control's. The vectors e_word are random signs
in `WIDTH` dimensions, fixed by the word itself, so different words are nearly orthogonal. Two texts with the same words
are equal, however they are ordered; a text of which some words were redacted stays near to it. A column is read so if
most of its labels have several words and nearly every record has a label of its own.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WIDTH = 128
LENGTH = 4.0
"""The length of the vector of a text; two labels of a category are the square root of 2 apart."""
FEWEST_WORDS = 2
"""The labels of a text have at least so many parts with a letter between spaces on average, as names have: dates, codes
and levels of a hierarchy are no texts."""
OWN_TEXT = 0.5
"""At least so many labels per record make a column a text."""
LOOKED_AT = 2_000
USUAL = 0.2
"""A word in more of the texts than this says nothing of one of them; a mark of redaction is such a word."""
_WORD = re.compile(r"[^\W_]+")


def is_text(labels: Sequence[str], counts: Floats | NDArray[np.int64]) -> bool:
    """Whether a column with these labels, each in so many records, is read by its words."""
    used = np.flatnonzero(counts)
    if not len(used) or len(used) < OWN_TEXT * float(counts.sum()):
        return False
    some = used[np.linspace(0, len(used) - 1, min(len(used), LOOKED_AT)).astype(np.intp)]
    return float(np.mean([sum(map(_has_letter, labels[code].split())) for code in some])) >= FEWEST_WORDS


def _has_letter(word: str) -> bool:
    return any(map(str.isalpha, word))


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return [word.casefold() for word in _WORD.findall(text)]


def word_features(labels: Sequence[str], counts: Floats) -> Floats:
    """The vector of every label; `counts` are the records that have it."""
    words = [set(words_of(label)) for label in labels]
    records: Counter[str] = Counter()
    for found, count in zip(words, counts.tolist(), strict=True):
        if count:
            for word in found:
                records[word] += count
    total = max(1.0, float(counts.sum()))
    result = np.zeros((len(labels), WIDTH))
    signs: dict[str, Floats] = {}
    for row, found in enumerate(words):
        for word in sorted(found):
            weight = np.log(total / records[word]) if records[word] else 0.0
            if weight > 0:
                if word not in signs:
                    signs[word] = _signs(word)
                result[row] += weight * signs[word]
    norms = np.sqrt((result**2).sum(axis=1, keepdims=True))
    return LENGTH * result / np.where(norms > 0, norms, 1.0)


def _signs(word: str) -> Floats:
    """Random signs that depend on the word alone."""
    rng = np.random.default_rng(zlib.crc32(word.encode("utf-8", "surrogatepass")))
    return np.asarray(rng.choice([-1.0, 1.0], WIDTH) / np.sqrt(WIDTH))


def shared_words(own: Sequence[str], released: Sequence[str]) -> float:
    """The share of the released texts' words that the originals' texts have too, without words of most texts."""
    mine = {word for text in own for word in words_of(text)}
    texts = [set(words_of(text)) for text in released]
    records = Counter(word for words in texts for word in words)
    usual = {word for word, count in records.items() if count > USUAL * len(texts)}
    found = [word in mine for words in texts for word in words - usual]
    return sum(found) / len(found) if found else 0.0
