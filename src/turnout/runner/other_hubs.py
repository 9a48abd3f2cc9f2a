"""Looks up whether another live orchestrator has a hub, for programs that only store runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from turnout.contracts.store import OwnershipStore
from turnout.model.health import read_status
from turnout.orchestration.session import process_is_gone
from turnout.runner.live_sessions import ORCHESTRATOR

KNOWN_FOR = 1.0
"""Seconds for which an answer holds: many submissions in a row read the database once."""


class OtherHubs:
    """True when called if a live orchestrator on the database has a hub. One that has stored no status yet may have
    one."""

    def __init__(self, store: OwnershipStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._known = False
        self._known_at = -math.inf

    def __call__(self) -> bool:
        now = self._clock()
        if now - self._known_at > KNOWN_FOR:
            self._known = any(
                one.health is None or read_status(one.health, one.age).hub is not None
                for one in self._store.session_health()
                if one.session.kind == ORCHESTRATOR and not process_is_gone(one.session)
            )
            self._known_at = now
        return self._known
