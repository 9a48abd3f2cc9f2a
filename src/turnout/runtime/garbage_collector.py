"""Makes Python look for reference cycles less often while this process drives runs, or runs steps as a worker.

Python examines its youngest objects whenever 700 more containers were made than freed, and all objects after a hundred
of these collections. A commit of a few hundred runs alone holds more containers than that until it is done: with 1,000
runs at once, collections are a tenth of the CPU of a step. They find nothing, since what is made for a step has no
cycles.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

YOUNG_THRESHOLD = 10_000
"""Containers made and not freed before the youngest objects are examined."""
MAX_DEFAULT = 2_000
"""The highest threshold that Python itself has. Above it, and below one, the program has chosen its own."""

# The collector belongs to the process: the first orchestrator or worker of a process raises the threshold, and the last
# one restores it.
_lock = threading.Lock()
_users = 0
_before: tuple[int, int, int] | None = None


def collect_less_often() -> Callable[[], None]:
    """Raises the threshold, unless the program has set one; returns the function that restores it."""
    global _users, _before  # noqa: PLW0603
    with _lock:
        _users += 1
        found = gc.get_threshold()
        if _before is None and 0 < found[0] <= MAX_DEFAULT:
            _before = found
            gc.set_threshold(YOUNG_THRESHOLD, *found[1:])
    ended = threading.Event()

    def end() -> None:
        global _users, _before  # noqa: PLW0603
        with _lock:
            if ended.is_set():
                return
            ended.set()
            _users -= 1
            if _users == 0 and _before is not None:
                if gc.get_threshold()[0] == YOUNG_THRESHOLD:
                    gc.set_threshold(*_before)
                _before = None

    return end
