"""Holds a workflow file as one canonical value: whatever form a key was written in, it has one type here."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from turnout.authoring.yaml.params import Arguments, Parameter
from turnout.authoring.yaml.policies import (
    Condition,
    ContinueOn,
    RepeatPolicy,
    RetryPolicy,
    RunRetryPolicy,
    Seconds,
)
from turnout.authoring.yaml.steps import Command, HttpRequest, Parallel, Selector, SignalName, StepDocument
from turnout.authoring.yaml.variables import Variable

__all__ = [
    "Arguments",
    "Command",
    "Condition",
    "ContinueOn",
    "Handlers",
    "HttpRequest",
    "Parallel",
    "Parameter",
    "RepeatPolicy",
    "RetryPolicy",
    "RunRetryPolicy",
    "Schedule",
    "Secret",
    "Selector",
    "SignalName",
    "StepDefaults",
    "StepDocument",
    "Variable",
    "WorkflowDocument",
]


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """Times at which runs start, stop and restart, as cron expressions of five fields."""

    start: tuple[str, ...] = ()
    """Times at which a run starts."""
    stop: tuple[str, ...] = ()
    """Times at which open runs are cancelled."""
    restart: tuple[str, ...] = ()
    """Times at which open runs are cancelled and a new one starts."""


class Secret(msgspec.Struct, frozen=True, kw_only=True):
    """A value that is resolved where a step runs, reaches it as a variable, and is masked everywhere."""

    name: str
    """The variable."""
    provider: Literal["env", "file", "command"]
    """Where the value comes from: a variable, a file, or the output of a command."""
    key: Annotated[str, Meta(min_length=1)]
    """The name of the variable, the path of the file, or the command."""


class Handlers(msgspec.Struct, frozen=True, kw_only=True):
    """Steps that run at the end of a run."""

    success: StepDocument | None = None
    """Runs if the run completes."""
    failure: StepDocument | None = None
    """Runs if the run fails."""
    cancel: StepDocument | None = None
    """Runs if the run is cancelled."""
    exit: StepDocument | None = None
    """Runs at every end, after the others."""


class StepDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """Values for steps that have none of their own; ``env`` and ``preconditions`` come before a step's own."""

    env: tuple[Variable, ...] = ()
    """Variables of every step."""
    preconditions: tuple[Condition, ...] = ()
    """Conditions of every step."""
    continue_on: ContinueOn | None = None
    """The ends after which dependents run all the same."""
    retry_policy: RetryPolicy | None = None
    """Further attempts after a failure."""
    repeat_policy: RepeatPolicy | None = None
    """Repetitions after a success."""
    timeout_sec: Seconds | None = None
    """Seconds that one attempt may take; 0: no limit."""
    signal_on_stop: SignalName | None = None
    """The signal that ends a step when its run is cancelled."""
    shell: tuple[str, ...] | None = None
    """The shell with its options."""
    working_dir: str | None = None
    """The working directory."""
    worker_selector: Selector = None
    """Labels of the worker, or ``local``."""


class WorkflowDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One document of a workflow file; the first is the workflow, further ones are its local sub-workflows."""

    name: str
    """The name of the workflow; without one the name of its file."""
    description: str = ""
    """The purpose of the workflow."""
    tags: tuple[str, ...] = ()
    """Words for filters, as ``nightly`` or ``team=data``."""
    group: str = ""
    """A heading under which workflows are listed together."""
    params: tuple[Parameter, ...] = ()
    """The parameters of a run."""
    env: tuple[Variable, ...] = ()
    """Variables of every step, evaluated in order."""
    dotenv: tuple[str, ...] = ()
    """Files of variables, read before ``env``; a later file wins."""
    secrets: tuple[Secret, ...] = ()
    """Values that are resolved where a step runs and are masked everywhere."""
    working_dir: str | None = None
    """The working directory of every step; relative paths start there."""
    shell: tuple[str, ...] | None = None
    """The shell of every step with its options; without one ``/bin/sh``."""
    type: Literal["chain", "graph"] = "chain"
    """``chain``: each step depends on the one before. ``graph``: steps say what they depend on.
    Without it ``graph`` if any step has ``depends``, else ``chain``."""
    schedule: Schedule | None = None
    """Times of runs, as cron expressions."""
    max_active_steps: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    """The greatest number of steps of one run at work at once."""
    max_active_runs: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    """The greatest number of runs at work at once."""
    queue: str | None = None
    """The queue that runs wait in."""
    priority: Annotated[int, Meta(ge=-1_000, le=1_000)] = 0
    """Among waiting runs those with a higher priority start first."""
    timeout_sec: Seconds | None = None
    """Seconds that a run may take; 0: no limit."""
    retry_policy: RunRetryPolicy | None = None
    """Further runs after a failure."""
    hist_retention_days: Annotated[int, Meta(ge=0, le=36_500)] | None = None
    """Days that ended runs are kept."""
    hist_retention_runs: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    """The number of ended runs that are kept."""
    worker_selector: Selector = None
    """Labels of the worker that runs the steps, or ``local``."""
    affinity: Literal["run", "step"] = "run"
    """``run``: all steps of a run go to one worker that matches. ``step``: each step is placed on its own."""
    preconditions: tuple[Condition, ...] = ()
    """Conditions that must hold, else the run is skipped."""
    handler_on: Handlers = Handlers()
    """Steps that run at the end of a run."""
    defaults: StepDefaults = StepDefaults()
    """Values for steps that have none of their own; they are applied to ``steps`` already."""
    steps: tuple[StepDocument, ...]
    """The steps, in the order of the file."""
