"""Extends the API reference: the doctest examples of a docstring become code blocks, which Markdown does not change."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


class ExampleBlocks(griffe.Extension):
    """Puts fences around each paragraph that begins with ``>>>``."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
