"""A YAML reader that rejects ambiguous files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from cvpl.errors import InputError, Problem


class _Loader(yaml.SafeLoader):
    """The safe loader, which also rejects duplicate keys: one of two values would be lost silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping without duplicate keys."""
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key.value} occurs twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path, called: str, cure: str) -> Any:
    """The content of a YAML file; `called` is its name in messages, `cure` the advice if it is not YAML."""
    try:
        return yaml.load(path.read_text(encoding="utf-8-sig"), _Loader)  # noqa: S506 - a safe loader, made stricter
    except OSError:
        raise InputError([Problem(path.name, f"the {called} cannot be opened", "Check the path.")]) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        twice = str(getattr(error, "problem", None) or "")
        what = twice if twice.endswith("occurs twice") else f"the {called} is not YAML"
        what += f" (line {mark.line + 1})" if mark else ""
        raise InputError([Problem(path.name, what, cure)]) from None
