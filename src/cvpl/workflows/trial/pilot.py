"""A trial without a configuration: a first release is made only to guess roles and types from it."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np

from cvpl.errors import UsageError
from cvpl.randomness import stream
from cvpl.tables.making.parting import part, read_people
from cvpl.tables.making.staged_table import stage
from cvpl.tables.source.dialect import guess_dialect
from cvpl.workflows.audit import propose
from cvpl.workflows.draws.mechanism import Draw, MechanismRunner, ReleaseNotMade
from cvpl.workflows.proposal import Proposal
from cvpl.workflows.trial.rounds import draw_seed, two_tables


def guessed_configuration(original: object, mechanism: MechanismRunner, seed: int, folder: Path) -> Proposal:
    """Propose a configuration from a release of half of the rows, as an audit without one does.

    This release is not part of the trial: which rows belong to one person is known only with the configuration.
    """
    place = folder / "pilot"
    place.mkdir(mode=0o700)
    reading = guess_dialect(original).reading
    table = stage(original, reading, place)
    rows = read_people(table, None).people
    is_outside = np.zeros(rows, dtype=bool)
    is_outside[stream(seed, "trial pilot").permutation(rows)[: rows // 2]] = True
    mine, others = two_tables(table, place)
    part(table, reading, is_outside, (mine, others))
    work = place / "mechanism"
    work.mkdir(mode=0o700)
    try:
        release = mechanism.make(Draw(mine, work, draw_seed(seed, -1), threading.Event()))
    except ReleaseNotMade as failed:
        raise UsageError(
            f"before the first round, to guess the roles of columns: {failed}. Pass a configuration to skip this run."
        ) from failed
    return propose(mine, release, compare_sensitive=True)
