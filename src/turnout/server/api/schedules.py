"""Schedules: lists them with their next due times and past decisions, pauses, resumes and fires them, and backfills."""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Any, Literal

from litestar import Controller, get, post
from litestar.params import JSONBody, Parameter, QueryParameter

from turnout.model.schedule_rows import DecisionRow
from turnout.runner import schedule_commands, schedule_views
from turnout.runner.schedule_commands import Backfilled, BackfilledTime, Fired
from turnout.runner.schedule_views import NextFire, ScheduleView
from turnout.server.api.changes import change
from turnout.server.api.parameters import MAX_TIME, Cursor, Limit, number_of
from turnout.server.api.types.schedules import BackfillRequest, DecisionPage, FireRequest, NextFires, SchedulePage
from turnout.server.cursors import cursor_of, last_entry
from turnout.server.dependencies import ByCaller, Context
from turnout.server.fired_schedules import check_fire
from turnout.server.guards import requires
from turnout.server.responses import RUN_ID, answers

ScheduleId = Annotated[int, Parameter(ge=1, le=2**53, description="The id of a schedule.")]
WorkflowName = Annotated[
    str | None, Parameter(max_length=400, description="A workflow's full name, or the last part of it.")
]
ScheduleName = Annotated[str | None, Parameter(max_length=200, description="The name of a schedule of a workflow.")]
Outcome = Annotated[Literal["fired", "skipped"] | None, Parameter(description="Only decisions with this outcome.")]
First = Annotated[
    float | None,
    QueryParameter(name="from", ge=0, le=MAX_TIME, description="Only due times after it."),
]
Last = Annotated[
    float | None, QueryParameter(name="until", ge=0, le=MAX_TIME, description="Only due times until then.")
]
EachAtMost = Annotated[
    int | None, QueryParameter(name="each", ge=1, le=1_000, description="Due times of one schedule at most.")
]

EXAMPLE = ScheduleView(
    id=7,
    workflow="public::embedded::report",
    name="start-1",
    action="start",
    expression="0 3 * * *",
    timezone="Europe/Rome",
    params={"day": "${due_date}"},
    catch_up="latest",
    max_catch_up=100,
    overlap="skip",
    jitter=0.0,
    skip_if_successful=False,
    paused=False,
    next_at=1_794_967_200.0,
    decided_until=1_794_880_800.0,
    changed_at=1_794_794_400.0,
    changed_by="definition",
)
FIRE = NextFire(
    schedule_id=7,
    workflow="public::embedded::report",
    name="start-1",
    action="start",
    due_at=1_794_967_200.0,
    acts_at=1_794_967_200.0,
    local="2026-11-18T03:00:00+01:00",
)
DECISION = DecisionRow(
    id=412,
    schedule_id=7,
    kind="due",
    due_at=1_794_880_800.0,
    last_due_at=1_794_880_800.0,
    due_times=1,
    outcome="fired",
    reason="on_time",
    run_id=RUN_ID,
    state="closed",
    decided_at=1_794_880_800.004,
    actor=None,
)
BACKFILL = Backfilled(
    schedule_id=7,
    dry_run=False,
    runs=1,
    due_times=[
        BackfilledTime(due_at=1_794_794_400.0, local="2026-11-16T03:00:00+01:00", run_id=RUN_ID, fired_before=False)
    ],
)


def _changes(verb: str, content: Any, *codes: str, **described: Any) -> post:
    """Returns the decorator of the route by which operators do this to a schedule."""
    path, id = f"/{{schedule_id:int}}/{verb}", f"{verb}_schedule"
    return change(path, content, "schedule_not_found", *codes, operation_id=id, **described)


class SchedulesController(Controller):
    """Schedules."""

    path = "/api/v1/schedules"
    tags = ("schedules",)
    guards = (requires("viewer"),)

    @get(
        operation_id="list_schedules",
        summary="List schedules",
        responses=answers(
            SchedulePage,
            "invalid_cursor",
            "foreign_cursor",
            example=SchedulePage([EXAMPLE], None),
            description="Schedules by id.",
        ),
    )
    async def list_schedules(
        self,
        context: Context,
        workflow: WorkflowName = None,
        name: ScheduleName = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> SchedulePage:
        """The schedules that workflows declare, each with the time at which it acts next."""
        wanted = [workflow, name]
        after = number_of(last_entry(cursor, "schedules", wanted))
        found = await context.in_thread(
            context.store.schedules_page, after=after, limit=limit, workflow=workflow, name=name
        )
        more = cursor_of("schedules", wanted, str(found[-1].id)) if len(found) == limit else None
        return SchedulePage([schedule_views.view(each) for each in found], more)

    @get(
        "/next",
        operation_id="list_next_fires",
        summary="List the next due times of all schedules",
        responses=answers(NextFires, example=NextFires([FIRE]), description="Due times, the earliest first."),
    )
    async def next_of_all(
        self, context: Context, limit: Limit = 20, first: First = None, last: Last = None, each: EachAtMost = None
    ) -> NextFires:
        """The due times of all schedules that come next, or that lie between two times, as a calendar shows them. With
        a first time in the future, only the thousand schedules that are due first are looked at."""
        found = await context.in_thread(
            schedule_views.next_fires,
            context.store,
            None,
            limit,
            first=first or 0.0,
            last=_or_never(last),
            each_at_most=each,
        )
        return NextFires(found)

    @get(
        "/decisions",
        operation_id="list_decisions",
        summary="List decisions of all schedules",
        responses=answers(
            DecisionPage,
            "invalid_cursor",
            "foreign_cursor",
            example=DecisionPage([DECISION], None),
            description="Decisions, the newest first.",
        ),
    )
    async def all_decisions(
        self, context: Context, outcome: Outcome = None, limit: Limit = 100, cursor: Cursor = None
    ) -> DecisionPage:
        """The decisions about due times of all schedules, each with its reason, and what operators have asked for."""
        before = number_of(last_entry(cursor, "decisions", outcome)) or None
        found = await context.in_thread(
            context.store.schedule_decisions, None, before=before, limit=limit, outcome=outcome
        )
        more = cursor_of("decisions", outcome, str(found[-1].id)) if len(found) == limit else None
        return DecisionPage(found, more)

    @get(
        "/{schedule_id:int}",
        operation_id="get_schedule",
        summary="Get a schedule",
        responses=answers(ScheduleView, "schedule_not_found", example=EXAMPLE, description="The schedule."),
    )
    async def get_schedule(self, context: Context, schedule_id: ScheduleId) -> ScheduleView:
        """One schedule with its options."""
        return schedule_views.view(await context.in_thread(schedule_views.find, context.store, str(schedule_id)))

    @get(
        "/{schedule_id:int}/next",
        operation_id="list_next_fires_of_schedule",
        summary="List the next due times of a schedule",
        responses=answers(
            NextFires, "schedule_not_found", example=NextFires([FIRE]), description="Due times, the earliest first."
        ),
    )
    async def next_of_one(
        self, context: Context, schedule_id: ScheduleId, limit: Limit = 20, first: First = None, last: Last = None
    ) -> NextFires:
        """The due times of a schedule that come next, or that lie between two times; none while it is paused."""
        found = await context.in_thread(
            schedule_views.next_fires, context.store, str(schedule_id), limit, first=first or 0.0, last=_or_never(last)
        )
        return NextFires(found)

    @get(
        "/{schedule_id:int}/decisions",
        operation_id="list_schedule_decisions",
        summary="List decisions about due times",
        responses=answers(
            DecisionPage,
            "schedule_not_found",
            "invalid_cursor",
            "foreign_cursor",
            example=DecisionPage([DECISION], None),
            description="Decisions, the newest first.",
        ),
    )
    async def decisions(
        self,
        context: Context,
        schedule_id: ScheduleId,
        outcome: Outcome = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> DecisionPage:
        """The decisions about due times that have come, each with its reason, and what operators have asked for."""
        wanted = [schedule_id, outcome]
        before = number_of(last_entry(cursor, "schedule_decisions", wanted)) or None

        def read() -> list[DecisionRow]:
            found = schedule_views.find(context.store, str(schedule_id))
            return context.store.schedule_decisions(found.id, before=before, limit=limit, outcome=outcome)

        found = await context.in_thread(read)
        more = cursor_of("schedule_decisions", wanted, str(found[-1].id)) if len(found) == limit else None
        return DecisionPage(found, more)

    @_changes("pause", ScheduleView, summary="Pause a schedule", example=EXAMPLE, description="The schedule, paused.")
    async def pause(self, context: Context, caller: ByCaller, schedule_id: ScheduleId) -> ScheduleView:
        """Pauses a schedule: its due times start nothing. Runs that it has started go on."""
        return await context.in_thread(schedule_commands.pause, context.store, str(schedule_id), caller.actor)

    @_changes(
        "resume", ScheduleView, summary="Resume a schedule", example=EXAMPLE, description="The schedule, resumed."
    )
    async def resume(self, context: Context, caller: ByCaller, schedule_id: ScheduleId) -> ScheduleView:
        """Resumes a schedule. The due times of the pause are skipped, with that reason."""
        return await context.in_thread(schedule_commands.resume, context.store, str(schedule_id), caller.actor)

    @_changes(
        "fire",
        Fired,
        "schedule_starts_no_runs",
        "unknown_queue",
        "unknown_limit",
        summary="Start a run of a schedule now",
        status=202,
        takes_body=True,
        example=Fired(schedule_id=7, run_id=RUN_ID),
        description="The run, which a server with the workflow starts.",
    )
    async def fire(
        self,
        context: Context,
        caller: ByCaller,
        schedule_id: ScheduleId,
        data: JSONBody[FireRequest | None] = None,
    ) -> Fired:
        """Starts a run with the parameters of the schedule, also while it is paused or an earlier run is open. The body
        may give other parameters for this run."""
        return await context.in_thread(
            schedule_commands.fire,
            context.store,
            str(schedule_id),
            caller.actor,
            params=(data or FireRequest()).params,
            check=partial(check_fire, context.core),
        )

    @_changes(
        "backfill",
        Backfilled,
        "schedule_starts_no_runs",
        "backfill_too_large",
        "bad_backfill_range",
        summary="Start runs for past due times",
        status=202,
        takes_body=True,
        example=BACKFILL,
        description="The due times with their runs; with `dry_run` those that would fire.",
    )
    async def backfill(
        self, context: Context, caller: ByCaller, schedule_id: ScheduleId, data: JSONBody[BackfillRequest]
    ) -> Backfilled:
        """Starts a run for each due time of the given time that has not fired. Unless the schedule allows overlap, they
        run one after the other."""
        return await context.in_thread(
            schedule_commands.backfill,
            context.store,
            str(schedule_id),
            data.first,
            data.last,
            actor=caller.actor,
            dry_run=data.dry_run,
        )


def _or_never(last: float | None) -> float:
    return math.inf if last is None else last
