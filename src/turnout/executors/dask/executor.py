"""Runs attempts on a Dask cluster: the client that reaches the supervisor in its scheduler."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from turnout.errors import InvalidSetting
from turnout.executors.cluster.executor import ClusterExecutor
from turnout.model.durations import Duration
from turnout.model.extras import require
from turnout.model.names import is_identifier
from turnout.model.values import MAX_BYTES

log = logging.getLogger("turnout.cluster")

T = TypeVar("T")

CONNECT_TIMEOUT = 10.0
NAMES = {"cpu": "CPU", "gpu": "GPU", "memory": "MEMORY"}
"""Dask's usual names of resources, which a worker declares with ``--resources``; others have the same name there."""


class DaskExecutor(ClusterExecutor):
    """Runs Python bodies on the workers of a Dask cluster.

    ``address`` is that of the scheduler. ``namespace`` separates the attempts of different databases. The three
    ``tls_…`` files encrypt the connection. ``ahead`` is how many attempts may wait in the cluster, beyond those that
    run; by default as many as run, so that an adaptive cluster grows. With ``scales`` no request for resources is
    refused: workers may come that have them.
    """

    def __init__(  # noqa: PLR0913 - every option has a name and a default
        self,
        address: str,
        *,
        namespace: str = "default",
        tls_ca_file: str | None = None,
        tls_cert: str | None = None,
        tls_key: str | None = None,
        ahead: int | None = None,
        scales: bool = False,
        heartbeat: Duration = 5.0,
        lease: Duration = 15.0,
        name: str = "dask",
        max_output_bytes: int = MAX_BYTES,
    ) -> None:
        require("distributed")
        if not is_identifier(namespace):
            raise InvalidSetting(f"namespace is {namespace!r}: use letters, digits, '_' and '-'")
        if ahead is not None and ahead < 1:
            raise InvalidSetting(f"ahead is {ahead}: write a number of attempts from 1")
        tls = {"tls_ca_file": tls_ca_file, "tls_client_cert": tls_cert, "tls_client_key": tls_key}
        if any(tls.values()) and not all(tls.values()):
            raise InvalidSetting("tls_ca_file, tls_cert and tls_key belong together: give all of them, or none")
        backend = DaskBackend(address, namespace, tls if all(tls.values()) else {}, ahead)
        super().__init__(
            backend, name=name, heartbeat=heartbeat, lease=lease, scales=scales, max_output_bytes=max_output_bytes
        )


class DaskBackend:
    """A client of the cluster on an event loop of its own: what the engine's loop does never delays its heartbeats."""

    def __init__(self, address: str, namespace: str, tls: dict[str, str | None], ahead: int | None) -> None:
        self.address = address
        self._namespace = namespace
        self._tls = tls
        self._ahead = ahead
        self._client: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def named(self, amounts: Mapping[str, float]) -> dict[str, float]:
        # A task has one thread of its worker by itself.
        return {NAMES.get(name, name): amount for name, amount in amounts.items() if name != "cpu" or amount > 1}

    def amounts(self, node: Mapping[str, float]) -> dict[str, float]:
        own = {theirs: ours for ours, theirs in NAMES.items()}
        return {"cpu": 1.0} | {own.get(name, name): amount for name, amount in node.items()}

    async def open(self) -> None:
        await self._on_loop(self._open())

    async def exchange(
        self, hub: str, connection: int, frames: Sequence[Sequence[bytes]], wait: float
    ) -> dict[str, Any]:
        return await self._on_loop(self._exchange(hub, connection, frames, wait))

    async def reach(self) -> None:
        await self._on_loop(self._connect())

    async def close(self) -> None:
        loop = self._loop
        if loop is not None:
            await self._on_loop(self._close())
            loop.call_soon_threadsafe(loop.stop)
            self._loop = None

    async def _on_loop(self, call: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="turnout-dask", daemon=True).start()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, self._loop))

    async def _connect(self) -> None:
        from distributed import Client, Security

        await self._close()
        security = Security(**self._tls, require_encryption=True) if self._tls else None
        client: Any = Client(self.address, asynchronous=True, security=security, timeout=CONNECT_TIMEOUT)
        try:
            await client
        except BaseException:
            # One that is dropped goes on to connect.
            await client.close(0)
            raise
        self._client = client

    async def _open(self) -> None:
        from turnout.executors.dask.plugin import SupervisorPlugin

        await self._connect()
        try:
            await self._client.register_plugin(SupervisorPlugin(self._namespace, self._ahead))
        except ValueError:
            # The scheduler takes no plugins from clients. It may have been started with this one.
            if not await self._call("ready"):
                raise

    async def _exchange(
        self, hub: str, connection: int, frames: Sequence[Sequence[bytes]], wait: float
    ) -> dict[str, Any]:
        return await self._call("exchange", hub, connection, frames, wait)

    async def _call(self, method: str, *arguments: Any) -> Any:
        from turnout.executors.dask.plugin import handler_name

        call = getattr(self._client.scheduler, handler_name(self._namespace))
        return await call(method=method, arguments=arguments)

    async def _close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()
