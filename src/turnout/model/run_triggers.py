"""Tells how a run was started, by what is stored of it (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from turnout.model.rows import NewRun
from turnout.model.schedule_rows import DecisionKind

TriggerKind: TypeAlias = Literal["api", "web", "cli", "program", "schedule", "trigger", "webhook", "parent", "rerun"]

CLI = "cli"
"""The origin of runs that a command hands in on a database."""
CLI_AGENT = "turnout-cli"
"""The header User-Agent of requests of the command line."""
TRIGGER_KEY, WEBHOOK = "trigger:", "webhook:"


class ScheduledRun(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of a schedule that started a run."""

    schedule_id: int
    name: str
    """That of the schedule."""
    kind: DecisionKind
    due_at: float
    actor: str | None


class RunTrigger(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The way in which a run was started."""

    kind: TriggerKind
    """``web``: in the web interface. ``program``: by a program with a Runner, or in a time when that was not stored."""
    name: str | None = None
    """The name of the token, the schedule, the trigger or the webhook."""
    run_id: str | None = None
    """The parent run, or the run that is repeated."""
    key: str | None = None
    """The key of the event, or the id of the delivery."""
    schedule_id: int | None = None
    due_at: float | None = None
    """The due time of the schedule, in seconds since 1970."""
    decision: DecisionKind | None = None
    """``manual``: the schedule was fired by a request. ``backfill``: a due time of the past was asked for."""
    actor: str | None = None
    """The name of the token that asked the schedule for it."""


def origin(kind: Literal["api", "web", "cli"], name: str) -> str:
    """Returns the origin of a run that the holder of a token handed in.

    >>> origin("api", "ci")
    'api:ci'
    """
    return f"{kind}:{name}"


def webhook_origin(webhook_id: str) -> str:
    """Returns the origin of a run that a delivery started."""
    return f"{WEBHOOK}{webhook_id}"


def needs_decision(new: NewRun) -> bool:
    """True if only the decision of a schedule may tell how the run was started."""
    return new.parent_run is None and new.rerun_of is None and new.origin is None and new.key is None


def webhook_id_of(new: NewRun) -> str | None:
    """Returns the id of the webhook whose delivery started the run; None for other runs.

    >>> run = NewRun(run_id="", workflow="", version="", input="", created_at=0.0, key="webhook:5f1c:order-7")
    >>> webhook_id_of(run)
    '5f1c'
    """
    told = new.origin or new.key or ""
    return told.split(":", 2)[1] if told.startswith(WEBHOOK) else None


def trigger_of(new: NewRun, scheduled: ScheduledRun | None, webhooks: Mapping[str, str]) -> RunTrigger:
    """Returns how a run was started. ``webhooks`` has the names of webhooks by id; one that was deleted has none."""
    if new.parent_run is not None:
        return RunTrigger(kind="parent", run_id=new.parent_run)
    if new.rerun_of is not None:
        return RunTrigger(kind="rerun", run_id=new.rerun_of)
    if scheduled is not None:
        return RunTrigger(
            kind="schedule",
            name=scheduled.name,
            schedule_id=scheduled.schedule_id,
            due_at=scheduled.due_at,
            decision=scheduled.kind,
            actor=scheduled.actor,
        )
    webhook = webhook_id_of(new)
    if webhook is not None:
        delivery = (new.key or "").removeprefix(f"{WEBHOOK}{webhook}:") or None
        return RunTrigger(kind="webhook", name=webhooks.get(webhook), key=delivery)
    if new.origin is None and new.key is not None and new.key.startswith(TRIGGER_KEY):
        _, name, event = new.key.split(":", 2)
        return RunTrigger(kind="trigger", name=name, key=event)
    return _handed_in(new.origin)


def _handed_in(told: str | None) -> RunTrigger:
    kind, _, name = (told or "program").partition(":")
    match kind:
        case "api" | "web" | "cli":
            return RunTrigger(kind=kind, name=name or None)
        case _:
            return RunTrigger(kind="program")
