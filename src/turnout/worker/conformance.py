"""Is the program of the Python worker that ``turnout conformance`` plays every session against.

``python -m turnout.worker.conformance``, with the hub's address in ``TURNOUT_CONNECT``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from turnout.errors import PermanentFailure, RetryAfter, TurnoutError
from turnout.model.info import TaskInfo
from turnout.worker import Handlers, Step, Worker, from_environment, handler


@handler("conformance.echo")
def echo(step: Step, *positional: Any, **arguments: Any) -> dict[str, Any]:
    return {
        "args": arguments,
        "positional": list(positional),
        "config": step.handler_config,
        "context": step.task_context,
        "previous": step.previous_results,
    }


@handler("conformance.fail")
def fail() -> None:
    raise RuntimeError("failed on purpose")


@handler("conformance.fail_permanently")
def fail_permanently() -> None:
    raise PermanentFailure("never again")


@handler("conformance.retry_after")
def retry_after() -> None:
    raise RetryAfter(1.5, "later")


@handler("conformance.sleep")
def sleep(step: Step, info: TaskInfo) -> str:
    info.wait_cancelled(step.handler_config["ms"] / 1000)
    return "slept"


@handler("conformance.say")
def say(step: Step, info: TaskInfo, **_: Any) -> int:
    lines: list[str] = step.handler_config["lines"]
    for line in lines:
        print(line)  # noqa: T201 - what a handler prints is what is looked for
    if "ms" in step.handler_config:
        info.wait_cancelled(step.handler_config["ms"] / 1000)
    return len(lines)


@handler("conformance.progress")
def progress(info: TaskInfo) -> None:
    info.progress(1, 2)
    info.progress(2, 2)


@handler("conformance.append")
def append(step: Step) -> None:
    with Path(step.handler_config["file"]).open("a", encoding="utf-8") as file:
        file.write(f"{step.token}\n")


@handler("conformance.large")
def large(step: Step) -> str:
    return "x" * int(step.handler_config["size"])


def main() -> int:
    try:
        done = Worker(Handlers([sys.modules[__name__]]), from_environment(os.environ)).run()
    except TurnoutError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a program's last word
        return 1
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
