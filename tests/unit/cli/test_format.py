"""Marks and styles of everything that has a state."""

from __future__ import annotations

import pytest

from turnout.cli.doctor import Grade
from turnout.cli.format import BREAKER_STYLES, MARKS
from turnout.cli.output import with_colours
from turnout.model.breaker import BreakerState
from turnout.model.health import CONDITIONS
from turnout.model.states import RunState, TaskState


@pytest.mark.parametrize("state", [*TaskState, *RunState, *CONDITIONS, *Grade])
def test_every_state_condition_and_grade_has_a_mark_in_a_known_colour(state: str) -> None:
    mark, style = MARKS[state]
    assert len(mark) == 1 and mark in with_colours([(mark, style)])


def test_every_state_of_a_breaker_has_a_colour() -> None:
    assert set(BREAKER_STYLES) == set(BreakerState)
