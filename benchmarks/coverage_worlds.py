"""Small worlds in which people, release and control can be drawn anew as often as one likes, and attacked for real.

A person is a point around the centre of its block; centres stay as they are, people do not. The release holds each
person's point with noise, or, for a share of them, a point of somebody else of the block. The attack is the nearest
neighbour by cosine inside the block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

TIE = 1e-6


@dataclass(frozen=True)
class World:
    """How people are drawn, and how their release is made."""

    name: str
    originals: int
    controls: int
    blocks: int = 1
    tail: float = 0.0
    """Blocks have weights 1 / rank^tail: 0 is even, 1 and more is heavy-tailed (Zipf)."""
    noise: float = 0.3
    replaced: float = 0.3
    released: float = 1.0
    household: float = 1.0
    """Mean number of rows in a group; a group's rows lie close to each other."""
    close: float = 0.15
    same_person: bool = False
    """Whether the rows of a group are one person's, and so all its released rows are matches."""
    rounded: float = 0.0
    classes: int = 0
    """People of a block are released as the means of classes of so many, like k-anonymity."""
    fresh_blocks: bool = False
    """Whether blocks have new centres in every draw. Such a draw brings more than new people."""
    dimensions: int = 4

    def weights(self) -> Any:
        """The share of each block."""
        weight = 1 / np.arange(1, self.blocks + 1) ** self.tail
        return weight / weight.sum()


@dataclass(frozen=True)
class Found:
    """What the attack found, and what is true."""

    best: Any
    second: Any
    row: Any
    wrong: Any
    hit: Any
    has_match: Any
    block: Any
    group: Any
    control_best: Any
    control_second: Any
    control_row: Any
    control_block: Any
    control_group: Any


def centres(world: World, rng: np.random.Generator) -> tuple[Any, Any]:
    """The centre and the spread of every block."""
    return rng.normal(size=(world.blocks, world.dimensions)), rng.uniform(0.3, 1.5, size=world.blocks)


def people(world: World, count: int, places: tuple[Any, Any], rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Points, blocks and groups of so many rows."""
    group = np.arange(count)
    if world.household > 1:
        group = np.repeat(group, 1 + rng.poisson(world.household - 1, size=count))[:count]
    families = int(group.max()) + 1
    block = rng.choice(world.blocks, size=families, p=world.weights())
    point = places[0][block] + places[1][block][:, None] * rng.normal(size=(families, world.dimensions))
    point, block = point[group], block[group]
    if world.household > 1:
        point = point + world.close * rng.normal(size=point.shape)
    return point, block, group


@dataclass(frozen=True)
class Population:
    """Originals and controls: points, blocks, groups; and where the blocks lie."""

    places: tuple[Any, Any]
    x: Any
    block: Any
    group: Any
    c: Any
    control_block: Any
    control_group: Any


def population(world: World, fixed: tuple[Any, Any], rng: np.random.Generator) -> Population:
    """One draw of people, originals and controls."""
    places = centres(world, rng) if world.fresh_blocks else fixed
    mine = people(world, world.originals, places, rng)
    return Population(places, *mine, *people(world, world.controls, places, rng))


def released(world: World, drawn: Population, rng: np.random.Generator) -> tuple[Any, Any]:
    """A release of the originals: its points, and whose they are."""
    places, x, block = drawn.places, drawn.x, drawn.block
    y = x + world.noise * rng.normal(size=x.shape)
    other = places[0][block] + places[1][block][:, None] * rng.normal(size=x.shape)
    gone = rng.random(len(x)) < world.replaced
    y[gone] = other[gone]
    if world.classes:
        y = _class_means(y, block, world.classes)
    kept = np.flatnonzero(rng.random(len(x)) < world.released)
    return y[kept], kept


def attacked(world: World, drawn: Population, release: tuple[Any, Any], seen: slice = slice(None)) -> Found:
    """The attack on a release by somebody who sees some of the dimensions."""
    y, kept = release
    x, c, block, group = drawn.x, drawn.c, drawn.block, drawn.group
    y_block = block[kept]
    person = group if world.same_person else np.arange(len(x))
    if world.rounded:
        x, c, y = (np.round(points / world.rounded) for points in (x, c, y))
    x, c, y = (_unit(points[:, seen]) for points in (x, c, y))
    mine = _attack(x, block, y, y_block, person, person[kept])
    base = _attack(c, drawn.control_block, y, y_block, np.full(len(c), -1), person[kept])
    has_match = np.isin(person, person[kept])
    others = drawn.control_block, drawn.control_group
    return Found(mine[0], mine[1], mine[2], mine[3], mine[4], has_match, block, group, *base[:3], *others)


def draw(world: World, fixed: tuple[Any, Any], rng: np.random.Generator) -> Found:
    """One draw of people, release and control, attacked."""
    drawn = population(world, fixed, rng)
    return attacked(world, drawn, released(world, drawn, rng))


def _attack(x: Any, block: Any, y: Any, y_block: Any, person: Any, y_person: Any) -> tuple[Any, ...]:
    """Best, second best, its row, best wrong one and hit of every query."""
    n = len(x)
    best, second, wrong = (np.full(n, -np.inf) for _ in range(3))
    row, hit = np.full(n, -1), np.zeros(n)
    x_order, y_order = np.argsort(block, kind="stable"), np.argsort(y_block, kind="stable")
    codes = np.arange(int(max(block.max(), y_block.max(initial=0))) + 2)
    x_ends, y_ends = np.searchsorted(block[x_order], codes), np.searchsorted(y_block[y_order], codes)
    for code in codes[:-1]:
        a, b = x_order[x_ends[code] : x_ends[code + 1]], y_order[y_ends[code] : y_ends[code + 1]]
        if not len(a) or not len(b):
            continue
        score = x[a] @ y[b].T
        at, which = np.arange(len(a)), score.argmax(axis=1)
        best[a], row[a] = score[at, which], b[which]
        own_query, own_candidate = np.nonzero(person[a][:, None] == y_person[b][None, :])
        if len(own_query):
            tied = score >= best[a][:, None] - TIE
            right = np.bincount(own_query, tied[own_query, own_candidate], minlength=len(a))
            hit[a] = right / tied.sum(axis=1)
            own = score[own_query, own_candidate]
            score[own_query, own_candidate] = -np.inf
            wrong[a] = score.max(axis=1)
            score[own_query, own_candidate] = own
        else:
            wrong[a] = best[a]
        score[at, which] = -np.inf
        second[a] = score.max(axis=1)
    return best, second, row, wrong, hit


def _class_means(y: Any, block: Any, size: int) -> Any:
    order = np.lexsort((y[:, 0], block))
    place = np.empty(len(y), dtype=np.int64)
    place[order] = np.arange(len(y))
    first = np.searchsorted(block[order], block)
    code = np.unique(np.stack([block, (place - first) // size]), axis=1, return_inverse=True)[1].reshape(-1)
    count = np.bincount(code)
    means = np.stack([np.bincount(code, column) / count for column in y.T], axis=1)
    return means[code]


def _unit(points: Any) -> Any:
    length = np.sqrt((points**2).sum(axis=1, keepdims=True))
    return points / np.where(length > 0, length, 1)


WORLDS = (
    World("twenty people", 20, 20),
    World("fifty people", 50, 50),
    World("sixty people, even blocks", 60, 60, blocks=20),
    World("sixty rows, households", 60, 60, household=3.0),
    World("few people", 200, 200),
    World("few people, strong release", 200, 100, noise=0.05, replaced=0.05),
    World("people", 1000, 1000),
    World("small control", 1000, 200),
    World("synthetic rows", 1000, 1000, replaced=1.0),
    World("strong release", 1000, 1000, noise=0.03, replaced=0.02),
    World("strong release, fewer controls", 500, 500, noise=0.03, replaced=0.02),
    World("a tenth released", 1000, 1000, released=0.1),
    World("classes of five", 1000, 1000, blocks=8, classes=5),
    World("rounded values", 1000, 500, rounded=1.0, dimensions=5),
    World("few blocks", 1000, 1000, blocks=8),
    World("few people, even blocks", 200, 200, blocks=25),
    World("even blocks", 1000, 1000, blocks=50),
    World("even blocks, synthetic rows", 1000, 1000, blocks=50, replaced=1.0),
    World("many even blocks", 10_000, 10_000, blocks=200),
    World("heavy-tailed blocks", 1000, 1000, blocks=60, tail=1.2),
    World("heavy-tailed blocks, small control", 1000, 200, blocks=60, tail=1.2),
    World("many heavy-tailed blocks", 10_000, 10_000, blocks=500, tail=1.0),
    World("rounded values, blocks", 1000, 1000, blocks=40, rounded=1.0),
    World("households", 1000, 1000, household=3.0),
    World("large households", 1000, 1000, household=8.0, close=0.05),
    World("households, few people", 300, 300, household=3.0),
    World("several rows a person", 1000, 500, household=4.0, same_person=True, close=0.1),
    World("several rows a person, blocks", 1000, 1000, blocks=30, household=3.0, same_person=True, close=0.1),
    World("households, heavy-tailed blocks", 1000, 1000, blocks=60, tail=1.0, household=3.0),
    World("many households", 3000, 3000, blocks=100, household=2.5),
)
BEYOND = (
    World("beyond: even blocks drawn anew", 1000, 1000, blocks=50, fresh_blocks=True),
    World("beyond: heavy-tailed blocks drawn anew", 1000, 1000, blocks=60, tail=1.2, fresh_blocks=True),
    World("beyond: few blocks drawn anew", 1000, 1000, blocks=8, fresh_blocks=True),
)
"""A fresh draw that brings fresh blocks is not what an interval is about; what it costs is worth knowing."""
