"""Holds what the reader and the compiler report about a workflow file: errors, warnings and notes with their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

import msgspec

Severity: TypeAlias = Literal["error", "warning", "note"]

MAX_FINDINGS = 200
"""Findings that are reported of one document, or of one compilation; further ones are left out, with an error."""

FINDING_CODES: Mapping[str, str] = {
    "malformed_yaml": "The text is no YAML, or uses a part of it that no workflow needs, such as tags.",
    "yaml_too_large": "The text has too many characters, values or levels.",
    "empty_file": "The file has no document.",
    "unknown_key": "There is no such key at this place.",
    "unsupported_key": "The key is known from Dagu and has no meaning here; the message says what to write instead.",
    "duplicate_key": "The key was written twice, perhaps in two spellings.",
    "missing_key": "A key that is needed was not written.",
    "bad_value": "The value is not of the form that the key takes, or out of its bounds.",
    "command_in_value": "A parameter has a command between backticks or in `$(…)`, which is not run.",
    "bad_limit": "A limit is 0 or out of its bounds, is named twice, or has a name that it cannot have.",
    "bad_name": "The name has characters that it cannot have, or is reserved.",
    "bad_pattern": "The text is no regular expression.",
    "bad_resources": "The resources of a step are no table, or have an amount that cannot be asked for.",
    "bad_schedule": "The text is no cron expression, or the schedule has an option out of its bounds.",
    "cron_fields": "The cron expression has more or fewer than five fields.",
    "schedule_never_fires": "No day fits the cron expression.",
    "unknown_timezone": "There is no time zone of this name.",
    "duplicate_schedule": "Another schedule of the workflow has the name already.",
    "bad_schedule_params": "The parameters of a schedule do not fit those of the workflow.",
    "refused_name": "A value from outside would set a variable that changes how programs start.",
    "unknown_parameter": "The name of a limit takes a parameter that the workflow does not have.",
    "duplicate_parameter": "The parameter was declared before.",
    "duplicate_variable": "A secret has the name of a parameter, or of another secret.",
    "duplicate_step": "Another step has the name or the id already.",
    "duplicate_workflow": "Another document of the file has the name already.",
    "no_action": "The step does nothing.",
    "several_actions": "The step has several keys that each say what it does.",
    "unknown_dependency": "The step depends on one that is not there.",
    "cycle": "Steps depend on one another.",
    "unknown_workflow": "The step calls a workflow that is not there, or has errors itself.",
    "recursive_workflow": "Workflows call one another in a circle.",
    "unknown_task": "The step names a Python task that no configured module declares, or that takes a Context.",
    "bad_arguments": "The step passes arguments that the workflow or the task does not take.",
    "bad_handler": "A step under `handler_on` does something else than run a command or send a request.",
    "needs_command": "The step has a key that only a step with a command can have.",
    "bad_select": "The text is no path into an output.",
    "bad_expression": "The `${…}` is no reference, or stands where none can be.",
    "unknown_reference": "The `${…}` names a step, or a field of one, that is not there.",
    "not_before": "The `${…}` names an output of a step that does not run before this one.",
    "not_inherited": "A base has a key, or a second document, that cannot be inherited.",
    "unknown_variable": "The `${…}` is not declared in the file: it is a variable of the machine, or empty.",
    "raw_value": "`${raw:…}` inserts a value without quotes, so the value can be a command.",
    "secret_stored": "A secret stands in arguments or items, which are stored.",
    "secret_visible": "A secret stands in the words of a program, which other users of the machine can see.",
    "arithmetic_value": "A text stands in arithmetic, where some shells run commands in a value.",
    "not_substituted": "The `${…}` stays as it is, since the shell or another interpreter would not expand it.",
    "no_effect": "The key has no effect on this kind of step.",
    "unused_select": "`select` has no effect without `output`.",
    "too_many_findings": "There are more findings than are reported.",
    "assumed_type": "The workflow has no `type`; the message says which was taken.",
    "command_with_arguments": "A list was read as one program with its arguments.",
}
"""Every code of a finding, with its meaning."""


class Finding(msgspec.Struct, frozen=True):
    """One problem of a file, or one fact that its author should know."""

    severity: Severity
    """``error``: the file cannot be used. ``warning``: it can, with a risk. ``note``: what was assumed."""
    code: str
    """Stable, for programs, such as ``unknown_key``."""
    message: str
    line: int
    column: int
    """Both count from 1."""
    where: str = ""
    """The path of the value, such as ``steps[2].retry_policy.limit``."""
    source: Literal["file", "base"] = "file"
    """``base``: line and column are those of the text that the file inherits from."""


def has_errors(findings: Iterable[Finding]) -> bool:
    return any(each.severity == "error" for each in findings)
