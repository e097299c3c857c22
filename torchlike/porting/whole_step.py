"""Decorates one function of a script without touching its file.

The decorator is put into the script's syntax tree, so every line keeps its number. Standard library
only: the process that runs a script with real PyTorch uses it too.
"""

from __future__ import annotations

import ast
import os
import tokenize
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

#: The decorator's name among the script's globals.
_DECORATOR = "__torchlike_compile__"


def decorating(
    line: int, decorator: Callable[[Any], Any]
) -> Callable[[CodeType, ModuleType], CodeType]:
    """Prepare a script for ``script.run``: the function that begins at ``line`` is decorated.

    A script that is in no file, or has no function there, stays as it is.
    """

    def prepare(code: CodeType, main: ModuleType) -> CodeType:
        if not os.path.isfile(code.co_filename):
            return code
        with tokenize.open(code.co_filename) as file:
            tree = ast.parse(file.read(), code.co_filename)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and _first_line(node) == line:
                # Innermost: around it may stand staticmethod and its like.
                name = ast.Name(_DECORATOR, ast.Load())
                node.decorator_list.append(ast.copy_location(name, node))
                setattr(main, _DECORATOR, decorator)
        return compile(tree, code.co_filename, "exec", dont_inherit=True)

    return prepare


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
