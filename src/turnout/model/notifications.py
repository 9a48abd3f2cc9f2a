"""Defines notifications of the end of a run: targets, the event that is sent, and its text (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict
from urllib.parse import urlsplit

import msgspec

from turnout.errors import InvalidInput, InvalidWorkflow
from turnout.model.durations import Duration, seconds
from turnout.model.secret_reference import SecretReference

Occasion: TypeAlias = Literal["success", "failure", "cancel"]
Format: TypeAlias = Literal["json", "slack"]

OCCASIONS: tuple[Occasion, ...] = ("success", "failure", "cancel")
FORMATS: tuple[Format, ...] = ("json", "slack")
MAX_FAILURES = 20
"""Failed tasks that an event names."""
MAX_MESSAGE = 500
"""Characters of the message of one failure in an event."""
MAX_RETRY_DELAY = 600.0
"""Seconds between two attempts to deliver, at most."""
MAX_RETRIES = 1_000
_REFERENCES = ("env:", "file:")
_WORDS = {"completed": "has completed", "failed": "has failed", "cancelled": "was cancelled"}


class Notify(msgspec.Struct, frozen=True):
    """Sends an event to an address when a run ends.

    >>> Notify("https://ops.example.org/turnout", on=("success", "failure"))
    Notify(url='https://ops.example.org/turnout', on=('success', 'failure'))
    """

    url: str
    """The address, ``http://`` or ``https://``. An address that is a secret is named by its place: ``env:NAME`` or
    ``file:PATH``."""
    on: tuple[Occasion, ...] = ("failure",)
    """The ends that are sent: ``success``, ``failure`` and ``cancel``."""
    secret: str | None = None
    """The place of the secret that events are signed with: ``env:NAME`` or ``file:PATH`` of the machine that sends."""
    format: Format = "json"
    """``json``: the event. ``slack``: its text, as Slack and others take it."""
    retries: int = 8
    """Further attempts after one that failed."""
    retry_delay: Duration = 5.0
    """The delay before the first of them; it doubles up to ten minutes."""
    timeout: Duration = 10.0
    """The time that one attempt may take."""

    @property
    def shown(self) -> str:
        """The target, without what may be secret in its address."""
        if self.url.startswith(_REFERENCES):
            return self.url
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")


def checked(notify: object, field: str) -> Notify:
    """Returns the notification. Raises InvalidWorkflow that names the field, the value and what would be right."""
    if not isinstance(notify, Notify):
        raise _wrong(field, f"is {notify!r}", 'write Notify("https://…", on=("failure",))')
    _check_url(notify.url, f"{field}.url")
    if not notify.on or not set(notify.on) <= set(OCCASIONS):
        raise _wrong(f"{field}.on", f"is {notify.on!r}", f"write some of {', '.join(OCCASIONS)}")
    if notify.format not in FORMATS:
        raise _wrong(f"{field}.format", f"is {notify.format!r}", f"write {' or '.join(FORMATS)}")
    if type(notify.retries) is not int or not 0 <= notify.retries <= MAX_RETRIES:
        raise _wrong(f"{field}.retries", f"is {notify.retries!r}", f"write a whole number from 0 to {MAX_RETRIES}")
    for name in ("retry_delay", "timeout"):
        try:
            given = seconds(getattr(notify, name), f"{field}.{name}")
        except InvalidWorkflow as error:
            raise InvalidWorkflow(error.message, code="bad_notification", field=f"{field}.{name}") from error
        if not given:
            raise _wrong(f"{field}.{name}", "is 0", "write a time above 0")
    if notify.secret is not None:
        _reference(notify.secret, f"{field}.secret")
    return notify


def url_reference(url: str) -> SecretReference | None:
    """Returns where an address that is a secret is read; None for one that is written out."""
    return SecretReference.parse(url, "url") if url.startswith(_REFERENCES) else None


def _check_url(url: object, field: str) -> None:
    if isinstance(url, str) and url.startswith(_REFERENCES):
        _reference(url, field)
        return
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        sound = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port if parts is not None else None
    except ValueError:
        sound = False
    if not sound or any(character in str(url) for character in " \t\r\n\0"):
        raise _wrong(field, f"is {url!r}", "write an address such as https://ops.example.org/turnout, or env:NAME")


def _reference(text: str, field: str) -> None:
    try:
        SecretReference.parse(text, field)
    except InvalidInput as error:
        raise InvalidWorkflow(error.message, code=error.code, field=field) from error


def _wrong(field: str, found: str, right: str) -> InvalidWorkflow:
    return InvalidWorkflow(f"{field} {found}: {right}", code="bad_notification", field=field)


# -- events -------------------------------------------------------------------------------------------------------
class EventData(TypedDict):
    """The run that an event is about."""

    run_id: str
    workflow: str
    status: str
    reason: str | None
    failed: list[dict[str, Any]]


class RunEvent(TypedDict):
    """The body of a notification: ``type`` is ``run.completed``, ``run.failed`` or ``run.cancelled``."""

    type: str
    text: str
    """One sentence for people."""
    data: EventData


def run_event(
    *, run_id: str, workflow: str, status: str, reason: str | None, failed: Sequence[Mapping[str, Any]]
) -> RunEvent:
    """Returns the event of a run's end; the same for every attempt, and bounded.

    >>> failure = {"task": "load", "type": "OSError", "message": "disk full", "attempts": 3}
    >>> run_event(run_id="0199", workflow="public::shop::etl", status="failed", reason=None, failed=[failure])["text"]
    'run 0199 of etl has failed: load: OSError: disk full'
    """
    shown = [{**each, "message": _clipped(str(each["message"]))} for each in failed[:MAX_FAILURES]]
    text = f"run {run_id} of {workflow.rpartition('::')[2]} {_WORDS[status]}"
    if shown:
        kind = f"{shown[0]['type']}: " if shown[0]["type"] else ""
        text += f": {shown[0]['task']}: {kind}{shown[0]['message']}"
        text += f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    elif reason:
        text += f": {_clipped(reason)}"
    data = EventData(run_id=run_id, workflow=workflow, status=status, reason=reason, failed=shown)
    return RunEvent(type=f"run.{status}", text=text, data=data)


def _clipped(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…"
