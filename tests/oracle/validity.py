"""Which attackers do not count (docs/concepts/validity.md, canaries.md).

The identity canary is the originals themselves, and is searched here. The perturbed copy and the independent canary are
releases that are drawn at random, so what an attacker did on them is handed over, and only judged.

Choices where the pages are silent:
- "The pooled spread" is the root of the mean squared distance of the records from their own table's mean.
- Equal records are counted by the values compared, missing ones as a value of their own.
"""

import math

from .figures import matches
from .latent import minus, norm
from .vectors import length

SHORTFALL, NOTHING, FEWEST_JUDGED = 0.01, 0.02, 20


def faults(member, truth):
    """The names of the faults that the two tables show."""
    found, named = member.found, []
    asked = range(len(found.best))
    in_release = [i for i in asked if truth is not None and matches(truth, i)] or list(asked)
    if sum(1 for i in in_release if not found.candidates[i]) / len(in_release) > 0.5:
        named.append("blocking")
    if not member.compares_values and max(zeros(found.embeddings), zeros(found.protected_embeddings)) > 0.5:
        named.append("zero vectors")
    elif most_alike(member.compared["protected"]) > 0.5:
        named.append("release is dead")
    if not member.compares_values:
        apart = shift(found.embeddings, found.protected_embeddings)
        if apart is not None and apart >= 0.6:
            named.append("shifted")
    return named


def zeros(rows):
    """The share of zero vectors: up to 1e-9 of the typical length of the table."""
    typical = math.sqrt(sum(norm(z) ** 2 for z in rows) / len(rows))
    return sum(1 for z in rows if norm(z) <= 1e-9 * max(typical, 1e-300)) / len(rows)


def most_alike(table):
    """The largest share of records that are equal in everything compared."""
    records = [tuple(values[i] for values in table.values()) for i in range(length(table))]
    return max(records.count(record) for record in records) / len(records)


def shift(one, other):
    """The distance of the mean embeddings over the pooled spread; None if nothing varies and nothing is apart."""
    means = [[sum(z[c] for z in rows) / len(rows) for c in range(len(rows[0]))] for rows in (one, other)]
    inner = sum(norm(minus(z, mean)) ** 2 for rows, mean in zip((one, other), means, strict=True) for z in rows)
    apart = norm(minus(*means))
    if inner <= 1e-12 * sum(norm(z) ** 2 for rows in (one, other) for z in rows):
        return None if apart == 0 else math.inf
    return apart / math.sqrt(inner / (len(one) + len(other)))


def identity_canary(member):
    """Top-1 of an attacker whose release is the originals themselves, and the most that equal records allow.

    Both over the people without a missing value; with fewer than 20 of them, over all.
    """
    table, found = member.compared["original"], member.found
    records = [tuple(values[i] for values in table.values()) for i in range(length(table))]
    judged = [i for i, record in enumerate(records) if None not in record]
    if len(judged) < FEWEST_JUDGED:
        judged = list(range(len(records)))
    hits = sum(1 / len(found.ties[i]) for i in judged if i in found.ties[i])
    return hits / len(judged), sum(1 / records.count(records[i]) for i in judged) / len(judged)


def canary_faults(member, identity, independent):
    """The canaries that fail: `identity` is (top-1, attainable), `independent` the ends of its 99.9% interval."""
    named = []
    table = member.compared["original"]
    whole = sum(1 for i in range(length(table)) if all(values[i] is not None for values in table.values()))
    if whole >= FEWEST_JUDGED and identity[0] < identity[1] - SHORTFALL:
        named.append("identity canary")
    low, high = independent
    if low is not None and (low > NOTHING or high < -NOTHING):
        named.append("independent canary")
    return named
