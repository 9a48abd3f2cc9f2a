"""What a worker is told of an attempt: how many began before it, and how many failures are allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.small_worker import SmallWorker
from tests.unlisted import unlisted
from turnout import Runner, remote, workflow
from turnout.wire.documents import ResultMetadata, Step, StepError, StepResult

flaky = remote("flaky", handler="Flaky", retries=2, retry_delay=0.0)


@unlisted
@workflow
def shaky() -> str:
    return flaky()


def ended(step: Step, status: Any, outcome: Any) -> StepResult:
    metadata = ResultMetadata(token=step.token, outcome=outcome)
    return StepResult(step_id=step.step_id, status=status, error=StepError("no"), metadata=metadata)


def test_an_attempt_that_never_began_does_not_count_and_the_limit_stays(make_runner: Callable[..., Runner]) -> None:
    ends: list[tuple[Any, Any]] = [
        ("error", "returned"),
        ("error", "returned"),
        ("failed", None),
        ("error", "returned"),
        ("error", "lost"),
        ("failed", "deferred"),
    ]
    seen: list[tuple[int, int, int]] = []
    ordinals: list[str] = []

    def handle(step: Step) -> Any:
        seen.append((step.metadata.attempt, step.metadata.retry_limit, step.metadata.failures))
        ordinals.append(step.token.rpartition(":")[2])
        return ended(step, *ends[len(seen) - 1]) if len(seen) <= len(ends) else "done"

    runner = make_runner(hub="tcp://127.0.0.1:0", workflows=[shaky])
    assert runner.hub is not None
    with SmallWorker(runner.hub, handlers={"Flaky": handle}):
        assert runner.run(shaky) == "done"
    assert seen == [(0, 2, 0), (0, 2, 0), (0, 2, 0), (1, 2, 1), (1, 2, 1), (2, 2, 1), (3, 2, 1)]
    assert ordinals == ["1", "2", "3", "4", "5", "6", "7"], "the token has the ordinal"
