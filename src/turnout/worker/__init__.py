"""What runs elsewhere: a process that takes steps from hubs, runs them and answers."""

from turnout.wire.documents import Step, StepResult
from turnout.worker.handlers import Handlers, handler
from turnout.worker.settings import WorkerSettings, from_environment
from turnout.worker.trying import run_step
from turnout.worker.worker import Worker

__all__ = ["Handlers", "Step", "StepResult", "Worker", "WorkerSettings", "from_environment", "handler", "run_step"]
