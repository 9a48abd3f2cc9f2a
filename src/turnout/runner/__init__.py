"""How it is put together: settings, wiring, Runner."""

from turnout.orchestration.settings import EngineSettings
from turnout.runner.asynchronous import AsyncRunHandle, AsyncRunner
from turnout.runner.poller import Poller
from turnout.runner.synchronous import RunHandle, Runner
from turnout.runner.views import RunView, TaskFailure, TaskView

__all__ = [
    "AsyncRunHandle",
    "AsyncRunner",
    "EngineSettings",
    "Poller",
    "RunHandle",
    "RunView",
    "Runner",
    "TaskFailure",
    "TaskView",
]
