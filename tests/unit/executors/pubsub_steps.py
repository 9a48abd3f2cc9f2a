"""Steps and answers for tests of the publisher's rules."""

from __future__ import annotations

from turnout.wire.documents import ResultMetadata, Step, StepMetadata, StepResult
from turnout.wire.topics import Heard


def step(task: str, attempt: int = 1, failures: int = 0) -> Step:
    return Step(
        step_id=task,
        task_id="run",
        step_name="ship",
        handler_class="Ship",
        metadata=StepMetadata(token=f"{task}:{attempt}", attempt=attempt - 1, failures=failures),
    )


def answer(batch_id: str, *step_ids: str, token: str = "") -> Heard:
    return Heard(
        batch_id,
        tuple(StepResult(step_id=each, status="completed", metadata=ResultMetadata(token=token)) for each in step_ids),
    )
