"""Waiting for the end of a run: it counts also if it comes as the wait is over."""

from __future__ import annotations

from typing import Any, cast

import pytest

from turnout.errors import WaitTimedOut
from turnout.model.rows import NewRun, RunRow, StoredRun
from turnout.model.states import RunState
from turnout.orchestration.messages import FinishedRun
from turnout.orchestration.reply import Reply
from turnout.runner.runner import RunHandle

NEW = NewRun(run_id="run-1", workflow="w", version="v", input="{}", created_at=0.0)
ENDED = FinishedRun(StoredRun(new=NEW, row=RunRow(state=RunState.COMPLETED), owner=None, epoch=1, seq=1), None)


class LateReply(Reply[FinishedRun]):
    """A reply that is set right after a wait for it was over."""

    __slots__ = ()

    def result(self, timeout: float | None = None) -> FinishedRun:
        try:
            return super().result(0.0 if timeout is not None else None)
        except TimeoutError:
            self.set_result(ENDED)
            raise


@pytest.mark.parametrize("timeout", [None, 0.01, 100.0])
def test_a_run_that_ends_as_the_wait_is_over_has_ended(timeout: float | None) -> None:
    handle: RunHandle[Any] = RunHandle(cast("Any", None), "run-1", LateReply())
    assert handle.wait(timeout) is RunState.COMPLETED


def test_a_run_that_has_not_ended_is_left_alone() -> None:
    handle: RunHandle[Any] = RunHandle(cast("Any", None), "run-1", Reply())
    with pytest.raises(WaitTimedOut):
        handle.wait(0.01)
