"""Workflows that are due every second, and write down each due time with the run that it has started."""

from __future__ import annotations

import os

from turnout import Schedule, TaskInfo, Workflow, task

FILE = os.environ["TURNOUT_SCHEDULED_FILE"]
COUNT = int(os.environ["TURNOUT_SCHEDULED_COUNT"])


@task
def note(name: str, due: str, info: TaskInfo) -> None:
    file = os.open(FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, f"{name} {due} {info.run_id}\n".encode())
    finally:
        os.close(file)


def _made(number: int) -> Workflow[..., None]:
    name = f"second-{number}"

    def noted(due: str) -> None:
        note(name, due)  # type: ignore[call-arg]

    every_second = Schedule(
        every="1s", params={"due": "${due_at}"}, catch_up="all", max_catch_up=1_000, overlap="allow"
    )
    return Workflow.from_function(noted, name=name, schedule=every_second)


globals().update({f"second_{number}": _made(number) for number in range(COUNT)})
