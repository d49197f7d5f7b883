"""Membership: how well the attackers tell who is in the release."""

from __future__ import annotations

from cvpl.result.figures import Power
from cvpl.result.marks import Number, OfBoth, OfBothHigh, OfBothLow, Whole
from cvpl.result.section import EstimateSection, Section


class MembershipRate(Power):
    """The largest true-positive rate (`power`) of the attackers at a false-positive rate, and whose it is.

    The interval has the confidence `confidence` = 1 - 0.05 / `among`, because `attacker` is the best of `among`.
    `precision` is the share of the people who are taken to be in the release and are in it, if everybody in the
    population is tested; it is made of the published rate and its interval. Null if the population is not given.
    """

    attacker: str
    among: Whole = 1
    confidence: Number = 0.95
    precision: Number | None = None
    precision_low: Number | None = None
    precision_high: Number | None = None


class MembershipArea(EstimateSection):
    """The largest area under the ROC curve of the attackers: 0.5 is chance, 1 tells everybody apart.

    It is the probability that a person in the release has a higher score than one who is not. The interval is corrected
    as that of a rate; null if it is refused, and `refused` then states why.
    """

    estimate: OfBoth
    low: OfBothLow | None
    high: OfBothHigh | None
    attacker: str
    among: Whole = 1
    confidence: Number = 0.95
    method: str = "none"
    refused: str | None = None


class Membership(Section):
    """Whether it can be told that a person is in the release, from `controls` people who are not.

    `rates` has the false-positive rates 1%, 5% and 10%, and 0.1% with 10,000 controls or more. `prior` is the share of
    the population that is in the release: the precision of a guess; null if the population is not given.
    """

    controls: Whole
    rates: list[MembershipRate]
    auc: MembershipArea
    prior: Number | None = None
