"""Holds one step of a workflow file with every key that it can have."""

from __future__ import annotations

from typing import Annotated

import msgspec

from turnout.authoring.yaml.arguments import ARGUMENTS, Arguments
from turnout.authoring.yaml.commands import COMMAND, SHELL, Command
from turnout.authoring.yaml.conditions import CONDITIONS, CONTINUE_ON, Condition, ContinueOn
from turnout.authoring.yaml.fan_out import PARALLEL, Parallel
from turnout.authoring.yaml.forms import Text
from turnout.authoring.yaml.http_request import HTTP, HttpRequest
from turnout.authoring.yaml.limits import LIMITS, LimitDocument
from turnout.authoring.yaml.policies import REPEAT, TIME_LIMIT, RepeatPolicy, RetryPolicy, Seconds
from turnout.authoring.yaml.resources import RESOURCES
from turnout.authoring.yaml.selectors import SELECTOR, SIGNAL, Selector, SignalName
from turnout.authoring.yaml.tables import DERIVED, Key
from turnout.authoring.yaml.variables import ENV, OUTPUT, Variable
from turnout.model.names import IDENTIFIER
from turnout.model.resources import Resources

MAX_NAME = 200

NAME = Text("a name", least=1, most=MAX_NAME)
ID = Text("a short name of letters, digits, _ and -", pattern="[A-Za-z_][A-Za-z0-9_-]{0,127}")
WORKFLOW = Text(
    "the name of a workflow (a command is written as `command:`)",
    pattern=f"{IDENTIFIER.pattern}(?:::{IDENTIFIER.pattern})*",
)
FUNCTION = Text("a declared task, as `module:function`", pattern=r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
LINE = Text("text", least=1)


class StepDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One step, with the workflow's ``defaults`` applied and its dependencies resolved.

    One of ``command``, ``script``, ``call``, ``handler``, ``python`` and ``http`` is set; ``command`` beside
    ``script`` is the interpreter of the script.
    """

    name: Annotated[str, Key(example="name: extract", form=NAME, derived=True)]
    """The name in the run. Without one it is the ``id``, else ``step_1`` by its place."""
    title: Annotated[str, DERIVED] = ""
    """The name as it was written, if that is no identifier."""
    id: Annotated[str, Key(example="id: extract", form=ID)] = ""
    """A short name for references, as in ``${id.stdout}``."""
    description: Annotated[str, Key(example="description: Reads the orders of a day")] = ""
    """The purpose of the step."""
    command: Annotated[tuple[Command, ...], Key(example="command: ./extract.sh ${DATE}", form=COMMAND)] = ()
    """One or several commands: a line for the shell, a program with its arguments as a list, or a list of these.
    Beside ``script`` it is the interpreter of the script."""
    script: Annotated[str | None, Key(example='script: "#!/usr/bin/env python3\\nprint(1)"', form=LINE)] = None
    """A script of several lines; its first line may be ``#!`` and an interpreter."""
    call: Annotated[str | None, Key(example="call: clean-up", form=WORKFLOW, also=("run",))] = None
    """The name of a workflow that runs as a child run."""
    handler: Annotated[str | None, Key(example="handler: charge_card", form=LINE)] = None
    """The name of a handler that a worker runs."""
    python: Annotated[str | None, Key(example="python: shop.tasks:charge", form=FUNCTION)] = None
    """A declared Python task, as ``module:function``."""
    http: Annotated[HttpRequest | None, Key(example="http: GET https://example.com/health", form=HTTP)] = None
    """A request over HTTP."""
    params: Annotated[Arguments, Key(example="params: {REGION: eu}", form=ARGUMENTS)] = Arguments()
    """The arguments of ``call``, ``handler`` and ``python``."""
    shell: Annotated[tuple[str, ...] | None, Key(example="shell: bash -eo pipefail", form=SHELL)] = None
    """The shell with its options, instead of the workflow's."""
    working_dir: Annotated[str | None, Key(example="working_dir: /srv/data", form=LINE, also=("dir",))] = None
    """The working directory, instead of the workflow's."""
    env: Annotated[tuple[Variable, ...], Key(example="env: {LEVEL: debug}", form=ENV)] = ()
    """Variables of this step, evaluated after the workflow's."""
    depends: Annotated[tuple[str, ...], Key(example="depends: [extract, clean]", derived=True)] = ()
    """The names or ids of the steps that come before this one."""
    output: Annotated[str | None, Key(example="output: ORDERS", form=OUTPUT)] = None
    """The variable that gets the output, for ``${NAME}`` and ``${NAME.path}`` in later steps."""
    select: Annotated[str | None, Key(example="select: .items[0].id", form=LINE, also=("jq",))] = None
    """A path into the output, such as ``.items[0].id``; what it finds becomes the output."""
    stdout: Annotated[str | None, Key(example="stdout: out.log", form=LINE)] = None
    """A file that gets the standard output as well."""
    stderr: Annotated[str | None, Key(example="stderr: err.log", form=LINE)] = None
    """A file that gets the standard error as well."""
    preconditions: Annotated[
        tuple[Condition, ...], Key(example="preconditions: test -f input.csv", form=CONDITIONS, also=("precondition",))
    ] = ()
    """Conditions that must hold, else the step is skipped."""
    continue_on: Annotated[ContinueOn | None, Key(example="continue_on: failed", form=CONTINUE_ON)] = None
    """The ends of this step after which its dependents run all the same."""
    retry_policy: Annotated[RetryPolicy | None, Key(example="retry_policy: {limit: 3, interval_sec: 5}")] = None
    """Further attempts after a failure."""
    repeat_policy: Annotated[
        RepeatPolicy | None, Key(example="repeat_policy: {repeat: until, condition: test -f done}", form=REPEAT)
    ] = None
    """Repetitions after a success."""
    timeout_sec: Annotated[Seconds | None, Key(example="timeout_sec: 300", form=TIME_LIMIT)] = None
    """Seconds that one attempt may take; 0: no limit."""
    signal_on_stop: Annotated[SignalName | None, Key(example="signal_on_stop: SIGINT", form=SIGNAL)] = None
    """The signal that ends the step when its run is cancelled; without it ``SIGTERM``."""
    parallel: Annotated[Parallel | None, Key(example="parallel: [eu, us]", form=PARALLEL)] = None
    """The items for each of which the step runs once, each as ``${ITEM}``."""
    limits: Annotated[
        tuple[LimitDocument, ...],
        Key(example="limits: {name: mail, rate: 10, per: 1s}", form=LIMITS, also=("limit",)),
    ] = ()
    """Limits that the step shares with others; each attempt holds a slot of each."""
    worker_selector: Annotated[Selector, Key(example="workerSelector: {gpu: true}", form=SELECTOR)] = None
    """Labels of the worker, or ``local``; instead of the workflow's."""
    resources: Annotated[Resources | None, Key(example="resources: {gpu: 1, cpu: 4, memory: 8GiB}", form=RESOURCES)] = (
        None
    )
    """What the step asks of its executor."""
    where: Annotated[str, DERIVED] = ""
    """The path of the step in the file, such as ``steps[2]``."""


ACTIONS = ("command", "script", "call", "handler", "python", "http")
"""The keys that say what a step does."""
