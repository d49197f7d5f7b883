"""Scenarios: situations that guidelines describe, each a stated set of columns, errors and people.

A scenario is run by the family of `attacker: default`. It limits what the family knows. The shares of errors are
assumptions that were chosen, not measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cvpl.config.written import AuditConfig
from cvpl.config.written_attacker import ScenarioName
from cvpl.errors import Problem

Known = Literal["quasi_identifiers", "observable"]
Answer = Literal["risk", "lowest_false_rate", "best_candidate"]


@dataclass(frozen=True)
class Scenario:
    """What an attacker of a scenario knows, with what share of errors, and which figure answers its question.

    `needs_control` says that the answer needs people who are not in the release: the attacker does not know who is.
    """

    source: str
    who: str
    known: Known
    errors: float
    people: str
    answer: Answer
    needs_control: bool = False


SCENARIOS: Mapping[ScenarioName, Scenario] = {
    "motivated_intruder": Scenario(
        "ICO, anonymisation guidance",
        "somebody who starts without knowledge of the person, is reasonably competent, and searches the internet, "
        "libraries and public records, and asks around",
        "quasi_identifiers",
        0.05,
        "any person; the intruder does not know who is in the release",
        "risk",
    ),
    "neighbour": Scenario(
        "texts on disclosure control: the nosy neighbour, spontaneous recognition",
        "somebody who knows the person well, and recognizes them in the release",
        "observable",
        0.10,
        "one acquaintance, who is in the release",
        "best_candidate",
    ),
    "journalist": Scenario(
        "El Emam; ARX",
        "somebody who wants to show that one person can be found, whoever it is, with a public register",
        "quasi_identifiers",
        0.0,
        "one arbitrary person: whoever is found most surely",
        "lowest_false_rate",
        needs_control=True,
    ),
    "marketer": Scenario(
        "El Emam; ARX",
        "somebody who links a list of customers to the release, as many people as possible",
        "quasi_identifiers",
        0.05,
        "everybody on the list",
        "best_candidate",
    ),
    "data_holder": Scenario(
        "WP29 opinion 05/2014: the controller, or a third party with the same data",
        "somebody who has another extract of the same people, with all columns",
        "observable",
        0.02,
        "everybody in the extract",
        "risk",
    ),
}


def scenario_columns(config: AuditConfig, scenario: Scenario) -> tuple[str, ...]:
    """The columns that attackers of a scenario know, by their roles."""
    roles = ("quasi_identifier",) if scenario.known == "quasi_identifiers" else ("quasi_identifier", "attribute")
    return tuple(column for column, entry in config.columns.items() if entry.role in roles)


def with_scenario(config: AuditConfig, name: str, problems: list[Problem]) -> AuditConfig:
    """The configuration with the columns and errors of its scenario; unchanged without one.

    `knows` and `errors` that are written stay. A scenario without its columns is added to `problems`.
    """
    written = config.attacker
    if written is None or written.scenario is None:
        return config
    scenario = SCENARIOS[written.scenario]
    columns = scenario_columns(config, scenario)
    if not columns and written.knows is None:
        what = f"the scenario {written.scenario} knows the quasi-identifiers, and no column has that role"
        cure = "Give the columns that many people know about a person the role quasi_identifier, or list `knows`."
        problems.append(Problem(name, what, cure))
        return config
    changes: dict[str, object] = {"knows": columns if written.knows is None else written.knows}
    if "errors" not in written.model_fields_set:
        changes["errors"] = scenario.errors
    attacker = written.model_copy(update=changes)
    attacker.model_fields_set.update(changes)
    return config.model_copy(update={"attacker": attacker})
