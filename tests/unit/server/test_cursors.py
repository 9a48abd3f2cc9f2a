"""A cursor continues the list that it came from, and no other."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.errors import RequestError
from turnout.model.run_filter import RunFilter
from turnout.model.states import RunState
from turnout.server.api.parameters import number_of, position_of
from turnout.server.cursors import MAX_CURSOR_LENGTH, cursor_of, last_entry

FAILED = RunFilter(states=(RunState.FAILED,))


@given(last=st.text(max_size=60), workflow=st.none() | st.text(max_size=20))
def test_a_cursor_gives_its_entry_back_to_the_list_that_it_came_from(last: str, workflow: str | None) -> None:
    wanted = RunFilter(workflow=workflow)
    assert last_entry(cursor_of("runs", wanted, last), "runs", wanted) == last


def test_without_a_cursor_a_list_begins_at_its_start() -> None:
    assert last_entry(None, "runs", FAILED) is None


@pytest.mark.parametrize(
    ("kind", "wanted"), [("history", FAILED), ("runs", RunFilter()), ("runs", RunFilter(states=(RunState.RUNNING,)))]
)
def test_a_cursor_of_another_list_or_filter_is_refused_as_foreign(kind: str, wanted: RunFilter) -> None:
    with pytest.raises(RequestError) as refused:
        last_entry(cursor_of("runs", FAILED, "x"), kind, wanted)
    assert refused.value.code == "foreign_cursor"


@given(text=st.text())
def test_any_other_text_is_refused_as_no_cursor(text: str) -> None:
    with pytest.raises(RequestError) as refused:
        last_entry(text, "runs", FAILED)
    assert refused.value.code == "invalid_cursor"


@pytest.mark.parametrize("content", [b"{}", b'["runs","x"]', b'["runs","x",7]', b'["runs","x","y","z"]', b"\xff"])
def test_a_text_that_decodes_to_something_else_is_refused(content: bytes) -> None:
    with pytest.raises(RequestError) as refused:
        last_entry(urlsafe_b64encode(content).decode(), "runs", FAILED)
    assert refused.value.code == "invalid_cursor"


def test_a_cursor_is_bounded() -> None:
    with pytest.raises(RequestError):
        last_entry("A" * (MAX_CURSOR_LENGTH + 1), "runs", FAILED)


@pytest.mark.parametrize("last", ["", "x", "1.x", "-1.0", "٣.0", "9" * 19 + ".0"])
def test_a_position_that_is_no_number_is_refused(last: str) -> None:
    with pytest.raises(RequestError) as refused:
        position_of(last)
    assert refused.value.code == "invalid_cursor"


def test_positions_and_numbers_are_read() -> None:
    assert (position_of(None), position_of("12.1"), number_of(None), number_of("7")) == ((0, 0), (12, 1), 0, 7)
