"""Pydantic's validation errors as problems that users can act on."""

from __future__ import annotations

from pydantic import ValidationError

from cvpl.errors import Problem


def problems_of(error: ValidationError, name: str) -> list[Problem]:
    """One problem per location; of a union's many errors, the first is kept."""
    text: dict[str, Problem] = {}
    for item in error.errors(include_url=False, include_input=False, include_context=False):
        path = ".".join(str(part) for part in item["loc"] if not _is_type_name(part))
        message = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            message = "there is no such setting"
        elif item["type"] == "missing":
            message = "this setting is required"
        what = f"`{path}`: {message[0].lower()}{message[1:]}" if path else message
        text.setdefault(path, Problem(name, what, "Correct the setting."))
    return list(text.values())


_UNION_MEMBERS = (
    "AttackerConfig",
    "EnsembleConfig",
    "Lsh",
    "Calibrate",
    "Agreement",
    "Rarity",
    "Pca",
    "RobustPca",
    "PolicyConfig",
    "float",
    "str",
)


def _is_type_name(part: object) -> bool:
    """Whether a path part is a union member added by pydantic; the user did not write it."""
    tried = ("literal[", "function-", "list[", "tuple[", "dict[", "constrained-", "nullable[")
    return isinstance(part, str) and (part.startswith(tried) or part in _UNION_MEMBERS)
