"""The section on the scenario in which the attackers were run."""

from __future__ import annotations

from cvpl import result as out
from cvpl.config.resolved import ResolvedConfig
from cvpl.config.scenarios import SCENARIOS, scenario_columns


def attacker_scenario(resolved: ResolvedConfig) -> out.AttackerScenario | None:
    """The scenario of the configuration, with what the attackers knew; null without one."""
    written = resolved.config.attacker
    if written is None or written.scenario is None:
        return None
    scenario = SCENARIOS[written.scenario]
    columns = written.knows or ()
    return out.AttackerScenario(
        name=written.scenario,
        source=scenario.source,
        who=scenario.who,
        columns=list(columns),
        errors=written.errors,
        people=scenario.people,
        knows_people=written.knows_people,
        answer=scenario.answer,
        stated=set(columns) == set(scenario_columns(resolved.config, scenario)) and written.errors == scenario.errors,
    )
