"""The ends of the intervals that a verdict reads (docs/concepts/intervals.md), where each record is drawn by itself.

They are shares of people, so the design effect is its least value, 1.1. Intervals of blocks and groups are not here.

Choices where the page is silent:
- Student's quantile has one degree of freedom less than the smaller of the two tables has records.
- "Fewer than five by effective number": share times records below 5 times the effect.
"""

import math

from scipy.special import stdtrit

from .figures import height, roc

EFFECT = 1.1
FEWEST = 20


def share_ends(share, records, confidence, units):
    """Wilson's interval for records / effect; an end with fewer than five effective records is 0 or 1."""
    count = records / EFFECT
    z = float(stdtrit(max(1, units - 1), (1 + confidence) / 2))
    middle = share + z * z / (2 * count)
    reach = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    low, high = ((middle + sign * reach) / (1 + z * z / count) for sign in (-1, 1))
    few = 5 * EFFECT
    return (
        0.0 if share * records < few else max(0.0, low),
        1.0 if (1 - share) * records < few else min(1.0, high),
    )


def power_ends(originals, controls, alpha, confidence):
    """The ends of the power at α: both sources of error, added in squares; None where an interval is refused."""
    if min(len(originals), len(controls)) < FEWEST or alpha * len(controls) < 5:
        return None
    units = min(len(originals), len(controls))
    points = roc(originals, controls)
    power = height(points, alpha)
    low, high = share_ends(power, len(originals), confidence, units)
    below, above = share_ends(alpha, len(controls), confidence, units)
    least, most = height(points, below), height(points, above)
    return (
        max(0.0, power - math.hypot(power - low, power - least)),
        min(1.0, power + math.hypot(high - power, most - power)),
    )


def top1_ends(rate, having, confidence):
    """The ends of the top-1 hit rate over `having` originals with a match; None where an interval is refused."""
    return share_ends(rate, having, confidence, having) if having >= FEWEST else None
