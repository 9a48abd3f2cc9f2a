"""Runs orchestrators inside programs: Runner, AsyncRunner, Poller and their configuration."""

from turnout.errors import TaskFailure
from turnout.model.logs import LogLine
from turnout.model.retention import Deleted
from turnout.model.workers import WorkerView
from turnout.orchestration.coordination.settings import CoordinatorSettings, PoolSettings, PoolsSettings
from turnout.orchestration.settings import EngineSettings, Retention
from turnout.runner.async_runner import AsyncRunHandle, AsyncRunner
from turnout.runner.notification_settings import NotificationSettings
from turnout.runner.poller import Poller
from turnout.runner.routing_rules import RulesInForce
from turnout.runner.run_reader import TaskDetail
from turnout.runner.runner import RunHandle, Runner
from turnout.runner.views import AttemptView, RunView, TaskView
from turnout.runtime.log_buffer import LogSettings

__all__ = [
    "AsyncRunHandle",
    "AsyncRunner",
    "AttemptView",
    "CoordinatorSettings",
    "Deleted",
    "EngineSettings",
    "LogLine",
    "LogSettings",
    "NotificationSettings",
    "Poller",
    "PoolSettings",
    "PoolsSettings",
    "Retention",
    "RulesInForce",
    "RunHandle",
    "RunView",
    "Runner",
    "TaskDetail",
    "TaskFailure",
    "TaskView",
    "WorkerView",
]
