"""The last status of this orchestrator: made on its event loop, read in any thread, also if the loop is stuck."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

import msgspec

from turnout.model.health import OrchestratorStatus

log = logging.getLogger("turnout.coordinator")

LOOK = 0.5
"""Seconds from one look to the next."""


class StatusSnapshot:
    """The last status and when it was made."""

    def __init__(self, look: Callable[[], OrchestratorStatus], clock: Callable[[], float] = time.monotonic) -> None:
        self._look = look
        self._clock = clock
        self._last: tuple[float, OrchestratorStatus] | None = None

    def look(self) -> OrchestratorStatus:
        """The status now; on the event loop only."""
        status = self._look()
        self._last = (self._clock(), status)
        return status

    async def keep_looking(self) -> None:
        while True:
            try:
                self.look()
            except Exception:
                log.exception("the orchestrator could not look at itself and goes on")
            await asyncio.sleep(LOOK)

    def known(self) -> OrchestratorStatus | None:
        """The last status with its age, in any thread; None before the first."""
        if self._last is None:
            return None
        made, status = self._last
        return msgspec.structs.replace(status, age_seconds=max(0.0, self._clock() - made))

    def text(self) -> str | None:
        """The same as JSON, for the lease keeper. What cannot be said must not cost the lease: this never raises."""
        try:
            known = self.known()
            return None if known is None else msgspec.json.encode(known).decode()
        except Exception:
            log.exception("the status of this orchestrator could not be written down")
            return None
