"""Decides where tasks run, and exports what the author of an executor needs."""

from turnout.contracts.dispatcher import Dispatcher
from turnout.contracts.executor import BatchExecutor, Loader, Report, TaskExecutor, Work
from turnout.dispatcher.default import DefaultDispatcher
from turnout.dispatcher.explain import Explanation, explain
from turnout.dispatcher.placement import WORKERS, PlacementSettings, decide, require_hub
from turnout.dispatcher.routing import Router, RoutingConfig, RoutingRule
from turnout.dispatcher.slot import DispatcherMetrics
from turnout.dispatcher.validation import validate_routing
from turnout.errors import (
    DispatchError,
    ExecutionFailed,
    ExecutorUnavailable,
    HubUnavailable,
    InvalidRouting,
    NoCapacity,
    NoExecutor,
)
from turnout.model.breaker import BreakerSettings
from turnout.model.events import (
    DispatchDecision,
    ErrorInfo,
    ExecutionResult,
    ExecutionStatus,
    ExecutorMetrics,
    TaskReadyEvent,
)
from turnout.model.info import Output

__all__ = [
    "WORKERS",
    "BatchExecutor",
    "BreakerSettings",
    "DefaultDispatcher",
    "DispatchDecision",
    "DispatchError",
    "Dispatcher",
    "DispatcherMetrics",
    "ErrorInfo",
    "ExecutionFailed",
    "ExecutionResult",
    "ExecutionStatus",
    "ExecutorMetrics",
    "ExecutorUnavailable",
    "Explanation",
    "HubUnavailable",
    "InvalidRouting",
    "Loader",
    "NoCapacity",
    "NoExecutor",
    "Output",
    "PlacementSettings",
    "Report",
    "Router",
    "RoutingConfig",
    "RoutingRule",
    "TaskExecutor",
    "TaskReadyEvent",
    "Work",
    "decide",
    "explain",
    "require_hub",
    "validate_routing",
]
