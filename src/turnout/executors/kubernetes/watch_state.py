"""Decides what a watch does next: list anew, continue after a version, or wait (pure).

The API server keeps a bounded history. A watch continues after the last version that it has seen; if that is too old
(410), everything is listed again.
"""

from __future__ import annotations

from typing import Any

import msgspec

INITIAL_BACKOFF, MAX_BACKOFF = 0.2, 30.0
GONE, TOO_MANY_REQUESTS = 410, 429


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
        """True if the same request may succeed later."""
        return self.status is None or self.status == TOO_MANY_REQUESTS or self.status >= 500


class List(msgspec.Struct, frozen=True):
    """List everything, after this delay."""

    delay: float


class Watch(msgspec.Struct, frozen=True):
    """Watch what changes after this version, after this delay."""

    version: str
    delay: float


class WatchState:
    """The state of one watch. ``next`` says what to do; the methods report what came of it."""

    def __init__(self) -> None:
        self.version: str | None = None
        """The last version that was seen; None: everything has to be listed."""
        self.failure: Failure | None = None
        """Why the watch does not run at present."""
        self._failures = 0

    @property
    def in_sync(self) -> bool:
        """True if everything is listed and the server was last seen serving."""
        return self.version is not None and self.failure is None

    def next(self) -> List | Watch:
        delay = backoff(self._failures, self.failure)
        return List(delay) if self.version is None else Watch(self.version, delay)

    def listed(self, version: str) -> None:
        self.version, self.failure, self._failures = version, None, 0

    def saw(self, kind: str, item: dict[str, Any]) -> None:
        """Called for every event of the watch, bookmarks among them."""
        self.version = (item.get("metadata") or {}).get("resourceVersion") or self.version
        self.failure, self._failures = None, 0

    def ended(self) -> None:
        """Called when the server closed the watch: it continues where it was."""
        self.failure = None

    def failed(self, failure: Failure) -> None:
        """Called when the list or the watch failed, also by an event of the kind ``ERROR``."""
        if failure.status == GONE:
            if self.version is None:
                self._failures += 1
            # Listed again at once: nothing is wrong with the server.
            self.version = None
            self.failure = failure if self._failures else None
            return
        self.failure = failure
        self._failures += 1


def backoff(failures: int, failure: Failure | None = None) -> float:
    """Returns the seconds before the next request: longer with each failure in a row, at least what the server asks."""
    if not failures:
        return 0.0
    delay = min(MAX_BACKOFF, INITIAL_BACKOFF * 2 ** min(failures - 1, 20))
    asked = failure.retry_after if failure is not None and failure.retry_after is not None else 0.0
    return max(delay, min(asked, MAX_BACKOFF))
