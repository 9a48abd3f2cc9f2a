"""Makes the bodies of steps: everything that a step of a file says, as the value that travels to its machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from turnout.authoring.yaml.conditions import Condition
from turnout.authoring.yaml.document import Secret as SecretDocument
from turnout.authoring.yaml.document import StepDocument, WorkflowDocument
from turnout.authoring.yaml.expressions import Expressions
from turnout.authoring.yaml.findings import MAX_FINDINGS, Finding, Severity
from turnout.authoring.yaml.marks import Marks
from turnout.authoring.yaml.policies import RepeatPolicy
from turnout.authoring.yaml.scope import Scope
from turnout.authoring.yaml.shell_text import ShellTexts, is_posix
from turnout.authoring.yaml.variables import Variable
from turnout.errors import InvalidInput
from turnout.model.interpolation import Text
from turnout.model.selection import parsed
from turnout.model.step import (
    Action,
    Assignment,
    Check,
    Line,
    Output,
    Program,
    Repeat,
    Request,
    Script,
    Secret,
    StepSpec,
    Tolerance,
    Value,
)
from turnout.model.step_values import texts_in

DEFAULT_SHELL = ("/bin/sh",)
_FLAGS = {"pwsh": "-Command", "powershell": "-Command", "node": "-e", "perl": "-e", "ruby": "-e", "php": "-r"}


class Reporter:
    """Gathers the findings of a document's compilation."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._found: dict[Finding, None] = {}

    @property
    def findings(self) -> list[Finding]:
        return list(self._found)

    def report(self, severity: Severity, code: str, message: str, where: str) -> None:
        mark = self._marks.at(where)
        if len(self._found) < MAX_FINDINGS:
            self._found[Finding(severity, code, message, *mark, where)] = None
        elif len(self._found) == MAX_FINDINGS:
            why = f"there are more than {MAX_FINDINGS} findings; further ones are left out"
            self._found[Finding("error", "too_many_findings", why, *mark)] = None


class BodyBuilder:
    """Builds the body of one step; ``step`` is None for what only evaluates conditions of the workflow."""

    def __init__(
        self, document: WorkflowDocument, step: StepDocument | None, scope: Scope, reporter: Reporter, outputs: set[str]
    ) -> None:
        self._document = document
        self._step = step
        self._reporter = reporter
        self._hidden = outputs
        """Variables of the workflow that outputs of steps before this one replace."""
        self.expressions = Expressions(scope)
        self._shell_texts = ShellTexts(self.expressions)
        self._shell = ((step.shell if step else None) or document.shell) or DEFAULT_SHELL
        self._posix = is_posix(self._shell)

    # -- parts --------------------------------------------------------------------------------------------------------
    def text(self, text: str, where: str, *, commands: bool = False) -> Text:
        made = self.expressions.text(text, commands=commands)
        self._report(where)
        return made

    def value(self, value: Any, where: str, *, stored: bool = False) -> Value:
        """Returns a JSON value with its texts in parts; one that is stored may have no secrets."""
        made = self.expressions.value(value)
        for text in texts_in(made) if stored else ():
            self.expressions.refuse_secrets(text)
        self._report(where)
        return made

    def _word(self, word: str, where: str) -> Text:
        made = self.expressions.text(word)
        self.expressions.warn_of_secrets(made)
        self._report(where)
        return made

    def _line(self, text: str, where: str) -> Line:
        made = self._shell_texts.line(text) if self._posix else self._shell_texts.foreign(text, self._shell[0])
        self._report(where)
        return Line(made)

    def _report(self, where: str) -> None:
        for issue in self.expressions.issues:
            self._reporter.report(issue.severity, issue.code, issue.message, where)
        self.expressions.issues.clear()

    # -- what it runs -------------------------------------------------------------------------------------------------
    def actions(self) -> tuple[Action, ...]:
        step = self._step
        assert step is not None
        where = step.where
        if step.script is not None:
            return (self._script(step, step.script),)
        if step.http is not None:
            request, path = step.http, f"{where}.http"
            return (
                Request(
                    url=self.text(request.url, f"{path}.url"),
                    method=request.method,
                    headers={name: self.text(text, f"{path}.headers") for name, text in request.headers.items()},
                    body=None if request.body is None else self.value(request.body, f"{path}.body"),
                    expected=request.expected_status,
                ),
            )
        return tuple(
            self._line(each, f"{where}.command")
            if isinstance(each, str)
            else Program(tuple(self._word(word, f"{where}.command") for word in each))
            for each in step.command
        )

    def _script(self, step: StepDocument, script: str) -> Script:
        where = f"{step.where}.script"
        interpreter: tuple[Text, ...] = ()
        words: tuple[str, ...] = self._shell
        if step.command:
            given = step.command[0]
            words = tuple(given.split()) if isinstance(given, str) else given
            interpreter = tuple(self.text(word, f"{step.where}.command") for word in words)
        elif script.startswith("#!"):
            words = tuple(script.partition("\n")[0].removeprefix("#!").split())
        shells = is_posix(words) if words else False
        text = self._shell_texts.script(script) if shells else self._shell_texts.foreign(script, words[0])
        self._report(where)
        return Script(text, interpreter)

    # -- what surrounds it --------------------------------------------------------------------------------------------
    def spec(self, actions: tuple[Action, ...] = (), *, conditions: Iterable[Condition] = (), **more: Any) -> StepSpec:
        """Returns the body with these actions in the environment of the step."""
        document, step = self._document, self._step
        env = self._shared_variables()
        folder, where = document.working_dir, "working_dir"
        if step is not None:
            env += self._variables(step.env, f"{step.where}.env")
            if step.working_dir is not None:
                folder, where = step.working_dir, f"{step.where}.working_dir"
        origin = f"{step.where}.preconditions" if step is not None else "preconditions"
        checks = tuple(self._check(each, f"{origin}[{number}]") for number, each in enumerate(conditions))
        return StepSpec(
            actions=actions,
            shell=self._shell,
            shell_flag=_FLAGS.get(self._shell[0].rpartition("/")[2], "-c"),
            positional=tuple(each.name for each in document.params if each.position is not None),
            dotenv=tuple(self.text(each, "dotenv", commands=True) for each in document.dotenv),
            env=tuple(env),
            secrets=tuple(self._secret(each, number) for number, each in enumerate(document.secrets)),
            working_dir=None if folder is None else self.text(folder, where, commands=True),
            preconditions=checks,
            variables=self._shell_texts.variables,
            **more,
        )

    def step_spec(self) -> StepSpec:
        """Returns the body of a step that runs commands or sends a request."""
        step = self._step
        assert step is not None
        actions, retry, on, where = self.actions(), step.retry_policy, step.continue_on, step.where
        if on is not None and (on.exit_code or on.output or on.mark_success):
            tolerance = Tolerance(on.failure, on.exit_code, on.output, on.mark_success)
        else:
            tolerance = None
        more = {
            "repeat": None if step.repeat_policy is None else self._repeat(step.repeat_policy, step),
            "tolerance": tolerance,
            "retry_codes": () if retry is None else retry.exit_code,
            "output": self._output(step),
            "stdout": None if step.stdout is None else self.text(step.stdout, f"{where}.stdout", commands=True),
            "stderr": None if step.stderr is None else self.text(step.stderr, f"{where}.stderr", commands=True),
            "stop_signal": step.signal_on_stop or "",
            "bare": step.parallel is not None and step.output is not None,
        }
        return self.spec(actions, conditions=step.preconditions, **more)

    def _shared_variables(self) -> list[Assignment]:
        """Returns the variables of the workflow. They may refer to outputs that only some of the steps have."""
        own = self.expressions.scope
        self.expressions.scope = msgspec.structs.replace(own, names=own.names | own.not_before.keys(), not_before={})
        found = self._variables((each for each in self._document.env if each.name not in self._hidden), "env")
        self.expressions.scope = own
        return found

    def _variables(self, variables: Iterable[Variable], where: str) -> list[Assignment]:
        return [
            Assignment(each.name, self.text(each.value, f"{where}.{each.name}", commands=True)) for each in variables
        ]

    def _secret(self, secret: SecretDocument, number: int) -> Secret:
        where = f"secrets[{number}].key"
        if secret.provider == "command":
            return Secret(secret.name, "command", (secret.key,))
        return Secret(secret.name, secret.provider, self.text(secret.key, where))

    def _check(self, given: Condition, where: str) -> Check:
        if given.expected is None:
            return Check(given.condition, command=self._line(given.condition, where), negate=given.negate)
        text = self.text(given.condition, where, commands=True)
        return Check(given.condition, text=text, expected=given.expected, negate=given.negate)

    def _repeat(self, policy: RepeatPolicy, step: StepDocument) -> Repeat:
        where, check = f"{step.where}.repeat_policy", None
        if policy.condition is not None:
            scope = self.expressions.scope
            if step.output is not None:
                # The condition sees the output of the execution before it.
                later = {name: of for name, of in scope.not_before.items() if name != step.output}
                self.expressions.scope = msgspec.structs.replace(
                    scope, names=scope.names | {step.output}, not_before=later
                )
            given = Condition(condition=policy.condition, expected=policy.expected)
            check = self._check(given, f"{where}.condition")
            self.expressions.scope = scope
        return Repeat(
            until=policy.repeat == "until",
            check=check,
            exit_codes=policy.exit_code,
            interval=policy.interval_sec,
            factor=policy.backoff,
            max_interval=policy.max_interval_sec,
            limit=policy.limit,
        )

    def _output(self, step: StepDocument) -> Output | None:
        if step.output is None:
            if step.select is not None:
                self._reporter.report(
                    "warning", "unused_select", "`select` has no effect without `output`", f"{step.where}.select"
                )
            return None
        if step.select is not None:
            try:
                parsed(step.select)
            except InvalidInput as error:
                self._reporter.report("error", "bad_select", error.message, f"{step.where}.select")
        return Output(step.output, step.select)
