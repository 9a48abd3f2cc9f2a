"""Describes every key of a workflow file, for documentation: names, type, default, meaning and an example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from turnout.authoring.yaml.conditions import Condition, ContinueOn
from turnout.authoring.yaml.document import Handlers, Secret, StepDefaults, WorkflowDocument
from turnout.authoring.yaml.fan_out import Parallel
from turnout.authoring.yaml.http_request import HttpRequest
from turnout.authoring.yaml.limits import LimitDocument
from turnout.authoring.yaml.notify import NotifyDocument
from turnout.authoring.yaml.params import Parameter
from turnout.authoring.yaml.policies import RepeatPolicy, RetryPolicy, RunRetryPolicy
from turnout.authoring.yaml.schedules import Schedule, ScheduleEntry
from turnout.authoring.yaml.steps import StepDocument
from turnout.authoring.yaml.tables import camel_case, fields_of
from turnout.model.field_docs import field_docs

KEY_TABLES: Mapping[str, type[msgspec.Struct]] = {
    "workflow": WorkflowDocument,
    "step": StepDocument,
    "parameter": Parameter,
    "secret": Secret,
    "schedule": Schedule,
    "schedule_entry": ScheduleEntry,
    "condition": Condition,
    "handlers": Handlers,
    "defaults": StepDefaults,
    "retry": RetryPolicy,
    "run_retry": RunRetryPolicy,
    "repeat": RepeatPolicy,
    "continue_on": ContinueOn,
    "parallel": Parallel,
    "http": HttpRequest,
    "limit": LimitDocument,
    "notify": NotifyDocument,
}
"""The tables of a workflow file."""


class KeyRow(msgspec.Struct, frozen=True, kw_only=True):
    """One key of a table."""

    name: str
    also: tuple[str, ...]
    """Its other names, without their forms in camelCase."""
    type: str
    """The values that it takes, such as ``a whole number from 1 to 10,000``."""
    default: Any
    required: bool
    description: str
    example: str
    """A line of YAML."""


def key_rows(table: str) -> Iterator[KeyRow]:
    """Yields the keys of a table in the order of its Struct."""
    kind = KEY_TABLES[table]
    docs = field_docs(kind, msgspec.Struct)
    for field in fields_of(kind).values():
        spelled = {camel_case(name) for name in field.names} - set(field.key.also) | {field.name}
        yield KeyRow(
            name=field.name,
            also=tuple(name for name in field.names if name not in spelled),
            type=field.form.text,
            default=None if field.key.derived else field.default,
            required=field.required,
            description=docs[field.name],
            example=field.key.example,
        )
