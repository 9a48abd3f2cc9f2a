"""Sends attempts to the supervisor of a cluster and brings their results back: a hub whose only worker it is."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import msgspec

from turnout.contracts.executor import Work
from turnout.executors.cluster.job_step import step_of_job
from turnout.executors.cluster.reach import why_not_listening
from turnout.executors.cluster.router import LINGER, Backend, ClusterRouter, described
from turnout.executors.workers.executor import WorkersExecutor
from turnout.executors.workers.settings import HubSettings
from turnout.model.durations import Duration, seconds
from turnout.model.reasons import CLUSTER_UNAVAILABLE, NO_NODE_FITS
from turnout.model.resources import Resources, lacking
from turnout.model.spec import TaskSpec
from turnout.model.values import MAX_BYTES
from turnout.runtime.importable import MAIN, unlocatable
from turnout.wire.documents import Step

log = logging.getLogger("turnout.cluster")

ASKS = "\0"
"""What separates the resources of a task from the rest of its selector."""

CHECK_TIMEOUT = 11.0
"""Seconds that the cluster's client may take in a check of the connection."""
MESSAGE_SLACK = 4
"""Bytes of a message, at most, per byte of one output."""


class ClusterExecutor(WorkersExecutor):
    """Runs Python bodies on the nodes of a cluster. Its attempts outlive this process: the supervisor in the cluster
    has them, and every orchestrator that reaches it."""

    kinds: frozenset[str] = frozenset({"python"})
    isolates: bool = True

    def __init__(
        self,
        backend: Backend,
        *,
        name: str,
        heartbeat: Duration,
        lease: Duration,
        scales: bool = False,
        max_output_bytes: int = MAX_BYTES,
    ) -> None:
        self._backend = backend
        self._scales = scales
        self._max_output_bytes = max_output_bytes
        self.figures: dict[str, Any] = {}
        """The resources of the cluster, as its supervisor reported them last."""
        settings = HubSettings(
            heartbeat=seconds(heartbeat, f"heartbeat of executor {name!r}"),
            lease=seconds(lease, f"lease of executor {name!r}"),
            max_message_bytes=max(HubSettings().max_message_bytes, MESSAGE_SLACK * max_output_bytes),
        )
        router = partial(ClusterRouter, backend, lambda: self.hub_id, self._holder_changed, self._keep_figures)
        super().__init__(settings, name=name, max_output_bytes=max_output_bytes, router=router)

    def refuses(self, task: TaskSpec) -> str | None:
        """Returns why this task can never run there, judged by its name; None if it may."""
        module, _, qualname = task.body.ref.partition(":")
        if module == MAIN:
            return (
                f"{qualname} is defined in the program's main module, which no other machine has: move it to a module"
            )
        return unlocatable(module, qualname)

    def fits(self, resources: Resources) -> str | None:
        """Returns why no node can give these resources, naming what the nearest has; None if one can, if the cluster
        adds nodes by itself, and while it was not reached yet."""
        nodes: list[dict[str, float]] = self.figures.get("nodes", [])
        if self._scales or not nodes:
            return None
        asked = resources.amounts()
        there = [self._backend.amounts(node) for node in nodes]

        def shortfall(node: dict[str, float]) -> float:
            return sum(max(0.0, 1.0 - node.get(name, 0.0) / amount) for name, amount in asked.items() if amount)

        nearest = min(there, key=shortfall)
        return lacking(resources, nearest, "the nearest node")

    def selector(
        self,
        task: TaskSpec,
        labels: Mapping[str, str] | None,
        exclusive: bool = False,
        others: Sequence[TaskSpec] = (),
        resources: Resources | None = None,
    ) -> str:
        # Every attempt has a process of its own there, so none needs the whole cluster for itself.
        base = super().selector(task, labels, exclusive=False, others=others)
        # Where nodes may come, the cluster must see what waits.
        return base if resources is None or self._scales else f"{base}{ASKS}{msgspec.json.encode(resources).decode()}"

    def has_capacity(self) -> bool:
        return self.listening and super().has_capacity()

    def assign(self, selector: str) -> str | None:
        # While the connection is lost the hub still has its worker: a step could not be sent, and would be returned.
        base, resources = _parts(selector)
        return super().assign(base) if self.listening and self._misfit(resources) is None else None

    def wait_reason(self, selector: str) -> str:
        base, resources = _parts(selector)
        if not self.listening:
            return CLUSTER_UNAVAILABLE
        misfit = self._misfit(resources)
        return super().wait_reason(base) if misfit is None else f"{NO_NODE_FITS}: {misfit}"

    def _misfit(self, resources: Resources | None) -> str | None:
        return None if resources is None else self.fits(resources)

    async def check(self) -> str | None:
        """Returns why the cluster cannot be reached; None if it can. Asked of an executor that has not started."""
        if (why := await asyncio.to_thread(why_not_listening, self._backend.address)) is not None:
            return f"{self._backend.address}: {why}"
        try:
            async with asyncio.timeout(CHECK_TIMEOUT):
                await self._backend.reach()
        except TimeoutError:
            return f"{self._backend.address}: no answer within {CHECK_TIMEOUT:g} s"
        except Exception as error:
            return f"{self._backend.address}: {described(error)}"
        finally:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(LINGER):
                    await self._backend.close()
        return None

    async def stop(self, timeout: float) -> None:
        """Leaves the cluster, which keeps what it has: the results go to the owners of their runs."""
        await super().stop(timeout)
        if isinstance(self.router, ClusterRouter):
            await self.router.closed()

    def _step_of(self, work: Work, token: str) -> Step:
        return step_of_job(work, token, self._resources_of(work), self._max_output_bytes)

    def _resources_of(self, work: Work) -> dict[str, float]:
        """Returns what the attempt asks of its node, by the cluster's own names."""
        asked = {} if work.resources is None else work.resources.amounts()
        return self._backend.named(asked)

    def _keep_figures(self, figures: dict[str, Any] | None) -> None:
        if figures:
            before, self.figures = self.figures, figures
            if before.get("nodes") != figures.get("nodes"):
                self.room()  # a task may have waited for such a node

    def _holder_changed(self, before: str, after: str) -> None:
        log.warning("the supervisor of executor %s was restarted: what it had is lost", self.name)
        self.holders_died([before])
        self.background.spawn(self.membership.end_session(before))


@lru_cache(maxsize=1024)
def _parts(selector: str) -> tuple[str, Resources | None]:
    """Returns the selector of the hub, and the resources that the task asks for."""
    base, _, asked = selector.partition(ASKS)
    return base, msgspec.json.decode(asked, type=Resources) if asked else None
