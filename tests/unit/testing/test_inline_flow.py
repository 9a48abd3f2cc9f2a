"""Branches, deferrals and hooks in runs without a database."""

from __future__ import annotations

from typing import Any

from turnout import Branch, Defer, RunOutcome, TaskInfo, task, workflow
from turnout.testing import run_inline


def test_a_run_in_line_branches_waits_without_waiting_and_calls_its_hooks() -> None:
    told: list[str] = []

    @task
    def tell(outcome: RunOutcome) -> None:
        told.append(outcome["status"])

    @task
    def decide() -> Branch:
        return Branch("left", value=3)

    @task
    def left(number: Any) -> int:
        return number + 1

    @task
    def right(number: Any) -> int:
        return number - 1

    @task
    def nap(info: TaskInfo) -> str:
        if info.saved is None:
            raise Defer("1h", save="slept")
        return info.saved

    @workflow(on_failure=tell, on_exit=tell)
    def flowing() -> list[Any]:
        number = decide()
        return [left(number), right(number), nap()]

    assert run_inline(flowing) == [4, None, "slept"]
    assert told == ["completed"]
