"""How many random examples a test tries: few in `make test`, many in `make test-full`."""

from __future__ import annotations

import os

TIMES = int(os.environ.get("CVPL_EXAMPLES", "1"))


def examples(usual):
    """The number of examples: `usual`, or so many times that in a full run."""
    return usual * TIMES


def examples_apart(usual):
    """The step through a list of examples: each in the full set, one in `usual` otherwise."""
    return 1 if examples(1) > 1 else usual
