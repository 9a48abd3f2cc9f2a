"""Stores an entry for every request that changed something, or tried to; entries that come together in one commit."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from turnout.contracts.store import AccessStore
from turnout.errors import StoreError
from turnout.model.access import AuditRow

log = logging.getLogger("turnout.server")

RETENTION = 365 * 86_400.0
"""Seconds for which entries are kept."""
PRUNE_INTERVAL = 3_600.0
MAX_BATCH = 500
"""Entries in one commit."""


class Audit:
    """The audit of one server. Its coroutines run on the server's loop."""

    def __init__(self, store: AccessStore, in_thread: Callable[..., Awaitable[Any]]) -> None:
        self._store = store
        self._in_thread = in_thread
        self._waiting: list[tuple[AuditRow, asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None
        self._pruned = time.monotonic()

    async def record(self, entry: AuditRow) -> None:
        """Returns once the entry is stored. An entry that cannot be stored is logged instead."""
        stored = asyncio.get_running_loop().create_future()
        self._waiting.append((entry, stored))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.get_running_loop().create_task(self._write(), name="turnout-audit")
        await stored

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
            entries = [entry for entry, _ in batch]
            try:
                await self._in_thread(self._store.add_audit, entries)
            except StoreError as error:
                for entry in entries:
                    log.error("an audit entry could not be stored (%s): %s", error, entry)
            finally:
                for _, stored in batch:
                    if not stored.done():
                        stored.set_result(None)
        await self._prune()

    async def _prune(self) -> None:
        if time.monotonic() - self._pruned < PRUNE_INTERVAL:
            return
        self._pruned = time.monotonic()
        try:
            await self._in_thread(self._store.prune_audit, RETENTION)
        except StoreError as error:
            log.warning("old audit entries could not be deleted: %s", error)
