"""The paper's simulated world and its configurations (paper, section 7 and appendix C)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cvpl.config.loading import load
from cvpl.config.resolved import ResolvedConfig
from cvpl.laboratory.frame import Frame
from cvpl.laboratory.mechanisms.perturbation import LEVELS
from cvpl.laboratory.simulation import Touchpoints
from cvpl.randomness import stream
from cvpl.workflows.made_tables import FAMILIES, Method, Protector, Strength

RECORDS = 10_000
SEEDS = (42, 43, 44, 45, 46)
OUTLIER_RATES = (0.0, 0.01, 0.05)
THRESHOLD = 0.90

CONFIG: Mapping[str, Any] = {
    "columns": {
        "person_id": {"role": "id"},
        "age": {"role": "quasi_identifier", "type": "numeric", "block": {"bin": 10}},
        # Appendix C compares age, region, lag, hour, day, place, product and channel; gender is a blocking key only.
        "gender": {"role": "quasi_identifier", "type": "category", "block": "exact", "vectorize": False},
        "region": {"role": "quasi_identifier", "type": "category", "separator": "/", "block": {"level": 1}},
        "brand_product": {"role": "attribute", "type": "category"},
        "purchase_place": {"role": "attribute", "type": "category"},
        "purchase_time": {"role": "attribute", "type": "datetime", "features": ["hour", "day_of_week"]},
        "days_after_ad": {"role": "attribute", "type": "numeric"},
        "ad_channel": {"role": "attribute", "type": "category"},
        "income": {"role": "sensitive"},
    },
    "truth": {"original": "person_id", "protected": "person_id", "simulated": True},
    "attacker": "paper",
    "threshold": THRESHOLD,
    "search": {"threads": 1},  # cells run in parallel, each on its own core
    # Section 7.4 bins ages, coarsens regions and rounds times: k is counted over all of these and gender.
    "protect": {"columns": ["age", "gender", "region", "purchase_time"], "noise": {}},
}


@dataclass(frozen=True)
class Configuration:
    """A protection: one of the paper's families at a strength."""

    family: str
    method: Method
    strength: Strength

    @property
    def name(self) -> str:
        """Its name in the tables."""
        return f"{self.family} {self.strength}"


CONFIGURATIONS: Mapping[str, Configuration] = {
    item.name: item
    for item in (
        *(Configuration("k-anonymity", "k-anonymity", k) for k in FAMILIES["k-anonymity"].usual),
        *(Configuration("perturbation", "perturbation", level) for level in FAMILIES["perturbation"].usual),
        *(Configuration("synthetic", "synthetic", retention) for retention in FAMILIES["synthetic"].usual),
    )
}
"""The paper's nineteen configurations, by name."""


def resolved(changes: Mapping[str, Any] | None = None) -> ResolvedConfig:
    """The paper's configuration, resolved, with changes to its attacker."""
    return load({**CONFIG, "attacker": {**changes}} if changes else CONFIG)


def people(records: int, outliers: float, seed: int, purpose: str) -> Frame:
    """People of the paper's world; another purpose gives other people."""
    return Touchpoints(records=records, anomaly_rate=outliers).draw(stream(seed, purpose))


def release(configuration: Configuration, table: Frame, seed: int) -> Frame:
    """The release of a table under one of the paper's configurations."""
    config = dict(CONFIG)
    if configuration.method == "perturbation":
        config["protect"] = {**CONFIG["protect"], "noise": dict(LEVELS[str(configuration.strength)].named)}
    return (
        Protector(load(config), table, lambda: table).release(configuration.method, configuration.strength, seed).frame
    )
