"""Runs orchestrators inside programs: Runner, AsyncRunner, Poller and their configuration."""

from turnout.errors import TaskFailure
from turnout.model.logs import LogLine
from turnout.model.mail import SmtpSettings
from turnout.model.retention import Deleted
from turnout.model.triggers import TriggerRow
from turnout.model.workers import WorkerView
from turnout.orchestration.coordination.settings import CoordinatorSettings, PoolSettings, PoolsSettings
from turnout.orchestration.settings import EngineSettings, Retention
from turnout.runner.async_runner import AsyncRunHandle, AsyncRunner
from turnout.runner.notification_settings import NotificationSettings
from turnout.runner.poller import Poller
from turnout.runner.routing_rules import RulesInForce
from turnout.runner.runner import RunHandle, Runner
from turnout.runner.task_detail import TaskDetail
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
    "SmtpSettings",
    "TaskDetail",
    "TaskFailure",
    "TaskView",
    "TriggerRow",
    "WorkerView",
]
