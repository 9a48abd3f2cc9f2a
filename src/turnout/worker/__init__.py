"""A worker: a process that takes steps from hubs, runs them and returns their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turnout.model.extras import optional_packages
from turnout.wire.documents import Step, StepResult
from turnout.worker.handlers import Handlers, handler
from turnout.worker.settings import WorkerSettings, from_environment
from turnout.worker.step_loader import run_step

if TYPE_CHECKING:
    from turnout.worker.worker import Worker

__all__ = ["Handlers", "Step", "StepResult", "Worker", "WorkerSettings", "from_environment", "handler", "run_step"]


def __getattr__(name: str) -> Any:
    # Handlers are written and tested without sockets; only a Worker has them.
    if name != "Worker":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with optional_packages():
        from turnout.worker.worker import Worker
    globals()[name] = Worker
    return Worker
