"""Checks what no single key can: names that several keys share, and values that would reach refused variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from turnout.authoring.yaml.document import Parameter, Secret, Variable, WorkflowDocument
from turnout.authoring.yaml.marks import Mark, Marks
from turnout.authoring.yaml.read_state import Reading
from turnout.errors import InvalidWorkflow
from turnout.model.limits import validate_limits
from turnout.model.variables import refused_variable

_REFERENCE = re.compile(r"\$(?:\{(?:raw:)?([A-Za-z_]\w*|\d+)[^}]*\}|([A-Za-z_]\w*|\d))")


def references(text: str) -> set[str]:
    """Returns the names behind ``$NAME`` and ``${NAME…}`` in a text."""
    return {found[1] or found[2] for found in _REFERENCE.finditer(text)}


def check_secrets(values: Mapping[str, Any], reading: Reading) -> None:
    """Reports a secret that has the name of a parameter, or of another secret."""
    params: tuple[Parameter, ...] = values.get("params", ())
    taken = {each.name: "a parameter" for each in params}
    secrets: tuple[Secret, ...] = values.get("secrets", ())
    for number, each in enumerate(secrets):
        if each.name in taken:
            path = f"secrets[{number}].name"
            why = f"{path} is {each.name!r}, which is {taken[each.name]} as well: choose another name"
            reading.report("error", "duplicate_variable", why, _place(path, reading), path)
        taken[each.name] = "a secret"


def check_env(values: Mapping[str, Any], reading: Reading) -> None:
    """Reports a variable that changes how programs start and gets its value from a parameter."""
    params: tuple[Parameter, ...] = values.get("params", ())
    declared = {each.name for each in params}
    places = [("env", values.get("env", ()))]
    for group in values.get("steps", ()):
        places += [(f"{step.where}.env", step.fields.get("env", ())) for step in group]
    for where, variables in places:
        _check_variables(where, variables, declared, reading)


def _check_variables(where: str, variables: tuple[Variable, ...], declared: set[str], reading: Reading) -> None:
    tainted = set(declared)
    for each in variables:
        used = sorted(references(each.value) & tainted)
        if not used:
            continue
        if refused_variable(each.name):
            path = f"{where}.{each.name}"
            why = (
                f"{path} changes how programs start and would get its value from {used[0]!r}, "
                f"which a run may set: write the value here"
            )
            reading.report("error", "refused_name", why, _place(path, reading), path)
        tainted.add(each.name)


def check_limits(document: WorkflowDocument, reading: Reading) -> None:
    """Reports limits with a name that no run could have, or that stand twice at one place."""
    params = [each.name for each in document.params]
    places = [("limits", f"workflow {document.name!r}", document.limits)]
    places += [(f"{step.where}.limits", f"step {step.name!r}", step.limits) for step in document.steps]
    for where, what, limits in places:
        try:
            validate_limits(what, [each.spec() for each in limits], params)
        except InvalidWorkflow as error:
            reading.report("error", error.code, error.message, _place(where, reading), where)


def _place(path: str, reading: Reading) -> Mark:
    return Marks(reading.places).at(path)
