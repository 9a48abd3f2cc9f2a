"""Defines notifications of the end of a run, or of one that does not end: targets, events and their texts (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict
from urllib.parse import urlsplit

import msgspec

from turnout.errors import InvalidInput, InvalidWorkflow
from turnout.model.durations import Duration, seconds, shown
from turnout.model.mail import MAX_RECIPIENTS, SCHEME, recipients
from turnout.model.reasons import in_words
from turnout.model.secret_reference import SecretReference

Occasion: TypeAlias = Literal["success", "failure", "cancel", "stuck"]
Format: TypeAlias = Literal["json", "slack"]

OCCASIONS: tuple[Occasion, ...] = ("success", "failure", "cancel", "stuck")
FORMATS: tuple[Format, ...] = ("json", "slack")
MAX_FAILURES = 20
"""Failed tasks that an event names."""
MAX_WAITING = 20
"""Open tasks that an event names."""
MIN_AFTER = 1.0
"""Seconds after which a run can be stuck, at least."""
MAX_MESSAGE = 500
"""Characters of the message of one failure in an event."""
MAX_RETRY_DELAY = 600.0
"""Seconds between two attempts to deliver, at most."""
MAX_RETRIES = 1_000
_REFERENCES = ("env:", "file:")
_WORDS = {"completed": "has completed", "failed": "has failed", "cancelled": "was cancelled"}


class Notify(msgspec.Struct, frozen=True):
    """Sends an event to an address when a run ends, or does not end in time.

    >>> Notify("https://ops.example.org/turnout", on=("success", "failure"))
    Notify(url='https://ops.example.org/turnout', on=('success', 'failure'))
    """

    url: str
    """The address: ``http://``, ``https://`` or ``mailto:``. An address of HTTP that is a secret is named by its place:
    ``env:NAME`` or ``file:PATH``."""
    on: tuple[Occasion, ...] = ("failure",)
    """What is sent: the ends ``success``, ``failure`` and ``cancel``, and ``stuck``: a run has not ended in time."""
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
    after: Duration | None = None
    """With ``stuck``: the time after the submission of a run at which it is sent, unless the run has ended by then."""

    @property
    def shown(self) -> str:
        """The target, without what may be secret in its address."""
        if self.url.startswith((*_REFERENCES, SCHEME)):
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
        if not _time(getattr(notify, name), f"{field}.{name}"):
            raise _wrong(f"{field}.{name}", "is 0", "write a time above 0")
    _check_after(notify, f"{field}.after")
    if notify.secret is not None:
        _reference(notify.secret, f"{field}.secret")
    if notify.url.startswith(SCHEME):
        for name, default in (("secret", None), ("format", "json")):
            if getattr(notify, name) != default:
                raise _wrong(f"{field}.{name}", f"is given for {SCHEME}", "leave it out: it is for requests over HTTP")
    return notify


def _check_after(notify: Notify, field: str) -> None:
    if "stuck" not in notify.on:
        if notify.after is not None:
            raise _wrong(field, f"is {notify.after!r}", "leave it out, or add stuck to on")
    elif notify.after is None:
        raise _wrong(field, "is missing", 'write the time after which a run is stuck, such as "10m"')
    elif _time(notify.after, field) < MIN_AFTER:
        raise _wrong(field, f"is {notify.after!r}", f"write at least {MIN_AFTER:g} s")


def _time(given: Duration, field: str) -> float:
    try:
        return seconds(given, field)
    except InvalidWorkflow as error:
        raise InvalidWorkflow(error.message, code="bad_notification", field=field) from error


def url_reference(url: str) -> SecretReference | None:
    """Returns where an address that is a secret is read; None for one that is written out."""
    return SecretReference.parse(url, "url") if url.startswith(_REFERENCES) else None


def _check_url(url: object, field: str) -> None:
    if isinstance(url, str) and url.startswith(_REFERENCES):
        _reference(url, field)
        return
    if isinstance(url, str) and url.startswith(SCHEME):
        if recipients(url) is None:
            right = f"write one to {MAX_RECIPIENTS} addresses without names, as {SCHEME}ops@example.org,dev@example.org"
            raise _wrong(field, f"is {url!r}", right)
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
class OpenTask(TypedDict):
    """A task that waits or runs."""

    task: str
    state: str
    """``ready``: it waits. ``running``."""
    reason: str | None
    """Why it waits, by code."""
    attempt: int


class EventData(TypedDict):
    """The run that an event is about."""

    run_id: str
    workflow: str
    status: str
    reason: str | None
    failed: list[dict[str, Any]]
    waiting: NotRequired[list[OpenTask]]
    """Of a run that is stuck: the tasks that wait or run."""


class RunEvent(TypedDict):
    """The body of a notification: ``type`` is ``run.completed``, ``run.failed``, ``run.cancelled`` or ``run.stuck``."""

    type: str
    title: str
    """What has happened, for people: the subject of a mail."""
    text: str
    """The title with the first cause."""
    data: EventData


def run_event(
    *, run_id: str, workflow: str, status: str, reason: str | None, failed: Sequence[Mapping[str, Any]]
) -> RunEvent:
    """Returns the event of a run's end; the same for every attempt, and bounded.

    >>> failure = {"task": "load", "type": "OSError", "message": "disk full", "attempts": 3}
    >>> run_event(run_id="0199", workflow="public::shop::etl", status="failed", reason=None, failed=[failure])["text"]
    'run 0199 of etl has failed: load: OSError: disk full'
    """
    failures = _failures(failed)
    title = text = f"run {run_id} of {workflow.rpartition('::')[2]} {_WORDS[status]}"
    if failures:
        kind = f"{failures[0]['type']}: " if failures[0]["type"] else ""
        text += f": {failures[0]['task']}: {kind}{failures[0]['message']}"
        text += f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    elif reason:
        text += f": {_clipped(reason)}"
    data = EventData(run_id=run_id, workflow=workflow, status=status, reason=reason, failed=failures)
    return RunEvent(type=f"run.{status}", title=title, text=text, data=data)


def stuck_event(
    *,
    run_id: str,
    workflow: str,
    status: str,
    reason: str | None,
    after: float,
    failed: Sequence[Mapping[str, Any]] = (),
    waiting: Sequence[OpenTask] = (),
) -> RunEvent:
    """Returns the event of a run that has not ended in time; bounded. Without tasks, the run itself waits.

    >>> load = OpenTask(task="load", state="ready", reason="paused", attempt=0)
    >>> stuck_event(
    ...     run_id="0199", workflow="public::shop::etl", status="running", reason=None, after=600, waiting=[load]
    ... )["text"]
    'run 0199 of etl has not ended after 10m: load waits: the run is paused (paused)'
    """
    title = text = f"run {run_id} of {workflow.rpartition('::')[2]} has not ended after {shown(after)}"
    if waiting:
        # What waits says why; what runs has no reason to show.
        first = next((each for each in waiting if each["state"] == "ready"), waiting[0])
        why = in_words(first["reason"])
        does = f"waits: {why}" if why else "waits" if first["state"] == "ready" else "is running"
        text += f": {first['task']} {_clipped(does)}"
        text += f" (and {len(waiting) - 1} more)" if len(waiting) > 1 else ""
    else:
        text += f": it waits: {_clipped(in_words(reason) or 'no orchestrator has taken it')}"
    data = EventData(
        run_id=run_id,
        workflow=workflow,
        status=status,
        reason=reason,
        failed=_failures(failed),
        waiting=list(waiting[:MAX_WAITING]),
    )
    return RunEvent(type="run.stuck", title=title, text=text, data=data)


def _failures(failed: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{**each, "message": _clipped(str(each["message"]))} for each in failed[:MAX_FAILURES]]


def _clipped(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…"
