"""The estimate of a recoding: the direction of every ordered column, the new name of every label, and what is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.recoding.association import ALIGNED, KEPT, SEEN, Association
from cvpl.operators.recoding.directions import (
    MOST_ORIGINALS,
    RELEASED,
    UNSURE,
    agreement_terms,
    best_directions,
    connected_groups,
    gains,
    moments,
    tried_on_records,
)
from cvpl.operators.recoding.noise import Disturbance, noise_level
from cvpl.operators.recoding.ranks import Ranks
from cvpl.operators.recoding.recoding import LabelRecoding, OrderedRecoding, Recoding
from cvpl.operators.recoding.refinement import Shift, refine_scores
from cvpl.operators.recoding.renaming import MOST_LABELS, SHARED_LABELS, LabelProfiles, match_labels, separated_share
from cvpl.operators.recoding.sight import ColumnSight
from cvpl.operators.recoding.simple_forms import has_simple_form
from cvpl.operators.words import is_text, shared_words
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Table
from cvpl.tables.meaning.labels import find_covers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_ROWS = 5_000
"""Associations between columns are estimated from at most so many records of a table."""
ALIKE = 0.3
"""Two distributions with at most this Kolmogorov-Smirnov distance are taken for the same scale."""
SURELY_ALIKE, BY_CHANCE = 0.1, 1.8
"""Above this distance, and so many times the sampling error, they are one scale only if the column still goes with the
same columns."""
NOT_TURNED = 0.05
"""What a column on the same scale adds to the agreement of directions if it is not turned around."""
KNOWN_LABELS = 0.5
"""Labels are taken for the originals' own if at least this share of the released records has one of them."""
STRANGE, FEWEST_STRANGE = 0.15, 3
"""A column is unread if this share of the records has one of as many labels that the originals lack, and there
are at least half as many of these as of the originals' labels that the release lacks: rare labels under new names."""
ASSOCIATED = 0.15
"""The least rank correlation with another column that can show whether a recoding is understood."""
WIDER = 0.75
"""Noise of this level makes the standard deviation of a column larger by a quarter."""
CLEAR, CLEARLY = 0.5, 3.0
"""A renaming is understood if at least this share of the records has a label whose partner is better than the next best
by this many standard errors."""
RENAMED = 30.0
"""Labels that the originals have too count as exchanged if that explains this much more, in squared standard errors."""
SHARED_WORDS = 0.3
"""Texts are read if at least this share of the released words occurs in the originals' texts."""
FEWEST_WITH_LABEL = 10
"""Labels of fewer records, in either table, say too little about what they go with."""
EXCHANGED = 3.0
"""Without associations, labels are lost if their shares are this many times as far apart as the sorted shares are."""
TELLING, GONE = 6.0, 0.3
"""Values of several records tell that a column was drawn if what they went with was so many standard errors of it in
the release, and if less than this part of it is left."""
MOST_UNSURE = 7
"""The largest number of columns that have their direction tried on records, in all combinations."""


def estimate_recoding(people: Table, released: Table, rng: np.random.Generator) -> Recoding:
    """How the release writes each column, from the originals and the control together, at its granularity."""
    return _Fit(people, released, rng).recoding()


class _Fit:
    """One estimate, step by step: directions, then names, then what of it can be trusted."""

    def __init__(self, people: Table, released: Table, rng: np.random.Generator) -> None:
        self.people, self.released = (_sample_rows(table) for table in (people, released))
        self.rng = rng
        self.specs = released.specs
        self.ranks = {
            spec.name: (Ranks.of(people.columns[spec.name]), Ranks.of(released.columns[spec.name]))
            for spec in self.specs
            if people.columns[spec.name].ordered
        }
        self.ordered = [name for name, (own, there) in self.ranks.items() if own.distinct > 1 and there.distinct > 1]
        self.apart = {name: self.ranks[name][0].distance(self.ranks[name][1]) for name in self.ordered}
        self.noise = {name: self._noise(name) for name in self.ordered}
        self.known = tuple(
            np.array([table.columns[n].known() for n in self.ordered], dtype=np.float64).reshape(-1, table.rows).T
            for table in (self.people, self.released)
        )
        self.scores = tuple(
            np.column_stack(
                [np.nan_to_num(self.ranks[n][side].scores(table.columns[n].ordinal())) for n in self.ordered]
                or [np.zeros((table.rows, 0))]
            ).reshape(table.rows, len(self.ordered))
            for side, table in enumerate((self.people, self.released))
        )
        self.texts = {spec.name for spec in self.specs if _are_texts(people, released, spec.name)}
        self.codes = {
            spec.name: tuple(_codes(table.columns[spec.name]) for table in (self.people, self.released))
            for spec in self.specs
            if isinstance(people.columns[spec.name], Labels) and spec.name not in self.texts
        }
        self.groups = {name: self._group_labels(name) for name in self.codes}
        self.shared = {name: _share_known(own, there, self.groups[name]) for name, (own, there) in self.codes.items()}
        self.renamed: dict[str, dict[int, int]] = {}
        self.clear: dict[str, float] = {}
        self.at = np.ones(len(self.ordered), dtype=np.int64)

    def recoding(self) -> Recoding:
        """The whole estimate."""
        strange = [n for n, share in self.shared.items() if share < KNOWN_LABELS and self._matchable(n)]
        self._turn()
        for name in sorted(strange, key=lambda n: len(np.unique(self.codes[n][0]))):
            self._rename(name)
        if strange:
            self._turn()
            for name in strange:
                self._rename(name)
        for name in self.codes:
            if self.shared[name] >= KNOWN_LABELS and self._matchable(name):
                self._exchange(name)
        shifts = self._shifts()
        ordered = {
            name: OrderedRecoding(*self.ranks[name], int(self.at[place]), self._on_scale(name), shifts[place])
            for place, name in enumerate(self.ordered)
        }
        labels = {name: LabelRecoding(self._recode(name)) for name in self.renamed}
        return Recoding(ordered, labels, tuple(self._sight(spec) for spec in self.specs), self._disturbed())

    def _disturbed(self) -> dict[str, Disturbance]:
        """The noise and the gaps of each column, where they could hide somebody."""
        found = {}
        for spec in self.specs:
            own, there = (float(table.columns[spec.name].known().mean()) for table in (self.people, self.released))
            level = self.noise.get(spec.name) or 0.0
            spread = float(self.ranks[spec.name][0].values.std()) if level else 0.0
            part = Disturbance(level * spread, max(0.0, 1 - there / own) if own else 0.0)
            if part.strong:
                found[spec.name] = part
        return found

    def _shifts(self) -> list[Shift]:
        """What the ranks of people are off by in each ordered column."""
        if not self.ordered:
            return []
        own, there = self._features(without="")
        return refine_scores(own, there, (self.known[0] > 0, self.known[1] > 0))

    def _group_labels(self, name: str) -> Ints:
        """The released labels that stand for several of the originals'."""
        own, there = self.people.columns[name], self.released.columns[name]
        spec = next(spec for spec in self.specs if spec.name == name)
        found = find_covers(spec, there.label_texts(), own.counts() > 0, there.counts() > 0)
        return np.array([cover.code for cover in found], dtype=np.int64)

    def _on_scale(self, name: str) -> bool:
        return self.apart[name] <= ALIKE or self.noise[name] is not None

    def _noise(self, name: str) -> float | None:
        """The level of the noise that explains a column that is unlike the originals', if any does."""
        own, there = self.ranks[name]
        return noise_level(own, there) if self._unlike(name) else None

    def _unlike(self, name: str) -> bool:
        """Whether an ordered column is distributed otherwise than the originals'."""
        own, there = self.ranks[name]
        # A synthetic release is a sample of a sample.
        by_chance = np.sqrt(1 / max(1, len(own.values)) + 2 / max(1, len(there.values)))
        return bool(self.apart[name] > max(SURELY_ALIKE, BY_CHANCE * by_chance))

    def _matchable(self, name: str) -> bool:
        return all(1 < len(np.unique(codes[codes >= 0])) <= MOST_LABELS for codes in self.codes[name])

    def _aligned_codes(self) -> tuple[dict[str, Ints], dict[str, Ints]]:
        """The labels whose meaning is known in both tables."""
        own, there = {}, {}
        for name, (mine, theirs) in self.codes.items():
            if name in self.renamed or self.shared[name] >= KNOWN_LABELS:
                own[name], there[name] = self._renamed_codes(name, mine), theirs
        return own, there

    def _renamed_codes(self, name: str, codes: Ints) -> Ints:
        return self._recode(name)[codes].astype(np.int64) if name in self.renamed else codes

    def _recode(self, name: str) -> NDArray[np.int32]:
        size = int(max(codes.max(initial=-1) for codes in self.codes[name])) + 1
        column = self.people.columns[name]
        recode = np.arange(max(size, column.label_count) + 1, dtype=np.int32)
        for own, there in self.renamed[name].items():
            recode[own] = there
        recode[-1] = -1
        return recode

    def _turn(self) -> None:
        """Find the directions, by associations and, where these are too weak, on records."""
        if not self.ordered:
            return
        own_labels, there = self._aligned_codes()
        pairs, single = agreement_terms(self.scores[0], self.scores[1], own_labels, there)
        kept = np.array([NOT_TURNED if self._on_scale(name) else 0.0 for name in self.ordered])
        self.at = best_directions(pairs, single + kept)
        change = np.abs(gains(pairs, single, self.at))
        unsure = np.flatnonzero(change < UNSURE)
        unsure = np.sort(unsure[np.argsort(change[unsure], kind="stable")][:MOST_UNSURE])
        together = [c for size in range(1, len(unsure) + 1) for c in combinations(unsure.tolist(), size)]
        flips = [*connected_groups(pairs)[:MOST_UNSURE], *(np.array(columns) for columns in together)]
        if flips:
            people = self.rng.choice(len(self.scores[0]), min(MOST_ORIGINALS, len(self.scores[0])), replace=False)
            records = self.rng.choice(len(self.scores[1]), min(RELEASED, len(self.scores[1])), replace=False)
            weight = np.zeros((len(people), len(records)))
            for name, codes in own_labels.items():
                weight += 2.0 * (codes[people][:, None] != there[name][records][None, :])
            asked = self.scores[0][people], self.scores[1][records]
            self.at = tried_on_records(*asked, self.at, flips, weight)

    def _features(self, without: str) -> tuple[Floats, Floats]:
        """The features of both tables in which labels of one column are compared."""
        own, there = [self.scores[0] * self.at], [self.scores[1]]
        own_labels, released_labels = self._aligned_codes()
        for name, codes in own_labels.items():
            if name == without:
                continue
            found = np.unique(released_labels[name][released_labels[name] >= 0])
            if len(found) <= SHARED_LABELS:
                own.append((codes[:, None] == found).astype(np.float64))
                there.append((released_labels[name][:, None] == found).astype(np.float64))
        return np.hstack(own), np.hstack(there)

    def _profiles(self, name: str) -> tuple[LabelProfiles, LabelProfiles]:
        features = self._features(name)
        own, there = (LabelProfiles.of(codes, part) for codes, part in zip(self.codes[name], features, strict=True))
        return own, there

    def _rename(self, name: str) -> None:
        own, there = self._profiles(name)
        self.renamed[name] = match_labels(own, there)
        self.clear[name] = separated_share(own, there, self.renamed[name], CLEARLY)

    def _exchange(self, name: str) -> None:
        """Take labels that both tables have for exchanged, if that explains far more."""
        own, there = self._profiles(name)
        if not np.array_equal(own.labels, there.labels):
            return
        costs, found = own.costs(there), match_labels(own, there)
        place = {label: at for at, label in enumerate(there.labels.tolist())}
        chosen = np.array([place[found[label]] for label in own.labels.tolist()])
        rows = np.arange(len(chosen))
        same, other = float(np.trace(costs)), float(costs[rows, chosen].sum())
        if same - other > RENAMED and other < same / 2:
            self.renamed[name] = found
            self.clear[name] = separated_share(own, there, found, CLEARLY)

    def _sight(self, spec: ColumnSpec) -> ColumnSight:
        name = spec.name
        if name in self.texts:
            texts = [_used_labels(table.columns[name]) for table in (self.people, self.released)]
            if shared_words(*texts) >= SHARED_WORDS:
                return ColumnSight(name, "as_is", telling=True)
            return ColumnSight(name, "unread", "its words are not those of the originals")
        if name in self.codes:
            return self._label_sight(name)
        own, there = self.ranks[name]
        if there.distinct < 2 or own.distinct < 2:
            return ColumnSight(name, "constant")
        place = self.ordered.index(name)
        found = self._association(place)
        known = found.strength >= max(ASSOCIATED, SEEN / np.sqrt(len(self.scores[0])))
        as_is = ColumnSight(name, "as_is" if self.at[place] > 0 else "recoded", telling=known and found.could_be_seen)
        if self._on_scale(name) and self.released.columns[name].generalized():
            return ColumnSight(name, "as_is", telling=known)  # ranges go with other columns in their own way
        if self._on_scale(name):
            unlike = self._unlike(name)
            lost = unlike and not found.kept and not found.is_faded(self.noise[name])
            if known and (lost or found.goes_elsewhere()):
                return ColumnSight(name, "unlike", "its values no longer go with those of other columns", known)
            gone = known and not unlike and found.is_gone() and not found.is_faded(_widening(own, there))
            alone = gone and not self._drawn(name)
            return replace(as_is, seen="alone") if alone else as_is
        if found.kept if known else has_simple_form(own, there, int(self.at[place])):
            return replace(as_is, seen="recoded")
        why = "its values are on another scale, and it is not known how they were changed"
        return ColumnSight(name, "unlike", why, known)

    def _drawn(self, name: str) -> bool:
        """Whether a key cannot have changed a column: then equal values would still go with the same, whatever it is.

        Only values of several records tell.
        """
        place = self.ordered.index(name)
        beyond, error = [], 0.0
        for side, features in enumerate(self._features(without="")):
            _, codes = np.unique(self.scores[side][:, place], return_inverse=True)
            others = np.delete(features, place, axis=1)
            profiles = LabelProfiles.of(codes.astype(np.int64), others)
            at = np.flatnonzero(profiles.counts >= FEWEST_WITH_LABEL).tolist()
            if not at:
                return False
            by_chance = profiles.chance(at)
            beyond.append(float((profiles.deviations()[at] ** 2).sum()) - by_chance)
            error = by_chance * np.sqrt(2 / max(1.0, len(at) * _independent(others)))
        return beyond[0] > TELLING * error and beyond[1] < GONE * beyond[0]

    def _association(self, place: int) -> Association:
        """What an ordered column goes with, before and after."""
        own_labels, there_labels = self._aligned_codes()
        both = [self._moments(side, place) for side in (0, 1)]
        for name in own_labels:
            pair = [
                self._label_means(side, place, codes[name]) for side, codes in enumerate((own_labels, there_labels))
            ]
            size = min(len(means) for means, _ in pair)
            both = [
                (np.append(found, means[:size]), np.append(shares, np.full(size, share)))
                for (found, shares), (means, share) in zip(both, pair, strict=True)
            ]
        (before, own), (after, there) = both
        seen = np.sqrt(there)
        by_chance = float((there / np.where(own > 0, own, 1.0)).sum()), float((there > 0).sum())
        rows = max(1, len(self.scores[0])), max(1, len(self.scores[1]))
        return Association(
            before * seen,
            after * seen,
            float(np.abs(before).max(initial=0.0)),
            (by_chance[0] / rows[0], by_chance[1] / rows[1]),
            len(self.scores[1]),
        )

    def _moments(self, side: int, place: int) -> tuple[Floats, Floats]:
        """The mean products of a column with the other ordered ones among records with both values, and their share."""
        scores = self.scores[side] * (1 if side else self.at)
        both = moments(self.known[side], self.known[side])[place]
        found = moments(scores, scores)[place] / np.where(both > 0, both, 1.0)
        return np.delete(found, place), np.delete(both, place)

    def _label_means(self, side: int, place: int, codes: Ints) -> tuple[Floats, float]:
        """The column's mean of each label times the root of its share among records with both values, and their share.

        The squares add up to the explained variance.
        """
        both = (self.known[side][:, place] > 0) & (codes >= 0)
        scores = self.scores[side][both, place] * (1 if side else self.at[place])
        count = np.bincount(codes[both], minlength=int(codes.max(initial=-1)) + 1)
        total = np.bincount(codes[both], scores, minlength=len(count))
        means = total / np.maximum(count, 1) * np.sqrt(count / max(1, count.sum()))
        return np.asarray(means), float(both.mean())

    def _label_sight(self, name: str) -> ColumnSight:
        released = self.codes[name][1]
        if len(np.unique(released[released >= 0])) < 2:
            return ColumnSight(name, "constant")
        if name in self.renamed:
            if self.clear[name] >= CLEAR:
                return ColumnSight(name, "recoded", telling=True)
            if self.shared[name] < KNOWN_LABELS:
                return ColumnSight(name, "unread", "its labels are not those of the originals")
        if self.shared[name] < KNOWN_LABELS:
            return ColumnSight(name, "unread", "its labels are not those of the originals")
        if self._partly_renamed(name):
            return ColumnSight(name, "unread", "some of its labels are not those of the originals")
        if np.isin(released, self.groups[name]).any():
            return ColumnSight(name, "as_is", telling=True)
        return self._known_label_sight(name)

    def _partly_renamed(self, name: str) -> bool:
        """Whether labels of many records stand under names of their own, where others are the originals'."""
        own, there = (codes[codes >= 0] for codes in self.codes[name])
        strange = np.unique(np.setdiff1d(there, np.append(own, self.groups[name])))
        gone = np.setdiff1d(own, there)
        share = 1 - self.shared[name]
        return share >= STRANGE and len(strange) >= max(FEWEST_STRANGE, len(gone) / 2)

    def _known_label_sight(self, name: str) -> ColumnSight:
        """Whether labels go with the same values of other columns, and do not have each other's shares.

        Labels that are drawn anew keep their distribution and go with nothing; those that mean something else now have
        another distribution, or go with something else.
        """
        as_is, telling = ColumnSight(name, "as_is"), ColumnSight(name, "as_is", telling=True)
        unlike = ColumnSight(name, "unlike", "its labels no longer go with the values of other columns")
        own, there = self._profiles(name)
        place = {label: at for at, label in enumerate(there.labels.tolist())}
        both = [(at, place[label]) for at, label in enumerate(own.labels.tolist()) if label in place]
        frequent = [pair for pair in both if min(own.counts[pair[0]], there.counts[pair[1]]) >= FEWEST_WITH_LABEL]
        if len(frequent) < 2:
            return as_is
        at, beside = map(list, zip(*both, strict=True))
        mine, theirs = own.shares[at], there.shares[beside]
        apart = float(np.abs(mine - theirs).sum() / 2)
        # Between two samples of one population the shares differ too.
        by_chance = float(np.sqrt(mine * (1 / own.counts.sum() + 1 / there.counts.sum()) * 2 / np.pi).sum() / 2)
        differ = apart > SURELY_ALIKE + by_chance
        at, beside = map(list, zip(*frequent, strict=True))
        records = int(there.counts.sum())
        by_chance_alone = own.chance(at), there.chance(beside)
        before, after = own.deviations()[at].ravel(), there.deviations()[beside].ravel()
        found = Association(before, after, float(np.abs(before).max(initial=0.0)), by_chance_alone, records)
        if found.strength < max(ASSOCIATED, SEEN / np.sqrt(len(self.codes[name][0]))):
            in_order = float(np.abs(np.sort(mine) - np.sort(theirs)).sum() / 2)
            uneven = float(np.abs(mine - np.roll(mine, 1)).sum() / 2) > SURELY_ALIKE + by_chance
            if differ:
                return unlike if in_order <= min(2 * by_chance, apart / EXCHANGED) else as_is
            return telling if uneven else as_is
        lost = differ and (found.cosine < ALIGNED / 2 or found.share < KEPT / 2)
        if lost or found.goes_elsewhere():
            return unlike
        return telling


def _widening(own: Ranks, released: Ranks) -> float | None:
    """The level of noise that explains the released values, if it is so high that no exchange of values would be."""
    level = noise_level(own, released)
    return level if level is not None and level >= WIDER else None


def _independent(features: Floats) -> float:
    """How many independent features would vary as much: the squared trace of the covariance over its squared norm."""
    if not features.shape[1]:
        return 1.0
    covariance = np.atleast_2d(np.cov(features, rowvar=False))
    return float(np.trace(covariance) ** 2 / max(1e-12, float((covariance**2).sum())))


def _sample_rows(table: Table) -> Table:
    if table.rows <= MOST_ROWS:
        return table
    return table.take(np.linspace(0, table.rows - 1, MOST_ROWS).astype(np.intp))


def _are_texts(people: Table, released: Table, name: str) -> bool:
    """Whether a column holds texts in either table."""
    columns = people.columns[name], released.columns[name]
    return any(isinstance(part, Labels) and is_text(part.labels, part.counts()) for part in columns)


def _used_labels(column: ColumnData) -> list[str]:
    """The labels of a column that its records have."""
    texts = column.label_texts()
    return [texts[code] for code in np.flatnonzero(column.counts())]


def _codes(column: ColumnData) -> Ints:
    assert isinstance(column, Labels)  # noqa: S101 - called for labels alone
    return column.codes.astype(np.int64)


def _share_known(own: Ints, released: Ints, groups: Ints) -> float:
    """The share of the released records with a label whose label the originals have too, or that groups such labels."""
    known = released[released >= 0]
    return float(np.isin(known, np.append(own[own >= 0], groups)).mean()) if len(known) else 1.0
