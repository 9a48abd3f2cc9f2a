"""Positions in streams are read as they were written, and those of other streams are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.errors import RequestError
from turnout.model.names import new_run_id
from turnout.server.positions import RunPosition, change_position, run_position

RUN = new_run_id()


@given(seq=st.integers(0, 10**9 - 1), part=st.integers(0, 1), log=st.integers(0, 10**18 - 1))
def test_a_position_of_a_run_is_read_back(seq: int, part: int, log: int) -> None:
    position = RunPosition(seq=seq, part=part, log=log)
    assert run_position(position.text(RUN), RUN) == position


def test_a_position_of_another_run_is_refused_as_foreign() -> None:
    with pytest.raises(RequestError) as refused:
        run_position(RunPosition(seq=3).text(new_run_id()), RUN)
    assert refused.value.code == "foreign_position"


@given(text=st.text())
def test_any_other_text_is_no_position(text: str) -> None:
    with pytest.raises(RequestError) as refused:
        run_position(text, RUN)
    assert refused.value.code == "invalid_position"


@pytest.mark.parametrize("text", ["", "x", "-1", "1.0", "1" * 19, " 1"])
def test_a_position_among_all_runs_is_a_number(text: str) -> None:
    assert change_position("1042") == 1042
    with pytest.raises(RequestError) as refused:
        change_position(text)
    assert refused.value.code == "invalid_position"
