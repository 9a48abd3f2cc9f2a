"""What is known of one worker, over its sessions."""

from __future__ import annotations

import msgspec

from turnout.dispatcher.executor_breaker import ExecutorBreaker


class WorkerRecord(msgspec.Struct, eq=False):
    """What is known of one worker, over its sessions."""

    guard: ExecutorBreaker
    ended: dict[str, int]
    """Attempts by outcome."""
    reserved: int = 0
    """Places that were set aside and not handed over yet."""
    cause: str = ""
    """The last failure that was its own."""
    announced: int = 0
    """The round of its breaker whose end was made known."""
