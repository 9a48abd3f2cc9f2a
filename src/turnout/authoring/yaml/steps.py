"""Holds one step of a workflow file with every key that it can have."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from turnout.authoring.yaml.params import Arguments
from turnout.authoring.yaml.policies import Condition, ContinueOn, RepeatPolicy, RetryPolicy, Seconds
from turnout.authoring.yaml.variables import Variable

MAX_ITEMS = 10_000

Selector: TypeAlias = dict[str, str] | Literal["local"] | None
Command: TypeAlias = str | tuple[str, ...]
"""A line for the shell, or a program with its arguments, which no shell sees."""
SignalName: TypeAlias = Literal["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGKILL"]


class Parallel(msgspec.Struct, frozen=True, kw_only=True):
    """The step runs once for each item, which it sees as ``${ITEM}``. One of ``items`` and ``variable`` is set."""

    items: tuple[Any, ...] | None = None
    """The items: texts, numbers or tables."""
    variable: str | None = None
    """A reference such as ``${ITEMS}`` to a list, to JSON text of one, or to text with an item a line or word."""
    max_concurrent: Annotated[int, Meta(ge=1, le=1_000)] = 10
    """The greatest number of items at work at once."""


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that a step sends; its output is the body of the response."""

    url: Annotated[str, Meta(min_length=1)]
    """The address, ``http://`` or ``https://``."""
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] = "GET"
    """The method."""
    headers: dict[str, str] = {}
    """Headers of the request."""
    body: Any = None
    """Text, or a value that is sent as JSON."""
    expected_status: tuple[Annotated[int, Meta(ge=100, le=599)], ...] = ()
    """The statuses that count as success; empty: 200 to 299."""


class StepDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One step, with the workflow's ``defaults`` applied and its dependencies resolved.

    One of ``command``, ``script``, ``call``, ``handler``, ``python`` and ``http`` is set; ``command`` beside
    ``script`` is the interpreter of the script.
    """

    name: str
    """The name in the run, an identifier. Without one it is the ``id``, else ``step_1`` by its place."""
    title: str = ""
    """The name as it was written, if that is no identifier."""
    id: str = ""
    """A short name for references, as in ``${id.stdout}``."""
    description: str = ""
    """The purpose of the step."""
    command: tuple[Command, ...] = ()
    """One or several commands: a line for the shell, a program with its arguments as a list, or a list of these."""
    script: str | None = None
    """A script of several lines; its first line may be ``#!`` and an interpreter."""
    call: str | None = None
    """The name of a workflow that runs as a child run."""
    handler: str | None = None
    """The name of a handler that a worker runs."""
    python: str | None = None
    """A declared Python task, as ``module:function``."""
    http: HttpRequest | None = None
    """A request over HTTP."""
    params: Arguments = Arguments()
    """The arguments of ``call``, ``handler`` and ``python``."""
    shell: tuple[str, ...] | None = None
    """The shell with its options, instead of the workflow's."""
    working_dir: str | None = None
    """The working directory, instead of the workflow's."""
    env: tuple[Variable, ...] = ()
    """Variables of this step, evaluated after the workflow's."""
    depends: tuple[str, ...] = ()
    """The names of the steps that come before this one."""
    output: str | None = None
    """The variable that gets the output, for ``${NAME}`` and ``${NAME.path}`` in later steps."""
    select: str | None = None
    """A path into the output, such as ``.items[0].id``; what it finds becomes the output."""
    stdout: str | None = None
    """A file that gets the standard output as well."""
    stderr: str | None = None
    """A file that gets the standard error as well."""
    preconditions: tuple[Condition, ...] = ()
    """Conditions that must hold, else the step is skipped."""
    continue_on: ContinueOn | None = None
    """The ends of this step after which its dependents run all the same."""
    retry_policy: RetryPolicy | None = None
    """Further attempts after a failure."""
    repeat_policy: RepeatPolicy | None = None
    """Repetitions after a success."""
    timeout_sec: Seconds | None = None
    """Seconds that one attempt may take; 0: no limit."""
    signal_on_stop: SignalName | None = None
    """The signal that ends the step when its run is cancelled."""
    parallel: Parallel | None = None
    """The items for each of which the step runs once."""
    worker_selector: Selector = None
    """Labels of the worker, or ``local``; instead of the workflow's."""
    where: str = ""
    """The path of the step in the file, such as ``steps[2]``."""
