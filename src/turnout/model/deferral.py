"""Holds ``Defer`` as a body raises it, the deferral that travels, and the memo that a task keeps over its attempts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from turnout.errors import InvalidInput, TaskSignal
from turnout.model.durations import Duration, seconds
from turnout.model.values import dump_output

CONDITION_INTERVAL, MAX_CONDITION_INTERVAL, CONDITION_BACKOFF = 10.0, 300.0, 1.5
"""Seconds between the first evaluations of a condition, the longest interval, and the factor by which it grows."""
MAX_SAVED = 64 * 1024
"""Bytes of JSON that a body may save: they are kept in memory and written with every move of the task."""


class Condition(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A predicate that is evaluated in place of the body until it holds."""

    ref: str
    """``module:qualname``."""
    args: str = "[]"
    """JSON text of the list of its arguments."""
    every: float = CONDITION_INTERVAL
    max_every: float = MAX_CONDITION_INTERVAL
    asked: int = 0

    def pause(self) -> float:
        """Seconds until the next evaluation."""
        grown: float = self.every * CONDITION_BACKOFF ** min(self.asked, 100)
        return min(grown, max(self.every, self.max_every))


class Deferral(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The deferral in an attempt's result."""

    seconds: float = 0.0
    until: float | None = None
    """Unix time; overrides ``seconds``."""
    condition: Condition | None = None
    saved: str | None = None
    """JSON text; None leaves the saved value unchanged."""
    unmet: bool = False
    """True if the condition was evaluated and does not hold yet: the body has not started."""


class Defer(TaskSignal):
    """Raised when a body asks to be started again later, from the top. The attempt frees its slot and costs no retry.
    Remedy: none is needed.

    ``Defer("5m")``, ``Defer(seconds=30)``, ``Defer(until=tomorrow)`` with an aware datetime, or
    ``Defer(condition=predicate, args=[path], every="10s", max_every="5m")`` with a function of a module that the task
    declares: ``@task(conditions=[predicate])``.
    ``save`` is a JSON value that the next attempt finds as ``info.saved``.
    """

    code = "defer"

    def __init__(
        self,
        duration: Duration | None = None,
        *,
        seconds: Duration | None = None,
        until: datetime | None = None,
        condition: Callable[..., Any] | str | None = None,
        args: Sequence[Any] = (),
        every: Duration = CONDITION_INTERVAL,
        max_every: Duration = MAX_CONDITION_INTERVAL,
        save: Any = None,
    ) -> None:
        given = [each for each in (duration, seconds, until, condition) if each is not None]
        if len(given) != 1:
            raise InvalidInput(
                f"Defer got {len(given)} of seconds, until and condition: give exactly one of them", code="bad_defer"
            )
        saved = None if save is None else dump_output(save, limit=MAX_SAVED, what="saved")
        if until is not None:
            self.deferral = Deferral(until=_moment(until), saved=saved)
        elif condition is not None:
            asked = _condition(condition, args, every, max_every)
            self.deferral = Deferral(condition=asked, saved=saved)
        else:
            self.deferral = Deferral(seconds=_wait(duration if seconds is None else seconds), saved=saved)
        super().__init__(f"deferred: {_shown(self.deferral)}")


class Unmet(TaskSignal):
    """Raised when the condition that a task waits for does not hold yet; its body has not started.
    Remedy: none is needed; the condition is evaluated again later."""

    code = "condition_unmet"

    def __init__(self, condition: str) -> None:
        super().__init__(f"deferred: {condition} does not hold yet")
        self.deferral = Deferral(unmet=True)


def _wait(value: Any, what: str = "Defer's duration") -> float:
    return seconds(value, what)


def _moment(until: Any) -> float:
    if not isinstance(until, datetime):
        raise InvalidInput(
            f"Defer(until={until!r}) is not a datetime: give one with a time zone, "
            'such as datetime.now(UTC) + timedelta(hours=1), or a duration such as Defer("1h")',
            code="bad_defer",
        )
    if until.tzinfo is None or until.utcoffset() is None:
        raise InvalidInput(
            f"Defer(until={until.isoformat()}) has no time zone, so it is not known which moment it means: "
            "write datetime(…, tzinfo=UTC), or until.astimezone() for this machine's time",
            code="naive_datetime",
        )
    return until.timestamp()


def _condition(predicate: Any, args: Any, every: Duration, max_every: Duration) -> Condition:
    pause = _wait(every, "every")
    if pause <= 0:
        raise InvalidInput(f"Defer(every={every!r}) would ask without a pause: give more than 0", code="bad_defer")
    if isinstance(args, str | bytes) or not isinstance(args, Sequence):
        raise InvalidInput(f"Defer(args={args!r}) is not a list of arguments: write args=[…]", code="bad_defer")
    given: list[Any] = list(args)
    return Condition(
        condition_ref(predicate), dump_output(given, limit=MAX_SAVED, what="args"), pause, _wait(max_every, "max_every")
    )


def condition_ref(predicate: Any) -> str:
    """Returns ``module:qualname`` of a predicate, by which stored runs name it and other processes find it."""
    if isinstance(predicate, str):
        module, colon, name = predicate.partition(":")
    else:
        module, colon = getattr(predicate, "__module__", None) or "", ":"
        name = getattr(predicate, "__qualname__", None) or ""
    if not (module and colon and name) or "<" in name:
        raise InvalidInput(
            f"the condition {predicate!r} has no name that another process could find it by: "
            'give a function of a module, not a lambda or an inner function, or its name as "module:function"',
            code="bad_condition",
        )
    return f"{module}:{name}"


def _shown(deferral: Deferral) -> str:
    if deferral.condition is not None:
        return f"until {deferral.condition.ref} holds"
    if deferral.until is not None:
        return f"until {datetime.fromtimestamp(deferral.until).astimezone().isoformat(timespec='seconds')}"
    return f"for {timedelta(seconds=deferral.seconds)}"


class Memo(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Values of a task that stay between its attempts, and the choice of a branch. Most tasks have none."""

    saved: str | None = None
    """JSON text of ``info.saved``, which the body gets when it starts again."""
    deferrals: int = 0
    unmet: int = 0
    """Deferrals that only evaluated a condition: the body did not begin."""
    condition: Condition | None = None
    """Evaluated before the body starts, until the body has ended or was deferred otherwise."""
    chosen: tuple[str, ...] | None = None
    """The names that a branch returned."""


NOTHING = Memo()

_decode = msgspec.json.Decoder(Memo).decode
_encode = msgspec.json.Encoder().encode


def read_memo(text: str | None) -> Memo:
    return NOTHING if text is None else _decode(text)


def write_memo(memo: Memo) -> str:
    return _encode(memo).decode()
