"""When the hub acts on what has happened: once for all that happens in one turn of the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Pump:
    """Calls ``action`` now, or once in the next turn of the loop."""

    def __init__(self, action: Callable[[], None]) -> None:
        self._action = action
        self._scheduled = False

    def run(self) -> None:
        self._scheduled = False
        self._action()

    def schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self.run)
