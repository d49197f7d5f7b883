"""Compiled functions as Python runs them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np

from .draw import SOURCE, VECTORS


def is_compiled(function: ast.FunctionDef) -> bool:
    """Whether Numba compiles a function."""
    return any("njit" in ast.unparse(one) for one in function.decorator_list)


def module_tree(file: Path, plain: bool) -> ast.Module:
    """A sound module, with compiled functions that can run uncompiled if `plain`."""
    source = Path(__file__).with_name("plain_simd.py") if plain and file == SOURCE / VECTORS else file
    tree = ast.parse(source.read_text(encoding="utf-8"))
    return widened(tree) if plain else tree


def widened(tree: ast.Module) -> ast.Module:
    """Compiled functions that read numbers from arrays as Numba does: small integers become wide."""
    reads = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and is_compiled(function)
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
    }

    class Widen(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            read = id(node) in reads
            node = self.generic_visit(node)
            return ast.Call(ast.Name("_wide_", ast.Load()), [node], []) if read else node

    return ast.fix_missing_locations(Widen().visit(tree))


def wide(value: Any) -> Any:
    """A number as a compiled function reads it from an array."""
    return int(value) if isinstance(value, (np.int8, np.int16, np.int32)) else value
