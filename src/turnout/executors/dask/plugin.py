"""Puts a supervisor into the scheduler of a Dask cluster, and runs attempts on its workers.

Orchestrators install it by themselves. Where a scheduler takes no plugins from clients, start it with
``--preload turnout.executors.dask.plugin``.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from distributed import Client, Future, Scheduler, SchedulerPlugin, Security, Worker, get_worker

from turnout.executors.cluster.node import NodeRunner
from turnout.executors.cluster.supervisor import Supervisor

log = logging.getLogger("turnout.cluster")

HANDLER = "turnout"
"""The name of the plugin, and of the scheduler's handler, followed by the namespace."""
GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL for a body that is cancelled or out of time."""


def handler_name(namespace: str) -> str:
    return f"{HANDLER}_{namespace}"


class DaskHost:
    """The cluster around one scheduler, as its supervisor uses it. Attempts are tasks of a client that lives here, so
    they belong to no orchestrator. Dask may move a task to another worker when one dies; a body that has begun is not
    begun there again, since the supervisor gives leave once."""

    def __init__(self, scheduler: Scheduler, namespace: str, ahead: int | None) -> None:
        self._scheduler = scheduler
        self._namespace = namespace
        self.supervisor = Supervisor(self, name=f"dask {namespace}", ahead=ahead)
        self._client: Any = None
        self._started = asyncio.Event()
        """Set when its start has ended, in one way or the other."""
        self._futures: dict[str, Future[Any]] = {}
        self._cancelling: set[asyncio.Future[Any]] = set()

    async def start(self) -> None:
        scheduler = self._scheduler
        try:
            self._client = await Client(
                scheduler.address,
                asynchronous=True,
                security=client_security(scheduler.security),
                name=handler_name(self._namespace),
            )
            self.supervisor.start()
        finally:
            self._started.set()

    async def close(self) -> None:
        self.supervisor.stop()
        if self._client is not None:
            await self._client.close()

    async def handle(self, method: str, arguments: Sequence[Any]) -> Any:
        """Serves the calls of orchestrators and nodes, as soon as it has started."""
        await self._started.wait()
        if self._client is None:
            raise RuntimeError(f"the supervisor of namespace {self._namespace} could not start")
        match method:
            case "ready":
                return self.supervisor.holder
            case "exchange":
                return await self.supervisor.exchange(*arguments)
            case "begin":
                return await self.supervisor.begin(*arguments)
            case "watch":
                return await self.supervisor.watch(*arguments)
            case "output":
                return self.supervisor.output(*arguments)
            case "finish":
                return self.supervisor.finish(*arguments)
            case _:
                raise ValueError(f"a supervisor has no method {method!r}")

    # -- what the supervisor asks for -------------------------------------------------------------------------------
    def launch(self, token: str, step: bytes, resources: Mapping[str, float]) -> None:
        assert self._client is not None
        future = self._futures[token] = self._client.submit(
            run_step,
            step,
            self._namespace,
            key=f"{handler_name(self._namespace)}-{token}",
            pure=False,
            retries=0,
            resources=dict(resources) or None,
        )
        future.add_done_callback(lambda done: self._ended(token, done))

    def recall(self, token: str) -> None:
        future = self._futures.pop(token, None)
        if future is not None and self._client is not None:
            cancelling = asyncio.ensure_future(self._client.cancel([future], reason="it is not needed any more"))
            self._cancelling.add(cancelling)
            cancelling.add_done_callback(self._cancelling.discard)

    def slots(self) -> int:
        own = f"{handler_name(self._namespace)}-"
        return sum(
            max(0, worker.nthreads - sum(not str(task.key).startswith(own) for task in worker.processing))
            for worker in self._scheduler.workers.values()
        )

    def figures(self) -> dict[str, Any]:
        nodes: list[dict[str, float]] = []
        total: dict[str, float] = {}
        free: dict[str, float] = {}
        for worker in self._scheduler.workers.values():
            node: dict[str, float] = dict(worker.resources)
            nodes.append(node)
            for name, amount in node.items():
                total[name] = total.get(name, 0.0) + amount
                free[name] = free.get(name, 0.0) + amount - worker.used_resources.get(name, 0.0)
        return {"total": total, "free": free, "nodes": nodes, "slots": self.slots()}

    def _ended(self, token: str, future: Future[Any]) -> None:
        """Called from a thread of the client when the task has ended in any way."""
        self._scheduler.loop.add_callback(self._end, token, future)

    def _end(self, token: str, future: Future[Any]) -> None:
        if self._futures.pop(token, None) is None:
            return
        reason = "" if future.status == "finished" else f"its task at Dask is {future.status}"
        # Without an error it was answered, or was not to begin: then this says nothing new.
        self.supervisor.lost(token, reason or "its node ended it without a result")


def client_security(security: Any) -> Any:
    """Returns the security of a client inside of the scheduler: a scheduler that has its files from the command line
    has none for the role of a client."""
    if security is None or security.tls_client_cert or not security.tls_scheduler_cert:
        return security
    return Security(
        require_encryption=security.require_encryption,
        tls_ca_file=security.tls_ca_file,
        tls_ciphers=security.tls_ciphers,
        tls_min_version=security.tls_min_version,
        tls_max_version=security.tls_max_version,
        tls_client_cert=security.tls_scheduler_cert,
        tls_client_key=security.tls_scheduler_key,
    )


class SupervisorPlugin(SchedulerPlugin):
    """Starts the supervisor of a namespace, once per scheduler."""

    idempotent = True

    def __init__(self, namespace: str, ahead: int | None = None) -> None:
        self.namespace = namespace
        self.ahead = ahead
        self.name = handler_name(namespace)
        self._host: DaskHost | None = None

    async def before_close(self) -> None:
        """Called when the scheduler is about to close: the client inside of it would go on to look for it."""
        if self._host is not None:
            await self._host.close()

    async def start(self, scheduler: Scheduler) -> None:
        if self.name in scheduler.handlers:
            return
        host = self._host = DaskHost(scheduler, self.namespace, self.ahead)
        # Before anything is awaited: two clients may install it at once.
        scheduler.handlers[self.name] = host.handle
        scheduler.extensions[self.name] = host
        try:
            await host.start()
        except BaseException:
            del scheduler.handlers[self.name], scheduler.extensions[self.name]
            raise
        log.info("the supervisor of namespace %s has started", self.namespace)

    def remove_worker(self, scheduler: Scheduler, worker: str, *, stimulus_id: str, **kwargs: Any) -> None:
        host = scheduler.extensions.get(self.name)
        if isinstance(host, DaskHost):
            host.supervisor.node_gone(worker, f"its Dask worker {worker} is gone")


async def dask_setup(scheduler: Scheduler) -> None:
    """Called by ``dask scheduler --preload turnout.executors.dask.plugin``: starts the default namespace."""
    # It is a client of the scheduler, which serves none before all of this has returned.
    starting = asyncio.ensure_future(scheduler.register_scheduler_plugin(SupervisorPlugin("default"), idempotent=True))
    _preloads.add(starting)
    starting.add_done_callback(_preloaded)


_preloads: set[asyncio.Future[None]] = set()


def _preloaded(starting: asyncio.Future[None]) -> None:
    _preloads.discard(starting)
    if not starting.cancelled() and (error := starting.exception()) is not None:
        log.error("the supervisor of namespace default could not start", exc_info=error)


# -- on workers ------------------------------------------------------------------------------------------------------
class WorkerLink:
    """The supervisor, as a worker reaches it: by its connection to the scheduler."""

    def __init__(self, worker: Worker, namespace: str) -> None:
        self._worker = worker
        self._name = handler_name(namespace)

    async def begin(self, token: str) -> float | None:
        return await self._call("begin", token, self._worker.address)

    async def watch(self, token: str, wait: float) -> bool:
        return await self._call("watch", token, wait)

    async def output(self, token: str, first: int, entries: Sequence[tuple[str, str]]) -> None:
        await self._call("output", token, first, entries)

    async def finish(self, token: str, result: bytes) -> None:
        await self._call("finish", token, result)

    async def _call(self, method: str, *arguments: Any) -> Any:
        loop = self._worker.loop.asyncio_loop  # pyright: ignore[reportAttributeAccessIssue]
        call = getattr(self._worker.scheduler, self._name)(method=method, arguments=arguments)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, loop))


_runners: list[NodeRunner] = []
"""The runner of this process, once it has run an attempt."""
_starting = threading.Lock()


def run_step(step: bytes, namespace: str) -> None:
    """The task at Dask: runs one attempt in a child process of its worker."""
    with _starting:
        if not _runners:
            _runners.append(NodeRunner(grace=GRACE))
    _runners[0].run(step, WorkerLink(get_worker(), namespace))
