"""A node of a cluster, whose supervisor and child process the test plays itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from turnout.executors.cluster import node
from turnout.executors.cluster.job_step import JOB_HANDLER, encode_step
from turnout.model.events import ExecutionResult, TaskReadyEvent, decode_result
from turnout.runtime.messages import Job, Where
from turnout.wire.documents import Step, StepMetadata

EVENT = TaskReadyEvent(run_id="r", task_id="t", task_name="t", attempt=1, max_attempts=1)


class Link:
    """A supervisor that gives leave, and keeps what it gets."""

    def __init__(self) -> None:
        self.results: list[ExecutionResult] = []

    async def begin(self, token: str) -> float | None:
        return 60.0

    async def watch(self, token: str, wait: float) -> bool:
        return False

    async def output(self, token: str, first: int, entries: Sequence[tuple[str, str]]) -> None: ...

    async def finish(self, token: str, result: bytes) -> None:
        self.results.append(decode_result(result))


class Executor:
    """Runs nothing, and completes."""

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        return ExecutionResult.success(event, 7)

    def cancel(self, event: TaskReadyEvent) -> None: ...


def test_a_result_is_sent_also_if_the_output_before_it_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    async def failing(*_: Any) -> None:
        raise OSError("a pipe is broken")

    monkeypatch.setattr(node, "_send_output", failing)
    runner, link = node.NodeRunner(grace=1.0), Link()
    monkeypatch.setattr(runner, "_executor", lambda _: Executor())
    job = Job(event=EVENT, body=Where(module="tasks", qualname="train"))
    config = {"job": msgspec.to_builtins(job), "max_output_bytes": 1000}
    metadata = StepMetadata(token="t:1")
    step = Step(
        step_id="t", task_id="r", step_name="t", handler_class=JOB_HANDLER, handler_config=config, metadata=metadata
    )
    runner.run(encode_step(step), link)
    assert [result.output for result in link.results] == ["7"]
