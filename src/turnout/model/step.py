"""Holds the body of a step of a YAML workflow: everything that is resolved on the machine that runs it."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from turnout.model.interpolation import Text
from turnout.model.shell import MAX_CAPTURE

PARAMS, OUTPUTS, STEPS, ITEM = "params", "outputs", "steps", "item"
"""The arguments of a step: the run's parameters, the outputs of earlier steps by variable, the results of earlier steps
by id, and the item of a parallel step."""
ITEM_NAME = "ITEM"
"""The variable that has the item."""

MAX_VARIABLE = 128 * 1024 - 256
"""Bytes of a variable, which the kernel bounds to 128 KiB with its name."""


# -- what it runs --------------------------------------------------------------------------------------------------
class Line(msgspec.Struct, frozen=True, tag="line"):
    """A text for the shell of the step. References in it are variables already; those that are left are inserted as
    they are."""

    text: Text


class Program(msgspec.Struct, frozen=True, tag="program"):
    """A program with its arguments, without a shell. Each text is one argument."""

    words: tuple[Text, ...]


class Script(msgspec.Struct, frozen=True, tag="script", omit_defaults=True):
    """A text that is written to a file and run: by its first line, or by the interpreter."""

    text: Text
    interpreter: tuple[Text, ...] = ()


class Request(msgspec.Struct, frozen=True, tag="http", omit_defaults=True):
    """A request over HTTP. Its output is the body of the response."""

    url: Text
    method: str = "GET"
    headers: dict[str, Text] = {}
    body: Value | None = None
    expected: tuple[int, ...] = ()
    """The statuses that count as success; empty: 200 to 299."""
    public_only: bool = False
    """True: addresses of private networks and of the machine itself are refused when the request is made."""
    private_hosts: tuple[str, ...] = ()
    """Hosts that may be at such addresses all the same."""
    sign: Text | None = None
    """The secret with which the request is signed by Standard Webhooks, under the id in its header ``webhook-id``."""
    follow: bool = True
    """False: a redirection is an answer like any other."""
    max_response: int = 0
    """Bytes of the answer that are read; 0: all."""
    timeout: float | None = None
    """Seconds in which the answer must be complete; None: as many as the task has."""


class Mail(msgspec.Struct, frozen=True, tag="mail", omit_defaults=True):
    """A mail that is handed to a server by SMTP. It has no output."""

    to: tuple[str, ...]
    subject: Text
    text: Text
    message_id: Text
    timeout: float
    """Seconds in which the server must have taken it."""
    host: str = ""
    """Empty: none is configured, and the step fails."""
    port: int = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    sender: str = ""
    username: str | None = None
    password: Text | None = None


class Evaluation(msgspec.Struct, frozen=True, tag="evaluation", omit_defaults=True):
    """The arguments of the task that follows, or the items that it goes through. No process is started for it."""

    arguments: dict[str, Value] = {}
    items: tuple[Value, ...] | None = None
    variable: Text | None = None
    """The source of the items instead: a list, JSON text of one, or text with an item a line or word."""
    mapped: bool = False
    """True: the output is a list for each argument, or of the items if there are no arguments."""
    types: dict[str, dict[str, Any]] = {}
    """The JSON schemas of arguments: a text is read as its schema asks. One without a schema stays as it is."""
    step: str = ""
    """The name of the step that follows."""


REQUEST_FAILURES = {
    6: "address_not_found",
    7: "no_connection",
    8: "private_address",
    22: "unexpected_status",
    28: "request_timed_out",
}
"""The codes of errors by the exit code of a request."""
MAIL_FAILURES = {
    6: "address_not_found",
    7: "no_connection",
    22: "mail_deferred",
    28: "request_timed_out",
    55: "mail_refused",
    67: "smtp_login_refused",
}
"""The same for a mail."""

Action: TypeAlias = Line | Program | Script | Request | Mail | Evaluation


# -- values with texts in them --------------------------------------------------------------------------------------
class Constant(msgspec.Struct, frozen=True, tag="constant"):
    value: Any


class Interpolated(msgspec.Struct, frozen=True, tag="text"):
    """A text; if it is one reference and nothing else, the value that it leads to."""

    text: Text


class Items(msgspec.Struct, frozen=True, tag="list"):
    items: tuple[Value, ...]


class Fields(msgspec.Struct, frozen=True, tag="dict"):
    items: dict[str, Value]


Value: TypeAlias = Constant | Interpolated | Items | Fields


# -- the rest --------------------------------------------------------------------------------------------------------
class Assignment(msgspec.Struct, frozen=True):
    """A variable. Assignments are made in order: a value may refer to those before it."""

    name: str
    value: Text


class Secret(msgspec.Struct, frozen=True):
    """A variable whose value is read where the step runs. It is masked in everything that the step leaves."""

    name: str
    provider: Literal["env", "file", "command"]
    key: Text
    """The variable, the path of the file, or the command."""


class Check(msgspec.Struct, frozen=True, omit_defaults=True):
    """A condition: a command that must succeed, or a text that must be as expected."""

    shown: str
    """The condition as it was written."""
    command: Line | None = None
    text: Text = ()
    expected: str | None = None
    """The text itself, or ``re:`` and a regular expression that must match a part of it."""
    negate: bool = False


class Repeat(msgspec.Struct, frozen=True, omit_defaults=True):
    """The step is executed again, by a deferral, while or until something holds."""

    until: bool = False
    check: Check | None = None
    exit_codes: tuple[int, ...] = ()
    """Without a check: the exit codes that count as the condition; empty: 0."""
    interval: float = 0.0
    factor: float = 1.0
    max_interval: float | None = None
    limit: int | None = None
    """Executions, the first included."""


class Tolerance(msgspec.Struct, frozen=True, omit_defaults=True):
    """Failures that are judged where the step ran: by its exit code, or by its output."""

    failure: bool = False
    exit_codes: tuple[int, ...] = ()
    output: tuple[str, ...] = ()
    mark_success: bool = False
    """The step completes then. Otherwise it fails, and its dependents run all the same."""


class Output(msgspec.Struct, frozen=True, omit_defaults=True):
    """The trimmed standard output becomes a value of the result: text, or what ``select`` finds in it."""

    name: str
    """The variable that it is for later steps, and for the condition of a repetition."""
    select: str | None = None


class StepSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A step. All texts are resolved where it runs; nothing of it is resolved before."""

    actions: tuple[Action, ...] = ()
    """Executed in order, up to the first that fails. Empty: only the preconditions count."""
    shell: tuple[str, ...] = ("/bin/sh",)
    """The program that runs lines, and scripts without a first line of their own."""
    shell_flag: str = "-c"
    """The option after which the program takes the text of a line."""
    positional: tuple[str, ...] = ()
    """Parameters that a line or script gets as ``$1``, ``$2``, …"""
    dotenv: tuple[Text, ...] = ()
    env: tuple[Assignment, ...] = ()
    variables: tuple[Assignment, ...] = ()
    """Values that lines refer to by generated names."""
    secrets: tuple[Secret, ...] = ()
    working_dir: Text | None = None
    preconditions: tuple[Check, ...] = ()
    repeat: Repeat | None = None
    tolerance: Tolerance | None = None
    retry_codes: tuple[int, ...] = ()
    """Exit codes that allow a retry; empty: all."""
    output: Output | None = None
    keeps: tuple[Literal["stdout", "stderr"], ...] = ()
    """Streams that the result contains beside the exit code."""
    bare: bool = False
    """The result is the output itself: that of a parallel step is the list of its items' outputs."""
    stdout: Text | None = None
    stderr: Text | None = None
    """Files that the streams are appended to as well."""
    stop_signal: str = ""
    """The signal that ends it; empty: SIGTERM."""
    max_capture: int = MAX_CAPTURE
    contained: bool = False
    """True: outside of a worker it sees no variables of the machine, and its requests are refused at addresses of
    private networks and of the machine itself."""


# Built once, at import, for the reason that ``decode_spec`` has.
msgspec.convert({"actions": []}, StepSpec)
