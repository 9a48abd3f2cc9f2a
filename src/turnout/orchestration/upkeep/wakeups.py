"""What the sweep is asked to look at before its time."""

from __future__ import annotations

import asyncio


class Wakeups:
    """Topics that were announced since the last look. Used on one event loop."""

    def __init__(self) -> None:
        self._topics: set[str] = set()
        self._announced = asyncio.Event()

    def announce(self, topic: str) -> None:
        self._topics.add(topic)
        self._announced.set()

    async def next(self) -> set[str]:
        """Waits for topics and takes them all."""
        await self._announced.wait()
        self._announced.clear()
        topics, self._topics = self._topics, set()
        return topics
