"""Health, readiness and metrics of the server."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from litestar import Controller, MediaType, Response, get

from turnout.errors import StoreError, TurnoutError
from turnout.server.context import ServerContext
from turnout.server.dependencies import Context
from turnout.server.guards import open_to_all, requires


class Alive(msgspec.Struct, frozen=True):
    """The server answers."""

    status: Literal["ok"] = "ok"


class Readiness(msgspec.Struct, frozen=True):
    """The parts that the server needs to take requests, and their state."""

    ready: bool
    store: bool
    """The database answers."""
    orchestrator: bool
    """The session of this orchestrator is alive."""
    stopping: bool


class HealthController(Controller):
    """Health, readiness and metrics."""

    tags = ("health",)

    @get("/healthz", guards=[open_to_all], operation_id="healthz", sync_to_thread=False)
    def healthz(self) -> Alive:
        """Answers as long as the process serves requests."""
        return Alive()

    @get("/readyz", guards=[open_to_all], operation_id="readyz")
    async def readyz(self, context: Context) -> Response[Readiness]:
        """Answers 200 if the database answers, the orchestrator's session is alive and the server is not stopping;
        else 503."""
        found = await readiness(context)
        return Response(found, status_code=200 if found.ready else 503)

    @get(
        "/metrics",
        guards=[requires("viewer", loopback=True)],
        media_type=MediaType.TEXT,
        operation_id="metrics",
    )
    async def metrics(self, context: Context) -> str:
        """The metrics of all orchestrators, in the text format of Prometheus."""
        return await context.in_thread(context.core.admin.metrics)

    @get("/health/orchestration", guards=[requires("viewer")], operation_id="health_orchestration")
    async def orchestration(self, context: Context) -> dict[str, Any]:
        """The health of the stage pools of all orchestrators. In the names of pools, "task" means run and "step"
        task."""
        return await context.in_thread(context.core.admin.health)


async def readiness(context: ServerContext) -> Readiness:
    """Returns whether the server can take requests."""
    session = context.core.engine.session
    try:
        alive = await context.in_thread(context.store.holders_alive, [session.id])
        store = True
    except (StoreError, TurnoutError):
        alive, store = frozenset[str](), False
    orchestrator = session.id in alive or not context.core.config.drives
    ready = store and orchestrator and not context.stopping
    return Readiness(ready=ready, store=store, orchestrator=orchestrator, stopping=context.stopping)
