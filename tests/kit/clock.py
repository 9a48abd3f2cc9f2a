"""A clock for what takes one as a function: it says what the test has set."""

from __future__ import annotations


class Clock:
    """``now`` is what it says when it is called."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
