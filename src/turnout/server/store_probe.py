"""Finds out whether the database answers at all, for requests that wait longer than usual.

A driver notices a connection that leads nowhere after many seconds, and a large query may take as long. A small query
beside it tells the two apart.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from turnout.contracts.store import LedgerStore
from turnout.errors import StoreError


class StoreProbe:
    """Asks the database for its time. Used on the server's loop."""

    def __init__(self, store: LedgerStore) -> None:
        self._store = store
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="turnout-probe")
        self._asked: asyncio.Future[bool] | None = None

    async def answers(self, within: float) -> bool:
        """True if the database answers within so many seconds. Callers at the same time share one question."""
        if self._asked is None or self._asked.done():
            self._asked = asyncio.get_running_loop().run_in_executor(self._threads, self._ask)
        try:
            async with asyncio.timeout(within):
                return await asyncio.shield(self._asked)
        except TimeoutError:
            return False

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _ask(self) -> bool:
        try:
            self._store.clock()
        except StoreError:
            return False
        return True
