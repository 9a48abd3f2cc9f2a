"""Finds what a workflow would do on the machine of the server itself, outside of workers: for uploaded definitions."""

from __future__ import annotations

from collections.abc import Iterator

from turnout.authoring.yaml.document import Condition, StepDocument, Variable, WorkflowDocument
from turnout.authoring.yaml.findings import Finding
from turnout.authoring.yaml.marks import Marks
from turnout.model.addresses import is_private_url

_SUBSTITUTIONS = ("`", "$(")
_REMEDY = "it may run on workers only, unless the server has allow_local_execution"
_NOTIFY_REMEDY = "write a public address, and no secret of the server, unless it has allow_local_execution"


def local_executions(document: WorkflowDocument, marks: Marks, *, hub: bool) -> list[Finding]:
    """Returns an error for each thing that would happen on the server. With a hub every step goes to workers but those
    that are pinned with ``worker_selector: local``; without one all steps would run on the server."""
    return [
        Finding("error", code, f"{what}: {_NOTIFY_REMEDY if _is_notify(where) else _REMEDY}", *marks.at(where), where)
        for code, what, where in _found(document, hub)
    ]


def _is_notify(where: str) -> bool:
    return where == "notify" or where.startswith(("notify.", "notify["))


def _found(document: WorkflowDocument, hub: bool) -> Iterator[tuple[str, str, str]]:
    pinned = document.worker_selector == "local"
    local = [(step, where) for step, where in _steps(document) if _is_local(step, pinned=pinned, hub=hub)]
    if hub and pinned:
        yield "local_placement", "the workflow is pinned to the server by worker_selector local", "worker_selector"
    for step, where in local:
        if hub and step.worker_selector == "local" and step.http is None:
            yield "local_placement", f"step {step.name!r} is pinned to the server", f"{where}.worker_selector"
        yield from _in_step(step, where)
    if any(_runs(document.preconditions)) and (pinned or not hub):
        yield "local_condition", "a precondition of the workflow is a command on the server", "preconditions"
    for number, each in enumerate(document.notify):
        for key, place in (("url", each.url), ("secret", each.secret or "")):
            if place.startswith(("env:", "file:")):
                # The request itself goes to public addresses only, and to private ones that the configuration names.
                what = f"the {key} of a notification is read from {place} of the server"
                yield "local_secret", what, f"notify[{number}].{key}"
    if not local:
        return
    # What the whole workflow declares takes effect in each of its steps.
    for number, secret in enumerate(document.secrets):
        source = {"command": "a command", "file": "a file", "env": "a variable"}[secret.provider]
        yield "local_secret", f"the secret {secret.name} is read from {source} of the server", f"secrets[{number}]"
    if any(step.http is not None for step, _ in local):
        yield from _substitutions(document.env, "env")
    if document.dotenv:
        yield "local_dotenv", f"dotenv reads the file {document.dotenv[0]!r} of the server", "dotenv"


def _steps(document: WorkflowDocument) -> Iterator[tuple[StepDocument, str]]:
    for number, step in enumerate(document.steps):
        yield step, step.where or f"steps[{number}]"
    hooks = document.handler_on
    for on in ("success", "failure", "cancel", "exit"):
        step: StepDocument | None = getattr(hooks, on)
        if step is not None:
            yield step, step.where or f"handler_on.{on}"


def _is_local(step: StepDocument, *, pinned: bool, hub: bool) -> bool:
    """True if it would run on the server. A child run's own definition says where its steps run, and a handler is
    never part of the server."""
    if step.call is not None or step.handler is not None:
        return bool(step.preconditions) and not hub
    return not hub or step.worker_selector == "local" or (pinned and not step.worker_selector)


def _in_step(step: StepDocument, where: str) -> Iterator[tuple[str, str, str]]:
    name = repr(step.name)
    if step.command or step.script is not None:
        key = "command" if step.command else "script"
        yield "local_shell", f"step {name} runs a command on the server", f"{where}.{key}"
    if step.python is not None:
        yield "local_python", f"step {name} runs {step.python} on the server", f"{where}.python"
    if step.http is not None:
        if "$" not in step.http.url and is_private_url(step.http.url):
            yield "local_http", f"step {name} sends a request to a private address from the server", f"{where}.http"
        yield from _substitutions(step.env, f"{where}.env")
    if any(_runs(step.preconditions)):
        yield "local_condition", f"a precondition of step {name} is a command on the server", f"{where}.preconditions"
    repeat = step.repeat_policy
    if repeat is not None and repeat.condition is not None:
        condition = Condition(condition=repeat.condition, expected=repeat.expected)
        if any(_runs((condition,))):
            yield (
                "local_condition",
                f"the condition of step {name} is a command on the server",
                f"{where}.repeat_policy",
            )
    for key in ("stdout", "stderr"):
        if getattr(step, key) is not None:
            yield "local_file", f"step {name} writes the file {getattr(step, key)!r} on the server", f"{where}.{key}"


def _substitutions(variables: tuple[Variable, ...], where: str) -> Iterator[tuple[str, str, str]]:
    for each in variables:
        if any(mark in each.value for mark in _SUBSTITUTIONS):
            yield (
                "local_shell",
                f"the variable {each.name} is the output of a command on the server",
                f"{where}.{each.name}",
            )


def _runs(conditions: tuple[Condition, ...]) -> Iterator[bool]:
    """Yields for each condition whether it runs a command: text that is only compared does not."""
    for each in conditions:
        yield each.expected is None or any(mark in each.condition for mark in _SUBSTITUTIONS)
