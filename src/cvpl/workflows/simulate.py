"""People of the paper's marketing simulation, and a matching configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cvpl.errors import UsageError
from cvpl.workflows.made_table import MadeTable

if TYPE_CHECKING:
    from cvpl.config.written import AuditConfig
    from cvpl.laboratory.frame import Frame

CONFIG = """\
# Simulated purchases: who bought what, when and after which advertisement.
columns:
  person_id:      {role: id}
  age:            {role: quasi_identifier, type: numeric, block: {bin: 10}}
  gender:         {role: quasi_identifier, type: category, block: exact}
  region:         {role: quasi_identifier, type: category, separator: "/", block: {level: 1}}
  brand_product:  {role: attribute, type: category}
  purchase_place: {role: attribute, type: category}
  purchase_time:  {role: attribute, type: datetime, features: [hour, day_of_week]}
  days_after_ad:  {role: attribute, type: numeric}
  ad_channel:     {role: attribute, type: category}
  income:         {role: sensitive}
truth: {original: person_id, protected: person_id, simulated: true}
attacker: default
threshold: 0.90
report: {subgroups: [gender]}
seed: 42
"""
"""The audit.yaml of simulated people."""


@dataclass(frozen=True, eq=False, repr=False)
class SimulatedPeople(MadeTable):
    """Simulated people, one row each; `config_text` is an audit.yaml for their releases.

    `write(path)` writes the table, `to_columns()` and `to_frame()` give it in memory, and `cvpl.protect` and
    `cvpl.audit` accept the value itself as a table.
    """

    frame: Frame
    config_text: str = CONFIG

    @property
    def config(self) -> AuditConfig:
        """The configuration as a value."""
        from cvpl.config.loading import parse_config  # noqa: PLC0415 - loads pydantic

        return parse_config(self.config_text)


def simulate(
    records: int = 10_000,
    seed: int = 42,
    *,
    anomaly_rate: float = 0.0,
    missing_rate: float = 0.0,
    products: int = 50,
    product_alpha: float = 1.5,
) -> SimulatedPeople:
    """Simulate people who saw an advertisement and bought something, as in the paper.

    `records` people are drawn, one row each. A share `anomaly_rate` of them has a planted anomaly (a rare channel,
    product, time or delay), and each value is missing with probability `missing_rate`. Of `products`, the r-th most
    popular has a share proportional to r^-`product_alpha`. The same arguments give the same people, two seeds give
    different ones. Raises UsageError for a number outside its range.
    """
    from cvpl.laboratory.simulation import Touchpoints  # noqa: PLC0415 - loads numpy
    from cvpl.randomness import stream  # noqa: PLC0415

    if seed < 0:
        raise UsageError(f"the seed is {seed}; allowed is a whole number from 0.")
    try:
        world = Touchpoints(records, anomaly_rate, missing_rate, products, product_alpha)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return SimulatedPeople(world.draw(stream(seed, "simulated people")))
