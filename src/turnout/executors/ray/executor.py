"""Runs attempts on a Ray cluster: the driver that reaches the supervisor actor."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from turnout.errors import InvalidSetting
from turnout.executors.cluster.executor import ClusterExecutor
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
    """The driver of this process. Ray has one per process: one that the program has opened is used, and left open."""

    def __init__(
        self, address: str, namespace: str, token_file: str | None, runtime_env: dict[str, Any], ahead: int | None
    ) -> None:
        self.address = address
        self._namespace = namespace
        self._token_file = token_file
        self._runtime_env = runtime_env
        self._ahead = ahead
        self._actor: Any = None
        self._own = False
        # Ray blocks, and sets signal handlers of its own where it is opened in the main thread.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="turnout-ray")

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

    async def close(self) -> None:
        await self._in_thread(self._close)
        self._thread.shutdown(wait=False)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    def _open(self) -> None:
        import ray

        if self._own and not _answers():
            self._close()
        if not ray.is_initialized():
            if self._token_file is not None:
                os.environ["RAY_AUTH_MODE"] = "token"
                os.environ["RAY_AUTH_TOKEN_PATH"] = self._token_file
            ray.init(
                address=self.address,
                namespace=self._namespace,
                runtime_env=self._runtime_env or None,
                log_to_driver=False,
                configure_logging=False,
                logging_level=logging.WARNING,
            )
            self._own = True
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
        import ray

        self._actor = None
        if self._own:
            self._own = False
            ray.shutdown()


def _answers() -> bool:
    import ray

    try:
        return bool(ray.nodes())
    except Exception:
        return False
