"""How does a body in a thread wait for its cancellation?"""

from __future__ import annotations

import threading

from turnout.model.info import TaskInfo

_making = threading.Lock()


def wait_cancelled(info: TaskInfo, timeout: float | None) -> bool:
    """What ``TaskInfo.wait_cancelled`` does where bodies can wait. The event is made for bodies that do, only then."""
    with _making:
        event = info.waited_on
        if not isinstance(event, threading.Event):
            event = info.waited_on = threading.Event()
    # The event is in place: from here on whoever cancels sets it, and who was quicker has left the flag.
    return info.cancelled or event.wait(timeout)
