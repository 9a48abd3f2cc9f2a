"""Bounds how often an address may fail in a period: a caller that guesses is refused before anything is looked up."""

from __future__ import annotations

import math
from collections import OrderedDict

PERIOD = 60.0
"""Seconds in which failures are counted."""
MAX_FAILURES = 30
"""Failures of one address in a period."""
MAX_ADDRESSES = 10_000
"""Addresses that are remembered; the one that failed longest ago is forgotten when there are more."""


class FailureLimit:
    """The failures of each address. Times are monotonic; used on one event loop."""

    def __init__(self, failures: int = MAX_FAILURES, period: float = PERIOD, addresses: int = MAX_ADDRESSES) -> None:
        self._failures = failures
        self._period = period
        self._addresses = addresses
        self._seen: OrderedDict[str, tuple[float, int]] = OrderedDict()
        """By address: when its period began, and how often it failed in it."""

    def retry_after(self, address: str, now: float) -> int | None:
        """Returns the seconds after which the address is served again; None: it is served."""
        began, count = self._seen.get(address, (now, 0))
        left = began + self._period - now
        return max(1, math.ceil(left)) if count >= self._failures and left > 0 else None

    def failed(self, address: str, now: float) -> None:
        """Counts a failure."""
        began, count = self._seen.pop(address, (now, 0))
        if now - began >= self._period:
            began, count = now, 0
        self._seen[address] = (began, count + 1)
        if len(self._seen) > self._addresses:
            self._seen.popitem(last=False)
