"""Decides what a watch does next: list anew, continue after a version, or wait (pure).

The API server keeps a bounded history. A watch continues after the last version that it has seen; if that is too old
(410), everything is listed again.
"""

from __future__ import annotations

from typing import Any

import msgspec

INITIAL_BACKOFF, MAX_BACKOFF = 0.2, 30.0
MAX_JITTER = 1.3
"""Factor by which a pause may be longer, never shorter: the server may have asked for it."""
STEADY_SECONDS = 1.0
"""Seconds after which a watch counts as served, although nothing has changed."""
GONE, TOO_MANY_REQUESTS, REQUEST_TIMEOUT = 410, 429, 408
_REFUSED = (400, 413, 422)
"""Statuses of a request that no time makes right."""


class Failure(msgspec.Struct, frozen=True):
    """A request that the API server did not serve."""

    status: int | None
    """The HTTP status; None if there was no answer."""
    message: str
    retry_after: float | None = None
    """Seconds that the server asks to wait."""
    reason: str = ""
    """The server's own word, as ``AlreadyExists``."""

    @property
    def passes(self) -> bool:
        """True if the same request may succeed soon."""
        return self.status is None or self.status in (TOO_MANY_REQUESTS, REQUEST_TIMEOUT) or self.status >= 500

    @property
    def is_refusal(self) -> bool:
        """True if the server finds fault with the object, not with its own state or with rights that may change."""
        return self.status in _REFUSED


class List(msgspec.Struct, frozen=True):
    """List everything, after this delay."""

    delay: float


class Watch(msgspec.Struct, frozen=True):
    """Watch what changes after this version, after this delay."""

    version: str
    delay: float


class WatchState:
    """The state of one watch. ``next`` says what to do; the methods report what came of it.

    A server that answers lists and no watch is served no better by more lists: only an event, or a watch that lasted,
    ends the growth of the pauses.
    """

    def __init__(self) -> None:
        self.version: str | None = None
        """The last version that was seen; None: everything has to be listed."""
        self.failure: Failure | None = None
        """Why the watch does not run at present."""
        self._failures = 0
        """Requests in a row that brought nothing."""
        self._delay = 0.0

    @property
    def in_sync(self) -> bool:
        """True if everything is listed and the server was last seen serving."""
        return self.version is not None and self.failure is None

    def next(self) -> List | Watch:
        return List(self._delay) if self.version is None else Watch(self.version, self._delay)

    def listed(self, version: str) -> None:
        self.version, self.failure, self._delay = version, None, 0.0

    def opened(self) -> None:
        """Called when the server has accepted a watch."""
        self.failure = None

    def saw(self, item: dict[str, Any]) -> None:
        """Called for every event of the watch, bookmarks among them."""
        self.version = (item.get("metadata") or {}).get("resourceVersion") or self.version
        self.failure, self._failures, self._delay = None, 0, 0.0

    def closed(self, seconds: float) -> None:
        """Called when a watch is over, for whatever reason, with the time for which it was open."""
        if seconds >= STEADY_SECONDS:
            self._failures, self._delay = 0, 0.0

    def ended(self, *, quiet: bool) -> None:
        """Called when the server closed the watch: it continues where it was. ``quiet``: no event came, and it did not
        last."""
        self.failure = None
        if quiet:
            self._pause()

    def failed(self, failure: Failure) -> None:
        """Called when the list or the watch failed, also by an event of the kind ``ERROR``."""
        if failure.status == GONE:
            # Nothing is wrong with the server if this happens once.
            self.failure = failure if self._failures else None
            self.version = None
            self._pause()
            return
        self.failure = failure
        self._failures += 1
        self._delay = backoff(self._failures, failure)

    def _pause(self) -> None:
        """The first time in a row comes without a pause."""
        self._delay = backoff(self._failures)
        self._failures += 1


def backoff(failures: int, failure: Failure | None = None) -> float:
    """Returns the seconds before the next request: longer with each failure in a row, at least what the server asks."""
    if not failures:
        return 0.0
    delay = min(MAX_BACKOFF, INITIAL_BACKOFF * 2 ** min(failures - 1, 20))
    asked = failure.retry_after if failure is not None and failure.retry_after is not None else 0.0
    return max(delay, min(asked, MAX_BACKOFF))
