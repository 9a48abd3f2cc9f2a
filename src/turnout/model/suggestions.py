"""Which name was probably meant? The tail of every message about an unknown name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def close(name: str, known: Iterable[str]) -> str:
    """What to add to a message about an unknown name: the names that look like it, or some that there are."""
    names = sorted(set(known))
    near = get_close_matches(name, names, n=3)
    if near:
        return f": did you mean {' or '.join(map(repr, near))}?"
    some = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
    return f": there are {some}" if names else ": there are none"
