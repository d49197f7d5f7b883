"""The attack: blocking B, then φ, ψ and s, then the best candidates (paper, Algorithm 1).

Choices where the sources are silent:
- A blocking rule on a column that takes no part (role, `knows`, absent from a table) is dropped from its scheme; a
  scheme left without
  rules is no blocking.
- Missing is compared rule by rule: in a scheme of two columns, (None, "F") meets (None, "F") only. Under
  match: "compatible" a missing value meets every value, on either side.
- bin is floor(value / w) of the rounded quotient, not Python's value // w (1.0 / 0.1 is bin 10, 1.0 // 0.1 is 9.0).
- All LSH schemes read the same planes, each its first `bits`. Indicators of quasi-identifiers belong to the vector.
- `ties` and `best_rows` are sets of rows. `second` is the second-largest similarity, so it equals `best` under a tie.
- Jaccard, agreement, rarity and containment have no projection: `components`, `explained_variance` and the embeddings
  are None.
"""

import math
import statistics
from dataclasses import dataclass

from . import containment, fellegi_sunter, latent, rarity
from .vectors import length, participating, split, vectorize


@dataclass
class Found:
    """What searching one table in another found: per searched record its candidates and the best of them."""

    best: list  # similarity, or None without candidates
    second: list  # similarity, or None with fewer than two candidates
    best_rows: list  # rows within 1e-12 of the best
    candidates: list  # C(x), a set of rows
    ties: list  # rows within 1e-6 of the best
    similarity: object  # (i, j) -> s, for every pair, candidates or not
    embeddings: list | None  # of the searched records
    kind: str  # of the similarity


@dataclass
class Attack(Found):
    """`Found` for original in protected, and what the fitted attacker knows besides."""

    control: Found | None  # the same for the control's records
    protected_embeddings: list | None
    components: int | None
    explained_variance: float | None
    maximum: float  # of the similarity
    least: float | None  # of a score by containment
    columns: list  # names that are vectorized
    features: list  # per feature (column, "number" or "binary")
    vectors: dict  # table -> φ of its records
    projection: latent.Projection | None
    zero_norm: float | None  # an embedding up to this norm is the zero vector
    within: object  # table name -> Found inside that table, each record itself left out
    between: object  # (table, i, table, j) -> s, for every pair of records of any two tables


def attack(original, protected, columns, attacker, control=None, draws=None):
    """τ-free CVPL = s ∘ ψ ∘ φ ∘ B (paper, eq. cvpl-composition): everything that a threshold is later held against."""
    tables = {"original": original, "protected": protected}
    if control is not None:
        tables["control"] = control
    draws = draws or {}
    used = participating(columns, attacker.get("knows"), original, protected)
    names = [name for name, column in used.items() if column.get("vectorize", True)]
    phi = vectorize(
        tables, used, attacker["encode"], attacker["scale"], attacker["missing"], attacker.get("released_labels", False)
    )

    kind = attacker["similarity"]["kind"]
    projection, embeddings, zero = None, None, None
    if kind == "rarity":
        weights = rarity.fit(tables, names, used, attacker["similarity"].get("reference", []))
    if kind == "contained":
        weights = containment.fit(tables, names, used, attacker["similarity"]["m"])
    if kind == "agreement":
        weights = fellegi_sunter.fit(tables, names, used, attacker["similarity"])
    if kind not in ("jaccard", "agreement", "rarity", "contained"):
        settings = attacker["projection"]
        fitting = {"joint": ["original", "protected"], "original": ["original"], "protected": ["protected"]}
        fitting = fitting[settings.get("fit", "joint")]
        rows = [v for table in fitting for v in phi.rows[table]]
        projection = latent.fit_projection(settings, phi.features, rows, draws.get("projection"))
        embeddings = {table: [projection.embed(v) for v in phi.rows[table]] for table in tables}
        zero = latent.zero_norm(embeddings["original"] + embeddings["protected"])
        if kind == "mahalanobis":
            axes = latent.covariance_axes([z for table in fitting for z in embeddings[table]])

    def similarity(a, i, b, j):
        """S between record i of table a and record j of table b."""
        if kind == "jaccard":
            return latent.jaccard(phi.binary[a][i], phi.binary[b][j])
        if kind in ("agreement", "rarity", "contained"):
            return weights.score(tables[a], i, tables[b], j)
        if projection.components == 0:
            return 0.0
        if kind == "cosine":
            return latent.cosine(embeddings[a][i], embeddings[b][j], zero)
        if kind == "euclidean":
            return latent.euclidean(embeddings[a][i], embeddings[b][j])
        if kind == "mahalanobis":
            return latent.mahalanobis(embeddings[a][i], embeddings[b][j], axes)
        raise ValueError(kind)

    keys = block_keys(tables, used, attacker["schemes"], phi, draws.get("planes"))
    meet = compatible if attacker.get("match") == "compatible" else equal

    def search(a, b, leave_self_out=False):
        """C(x) = {y : B(x) = B(y)} under any scheme (paper, eq. candidate-set), and the best in it."""
        scores = [[similarity(a, i, b, j) for j in range(length(tables[b]))] for i in range(length(tables[a]))]
        mine = embeddings[a] if embeddings else None
        found = Found([], [], [], [], [], lambda i, j: scores[i][j], mine, kind)
        for i in range(length(tables[a])):
            candidates = set()
            for j in range(length(tables[b])):
                if leave_self_out and i == j:
                    continue
                if any(meet(x, y) for x, y in zip(keys[a][i], keys[b][j], strict=True)):
                    candidates.add(j)
            ordered = sorted((scores[i][j] for j in candidates), reverse=True)
            best = ordered[0] if ordered else None
            found.candidates.append(candidates)
            found.best.append(best)
            found.second.append(ordered[1] if len(ordered) > 1 else None)
            found.best_rows.append({j for j in candidates if best - scores[i][j] <= 1e-12})
            found.ties.append({j for j in candidates if best - scores[i][j] <= 1e-6})
        return found

    maximum = 1.0
    if kind in ("agreement", "rarity", "contained"):
        maximum = weights.largest()
    found = search("original", "protected")
    return Attack(
        **vars(found),
        control=search("control", "protected") if control is not None else None,
        protected_embeddings=embeddings["protected"] if embeddings else None,
        components=projection.components if projection else None,
        explained_variance=projection.explained_variance if projection else None,
        maximum=maximum,
        least=weights.lowest() if kind == "contained" else None,
        columns=names,
        features=phi.features,
        vectors=phi.rows,
        projection=projection,
        zero_norm=zero,
        within=lambda table: search(table, table, leave_self_out=True),
        between=similarity,
    )


def equal(x, y):
    """Two keys are the same."""
    return x == y


def compatible(x, y):
    """Two keys can mean the same: on every rule they are equal, or one is missing."""
    return all(a is None or b is None or a == b for a, b in zip(x, y, strict=True))


def block_keys(tables, columns, schemes, phi, planes):
    """B(x) under each scheme (paper, eq. blocking-def): table -> record -> one key per scheme."""
    hashes = simhash(phi, columns, planes) if planes is not None else None
    keys = {}
    for table, values in tables.items():
        keys[table] = []
        for i in range(length(values)):
            mine = []
            for scheme in schemes:
                if len(scheme) == 2 and scheme[0] == "lsh":
                    mine.append(tuple(hashes[table][i][: scheme[1]]))
                else:
                    rules = [(name, rule) for name, rule in scheme if name in columns]
                    mine.append(tuple(block_key(values[name][i], rule, columns[name]) for name, rule in rules))
            keys[table].append(mine)
    return keys


def block_key(value, rule, column):
    if value is None:
        return None
    if rule == "exact":
        return value
    how, size = rule
    if how == "bin":
        return math.floor(value / size)
    if how == "level":
        return split(value, column)[:size]
    if how == "prefix":
        return value[:size]
    if how == "truncate":
        parts = (value.year, value.month, value.day, value.hour)
        return parts[: {"year": 1, "month": 2, "day": 3, "hour": 4}[size]]
    raise ValueError(rule)


def simhash(phi, columns, planes):
    """Bit j = [<centred quasi-identifier vector, plane j> >= 0], the centre being the mean over both tables."""
    chosen = [f for f, (name, _) in enumerate(phi.features) if columns[name]["role"] == "quasi_identifier"]
    pooled = phi.rows["original"] + phi.rows["protected"]
    means = {f: statistics.mean([row[f] for row in pooled]) for f in chosen}
    bits = {}
    for table, rows in phi.rows.items():
        bits[table] = []
        for row in rows:
            centred = [row[f] - means[f] for f in chosen]
            # A record on the plane is put to either side by rounding; up to 1e-9 it counts to the positive one.
            bits[table].append([1 if latent.dot(centred, plane) >= -1e-9 else 0 for plane in planes])
    return bits
