"""Decides when a worker that takes one attempt is done: its result is acknowledged, or the attempt never came."""

from __future__ import annotations

import logging

from turnout.wire.held_steps import HeldSteps

log = logging.getLogger("turnout.worker")


class OneAttempt:
    """The only attempt of a worker. Times are those of ``boot_time``."""

    def __init__(self, token: str, timeout: float, started: float) -> None:
        self.token = token
        self.taken = False
        """True once the attempt was here."""
        self._timeout = timeout
        self._come_by = started + timeout
        self._late = False

    def is_over(self, held_steps: HeldSteps, now: float) -> bool:
        """True if nothing is left to do: no hub asks for the attempt any more, or none has given it in time."""
        if self.token in held_steps.table:
            self.taken = True
            return False
        if self.taken:
            return not held_steps
        if now < self._come_by:
            return False
        if not self._late:
            self._late = True
            log.error("no hub has given this worker the attempt %s within %g s", self.token, self._timeout)
        return True
