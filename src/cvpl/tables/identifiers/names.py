"""Detection of person names in a column: by common names in its texts, or by the column's own name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cvpl.tables.identifiers.words import (
    ANY_NAME_WORDS,
    GIVEN_NAMES,
    NAME_QUALIFIERS,
    PARTICLES,
    PERSON_NAME_WORDS,
    PLACE_WORDS,
    SURNAMES,
    TITLES,
    folded,
    name_parts,
    named,
)

_PART = re.compile(r"[^\W\d_]+(?:['’.-][^\W\d_]+)*\.?")

_LEAST = 10
"""Fewer distinct values are labels, not names."""
_SHAPED = 0.7
_KNOWN, _GIVEN = 0.12, 0.05
_ONE_WORD = 0.4
_SURNAMES_ONLY = 0.25
_DIFFERENT = 0.5
_SOME_KNOWN = 0.05


def person(text: str) -> tuple[str, ...] | None:
    """Return the folded words of a text shaped like a name (given name, surname or both); None for any other text.

    A name is one to five words of letters, capitalized or all in one case, without titles and particles. A word common
    in places, firms or occupations rules it out. "Last, First" is reordered.
    """
    if len(text) > 80 or text.count(",") > 1:
        return None
    last, _, first = text.partition(",")
    parts = [*first.split(), *last.split()]
    if not 1 <= len(parts) <= 6 or not all(_PART.fullmatch(part) for part in parts):
        return None
    bare = [folded(part.rstrip(".")) for part in parts]
    kept = [at for at, word in enumerate(bare) if word not in PARTICLES and word not in TITLES]
    # "JEAN DUPONT" and "jean dupont" are names; "Clerk of works" has a lower-case word that no name has.
    cased = text.isupper() or text.islower() or all(parts[at][0].isupper() for at in kept)
    if not kept or not cased or any(word in PLACE_WORDS for word in bare):
        return None
    # A compound such as "Anne-Marie" is looked up by its first part.
    return tuple(bare[at].split("-")[0] for at in kept)


def share_of_names(column: str, texts: Sequence[str], counts: Sequence[int], different: float) -> float | None:
    """Return the share of the texts that are shaped like names if the column holds names; None if it does not.

    `counts` is how many records have each text; `different` is the column's number of distinct values as a share of its
    records. Common names occur in many records, so they are weighted by records; the rest is counted by texts.
    """
    if len(texts) < _LEAST:
        return None
    people = [person(text) for text in texts]
    shaped = sum(words is not None for words in people) / len(texts)
    if shaped < _SHAPED:
        return None
    if _named_for_people(column):
        long = sum(words is not None and max(map(len, words)) > 1 for words in people) / len(texts)
        return shaped if long >= _SHAPED else None
    if _several_words(people) or _one_word(people, counts):
        return shaped
    if _named_for_anything(column):
        known = [(words, count) for words, count in zip(people, counts, strict=True) if words and _known(words)]
        weight = sum(count for _, count in known)
        if different >= _DIFFERENT or (weight >= _SOME_KNOWN * sum(counts) and len(known) >= 3):
            return shaped
    return None


def _known(words: Sequence[str]) -> bool:
    return words[0] in GIVEN_NAMES or words[-1] in SURNAMES


def _several_words(people: Sequence[tuple[str, ...] | None]) -> bool:
    """Whether texts of two or more words begin or end with common names, some of them given names."""
    ends = [{words[0], words[-1]} for words in people if words and len(words) > 1]
    if len(ends) < max(_LEAST, 0.5 * len(people)):
        return False
    known = [pair & (GIVEN_NAMES | SURNAMES) for pair in ends]
    given = [pair & GIVEN_NAMES for pair in ends]
    return (
        sum(map(bool, known)) >= _KNOWN * len(people)
        and sum(map(bool, given)) >= _GIVEN * len(people)
        and len(set().union(*known)) >= 5
    )


def _one_word(people: Sequence[tuple[str, ...] | None], counts: Sequence[int]) -> bool:
    """Whether single words are given names or surnames, for enough texts or enough of the records."""
    singles = [(words[0], count) for words, count in zip(people, counts, strict=True) if words and len(words) == 1]
    if len(singles) < max(_LEAST, 0.7 * len(people)):
        return False
    total = sum(count for _, count in singles)
    for known, least in ((GIVEN_NAMES, _ONE_WORD), (SURNAMES, _SURNAMES_ONLY)):
        hits = [(word, count) for word, count in singles if word in known]
        share = max(len(hits) / len(singles), sum(count for _, count in hits) / total)
        if len({word for word, _ in hits}) >= _LEAST and share >= least:
            return True
    return False


def _named_for_people(column: str) -> bool:
    """Whether the column's name means person names: "surname", "Vorname", "patient_name", "nom de famille"."""
    parts = set(name_parts(column))
    beside = parts - ANY_NAME_WORDS
    return named(column, PERSON_NAME_WORDS) or bool(parts & ANY_NAME_WORDS and beside and beside <= NAME_QUALIFIERS)


def _named_for_anything(column: str) -> bool:
    """Whether the column is called just "name", in some language."""
    parts = set(name_parts(column))
    return bool(parts) and parts <= ANY_NAME_WORDS
