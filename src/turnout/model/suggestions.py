"""The name that was probably meant: the tail of every message about an unknown name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def near(name: str, known: Iterable[str]) -> str:
    """What to add to a message about an unknown name: the names that look like it, or nothing."""
    found = get_close_matches(name, sorted(set(known)), n=3)
    return f": did you mean {' or '.join(map(repr, found))}?" if found else ""


def close(name: str, known: Iterable[str]) -> str:
    """What to add to a message about an unknown name: the names that look like it, or some that there are."""
    names = sorted(set(known))
    if said := near(name, names):
        return said
    some = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
    return f": there are {some}" if names else ": there are none"
