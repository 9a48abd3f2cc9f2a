"""Workers elsewhere: the hub that they connect to, and the executor that gives them attempts."""

from turnout.executors.workers.executor import WorkersExecutor
from turnout.executors.workers.settings import HubSettings

__all__ = ["HubSettings", "WorkersExecutor"]
