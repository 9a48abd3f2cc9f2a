"""Defines event triggers as values: the events that they yield, their stored state, and when they are polled (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from turnout.errors import InvalidInput
from turnout.model.texts import checked_text

MAX_KEY = 500
"""Bytes of the key of an event."""
MAX_EVENTS = 1_000
"""Events of one poll that are taken; the next poll goes on from the state at that moment."""
MAX_ERROR = 1_000
"""Characters of a stored error."""
MAX_BACKOFF = 600.0
"""Seconds between two polls of a trigger that fails, at most, unless its own interval is longer."""


class Event:
    """Something that starts one run of the trigger's workflow. The same key never starts a second one.

    >>> Event("order-7", order=7)
    Event('order-7', order=7)
    """

    def __init__(self, key: str, /, **params: Any) -> None:
        self.key = key
        self.params: Mapping[str, Any] = params

    def __repr__(self) -> str:
        return f"Event({self.key!r}{''.join(f', {name}={value!r}' for name, value in self.params.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and (self.key, self.params) == (other.key, other.params)

    def __hash__(self) -> int:
        return hash(self.key)


class Poll:
    """One poll of a trigger, for a function with a parameter of this type. What it keeps in ``state`` is stored when
    the runs of its events are durable, and is there in the next poll, at whichever server."""

    def __init__(self, state: Any = None) -> None:
        self.state: Any = state
        """A JSON value, such as a cursor; None before the first poll that sets it."""


class TriggerRow(msgspec.Struct, frozen=True, kw_only=True):
    """A stored trigger."""

    name: str
    """The full name: that of the workflow, and the trigger's own."""
    workflow: str
    every: float
    """Seconds between two polls."""
    next_poll: float
    polling: bool
    """True while a server polls it."""
    paused_by: str | None
    state: Any
    """The value that it keeps from poll to poll."""
    polled_at: float | None
    polls: int
    runs: int
    """Runs that it has started."""
    failures: int
    """Polls that failed since the last that succeeded."""
    error: str | None
    """Why the last poll failed."""


class ClaimedPoll(msgspec.Struct, frozen=True):
    """A poll that this session makes; no other does so before its lease is over."""

    state: Any
    revision: int
    failures: int


def checked_event(given: object) -> Event:
    """Returns what a trigger yielded. Raises InvalidInput if that is no event."""
    if not isinstance(given, Event):
        raise InvalidInput(f"it yielded {given!r}: yield Event(key, param=value, …)", code="bad_event")
    checked_text(given.key, "the key of an event", longest=MAX_KEY)
    if not given.key:
        raise InvalidInput(f"it yielded {given!r}: the key of an event is not empty", code="bad_event")
    return given


def event_key(trigger: str, key: str) -> str:
    """Returns the idempotency key of the run of an event.

    >>> event_key("public::embedded::fulfil::new_orders", "order-7")
    'trigger:new_orders:order-7'
    """
    return f"trigger:{trigger.rpartition('::')[2]}:{key}"


def next_delay(every: float, failures: int) -> float:
    """Returns the seconds until the next poll, after so many failures in a row.

    >>> [next_delay(30.0, failures) for failures in (0, 1, 2, 9)]
    [30.0, 60.0, 120.0, 600.0]
    """
    return min(every * 2 ** min(failures, 30), max(MAX_BACKOFF, every))
