"""The handlers of the worker that the conformance run is tried on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance_worker import Body


class Failed(Exception):
    def __init__(self, message: str, **metadata: Any) -> None:
        super().__init__(message)
        self.metadata = metadata


def echo(body: Body) -> Any:
    step = body.step
    return {
        "args": step.metadata.args,
        "positional": list(step.metadata.positional),
        "config": step.handler_config,
        "context": step.task_context,
        "previous": step.previous_results,
    }


def fail(body: Body) -> Any:
    raise Failed("failed on purpose")


def fail_permanently(body: Body) -> Any:
    raise Failed("never again", retryable=False)


def retry_after(body: Body) -> Any:
    raise Failed("later", retry_after_ms=1500)


def sleep(body: Body) -> Any:
    body.stop.wait(body.step.handler_config["ms"] / 1000)
    return "slept"


def say(body: Body) -> Any:
    lines = body.step.handler_config["lines"]
    for line in lines:
        body.tell("say", line)
    body.stop.wait(body.step.handler_config.get("ms", 0) / 1000)
    return len(lines)


def progress(body: Body) -> Any:
    body.tell("progress", 1)
    body.tell("progress", 2)


def append(body: Body) -> Any:
    with Path(body.step.handler_config["file"]).open("a") as file:
        file.write(f"{body.step.token}\n")


def large(body: Body) -> Any:
    return "x" * body.step.handler_config["size"]


HANDLERS = {
    f"conformance.{each.__name__}": each
    for each in (echo, fail, fail_permanently, retry_after, sleep, say, progress, append, large)
}
