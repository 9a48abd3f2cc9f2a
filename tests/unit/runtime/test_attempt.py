"""What an executor that runs bodies in this process keeps of one attempt, and how it calls the body."""

from __future__ import annotations

import math
from contextvars import Context

import pytest

from turnout.contracts.executor import Work
from turnout.errors import AttemptFenced
from turnout.model.events import TaskReadyEvent
from turnout.model.spec import Body, TaskSpec
from turnout.runtime.execution import call, info_for

EVENT = TaskReadyEvent(run_id="r", task_id="r.0", task_name="public::embedded::w::t", attempt=1, max_attempts=1)


def test_an_async_body_does_not_begin_when_its_time_to_passes_while_its_loop_is_made() -> None:
    begun: list[str] = []

    async def body() -> None:
        begun.append("body")

    times = iter([math.inf, -math.inf])
    work = Work(event=EVENT, task=TaskSpec("t", Body("python", "t")), body=body, fence=lambda: next(times))
    with pytest.raises(AttemptFenced):
        Context().run(call, work, info_for(work, 0.0))
    assert begun == []
