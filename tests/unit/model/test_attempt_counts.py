"""How many attempts of a task began before: what its row counts."""

from __future__ import annotations

import pytest

from turnout.model.deferral import Memo, write_memo
from turnout.model.rows import TaskRow
from turnout.model.run_machine import begun_before
from turnout.model.states import TaskState


@pytest.mark.parametrize(
    ("memo", "deferred"),
    [
        (None, 0),
        (Memo(saved="1"), 0),
        (Memo(deferrals=3), 3),
        (Memo(deferrals=9, unmet=7), 2),
    ],
)
def test_what_was_handed_back_or_only_asked_a_condition_did_not_begin(memo: Memo | None, deferred: int) -> None:
    text = None if memo is None else write_memo(memo)
    row = TaskRow(pos=0, state=TaskState.RUNNING, attempt=40, failures=1, crashes=2, losses=4, memo=text)
    assert begun_before(row) == 7 + deferred
