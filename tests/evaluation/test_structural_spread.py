"""The spread of the structural contributions, from the covariance of every resampled table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import yaml

from cvpl.assessment.ensemble import run_attackers
from cvpl.evaluation.columns import STABILITY_GROUPS, STABILITY_REPLICATES, pca_settings, structural, structural_spread
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.operators.projection import components_of
from cvpl.workflows.made_tables import CONFIG as DEMO
from cvpl.workflows.planned_audit import read_plan


@pytest.mark.parametrize("people", [30, 230])
def test_the_spread_is_that_of_the_covariances_of_resampled_groups(people):
    """Each replicate as a table: the records of a group as often as the group was drawn. Some groups may be empty."""
    drawn = Touchpoints(records=people, missing_rate=0.05).draw(np.random.default_rng(3))
    released = Perturbation("low").protect(drawn, np.random.default_rng(4))
    tables = [pd.DataFrame(item.to_columns()) for item in (drawn, released)]
    resolved, inputs = read_plan(*tables, yaml.safe_load(DEMO) | {"attacker": "paper"}, None, None)
    attack = run_attackers(resolved, inputs, lambda phase, share: None).chosen.measured.attack
    space, rng = attack.representation.space, np.random.default_rng(5)
    records, groups = [], []
    for table in (attack.original, attack.protected):
        rows = rng.permutation(table.rows)
        records.append(space.of(table.take(rows)).dense())
        groups.append(np.arange(len(rows)) % STABILITY_GROUPS)
    shares = []
    for times in rng.multinomial(
        STABILITY_GROUPS, np.full(STABILITY_GROUPS, 1 / STABILITY_GROUPS), size=STABILITY_REPLICATES
    ):
        resampled = np.repeat(np.vstack(records), times[np.concatenate(groups)], axis=0)
        loadings, variances, _ = components_of(pca_settings(attack), np.cov(resampled.T, bias=True))
        shares.append(structural(space, loadings, variances))
    expected = {name: np.quantile([share[name] for share in shares], [0.025, 0.975]) for name in shares[0]}
    found = structural_spread(attack, np.random.default_rng(5))
    assert found.keys() == expected.keys() and len(found) >= 5
    for name, ends in found.items():
        assert ends == pytest.approx(expected[name], rel=1e-9, abs=1e-12)
        assert ends[0] < ends[1]
