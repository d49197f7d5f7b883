"""From the members' scores to the verdict and the gate (docs/concepts/verdict.md, attackers.md, policy.md).

What is drawn at random or found before the attack is handed over: the faults of attackers, and the checks' findings.

Choices where the pages are silent:
- Powers and rates that differ by less than 1e-9 are equal: a rounding error picks no headline.
- Of several attackers that have an interval above 0 only by the corrected second look, the one with the largest lower
  end is the `certain` one.
"""

import math
from dataclasses import dataclass, field

from . import figures, intervals

RATES = [0.01, 0.05, 0.10]
READ_AT = [0.05, 0.10, 0.20, 0.30]
FEWEST_RELEASED = 20
MARGIN = 0.05
FAR_ABOVE = 0.30
FEWEST_LINKED = 5.5
"""5% of 110 controls, the fewest for which a risk is read at 5%."""
CONTROL_FAULTS = ("control_overlaps", "control_related", "related_rows", "control_duplicates", "control_unlike")
CONTROL_HIDES = ("control_in_release", "control_lacks_columns")
BLIND = (
    "columns_alone",
    "unread_columns",
    "unmatched_columns",
    "unread_texts",
    "renamed_columns",
    "originals_not_found",
    "change_not_seen",
    "release_shifted",
)
NEARLY_ALL = 0.995
COPIES = ("exact_copies", "near_copies", "empty_cells")


@dataclass
class Risk:
    """One attacker's risk with the ends of its interval, None where they are refused."""

    attacker: str
    estimate: float
    ends: tuple | None
    false_rate: float | None  # None: by the true matches


@dataclass
class Verdict:
    """What an audit of the family says."""

    left_out: list
    power: dict  # attacker -> rate -> power against the control
    top1: dict  # attacker -> top-1 hit rate
    risks: dict  # attacker -> Risk, of every attacker
    counting: list  # the attackers that count
    headline: str = ""
    among: int = 1
    false_rate: float | None = None
    basis: str | None = None
    certain: Risk | None = None
    blind: bool = False  # there is something that the attackers cannot see
    best_candidate: tuple | None = None  # attacker, top-1, ends, attackers
    kind: str = ""
    numbers: list = field(default_factory=list)  # those in the sentence
    margin: float | None = None
    gate_value: float | None = None
    gate_met: bool = False

    def bounded(self, risk):
        """The risk as it is told: nothing bounds what the attackers cannot see."""
        if not self.blind or risk.ends is None:
            return risk
        return Risk(risk.attacker, risk.estimate, (risk.ends[0], 1.0), risk.false_rate)


def settle(scores):
    """The lists of scores with those that differ by rounding made equal."""
    ordered = sorted({s for values in scores for s in values if s is not None})
    same, first = {}, None
    for s in ordered:
        if first is None or s - first > 1e-9 * max(1.0, abs(s)):
            first = s
        same[s] = first
    return [[None if s is None else same[s] for s in values] for values in scores]


def largest(values):
    """The first name with the largest value, compared entry by entry up to rounding."""
    best = None
    for name, value in values.items():
        if best is None or above(value, values[best]):
            best = name
    return best


def above(one, other):
    for x, y in zip(one, other, strict=True):
        if abs(x - y) > 1e-9:
            return x > y
    return False


def judge(members, truth, released, left_out=(), faults=None, findings=(), limit=None):
    """The verdict on a release of `released` records; `findings` are (check, closes the gate, count)."""
    faults = faults or {}
    scores = {}
    for member in members:
        scores[member.name] = None if member.controls is None else settle([member.scores, member.controls])
    curves = {name: figures.roc(*both) for name, both in scores.items() if both is not None}
    power = {name: {rate: figures.height(points, rate) for rate in RATES} for name, points in curves.items()}
    hits = {m.name: None if truth is None else figures.top1_hit_rate(m.found, truth) for m in members}
    qualified = [m.name for m in members if not faults.get(m.name)]
    able = qualified or [m.name for m in members]

    # The false-positive rate, the basis and the headline.
    false_rate = reading([scores[name] for name in able])
    known = [name for name in able if hits[name] is not None]
    basis = "control" if false_rate is not None else "true_matches" if known else None
    strength = {}
    for name in able:
        at = figures.height(curves[name], false_rate) if false_rate is not None else 0.0
        strength[name] = (at, hits[name] or 0.0)
    headline = largest(strength)
    among = len(able) if basis is not None and qualified else 1

    # The risk of every attacker, at the corrected confidence.
    having = 0 if truth is None else sum(1 for i in range(len(members[0].scores)) if figures.matches(truth, i))
    confidence = 1 - 0.05 / among
    risks = {}
    for member in members:
        name = member.name
        if false_rate is not None:
            risks[name] = by_control(name, scores[name], curves[name], false_rate, confidence)
        elif hits[name] is not None and released >= 2:
            risks[name] = by_matches(name, hits[name], having, released, confidence)
    found = Verdict(list(left_out), power, hits, risks, able, headline, among, false_rate, basis)
    risk = risks.get(headline) if basis is not None else None
    if risk is not None and false_rate is not None and risk.ends is not None and risk.ends[0] <= 0:
        found.certain = certain({name: scores[name] for name in able}, curves, headline, false_rate, among)
    if known:
        name = largest({name: (hits[name],) for name in known})
        ends = intervals.top1_ends(hits[name], having, 1 - 0.05 / len(known))
        found.best_candidate = (name, hits[name], ends, len(known))

    found.blind = any(closes and check in BLIND for check, closes, _ in findings)
    sentence(found, risk, not qualified or released < FEWEST_RELEASED, findings)
    gate(found, risk, bool(qualified), findings, having / len(members[0].scores), members, truth, limit)
    return found


def reading(both):
    """The smallest false-positive rate at which every attacker has an interval; None without one."""
    if any(pair is None for pair in both):
        return None
    for rate in READ_AT:
        # Whether an interval is refused does not depend on its confidence.
        offered = all(intervals.power_ends(*pair, rate, 0.95) is not None for pair in both)
        if offered and rate * min(len(pair[1]) for pair in both) >= FEWEST_LINKED - 1e-9:
            return rate
    return None


def by_control(name, both, points, rate, confidence):
    """(power - α) / (1 - α), and the same of its ends."""
    ends = intervals.power_ends(*both, rate, confidence)
    estimate, *mapped = ((value - rate) / (1 - rate) for value in (figures.height(points, rate), *(ends or ())))
    return Risk(name, estimate, tuple(mapped) if ends else None, rate)


def by_matches(name, rate, having, released, confidence):
    """(top-1 - 1/n) / (1 - 1/n), and the same of its ends."""
    ends = intervals.top1_ends(rate, having, confidence)
    guess = 1 / released
    estimate, *mapped = ((value - guess) / (1 - guess) for value in (rate, *(ends or ())))
    return Risk(name, estimate, tuple(mapped) if ends else None, None)


def certain(scores, curves, headline, false_rate, among):
    """The risk above 0 at 1%, or of another attacker, at 1 - 0.05 / 2K."""
    best = None
    for name, both in scores.items():
        for rate in sorted({0.01, false_rate}):
            if rate == false_rate and name == headline:
                continue
            risk = by_control(name, both, curves[name], rate, 1 - 0.05 / (2 * among))
            if risk.ends is None or risk.ends[0] <= 0:
                continue
            if best is None or risk.ends[0] > best.ends[0] + 1e-9:
                best = risk
    return best


# The sentence


def sentence(found, risk, not_assessable, findings):
    """The kind, and the numbers in the order in which the sentence has them."""
    closing = {check: count for check, closes, count in findings if closes}
    copies = [closing[check] for check in COPIES if check in closing][:1]
    right = found.best_candidate
    person = [] if right is None or right[2] is None else people(right[1], right[2])
    if not_assessable:
        found.kind = "not_assessable"
        return
    if risk is None or risk.false_rate is None or risk.ends is None:
        found.kind, found.numbers = "undetermined", copies + person
        return
    if any(check in closing for check in CONTROL_FAULTS):
        found.kind, found.numbers = "undetermined", copies + person
    elif risk.ends[0] > 0:
        found.kind, found.numbers = "linkable", people(risk.estimate, seen(found, risk)) + copies + person
    elif found.certain is not None:
        sure = found.certain
        where = [] if sure.false_rate == risk.false_rate else [round(100 * sure.false_rate)]
        top = [] if found.blind and sure.estimate < NEARLY_ALL else at_most(risk.ends[1])
        second = [*where, round(100 * risk.false_rate), 0, *top]
        found.kind, found.numbers = "linkable", people(sure.estimate, seen(found, sure)) + second + copies + person
    elif any(check in closing for check in CONTROL_HIDES + BLIND) or risk.ends[1] < 0:
        found.kind, found.numbers = "undetermined", copies + person
    else:
        found.kind, found.numbers = "indistinguishable_from_zero", [0, *at_most(risk.ends[1])]
        if risk.ends[1] < MARGIN and not copies:
            found.margin = MARGIN
            found.numbers += [5, 100]
        found.numbers += copies + person


def seen(found, risk):
    """Both ends, or the lower alone if there is something that the attackers cannot see and not all are linked."""
    return risk.ends[:1] if found.blind and risk.estimate < NEARLY_ALL else risk.ends


def people(estimate, ends):
    """The numbers of "12 in 100 people (5 to 20)": the lower end down, the upper end up, below 1% in 1,000."""
    whole = 1000 if (estimate if len(ends) == 1 else ends[1]) < 0.01 else 100
    low = max(0, math.floor(ends[0] * whole + 1e-12))
    low = 1 if low == 0 and ends[0] > 1e-12 else low  # written "<1"
    high = [] if len(ends) == 1 else [max(0, math.ceil(ends[1] * whole - 1e-9))]
    return [max(0, round(estimate * whole)), whole, low, *high]


def at_most(end):
    """The numbers of "at most 4 in 100"."""
    whole = 1000 if end < 0.01 else 100
    return [max(0, math.ceil(end * whole - 1e-9)), whole]


# The gate


def gate(found, risk, assessable, findings, in_release, members, truth, limit):
    """A gate on the risk: the largest upper end among the attackers that count, and all that closes it besides."""
    tops = {name: found.risks[name].ends for name in found.counting if name in found.risks}
    ends = [pair[1] if pair else None for pair in tops.values()]
    if found.certain is not None:
        ends.append(found.certain.ends[1])
    if found.basis is not None and ends and None not in ends:
        found.gate_value = 1.0 if found.blind else max(ends)
    doubts = [check for check, closes, _ in findings if closes]
    if not assessable:
        doubts.append("not assessable")
    right = found.best_candidate
    if risk is not None and right is not None and right[1] * in_release - max(0.0, risk.estimate) > FAR_ABOVE:
        doubts.append("top-1 far above the risk")
    if risk is not None and risk.ends is not None and risk.ends[1] < 0:
        doubts.append("the control is linked more often")
    headline = next(member for member in members if member.name == found.headline)
    recall = None if truth is None else figures.blocking_recall(headline.found, truth)
    if recall is not None and recall < 0.10:
        doubts.append("blocking recall near zero")
    found.gate_met = limit is not None and found.gate_value is not None and found.gate_value <= limit and not doubts
