"""How many random examples a test tries: few in `make test`, many in `make test-full`."""

from __future__ import annotations

import os

TIMES = int(os.environ.get("CVPL_EXAMPLES", "1"))


def examples(usual):
    """The number of examples: `usual`, or so many times that in a full run."""
    return usual * TIMES
