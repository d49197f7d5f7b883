"""Changes to the input that must not move a single estimate."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cvpl
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints

CONFIG = {
    "columns": {
        "person_id": {"role": "id"},
        "age": {"role": "quasi_identifier", "type": "numeric", "block": {"bin": 20}},
        "gender": {"role": "quasi_identifier", "type": "category", "block": "exact"},
        "region": {"role": "quasi_identifier", "type": "category", "separator": "/"},
        "brand_product": {"role": "attribute", "type": "category"},
        "purchase_time": {"role": "attribute", "type": "datetime", "features": ["hour", "day_of_week"]},
        "days_after_ad": {"role": "attribute", "type": "numeric"},
        "ad_channel": {"role": "attribute", "type": "category"},
        "purchase_place": {"role": "ignore"},
        "income": {"role": "sensitive"},
    },
    "attacker": "paper",
    "threshold": 0.9,
    "seed": 1,
}


@pytest.fixture(scope="module")
def frames():
    rng = np.random.default_rng(11)
    people = Touchpoints(records=400, missing_rate=0.01).draw(rng)
    release = Perturbation("low").protect(people, rng)
    control = Touchpoints(records=300).draw(rng)
    return [pd.DataFrame(table.to_columns()) for table in (people, release, control)]


def estimates(original, protected, control=None, config=CONFIG, truth=True):
    """Everything that is counted, not drawn."""
    result = cvpl.audit(original, protected, config, control=control)
    found = {
        "linkage": result.linkage_rate.estimate,
        "curve": [(point.linkage_rate, point.control_rate) for point in result.risk_curve],
        "worst": result.worst_case_risk,
        "integrated": round(result.integrated_risk, 9),
        "blocks": result.blocks.model_dump(),
        "components": result.projection.components,
        "control": None if result.control is None else result.control.rate,
        "self": (result.self_linkage.original.rate, result.self_linkage.protected.rate),
    }
    if truth:
        figures = result.truth.model_dump(exclude={"similarities"})
        found["truth"] = {k: round(v, 9) if isinstance(v, float) else v for k, v in figures.items()}
        found["attributable"] = round(result.attributable_rate.estimate, 9)
        found["power"] = [round(power.power, 9) for power in result.power]
        found["contribution"] = {
            column.column: (round(column.structural, 6), round(column.link, 6), round(column.removal, 9))
            for column in result.feature_contribution.columns
        }
    return found


@pytest.fixture(scope="module")
def plain(frames):
    return estimates(*frames)


def test_row_order(frames, plain):
    shuffled = [frame.sample(frac=1, random_state=at) for at, frame in enumerate(frames)]
    assert estimates(*shuffled) == plain


def test_column_order(frames, plain):
    config = CONFIG | {"columns": dict(reversed(CONFIG["columns"].items()))}
    turned = [frame[frame.columns[::-1]] for frame in frames]
    assert estimates(*turned, config=config) == plain


def test_relabelled_categories(frames, plain):
    """Another name for every label, in another order, moves nothing."""
    changed = [frame.copy() for frame in frames]
    for column in ("gender", "brand_product", "ad_channel"):
        labels = sorted(set().union(*(frame[column].dropna() for frame in frames)))
        names = {label: f"label {len(labels) - at:03d}" for at, label in enumerate(labels)}
        for frame in changed:
            frame[column] = frame[column].map(names)
    assert estimates(*changed) == plain


def test_positive_affine_changes_of_an_unblocked_scaled_column(frames, plain):
    """Hours instead of days, from another zero."""
    changed = [frame.assign(days_after_ad=24 * frame["days_after_ad"] + 1000) for frame in frames]
    assert estimates(*changed) == plain


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_storage_format(frames, plain, suffix, tmp_path):
    paths = []
    for at, frame in enumerate(frames):
        path = tmp_path / f"{at}{suffix}"
        if suffix == ".parquet":
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False)
        paths.append(path)
    assert estimates(*paths) == plain


def test_an_added_ignored_column(frames, plain):
    config = CONFIG | {"columns": CONFIG["columns"] | {"extra": {"role": "ignore"}}}
    changed = [frame.assign(extra=np.arange(len(frame))) for frame in frames]
    assert estimates(*changed, config=config) == plain


def test_changed_sensitive_values(frames, plain):
    changed = [frame.assign(income=0.0) for frame in frames]
    assert estimates(*changed) == plain


def test_a_changed_id_moves_no_linkage_estimate(frames):
    """The attacker never sees it: what it finds is the same under any id, and without one."""
    original, protected, control = frames
    expected = estimates(original, protected, control, truth=False)
    renamed = protected.assign(person_id=protected["person_id"] + 10**6)
    absent = protected.drop(columns="person_id")
    for other in (renamed, absent):
        assert estimates(original, other, control, truth=False) == expected


def test_a_copied_release_reads_like_itself(frames):
    """The identity release is found whole: every distinct record is its own best candidate."""
    original = frames[0]
    result = cvpl.audit(original, original, CONFIG)
    assert result.linkage_rate.estimate == 1
    assert result.truth.top1_hit_rate > 0.99
    assert result.truth.blocking_recall == 1
