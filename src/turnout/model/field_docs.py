"""Reads the docstrings of fields, which stand below them in the source of their class."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping
from functools import cache


@cache
def field_docs(kind: type, root: type) -> Mapping[str, str]:
    """Returns the docstring of each field of a class, and of its base classes below the root."""
    found: dict[str, str] = {}
    for base in kind.__bases__:
        if issubclass(base, root) and base is not root:
            found |= field_docs(base, root)
    [definition] = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    for field, after in zip(definition.body, definition.body[1:], strict=False):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as text)):
                found[name] = " ".join(text.split())
            case _:
                pass
    return found
