"""The tree of exceptions: codes, and docstrings that the reference is generated from."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from turnout import errors
from turnout.errors import TurnoutError
from turnout.model import deferral

FORM = re.compile(r"Raised when [^.]+\..* Remedy: \S.*\.", re.DOTALL)


def tree(kind: type[TurnoutError] = TurnoutError) -> Iterator[type[TurnoutError]]:
    if kind.__module__ in (errors.__name__, deferral.__name__):
        yield kind
        for each in kind.__subclasses__():
            yield from tree(each)


@pytest.mark.parametrize("kind", list(tree()), ids=lambda kind: kind.__name__)
def test_a_docstring_says_when_an_error_is_raised_and_what_the_remedy_is(kind: type[TurnoutError]) -> None:
    assert FORM.match(" ".join((kind.__doc__ or "").split()))


def test_every_error_stands_in_the_drawn_tree() -> None:
    assert all(
        f"{kind.__name__} " in f"{errors.__doc__} ".replace("\n", " ")
        for kind in tree()
        if kind.code != "condition_unmet"
    )
