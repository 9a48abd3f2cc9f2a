"""Runs attempts on a Ray cluster: the driver that reaches the supervisor actor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from turnout.errors import InvalidSetting
from turnout.executors.cluster.executor import ClusterExecutor
from turnout.executors.ray.driver import LOCAL, CallThread, Driver
from turnout.model.durations import Duration
from turnout.model.extras import require
from turnout.model.names import is_identifier
from turnout.model.values import MAX_BYTES

T = TypeVar("T")

MAX_CALLS = 10_000
"""Calls that the supervisor serves at once: each running attempt has one that waits."""
RESTARTS = -1
"""The actor is restarted as often as it dies."""
START_TIMEOUT = 120.0
"""Seconds that the supervisor has to answer for the first time: Ray starts a process for it."""
REACH_TIMEOUT = 10.0
"""Seconds that a connection may take when it is only asked whether one can be made: Ray itself tries for twenty."""
NAMES = {"cpu": "CPU", "gpu": "GPU", "memory": "memory"}
"""Ray's names of resources; others have the same name there."""
ON_HEAD = {"node:__internal_head__": 0.001}
"""What makes Ray place the supervisor on the head, which no autoscaler removes."""


class RayExecutor(ClusterExecutor):
    """Runs Python bodies as tasks of a Ray cluster.

    ``address`` is what ``ray.init`` takes: ``auto``, ``host:6379``, ``ray://host:10001``, or ``local`` for a cluster
    that lives and ends with this process. ``namespace`` separates the attempts of different databases. ``token_file``
    has the token of a cluster with token authentication. ``runtime_env`` is Ray's: code and packages of the bodies.
    ``ahead`` is how many attempts may wait in the cluster, beyond those that run; by default as many as run, so that
    an autoscaler sees them. With ``scales`` no request for resources is refused: nodes may come that have them.
    """

    def __init__(
        self,
        address: str = "auto",
        *,
        namespace: str = "default",
        token_file: str | None = None,
        runtime_env: Mapping[str, Any] | None = None,
        ahead: int | None = None,
        scales: bool = False,
        heartbeat: Duration = 5.0,
        lease: Duration = 15.0,
        name: str = "ray",
        max_output_bytes: int = MAX_BYTES,
    ) -> None:
        require("ray")
        if not is_identifier(namespace):
            raise InvalidSetting(f"namespace is {namespace!r}: use letters, digits, '_' and '-'")
        if ahead is not None and ahead < 1:
            raise InvalidSetting(f"ahead is {ahead}: write a number of attempts from 1")
        if token_file is not None and not Path(token_file).is_file():
            raise InvalidSetting(f"token_file is {token_file!r}, which is no file")
        backend = RayBackend(address, namespace, token_file, dict(runtime_env or {}), ahead)
        super().__init__(
            backend, name=name, heartbeat=heartbeat, lease=lease, scales=scales, max_output_bytes=max_output_bytes
        )


class RayBackend:
    """The supervisor actor of a namespace, reached by the connection of this process."""

    def __init__(
        self, address: str, namespace: str, token_file: str | None, runtime_env: dict[str, Any], ahead: int | None
    ) -> None:
        self.address = address
        self._namespace = namespace
        self._ahead = ahead
        self._driver = Driver(address, namespace, token_file, runtime_env)
        self._actor: Any = None
        # Ray blocks, and sets signal handlers of its own where it is opened in the main thread.
        self._thread = CallThread("turnout-ray")

    def named(self, amounts: Mapping[str, float]) -> dict[str, float]:
        return {NAMES.get(name, name): amount for name, amount in amounts.items()}

    def amounts(self, node: Mapping[str, float]) -> dict[str, float]:
        own = {theirs: ours for ours, theirs in NAMES.items()}
        return {own.get(name, name): amount for name, amount in node.items()}

    async def open(self) -> None:
        await self._in_thread(self._open)

    async def exchange(
        self, hub: str, connection: int, frames: Sequence[Sequence[bytes]], wait: float
    ) -> dict[str, Any]:
        ref = await self._in_thread(lambda: self._actor.exchange.remote(hub, connection, frames, wait))
        return await asyncio.wrap_future(ref.future())

    async def reach(self) -> None:
        if self.address == LOCAL:
            return  # it starts with this process
        try:
            async with asyncio.timeout(REACH_TIMEOUT):
                await self._in_thread(self._driver.open)
        except TimeoutError:
            raise ConnectionError(self._driver.not_let_in()) from None

    async def close(self) -> None:
        try:
            await self._in_thread(self._close)
        finally:
            self._thread.end()

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._thread.submit(call))

    def _open(self) -> None:
        import ray

        self._driver.open()
        actor = self._supervisor()
        ray.get(actor.ready.remote(), timeout=START_TIMEOUT)
        self._actor = actor

    def _supervisor(self) -> Any:
        import ray

        from turnout.executors.ray.actor import SupervisorActor, actor_name

        return (
            ray.remote(SupervisorActor)
            .options(
                name=actor_name(self._namespace),
                namespace=self._namespace,
                lifetime="detached",
                get_if_exists=True,
                max_restarts=RESTARTS,
                max_task_retries=0,
                max_concurrency=MAX_CALLS,
                num_cpus=0,
                resources=ON_HEAD,
            )
            .remote(self._namespace, self._ahead)
        )

    def _close(self) -> None:
        self._actor = None
        self._driver.close()
