"""Event triggers: lists them, reads one, pauses, resumes and polls it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Controller, get, post
from litestar.params import PathParameter

from turnout.model.triggers import TriggerRow
from turnout.runner.triggers import TriggerVerb, change_trigger, find_trigger
from turnout.server.api.changes import change
from turnout.server.context import ServerContext
from turnout.server.dependencies import ByCaller, Context
from turnout.server.exchange import Caller
from turnout.server.guards import requires
from turnout.server.responses import answers

TriggerName = Annotated[str, PathParameter(max_length=600, description="The full name of a trigger, or its last part.")]
NAMED = ("trigger_not_found", "ambiguous_trigger")
EXAMPLE = TriggerRow(
    name="public::embedded::fulfil::new_orders",
    workflow="public::embedded::fulfil",
    every=30.0,
    next_poll=1_794_938_461.0,
    polling=False,
    paused_by=None,
    state={"after": 7},
    polled_at=1_794_938_431.0,
    polls=12,
    runs=7,
    failures=0,
    error=None,
)


def _changes(verb: TriggerVerb, summary: str, description: str, *codes: str) -> post:
    """Returns the decorator of the route by which operators do this to a trigger."""
    return change(
        f"/{{trigger:str}}/{verb}",
        TriggerRow,
        *NAMED,
        *codes,
        operation_id=f"{verb}_trigger",
        summary=summary,
        example=EXAMPLE,
        description=description,
    )


class Triggers(msgspec.Struct, frozen=True):
    triggers: list[TriggerRow]


class TriggersController(Controller):
    """Event triggers."""

    path = "/api/v1/triggers"
    tags = ("triggers",)
    guards = (requires("viewer"),)

    @get(
        operation_id="list_triggers",
        summary="List event triggers",
        responses=answers(Triggers, example=Triggers([EXAMPLE]), description="The triggers, by name."),
    )
    async def list_triggers(self, context: Context) -> Triggers:
        """All event triggers that a server on this database has polled, with why the last poll failed."""
        return Triggers(await context.in_thread(context.store.triggers))

    @get(
        "/{trigger:str}",
        operation_id="get_trigger",
        summary="Get an event trigger",
        responses=answers(TriggerRow, *NAMED, example=EXAMPLE, description="The trigger."),
    )
    async def get_trigger(self, context: Context, trigger: TriggerName) -> TriggerRow:
        """One event trigger, with what it keeps from poll to poll."""
        return await context.in_thread(find_trigger, context.store, trigger)

    @_changes("pause", "Pause an event trigger", "The trigger, paused.")
    async def pause(self, context: Context, trigger: TriggerName, caller: ByCaller) -> TriggerRow:
        """Pauses a trigger: it is not polled until it is resumed. A poll that is under way ends."""
        return await _change(context, trigger, "pause", caller)

    @_changes("resume", "Resume an event trigger", "The trigger, not paused.")
    async def resume(self, context: Context, trigger: TriggerName, caller: ByCaller) -> TriggerRow:
        """Resumes a trigger; it is polled at once if it is due."""
        return await _change(context, trigger, "resume", caller)

    @_changes("poll", "Poll an event trigger now", "The trigger, which is due now.", "trigger_paused")
    async def poll(self, context: Context, trigger: TriggerName, caller: ByCaller) -> TriggerRow:
        """Makes a trigger due now: a server that has its code polls it within two seconds."""
        return await _change(context, trigger, "poll", caller)


async def _change(context: ServerContext, trigger: str, verb: TriggerVerb, caller: Caller) -> TriggerRow:
    return await context.in_thread(change_trigger, context.store, trigger, verb, actor=caller.name)
