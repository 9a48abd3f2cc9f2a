"""Decides when a task may use an executor exclusively, and for how long others wait for it.

A task whose attempt was lost with its process twice may be what killed it. From then on nothing else runs in its
executor, or on its worker, while it runs: if it kills the process again, no other attempt is lost with it. It waits
until the executor is empty. Windows in which nothing new is started alternate with equally long times in which other
tasks start, and both grow, so that a body that does not end holds up nothing for long. It runs alone for
``MAX_EXCLUSIVE`` seconds at most: after that others start beside it. If others were refused meanwhile, they get as much
time before the next exclusive use.

An executor that isolates its attempts needs none of this, so such a task goes there if its body can.
"""

from __future__ import annotations

INITIAL_WINDOW = 5.0
MAX_WINDOW = 300.0
MAX_EXCLUSIVE_WAIT = 3600.0
"""Seconds of waiting after which it starts beside others."""
MAX_EXCLUSIVE = 5.0
"""Seconds for which nothing is started beside a task that runs alone."""
MIN_REST = 0.1
"""Exclusive use that was shorter, in seconds, gives others no time of their own."""
REQUEST_TIMEOUT = 10.0
"""Seconds without a request after which the window closes: its run was cancelled, or went elsewhere."""


def make_way(waited: float) -> bool:
    """True if nothing new is started in an executor whose exclusive use was requested so long ago."""
    begin, window = 0.0, INITIAL_WINDOW
    while waited >= begin + 2 * window:
        if window >= MAX_WINDOW:
            return (waited - begin) % (2 * window) < window
        begin += 2 * window
        window = min(2 * window, MAX_WINDOW)
    return waited - begin < window


class ExclusiveUse:
    """One executor's state: open to all, reserved for a task that waits for exclusive use, or in exclusive use."""

    __slots__ = ("_asked", "_rest_until", "_since", "_taken_at", "_turned_away", "taken")

    def __init__(self) -> None:
        self.taken = False
        self._since: float | None = None
        self._asked = 0.0
        self._taken_at = 0.0
        self._turned_away = False
        self._rest_until = 0.0

    @property
    def wanted(self) -> bool:
        return self._since is not None

    def ask(self, now: float, empty: bool, room: bool = True) -> bool:
        """Requests exclusive use. True if the task may start now: in an empty executor or, after
        ``MAX_EXCLUSIVE_WAIT``, beside others if there is ``room``."""
        if now < self._rest_until:
            return False
        if not empty and self._since is None:
            self._since = now
        self._asked = now
        if empty or (room and self._since is not None and now - self._since >= MAX_EXCLUSIVE_WAIT):
            self.taken, self._since, self._taken_at = empty, None, now
            return True
        return False

    def closed_to_others(self, now: float) -> bool:
        if self.taken:
            return now - self._taken_at < MAX_EXCLUSIVE
        if self._since is None:
            return False
        if now - self._asked > REQUEST_TIMEOUT:
            self._since = None
            return False
        return make_way(now - self._since)

    def turn_away(self) -> None:
        """Called when another task was refused a slot."""
        self._turned_away = True

    def release(self, now: float) -> None:
        """Called when the executor is empty again."""
        used = min(now - self._taken_at, MAX_EXCLUSIVE)
        if self.taken and self._turned_away and used >= MIN_REST:
            self._rest_until = now + used
        self.taken = self._turned_away = False

    def over(self, now: float) -> bool:
        """True if this state can be dropped."""
        return not self.taken and self._since is None and now >= self._rest_until
