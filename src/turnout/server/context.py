"""Holds what the routes of one server use: the orchestrator, settings, access, audit and streams."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import ParamSpec, TypeVar

from turnout.contracts.store import Store
from turnout.runner.core import Core
from turnout.runner.server_settings import ServerSettings
from turnout.server.access import Access
from turnout.server.attention import AttentionReader
from turnout.server.audit import Audit
from turnout.server.deliveries import Deliveries
from turnout.server.event_streams import EventStreams
from turnout.server.run_metrics import RunMetrics
from turnout.server.run_source import RunFacts
from turnout.server.shutdown import Shutdown
from turnout.server.store_probe import StoreProbe
from turnout.server.streams import Streams
from turnout.server.throughput import Throughput
from turnout.server.web_files import installed_files

P = ParamSpec("P")
T = TypeVar("T")


class ServerContext:
    """The parts that routes use. ``definitions`` is None without stored definitions."""

    def __init__(self, core: Core, settings: ServerSettings) -> None:
        self.core = core
        self.made_at = time.monotonic()
        self.settings = settings
        self.definitions = core.definitions
        self._threads = ThreadPoolExecutor(settings.threads, thread_name_prefix="turnout-api")
        self.access = Access(core.store, settings, self.in_thread)
        self.audit = Audit(core.store, self.in_thread)
        self.streams = Streams(self.access, settings.max_streams)
        self.events = EventStreams(self.streams, self.in_thread)
        self.run_facts = RunFacts(core.store, core.log_writer, core.reader.seq_of)
        self.probe = StoreProbe(core.store)
        self.deliveries = Deliveries(core, settings, self.in_thread)
        self.run_metrics = RunMetrics(core.store)
        self.attention = AttentionReader(core)
        self.throughput = Throughput(core.store)
        self.shutdown = Shutdown(settings)
        self.web_files = installed_files()
        self.version = version("turnout")

    @property
    def stopping(self) -> bool:
        return self.shutdown.begun

    @property
    def store(self) -> Store:
        return self.core.store

    async def in_thread(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a call that blocks, such as one of the store, in one of the server's threads."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: call(*args, **kwargs))

    def stop(self) -> None:
        """Tells open streams to reconnect elsewhere, ends waits for runs, and has ``/readyz`` and new runs answered
        with 503. Called on the server's loop."""
        self.shutdown.begin()
        self.streams.stop()

    def close(self) -> None:
        """Ends the threads; what they read then is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.probe.close()
