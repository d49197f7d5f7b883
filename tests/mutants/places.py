"""The places of a module that can be changed, and the change."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_CALLED = {"min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "any": "all", "all": "any"}
_CALLED |= {"minimum": "maximum", "maximum": "minimum", "argmax": "argmin", "argmin": "argmax"}
_LEFT = ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr


@dataclass(frozen=True)
class Place:
    """A node that can be changed, what is done to it, and where it stands, without the number of its line.

    `nth` counts the equal expressions with equal changes of one statement, from 1.
    """

    node: ast.AST
    what: str
    function: str
    statement: str
    expression: str
    nth: int
    by_rule: bool
    """Whether no figure can show the change, by rule."""


def places(tree: ast.Module) -> Iterator[Place]:
    """The nodes that can be changed, in the order of the source."""
    seen: Counter[tuple[str, ...]] = Counter()
    waiting: list[tuple[ast.AST, str, str, bool]] = [(tree, "", "", False)]
    while waiting:
        node, function, statement, by_rule = waiting.pop(0)
        if isinstance(node, _LEFT):
            continue
        if isinstance(node, ast.stmt):
            statement = _header(node)
        by_rule = by_rule or (isinstance(node, ast.keyword) and node.arg == "strict")
        what = _change(node)
        if what:
            about = (function, statement, _header(node), what)
            seen[about] += 1
            yield Place(
                node, what, function, statement, about[2], seen[about], by_rule and what.endswith("True changed")
            )
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            function = f"{function}.{node.name}".lstrip(".")
        children = [child for child in ast.iter_child_nodes(node) if not _is_description(node, child)]
        waiting[:0] = [(child, function, statement, by_rule) for child in children]


def _header(node: ast.AST) -> str:
    """The source of a node; of a statement with others in it, the first line."""
    lines = ast.unparse(node).splitlines()
    return next((line for line in lines if not line.startswith("@")), "") if isinstance(node, ast.stmt) else lines[0]


def _change(node: ast.AST) -> str:
    """What can be done to a node; "" if nothing."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
        return f"{type(node.ops[0]).__name__} -> {_COMPARED[type(node.ops[0])].__name__}"
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _COMPUTED:
        return f"{type(node.op).__name__} -> {_COMPUTED[type(node.op)].__name__}"
    if isinstance(node, ast.BoolOp):
        return "and <-> or"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return f"{type(node.op).__name__} removed"
    if isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        return f"constant {node.value!r} changed"
    if isinstance(node, ast.If | ast.IfExp):
        return "condition negated"
    if isinstance(node, ast.Call) and _name(node.func) in _CALLED:
        return f"{_name(node.func)} -> {_CALLED[_name(node.func)]}"
    return ""


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_description(parent: ast.AST, child: ast.AST) -> bool:
    """Annotations and decorators describe the code; they do not compute."""
    described = [getattr(parent, "annotation", None), getattr(parent, "returns", None)]
    return child in described or child in getattr(parent, "decorator_list", [])


def changed(tree: ast.Module, place: int) -> ast.Module:
    """The tree with the fault at one of its places."""
    node = next(found.node for at, found in enumerate(places(tree)) if at == place)
    if isinstance(node, ast.Compare):
        node.ops[0] = _COMPARED[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp | ast.AugAssign):
        node.op = _COMPUTED[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.UnaryOp):
        _replace(tree, node, node.operand)
    elif isinstance(node, ast.Constant):
        node.value = _other(node.value)
    elif isinstance(node, ast.If | ast.IfExp):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Call):
        other = _CALLED[_name(node.func)]
        if isinstance(node.func, ast.Name):
            node.func.id = other
        elif isinstance(node.func, ast.Attribute):
            node.func.attr = other
    return ast.fix_missing_locations(tree)


def _other(value: Any) -> bool | float:
    """Another constant."""
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else value * 1.5 + 0.1


def _replace(tree: ast.Module, old: ast.AST, new: ast.AST) -> None:
    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return copy.copy(new) if node is old else self.generic_visit(node)

    Swap().visit(tree)
