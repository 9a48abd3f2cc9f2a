"""What do docstrings and annotations say of a parameter, in words?"""

from __future__ import annotations

import inspect
import re
from typing import Annotated, Any, get_args, get_origin

_SPHINX = re.compile(r"^:param\s+(?:[^:]+\s)?\*{0,2}(\w+):\s*(.*)$")
_SECTION = re.compile(r"^(Args|Arguments|Parameters|Params):\s*$")
_GOOGLE = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


def parameter_docs(docstring: str | None) -> dict[str, str]:
    """Texts by parameter, from ``Args:`` sections (Google's style) and ``:param name:`` fields (Sphinx's)."""
    found: dict[str, list[str]] = {}
    if not docstring:
        return {}
    section: int | None = None
    """How deep the entries of the section that we are in are indented; -1 before the first one."""
    current: tuple[str, int] | None = None
    for line in inspect.cleandoc(docstring).splitlines():
        text, indent = line.strip(), len(line) - len(line.lstrip())
        sphinx = _SPHINX.match(text)
        if sphinx is not None:
            current, section = (sphinx[1], indent), None
            found[sphinx[1]] = [sphinx[2]]
        elif _SECTION.match(text) and indent == 0:
            section, current = -1, None
        elif not text or (section is not None and indent == 0):
            section, current = (section if not text else None), (current if section is not None and not text else None)
        elif section is not None and section in (-1, indent) and (entry := _GOOGLE.match(text)):
            current, section = (entry[1], indent), indent
            found[entry[1]] = [entry[2]]
        elif current is not None and indent > current[1]:
            found[current[0]].append(text)
    return {name: " ".join(part for part in parts if part) for name, parts in found.items()}


def annotation_doc(annotation: Any) -> str:
    """The text in ``Annotated[int, "how many"]`` or ``Annotated[int, Doc("how many")]``."""
    if get_origin(annotation) is Annotated:
        for remark in get_args(annotation)[1:]:
            text = remark if isinstance(remark, str) else getattr(remark, "documentation", None)
            if isinstance(text, str):
                return text
    return ""
