"""Marks and styles of everything that has a state."""

from __future__ import annotations

import pytest

from turnout.cli.checks import Grade
from turnout.cli.format import BREAKER_STYLES, MARKS, format_count
from turnout.cli.orchestrate import Ready
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


def test_a_count_of_one_has_its_noun_in_the_singular() -> None:
    assert [format_count(each, "run") for each in (0, 1, 1200)] == ["0 runs", "1 run", "1,200 runs"]
    ready = Ready(orchestrator="o", database="sqlite:///x.db", hub=None, public_key=None, workflows=("a",))
    assert ready.text() == "ready: orchestrator o, 1 workflow, no hub, sqlite:///x.db"
