"""A policy in its own file, so that several audits can share it."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from cvpl.config.problems import problems_of
from cvpl.config.written import PolicyForm
from cvpl.config.yaml_file import read_yaml
from cvpl.errors import InputError, Problem
from cvpl.evaluation.policy import PRESETS

_CURE = "Write {figure: attributable_rate, bound: high, max: 0.05}, a list of such, or the name of a preset."


def read_policy(named: str | Path) -> PolicyForm:
    """The policy of a YAML file, in the form of `policy` in audit.yaml; or the preset of that name."""
    if str(named) in PRESETS:
        content, name = str(named), "policy"
    else:
        content, name = read_yaml(Path(named), "policy", _CURE), Path(named).name
    if content is None:
        raise InputError([Problem(name, "the policy is empty", _CURE)])
    try:
        checked: PolicyForm = TypeAdapter(PolicyForm).validate_python(content)
    except ValidationError as error:
        raise InputError(problems_of(error, name, PolicyForm)) from None
    return checked
