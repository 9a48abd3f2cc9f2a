"""Where the tasks of all workflows go and why, and how shadow attempts compare with real ones."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Controller, get
from litestar.params import Parameter, QueryParameter

from turnout.dispatcher.placement import decide
from turnout.dispatcher.routing import Router
from turnout.errors import DispatchError
from turnout.orchestration.stages.results import ShadowAnswer, ShadowComparison
from turnout.server.api.parameters import Cursor, Limit
from turnout.server.api.routing import dispatcher_of
from turnout.server.api.types.routing import RoutedTask, RoutedTasks, ShadowReport, routed_task
from turnout.server.context import ServerContext
from turnout.server.cursors import cursor_of, last_entry
from turnout.server.dependencies import Context
from turnout.server.guards import requires
from turnout.server.responses import RUN_ID, answers

MAX_LOOKED_AT = 10_000
"""Tasks that one request decides about, at most a workflow more."""


class DispatchController(Controller):
    """The ways of tasks."""

    path = "/api/v1/routing"
    tags = ("routing",)
    guards = (requires("viewer"),)

    @get(
        "/tasks",
        operation_id="list_routed_tasks",
        summary="List where the tasks of all workflows go",
        responses=answers(
            RoutedTasks,
            "no_dispatcher",
            "invalid_cursor",
            "foreign_cursor",
            example=RoutedTasks(
                tasks=[
                    RoutedTask(
                        workflow="public::ml::train",
                        task="public::ml::train::fit",
                        name="fit",
                        executor="workers",
                        labels={"gpu": "true"},
                        reason='rule 1 "**::ml::*" → workers',
                        rule=1,
                    )
                ]
            ),
            description="A page of tasks.",
        ),
    )
    async def list_routed_tasks(
        self,
        context: Context,
        executor: Annotated[str | None, Parameter(max_length=400, description="Only tasks that go there.")] = None,
        part: Annotated[
            str | None, QueryParameter(name="q", max_length=400, description="Part of the full name of the task.")
        ] = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> RoutedTasks:
        """Every task of the workflows that this server has, with the executor that a new run would send it to and the
        reason, by the function that decides it. Rules for a share of runs are not applied. A page ends at a workflow
        and may have a few tasks more than the limit, or fewer, if many tasks go elsewhere."""
        wanted = _Wanted(executor, (part or "").casefold())
        after = last_entry(cursor, "routed_tasks", wanted)
        return await context.in_thread(_page, context, wanted, limit, after)

    @get(
        "/shadows",
        operation_id="get_shadows",
        summary="Compare shadow attempts",
        responses=answers(
            ShadowReport,
            example=ShadowReport(
                same=96,
                different=1,
                unanswered=0,
                without_room=0,
                forgotten=0,
                differences=[
                    ShadowComparison(
                        at=1_760_000_000.0,
                        run_id=RUN_ID,
                        task_id=f"{RUN_ID}/0",
                        task="public::ml::train::fit",
                        executor="workers",
                        attempt=1,
                        real=ShadowAnswer("completed", "42"),
                        shadow=ShadowAnswer("completed", "43"),
                    )
                ],
            ),
            description="Counts, and the latest differences.",
        ),
    )
    async def get_shadows(self, context: Context) -> ShadowReport:
        """Counts of shadow attempts that answered as the real ones did, and the latest hundred that did not, as the
        answering server has seen them since it started."""
        shadows = context.core.engine.shadows
        return ShadowReport(
            **msgspec.structs.asdict(shadows.metrics), differences=list(reversed(tuple(shadows.differences)))
        )


class _Wanted(msgspec.Struct, frozen=True):
    """The conditions of a list."""

    executor: str | None
    part: str

    def covers(self, routed: RoutedTask) -> bool:
        return self.executor in (None, routed.executor) and self.part in routed.task.casefold()


def _page(context: ServerContext, wanted: _Wanted, limit: int, after: str | None) -> RoutedTasks:
    dispatcher = dispatcher_of(context)
    settings, router = dispatcher.settings, Router(dispatcher.routing)
    found: list[RoutedTask] = []
    looked_at = 0
    names = sorted(name for name in context.core.registry.workflows if after is None or name > after)
    for name in names:
        definition = context.core.registry.workflows.get(name)
        if definition is None:  # it was removed meanwhile
            continue
        for task in definition.spec.tasks:
            looked_at += 1
            try:
                made = decide(task, definition.spec, settings, router)
            except DispatchError as error:
                routed = routed_task(definition.spec, task, None, error.message)
            else:
                routed = routed_task(definition.spec, task, made, made.reason)
            if wanted.covers(routed):
                found.append(routed)
        if (len(found) >= limit or looked_at >= MAX_LOOKED_AT) and name != names[-1]:
            return RoutedTasks(tasks=found, next=cursor_of("routed_tasks", wanted, name))
    return RoutedTasks(tasks=found)
