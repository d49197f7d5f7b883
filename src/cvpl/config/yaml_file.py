"""A YAML reader that rejects ambiguous files, and files that are no configuration anybody would write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from cvpl.errors import InputError, Problem
from cvpl.files.reading import read_bounded

MOST_MEGABYTES = 10
"""The largest file that is read as YAML."""
DEEPEST = 50
"""How deep lists and mappings may be nested: no setting is nested so deep."""
MOST_VALUES = 200_000
"""How many values a file may hold, with every alias (`*name`) counted as what it stands for."""


class _RefusedYamlError(yaml.MarkedYAMLError):
    """Why a file is refused that a plain YAML reader might accept."""


class _Loader(yaml.SafeLoader):
    """The safe loader, which also rejects duplicate keys: one of two values would be lost silently."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A node that is not nested too deeply."""
        self.depth += 1
        if self.depth > DEEPEST:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise _RefusedYamlError(problem=f"lists or settings are nested more than {DEEPEST} deep", problem_mark=mark)
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def get_single_node(self) -> yaml.Node | None:
        """The whole file, if it is not too much."""
        node: yaml.Node | None = super().get_single_node()
        if node is not None:
            _check_size(node)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """A value; one that only looks like a day or a number is an error of YAML, with its place."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, TypeError, ArithmeticError, LookupError):
            problem = "this value is none, though it looks like a day, a time or a number"
            raise _RefusedYamlError(problem=problem, problem_mark=node.start_mark) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping without duplicate keys."""
        seen = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key, yaml.ScalarNode):
                raise _RefusedYamlError(problem="a list or a mapping is used as a name", problem_mark=key.start_mark)
            if key.value in seen:
                raise _RefusedYamlError(problem=f"the key {key.value} occurs twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path, called: str, cure: str) -> Any:
    """The content of a YAML file; `called` is its name in messages, `cure` the advice if it is not YAML."""
    content = read_bounded(path, path.name, called, MOST_MEGABYTES)
    try:
        return yaml.load(content.decode("utf-8-sig"), _Loader)  # noqa: S506 - a safe loader, made stricter
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        what = str(error.problem) if isinstance(error, _RefusedYamlError) else f"the {called} is not YAML"
        what += f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise InputError([Problem(path.name, what, cure)]) from None


def _check_size(root: yaml.Node) -> None:
    """Refuse aliases that stand for very many values, or for what contains themselves."""
    sizes: dict[yaml.Node, int | None] = {}

    def size(node: yaml.Node) -> int:
        if node in sizes:
            known = sizes[node]
            if known is None:
                raise _RefusedYamlError(problem="an alias stands for what contains it", problem_mark=node.start_mark)
            return known
        sizes[node] = None
        inner = node.value if isinstance(node, yaml.SequenceNode) else ()
        if isinstance(node, yaml.MappingNode):
            inner = [part for pair in node.value for part in pair]
        total = 1 + sum(size(part) for part in inner)
        if total > MOST_VALUES:
            raise _RefusedYamlError(
                problem=f"the file holds more than {MOST_VALUES:,} values", problem_mark=node.start_mark
            )
        sizes[node] = total
        return total

    size(root)
