"""Puts a supervisor into a Ray cluster, as a detached actor, and runs attempts as tasks that the actor owns."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import ray

from turnout.executors.cluster.node import NodeRunner
from turnout.executors.cluster.supervisor import Supervisor

log = logging.getLogger("turnout.cluster")

GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL for a body that is cancelled or out of time."""
FIGURES_INTERVAL = 1.0
"""Seconds between two looks at the resources of the cluster."""
LOOKS = 5
"""Looks of which the one counts at which others used least: Ray reports an attempt that has ended for some time."""
NO_RETRIES: Mapping[str, Any] = {"max_retries": 0, "retry_exceptions": False}
"""Ray never runs an attempt twice: whether it is retried, its run decides."""


def actor_name(namespace: str) -> str:
    return f"turnout-supervisor-{namespace}"


class SupervisorActor:
    """The actor. It is restarted when its process or its node dies; then it has lost its memory, and the tasks that it
    owned are ended by Ray."""

    def __init__(self, namespace: str, ahead: int | None) -> None:
        logging.basicConfig(level=logging.INFO)
        self._supervisor = Supervisor(self, name=f"ray {namespace}", ahead=ahead)
        self._me = ray.get_runtime_context().current_actor
        self._run_step = ray.remote(run_step)
        self._refs: dict[str, Any] = {}
        self._figures = _figures()
        self._others: deque[float] = deque([0.0], maxlen=LOOKS)
        """CPUs that others used at the last looks."""
        self._waiting: set[asyncio.Task[None]] = set()
        self._started = False

    async def ready(self) -> None:
        """Returns once the actor serves calls."""

    async def exchange(
        self, hub: str, connection: int, frames: Sequence[Sequence[bytes]], wait: float
    ) -> dict[str, Any]:
        if not self._started:
            # Not in the constructor, which has no running loop.
            self._started = True
            self._supervisor.start()
            self._spawn(self._look_forever())
        return await self._supervisor.exchange(hub, connection, frames, wait)

    async def begin(self, token: str, node: str) -> float | None:
        return await self._supervisor.begin(token, node)

    async def watch(self, token: str, wait: float) -> bool:
        return await self._supervisor.watch(token, wait)

    async def output(self, token: str, first: int, entries: Sequence[tuple[str, str]]) -> None:
        self._supervisor.output(token, first, entries)

    async def finish(self, token: str, result: bytes) -> None:
        self._supervisor.finish(token, result)

    # -- what the supervisor asks for -------------------------------------------------------------------------------
    def launch(self, token: str, step: bytes, resources: Mapping[str, float]) -> None:
        options = task_options(resources)
        ref = self._refs[token] = self._run_step.options(name=token, **options, **NO_RETRIES).remote(step, self._me)
        self._spawn(self._wait(token, ref))

    def recall(self, token: str) -> None:
        ref = self._refs.pop(token, None)
        if ref is not None:
            # What has begun asks the supervisor; only a task that waits is cancelled this way.
            ray.cancel(ref, force=False)

    def slots(self) -> int:
        return max(0, int(self._figures["total"].get("CPU", 0) - min(self._others)))

    def figures(self) -> dict[str, Any]:
        return self._figures

    async def _wait(self, token: str, ref: Any) -> None:
        reason = "its node ended it without a result"
        try:
            await ref
        except asyncio.CancelledError:
            raise
        except Exception as error:
            reason = f"its Ray task ended without a result: {type(error).__name__}: {str(error).splitlines()[0]}"
        self._refs.pop(token, None)
        # If it was answered, or was not to begin, this says nothing new.
        self._supervisor.lost(token, reason)

    async def _look_forever(self) -> None:
        while True:
            await asyncio.sleep(FIGURES_INTERVAL)
            try:
                self._figures = await asyncio.to_thread(_figures)
                self._others.append(others_use(self._figures, self._supervisor.in_use("CPU", 1.0)))
            except Exception as error:
                log.warning("the resources of the cluster are not known: %s", error)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)


def others_use(figures: Mapping[str, Any], own: float) -> float:
    """Returns how many CPUs others use at least, if the attempts that were launched have ``own`` of them."""
    total, free = figures["total"].get("CPU", 0.0), figures["free"].get("CPU", 0.0)
    return max(0.0, total - free - own)


def _figures() -> dict[str, Any]:
    nodes = [dict(node["Resources"]) for node in ray.nodes() if node["Alive"]]
    return {"total": ray.cluster_resources(), "free": ray.available_resources(), "nodes": nodes}


def task_options(resources: Mapping[str, float]) -> dict[str, Any]:
    """Returns the options of a Ray task that asks for these resources, which have Ray's names."""
    named = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}
    options: dict[str, Any] = {named[name]: amount for name, amount in resources.items() if name in named}
    options.setdefault("num_cpus", 1)
    custom = {name: amount for name, amount in resources.items() if name not in named}
    return {**options, "resources": custom} if custom else options


# -- on nodes --------------------------------------------------------------------------------------------------------
class ActorLink:
    """The supervisor, as a node reaches it."""

    def __init__(self, actor: Any, node: str) -> None:
        self._actor = actor
        self._node = node

    async def begin(self, token: str) -> float | None:
        return await self._actor.begin.remote(token, self._node)

    async def watch(self, token: str, wait: float) -> bool:
        return await self._actor.watch.remote(token, wait)

    async def output(self, token: str, first: int, entries: Sequence[tuple[str, str]]) -> None:
        await self._actor.output.remote(token, first, entries)

    async def finish(self, token: str, result: bytes) -> None:
        await self._actor.finish.remote(token, result)


_runners: list[NodeRunner] = []
"""The runner of this process, once it has run an attempt."""


def run_step(step: bytes, actor: Any) -> None:
    """The task at Ray: runs one attempt in a child process of its worker process."""
    if not _runners:
        _runners.append(NodeRunner(grace=GRACE))
    _runners[0].run(step, ActorLink(actor, ray.get_runtime_context().get_node_id()))
