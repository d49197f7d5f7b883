"""The attackers on a secret: each gives beliefs of the originals' and the controls' values from what it knows.

    best_candidate     the value of the best candidate of a linkage attacker, one of them at random if several tie
    nearest_record     the value of the nearest released record by distance of whole rows, likewise
    vote               the values of its 20 nearest profiles, weighted by exp((score - best) / scale)
    compatible_class   the values of all released records whose cells allow what is known
    boosted_trees      a model trained on the release
    forest             another one
    model_and_link     λ vote + (1 - λ) mean of the models; λ is the share of the best profile in the vote's weights

None of them reads the secret of the people; the linkage attacker does not compare the secret column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.evaluation.inference import models
from cvpl.evaluation.inference.beliefs import Beliefs, best_hits, drawn_hits, normalized
from cvpl.evaluation.inference.compatible_class import CompatibleClasses
from cvpl.evaluation.inference.nearest import Nearest, Profiles, nearest_profiles, vote_scale
from cvpl.evaluation.inference.sensitive_attribute import SensitiveAttribute, SensitiveTruth
from cvpl.operators.alignment import Granularity, detect
from cvpl.operators.similarity import generalized_columns
from cvpl.randomness import stream
from cvpl.search.best import TIE
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BEST, NEAREST_RECORD, VOTE = "best_candidate", "nearest_record", "vote"
CLASS, JOINED = "compatible_class", "model_and_link"


@dataclass(frozen=True, eq=False)
class BothBeliefs:
    """The beliefs of the originals and of the controls who were asked; `drawn` if the guess is drawn from them."""

    original: Beliefs
    control: Beliefs | None
    drawn: bool = False

    def hits(
        self, secret: SensitiveAttribute, original: SensitiveTruth, control: SensitiveTruth | None, *, by_rarity: bool
    ) -> list[Floats]:
        """How right the guess of each original is, and of each control, if there are any."""
        found = []
        for beliefs, truth in ((self.original, original), (self.control, control)):
            if beliefs is not None and truth is not None:
                one = drawn_hits(beliefs, secret, truth) if self.drawn else None
                found.append(best_hits(beliefs, secret, truth, by_rarity=by_rarity) if one is None else one)
        return found


@dataclass(frozen=True, eq=False)
class LinkGuesses:
    """The nearest profiles of originals and controls by one linkage attacker, and the release that it searched."""

    attack: Attack
    profiles: Profiles
    original: Nearest
    control: Nearest | None

    @classmethod
    def of(cls, attack: Attack, kept: NDArray[np.bool_]) -> LinkGuesses:
        """Search among the released records in `kept`, those with a secret."""
        names = attack.representation.attacker.vectorization.compared(attack.protected)
        profiles = Profiles.by(attack.protected, names, kept)
        control = None if attack.control is None else nearest_profiles(attack, attack.control, profiles)
        return cls(attack, profiles, nearest_profiles(attack, attack.original, profiles), control)

    @cached_property
    def scale(self) -> float:
        """The scale of the vote."""
        return vote_scale(self.attack, [item for item in (self.original, self.control) if item is not None])

    @property
    def _both(self) -> list[Nearest | None]:
        return [self.original, self.control]

    def best(self, secret: SensitiveAttribute) -> BothBeliefs:
        """The values of the best candidates."""
        values = self.profiles.values(secret)
        mine, base = (None if item is None else item.best(values) for item in self._both)
        return BothBeliefs(mine, base, drawn=True)

    def vote(self, secret: SensitiveAttribute) -> BothBeliefs:
        """The values of the nearest profiles, weighted."""
        values = self.profiles.values(secret)
        mine, base = (
            None if item is None else item.beliefs(item.profile_weights(self.scale), values) for item in self._both
        )
        return BothBeliefs(mine, base)

    def joined(self, secret: SensitiveAttribute, predicted: Sequence[BothBeliefs]) -> BothBeliefs:
        """The vote and the mean of the models, weighted by how far the best profile is ahead."""
        vote = self.vote(secret)
        found: list[Beliefs | None] = []
        for at, item in enumerate(self._both):
            if item is None:
                found.append(None)
                continue
            voted, *told = (_some((both.original, both.control)[at]) for both in (vote, *predicted))
            weights = item.profile_weights(self.scale)
            ahead = np.divide(weights[:, 0], weights.sum(axis=1), out=np.zeros(len(weights)), where=weights[:, 0] > 0)
            found.append(_mixed(ahead, voted, reduce(add, told) / len(told)))
        return BothBeliefs(found[0], found[1])

    def together(
        self, secrets: Sequence[SensitiveAttribute], truths: Sequence[Sequence[SensitiveTruth | None]]
    ) -> list[Floats]:
        """The share of the best candidates of each person that have all of several secrets right.

        `truths` are those of the originals, and those of the controls.
        """
        found = []
        order = np.argsort(self.profiles.of, kind="stable")
        starts = np.searchsorted(self.profiles.of[order], np.arange(len(self.profiles.first) + 1))
        for item, own in zip(self._both, truths, strict=True):
            if item is None:
                continue
            tied = (item.score >= item.score[:, :1] - TIE) & (item.profile >= 0)
            person, place = np.nonzero(tied)
            profile = item.profile[person, place]
            counts = starts[profile + 1] - starts[profile]
            first = np.repeat(starts[profile] - (np.cumsum(counts) - counts), counts)
            records = order[np.arange(int(counts.sum())) + first]
            people = np.repeat(person, counts)
            right = np.ones(len(records))
            for secret, truth in zip(secrets, own, strict=True):
                assert truth is not None  # noqa: S101 - who was searched for is known
                right *= secret.right(secret.released[records], truth.take(people))
            every = np.bincount(people, minlength=len(tied))
            found.append(np.bincount(people, right, minlength=len(tied)) / np.maximum(1, every))
        return found


def _some(beliefs: Beliefs | None) -> Beliefs:
    assert beliefs is not None  # noqa: S101 - there are beliefs wherever there are candidates
    return beliefs


def _mixed(share: Floats, one: Beliefs, other: Beliefs) -> Beliefs:
    from scipy.sparse import diags  # noqa: PLC0415 - loaded when secrets are inferred

    return normalized((diags(share) @ one + diags(1 - share) @ other).tocsr())


@dataclass(frozen=True, eq=False)
class AlignedPeople:
    """The people asked, at the granularity of the release, for attackers that need no search.

    In `cells` a column whose released cells allow several values stays as it is.
    """

    released: Table
    granularity: Granularity
    generalized: tuple[str, ...]
    held: Table
    held_control: Table | None

    @classmethod
    def of(cls, held: Table, released: Table, control: Table | None) -> AlignedPeople:
        """Detect the granularity of the release from the attacker's people."""
        generalized = tuple(generalized_columns(held, released))
        return cls(released, detect(held, released), generalized, held, control)

    def compatible_class(self, names: Sequence[str], secret: SensitiveAttribute) -> BothBeliefs:
        """The values of the released records that are compatible in the columns."""
        grain = self.granularity.without(self.generalized)
        mine = grain.apply(self.held)
        classes = CompatibleClasses.of(mine, self.released, names)
        control = None if self.held_control is None else classes.beliefs(grain.apply(self.held_control), secret)
        return BothBeliefs(classes.beliefs(mine, secret), control)

    def model(
        self, name: models.ModelName, names: Sequence[str], secret: SensitiveAttribute, *, seed: int, workers: int
    ) -> BothBeliefs | None:
        """The predictions of a model that is trained on at most 100,000 released records; None without a record."""
        features = models.Features.of(self.released, names)
        rows = np.flatnonzero(secret.released >= 0)
        if len(rows) > models.MOST_ROWS:
            rows = np.sort(stream(seed, f"trained on {secret.name}").permutation(rows)[: models.MOST_ROWS])
        trained = models.train(
            name,
            features(self.released.only(tuple(names)).take(rows)),
            secret.released[rows],
            secret,
            categorical=features.categorical,
            seed=int(stream(seed, f"{name} {secret.name}").integers(1 << 31)),
            workers=workers,
        )
        if trained is None:
            return None
        mine, base = (
            None if table is None else trained.beliefs(features(self.granularity.apply(table)))
            for table in (self.held, self.held_control)
        )
        return BothBeliefs(mine, base)
