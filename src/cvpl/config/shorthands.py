"""Shorthands that several parts of a configuration share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

from cvpl.operators.blocking import Bin, Level, Prefix, Rule, Truncate
from cvpl.wording import did_you_mean

QUESTION = " -> "
"""Stands between a message and the question that proposes a cure."""


def one_of(value: object, forms: Mapping[str, Any]) -> object:
    """The form whose first key is present; the form itself checks the rest."""
    if isinstance(value, Mapping):
        for key, form in forms.items():
            if key in value:
                return form.model_validate({name: ({} if item is None else item) for name, item in value.items()})
        names = ", ".join(f"`{key}`" for key in value) or "none"
        hints = [hint for hint in (did_you_mean(str(key), forms) for key in value) if hint]
        expected = f"one of the keys {', '.join(forms)}" if len(forms) > 1 else f"the key {next(iter(forms))}"
        raise ValueError(f"expected {expected}, found {names}" + (QUESTION + hints[0] if hints else ""))
    return value


def _block_rule(value: object) -> object:
    if isinstance(value, str) and value != "exact":
        raise ValueError("write exact, {bin: w}, {level: n}, {prefix: n} or {truncate: unit}")
    return one_of(value, {"bin": Bin, "level": Level, "prefix": Prefix, "truncate": Truncate})


RuleForm = Annotated[Rule, BeforeValidator(_block_rule)]
