"""Makes a command a task."""

from __future__ import annotations

import inspect
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from turnout.authoring.options import TaskOptions
from turnout.authoring.task import Task
from turnout.errors import CommandNotFound, InvalidWorkflow
from turnout.model.names import is_identifier
from turnout.model.shell import MAX_CAPTURE, Captured, Parse, ShellSpec, check, outcome, render
from turnout.model.spec import Body

Codes = int | Sequence[int]


class ShellTask(Task[..., Any]):
    """A task whose body is a command. Called in a workflow function it adds a node; elsewhere it runs the command."""

    def __init__(self, command: ShellSpec, name: str, options: TaskOptions) -> None:
        check(command, name)
        self.command = command
        super().__init__(_plain(command, name), {**options, "name": options.get("name", name)})

    @property
    def conditions(self) -> Mapping[str, Callable[..., Any]]:
        if self.given.get("conditions"):
            raise InvalidWorkflow(
                f"the command {self.name!r} has the option conditions: a command cannot defer itself",
                code="bad_condition",
                task=self.name,
            )
        return {}

    @property
    def body(self) -> Body:
        command = self.command.command
        return Body("shell", command if isinstance(command, str) else shlex.join(command), self.command)


def shell(
    command: str | Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    ok_codes: Codes = (0,),
    retry_codes: Codes | None = None,
    parse: Parse | None = None,
    max_capture: int = MAX_CAPTURE,
    **options: Unpack[TaskOptions],
) -> ShellTask:
    """Makes a command a task: ``shell(["pytest", "-q", "{path}"], timeout="5m")``, called as ``tests(path="tests")``.

    A list is run as it is, without a shell. A text is run by ``/bin/sh``, its values quoted. ``env`` is added to the
    environment of the orchestrator. The task returns ``{"exit_code": …, "stdout": …, "stderr": …}``, or its standard
    output if ``parse`` says how: ``"text"``, ``"lines"`` or ``"json"``.

    >>> greet = shell(["echo", "hello {name}"], parse="text")
    >>> greet(name="world")
    'hello world'
    """
    if not command or not (isinstance(command, str) or all(isinstance(word, str) for word in _listed(command))):
        raise InvalidWorkflow(
            f"shell({command!r}): give a command as a list of words, or as one text for /bin/sh", code="bad_command"
        )
    spec = ShellSpec(
        command=command if isinstance(command, str) else tuple(command),
        env=dict(env or {}),
        cwd=None if cwd is None else os.fspath(cwd),
        ok_codes=_codes(ok_codes),
        retry_codes=None if retry_codes is None else _codes(retry_codes),
        parse=parse,
        max_capture=max_capture,
    )
    return ShellTask(spec, _name_of(spec), options)


def _plain(spec: ShellSpec, name: str) -> Any:
    """Returns the function that runs the command in this process, with a parameter for each placeholder."""

    def run(**values: Any) -> Any:
        import subprocess

        signature.bind(**values)
        command = render(spec, values)
        try:
            done = subprocess.run(
                command.argv,
                env={**os.environ, **command.env},
                cwd=command.cwd,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
        except OSError as error:
            raise CommandNotFound(f"{command.argv[0]!r} cannot be run: {error.strerror}") from error
        captured = [Captured(spec.max_capture), Captured(spec.max_capture)]
        for each, data in zip(captured, (done.stdout, done.stderr), strict=True):
            each.feed(data)
        return outcome(spec, done.returncode, *(each.close() for each in captured))

    keyword = inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature([inspect.Parameter(each, keyword) for each in spec.placeholders()])
    run.__signature__ = signature
    run.__name__ = run.__qualname__ = name
    return run


def _name_of(spec: ShellSpec) -> str:
    """Returns the command's first word if it is a valid task name, else ``shell``."""
    words = spec.command.split() if isinstance(spec.command, str) else spec.command
    name = os.path.basename(words[0]) if words and words[0] else ""
    return name if is_identifier(name) else "shell"


def _codes(codes: Any) -> tuple[int, ...]:
    given = (codes,) if isinstance(codes, int) else tuple(codes)
    if not given or not all(
        isinstance(code, int) and not isinstance(code, bool) and 0 <= code <= 255 for code in given
    ):
        raise InvalidWorkflow(f"exit codes {codes!r}: give one or several numbers from 0 to 255", code="bad_command")
    return given


def _listed(command: Any) -> Sequence[Any]:
    return command if isinstance(command, list | tuple) else (None,)
