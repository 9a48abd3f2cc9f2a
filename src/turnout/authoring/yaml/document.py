"""Holds a workflow file as one canonical value: whatever form a key was written in, it has one type here."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from turnout.authoring.yaml.arguments import Arguments
from turnout.authoring.yaml.commands import SHELL, Command
from turnout.authoring.yaml.conditions import CONDITIONS, CONTINUE_ON, Condition, ContinueOn
from turnout.authoring.yaml.fan_out import Parallel
from turnout.authoring.yaml.forms import Several, Text
from turnout.authoring.yaml.http_request import HttpRequest
from turnout.authoring.yaml.limits import LIMITS, LimitDocument, Size
from turnout.authoring.yaml.notify import NotifyDocument
from turnout.authoring.yaml.params import PARAMS, Parameter
from turnout.authoring.yaml.policies import REPEAT, TIME_LIMIT, RepeatPolicy, RetryPolicy, RunRetryPolicy, Seconds
from turnout.authoring.yaml.schedules import SCHEDULE, ZONE, Schedule
from turnout.authoring.yaml.selectors import SELECTOR, SIGNAL, TAGS, Selector, SignalName
from turnout.authoring.yaml.step_forms import STEP, STEPS
from turnout.authoring.yaml.steps import LINE, StepDocument
from turnout.authoring.yaml.tables import Key
from turnout.authoring.yaml.variables import ENV, RECEIVING_NAME, Variable
from turnout.model.names import IDENTIFIER
from turnout.model.validation import MAX_PRIORITY

__all__ = [
    "Arguments",
    "Command",
    "Condition",
    "ContinueOn",
    "Handlers",
    "HttpRequest",
    "LimitDocument",
    "NotifyDocument",
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

IDENTIFIER_TEXT = Text(
    "a name that begins with a letter or _, of letters, digits, _, . and -", pattern=IDENTIFIER.pattern
)


class Secret(msgspec.Struct, frozen=True, kw_only=True):
    """A value that is resolved where a step runs, reaches it as a variable, and is masked everywhere."""

    name: Annotated[str, Key(example="name: API_TOKEN", form=RECEIVING_NAME)]
    """The variable."""
    provider: Annotated[Literal["env", "file", "command"], Key(example="provider: env")]
    """The origin of the value: a variable, a file, or the output of a command."""
    key: Annotated[str, Meta(min_length=1), Key(example="key: PRODUCTION_TOKEN")]
    """The name of the variable, the path of the file, or the command."""


class Handlers(msgspec.Struct, frozen=True, kw_only=True):
    """Steps that run at the end of a run."""

    success: Annotated[StepDocument | None, Key(example="success: ./notify.sh done", form=STEP)] = None
    """Runs if the run completes."""
    failure: Annotated[StepDocument | None, Key(example="failure: ./notify.sh failed", form=STEP)] = None
    """Runs if the run fails."""
    cancel: Annotated[StepDocument | None, Key(example="cancel: ./undo.sh", form=STEP, also=("abort",))] = None
    """Runs if the run is cancelled."""
    exit: Annotated[StepDocument | None, Key(example="exit: rm -rf scratch", form=STEP)] = None
    """Runs at every end, after the others."""


class StepDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """Values for steps that have none of their own; ``env`` and ``preconditions`` come before a step's own."""

    env: Annotated[tuple[Variable, ...], Key(example="env: {LEVEL: info}", form=ENV)] = ()
    """Variables of every step."""
    preconditions: Annotated[
        tuple[Condition, ...], Key(example="preconditions: test -d data", form=CONDITIONS, also=("precondition",))
    ] = ()
    """Conditions of every step."""
    continue_on: Annotated[ContinueOn | None, Key(example="continue_on: skipped", form=CONTINUE_ON)] = None
    """The ends after which dependents run all the same."""
    retry_policy: Annotated[RetryPolicy | None, Key(example="retry_policy: {limit: 1}")] = None
    """Further attempts after a failure."""
    repeat_policy: Annotated[
        RepeatPolicy | None, Key(example="repeat_policy: {exit_code: 75, limit: 5}", form=REPEAT)
    ] = None
    """Repetitions after a success."""
    timeout_sec: Annotated[Seconds | None, Key(example="timeout_sec: 60", form=TIME_LIMIT)] = None
    """Seconds that one attempt may take; 0: no limit."""
    signal_on_stop: Annotated[SignalName | None, Key(example="signal_on_stop: SIGINT", form=SIGNAL)] = None
    """The signal that ends a step when its run is cancelled."""
    shell: Annotated[tuple[str, ...] | None, Key(example="shell: [bash, -e]", form=SHELL)] = None
    """The shell with its options."""
    working_dir: Annotated[str | None, Key(example="working_dir: data", form=LINE, also=("dir",))] = None
    """The working directory."""
    worker_selector: Annotated[Selector, Key(example="workerSelector: local", form=SELECTOR)] = None
    """Labels of the worker, or ``local``."""


class WorkflowDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One document of a workflow file; the first is the workflow, further ones are its local sub-workflows.

    ``defaults`` are applied to ``steps`` already, and ``type`` is in what each step depends on.
    """

    name: Annotated[str, Key(example="name: nightly-orders", form=IDENTIFIER_TEXT, derived=True)]
    """The name of the workflow; without one the name of its file."""
    description: Annotated[str, Key(example="description: Loads the orders of a day")] = ""
    """The purpose of the workflow."""
    tags: Annotated[
        tuple[str, ...], Key(example="tags: [nightly, team=data]", form=TAGS, also=("labels",), joined=True)
    ] = ()
    """Words for filters, as ``nightly`` or ``team=data``."""
    group: Annotated[str, Key(example="group: Reports")] = ""
    """A heading under which workflows are listed together."""
    params: Annotated[tuple[Parameter, ...], Key(example="params: {DATE: today, COUNT: 3}", form=PARAMS)] = ()
    """The parameters of a run."""
    env: Annotated[
        tuple[Variable, ...], Key(example='env: [{DATA: /srv/data}, {OUT: "${DATA}/out"}]', form=ENV, joined=True)
    ] = ()
    """Variables of every step, evaluated in order."""
    dotenv: Annotated[tuple[str, ...], Key(example="dotenv: [.env, prod.env]", form=Several(LINE))] = ()
    """Files of variables, read before ``env``; a later file wins."""
    secrets: Annotated[
        tuple[Secret, ...],
        Key(example="secrets: [{name: API_TOKEN, provider: env, key: PRODUCTION_TOKEN}]", joined=True),
    ] = ()
    """Values that are resolved where a step runs and are masked everywhere."""
    working_dir: Annotated[str | None, Key(example="working_dir: /srv/orders", form=LINE, also=("dir",))] = None
    """The working directory of every step; relative paths start there."""
    shell: Annotated[tuple[str, ...] | None, Key(example="shell: bash -e", form=SHELL)] = None
    """The shell of every step with its options; without one ``/bin/sh``."""
    type: Annotated[Literal["chain", "graph"], Key(example="type: graph", derived=True)] = "chain"
    """``chain``: each step depends on the one before. ``graph``: steps say what they depend on.
    Without it ``graph`` if any step has ``depends``, else ``chain``."""
    schedule: Annotated[Schedule | None, Key(example='schedule: "0 2 * * *"', form=SCHEDULE)] = None
    """Times at which a server runs the workflow by itself; ``CRON_TZ=Europe/Berlin`` may precede a cron expression."""
    timezone: Annotated[str | None, Key(example="timezone: Europe/Rome", form=ZONE)] = None
    """The time zone of schedules that have none of their own; without one UTC."""
    skip_if_successful: Annotated[bool, Key(example="skip_if_successful: true")] = False
    """That of every schedule of the workflow."""
    max_active_steps: Annotated[int | None, Key(example="max_active_steps: 4", form=Size())] = None
    """The greatest number of steps of one run at work at once."""
    max_active_runs: Annotated[int | None, Key(example="max_active_runs: 1", form=Size())] = None
    """The greatest number of runs at work at once; others wait."""
    queue: Annotated[str | None, Key(example="queue: nightly", form=IDENTIFIER_TEXT)] = None
    """The configured queue that runs wait in."""
    limits: Annotated[
        tuple[LimitDocument, ...],
        Key(example="limits: {name: database, at_most: 3}", form=LIMITS, also=("limit",)),
    ] = ()
    """Limits that runs share with others; a run holds a slot of each from its start to its end."""
    priority: Annotated[int, Meta(ge=-MAX_PRIORITY, le=MAX_PRIORITY), Key(example="priority: 10")] = 0
    """Among waiting runs those with a higher priority start first."""
    timeout_sec: Annotated[Seconds | None, Key(example="timeout_sec: 3600", form=TIME_LIMIT)] = None
    """Seconds that a run may take; 0: no limit."""
    retry_policy: Annotated[RunRetryPolicy | None, Key(example="retry_policy: {limit: 2}")] = None
    """Further runs after a failure, each from what failed."""
    hist_retention_days: Annotated[
        int | None,
        Meta(ge=0, le=36_500),
        Key(example="hist_retention_days: 30", also=("history_retention_days",)),
    ] = None
    """Days for which runs are kept after their end, in place of the age that the configuration says."""
    hist_retention_runs: Annotated[
        int | None,
        Meta(ge=1, le=1_000_000),
        Key(example="hist_retention_runs: 100", also=("history_retention_runs",)),
    ] = None
    """The number of ended runs that are kept, the newest ones."""
    worker_selector: Annotated[Selector, Key(example="workerSelector: {gpu: true}", form=SELECTOR)] = None
    """Labels of the worker that runs the steps, or ``local``."""
    affinity: Annotated[Literal["run", "step"], Key(example="affinity: step")] = "run"
    """``run``: all steps of a run go to one worker that matches. ``step``: each step is placed on its own."""
    preconditions: Annotated[
        tuple[Condition, ...],
        Key(example='preconditions: {condition: "${DAY}", expected: Monday}', form=CONDITIONS, also=("precondition",)),
    ] = ()
    """Conditions that must hold, else the run is skipped."""
    handler_on: Annotated[Handlers, Key(example="handler_on: {failure: ./notify.sh}")] = Handlers()
    """Steps that run at the end of a run."""
    notify: Annotated[
        tuple[NotifyDocument, ...],
        Key(example="notify: {url: https://ops.example.org/turnout, on: [failure]}", joined=True),
    ] = ()
    """Addresses that the end of a run is sent to."""
    defaults: Annotated[StepDefaults, Key(example="defaults: {timeout_sec: 60}")] = StepDefaults()
    """Values for steps that have none of their own."""
    steps: Annotated[tuple[StepDocument, ...], Key(example="steps: [make, make test]", form=STEPS, also=("tasks",))]
    """The steps, in the order of the file."""
