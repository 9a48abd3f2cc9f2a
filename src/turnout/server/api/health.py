"""Health, readiness and metrics of the server."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from litestar import Controller, MediaType, Request, Response, get

from turnout.errors import RequestError, StoreError
from turnout.model.run_figures import no_exemplars
from turnout.server.context import ServerContext
from turnout.server.dependencies import Context
from turnout.server.guards import open_to_all, requires
from turnout.server.responses import ALWAYS, problems

OPEN_METRICS = "application/openmetrics-text"


class Alive(msgspec.Struct, frozen=True):
    """The server answers."""

    status: Literal["ok"] = "ok"


class Ready(msgspec.Struct, frozen=True):
    """The server can take requests."""

    status: Literal["ready"] = "ready"


class HealthController(Controller):
    """Health, readiness and metrics."""

    tags = ("health",)

    @get(
        "/healthz",
        guards=[open_to_all],
        operation_id="healthz",
        summary="Check that the server answers",
        security=[{}],
        sync_to_thread=False,
    )
    def healthz(self) -> Alive:
        """Answers as long as the process serves requests."""
        return Alive()

    @get(
        "/readyz",
        guards=[open_to_all],
        operation_id="readyz",
        summary="Check that the server is ready",
        security=[{}],
        responses=problems("not_ready", "store_unreachable"),
    )
    async def readyz(self, context: Context) -> Ready:
        """Answers 200 if the database answers, the orchestrator's session is alive and the server is not stopping;
        else 503."""
        context.shutdown.note_probe()
        state = await readiness(context)
        if not all(state.values()):
            missing = ", ".join(name for name, holds in state.items() if not holds)
            raise RequestError(f"the server is not ready: not {missing}", code="not_ready", **state)
        return Ready()

    @get(
        "/metrics",
        guards=[requires("viewer", loopback=True)],
        media_type=MediaType.TEXT,
        operation_id="metrics",
        summary="Get metrics",
        responses=problems(*ALWAYS),
    )
    async def metrics(self, context: Context, request: Request[Any, Any, Any]) -> Response[str]:
        """The metrics of all orchestrators, and of the runs that ended since the server started, in the text format of
        Prometheus; in that of OpenMetrics if the request accepts it. Then histograms have exemplars with the ids of
        traces, if telemetry is enabled."""
        if OPEN_METRICS not in request.headers.get("accept", ""):
            orchestrators = await context.in_thread(context.core.admin.metrics)
            return Response(orchestrators + await context.in_thread(context.run_metrics.text))
        telemetry = context.core.telemetry
        exemplars_of = no_exemplars if telemetry is None else telemetry.exemplars.of

        def text() -> str:
            orchestrators = context.core.admin.metrics(in_open_metrics=True)
            return f"{orchestrators}{context.run_metrics.text(exemplars_of)}# EOF\n"

        return Response(await context.in_thread(text), media_type=f"{OPEN_METRICS}; version=1.0.0; charset=utf-8")

    @get(
        "/health/orchestration",
        guards=[requires("viewer")],
        operation_id="health_orchestration",
        summary="Get the health of the orchestrators",
        responses=problems(*ALWAYS),
    )
    async def orchestration(self, context: Context) -> dict[str, Any]:
        """The health of the stage pools of all orchestrators. In the names of pools, "task" means run and "step"
        task."""
        return await context.in_thread(context.core.admin.health)


async def readiness(context: ServerContext) -> dict[str, bool]:
    """Returns what the server needs to take requests, each with whether it holds."""
    session = context.core.engine.session
    try:
        alive, answers = await context.in_thread(context.store.holders_alive, [session.id]), True
    except StoreError:
        alive, answers = frozenset[str](), False
    return {
        "store_answers": answers,
        "orchestrator_alive": session.id in alive or not context.core.config.drives,
        "serving": not context.stopping,
    }
