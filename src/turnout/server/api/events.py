"""Streams of events: changes of all runs, and everything that happens in one run."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Controller, get
from litestar.params import Parameter, QueryParameter
from litestar.response import Stream

from turnout.server.api.found_runs import find
from turnout.server.api.parameters import After, LastEventId, RunId
from turnout.server.api.types.events import Ready, Reset
from turnout.server.change_source import ChangeSource, is_of_workflow
from turnout.server.context import ServerContext
from turnout.server.dependencies import ByCaller, Context
from turnout.server.event_streams import EVERYTHING, View
from turnout.server.exchange import Caller
from turnout.server.guards import UNBOUNDED, requires
from turnout.server.positions import START, change_position, run_position
from turnout.server.responses import Responses, answers
from turnout.server.run_source import RunSource, batched, is_no_line
from turnout.server.sse import MEDIA_TYPE, frame

STREAM = "stream"
"""``opt={STREAM: True}`` of a route: its answer is a stream of events that may not end."""
STREAM_ERRORS = ("run_not_found", "invalid_position", "foreign_position", "too_many_streams")
STREAM_OPTIONS: dict[str, Any] = {"media_type": MEDIA_TYPE, "opt": {UNBOUNDED: True, STREAM: True}}
"""Options of routes that answer with a stream."""
CHANGES = "changes"
"""The name of the reader of all runs; others have the id of their run."""


def stream_answers(*codes: str, example: str, description: str) -> Responses:
    """Returns the answers of a route that answers with a stream, as the OpenAPI document describes them."""
    return answers(str, *codes, media_type=MEDIA_TYPE, example=example, description=description)


class EventsController(Controller):
    """Streams of events."""

    path = "/api/v1"
    tags = ("events",)
    guards = (requires("viewer"),)

    @get(
        "/events",
        operation_id="stream_events",
        summary="Follow all runs",
        responses=stream_answers(
            "invalid_position",
            "too_many_streams",
            example='id: 1042\nevent: run\ndata: {"id":"…","name":"fulfil","state":"completed"}\n\n',
            description="Events `ready`, `reset`, `run` and `closed`.",
        ),
        **STREAM_OPTIONS,
    )
    async def all_runs(
        self,
        context: Context,
        caller: ByCaller,
        workflow: Annotated[
            str | None, Parameter(max_length=400, description="Only runs of this workflow: full name or last segment.")
        ] = None,
        last_event_id: LastEventId = None,
        after: After = None,
    ) -> Stream:
        """An event `run` for each new run and each change of a run's state, with the run as it is then.

        The first event is `ready`: a list of runs that is read after it and the events behind it miss nothing. With
        ``Last-Event-ID`` or ``after`` the stream continues behind that event. If it cannot, since the position is too
        old or of another database, the first event is `reset`: read the list again. Before the server ends a stream it
        sends `closed` with the reason: `stopping`, `too_slow`, `failed` (connect again) or `revoked`. Deleted runs make
        no event."""
        last = last_event_id or after
        position = None if last is None else change_position(last)
        source = ChangeSource(context.store, position)
        lost = await context.in_thread(source.begin)
        at = str(source.position)
        preface = frame("ready", Ready(at), at) if lost is None else frame("reset", Reset(lost), at)
        view = EVERYTHING if workflow is None else View(keep=lambda event: is_of_workflow(event, workflow))
        events = await context.events.open(caller, CHANGES, source, preface=preface, view=view)
        return Stream(events, media_type=MEDIA_TYPE)

    @get(
        "/runs/{run_id:str}/events",
        operation_id="stream_run_events",
        summary="Follow one run",
        responses=stream_answers(
            *STREAM_ERRORS,
            example='id: …:4.0.17\nevent: task\ndata: {"seq":4,"task":"charge","old":"running","new":"completed"}\n\n',
            description="Events `run`, `task` or `moves`, `log`, `end`, `reset` and `closed`.",
        ),
        **STREAM_OPTIONS,
    )
    async def one_run(
        self,
        *,
        context: Context,
        caller: ByCaller,
        run_id: RunId,
        batch: Annotated[
            bool, Parameter(description="Moves that are read together are one event `moves`, at most 500 of them.")
        ] = False,
        lines: Annotated[
            bool, QueryParameter(name="logs", description="False: without log lines; those before are not read.")
        ] = True,
        last_event_id: LastEventId = None,
        after: After = None,
    ) -> Stream:
        """The moves of the run (`run`) and of its tasks (`task`), and log lines (`log`): from the beginning, or from
        ``Last-Event-ID`` or ``after`` on; the answers about a run have its `position` for that. With ``batch`` an event
        `moves` has a list of moves, in which those of the run have no `task`: it costs a run of many tasks a fraction
        of the events, and a client applies each list at once. The last event is `end`, once the run has ended or was
        deleted. A position that is not known any more is answered with `reset`, and the stream starts from the
        beginning.

        Moves come in the order of their commits, and lines in the order in which they were stored; between the two
        kinds there is no order: ``at`` says when each was. What is stored already comes in rounds of at most 500 moves
        and 500 lines, in each the moves first: of a run that has ended, usually all moves and then all lines."""
        view = EVERYTHING
        if batch or not lines:
            view = View(keep=None if lines else is_no_line, join=batched if batch else None)
        return await follow_run(context, caller, run_id, last_event_id or after, view, lines=lines)


async def follow_run(
    context: ServerContext,
    caller: Caller,
    run_id: str,
    last_event_id: str | None,
    view: View = EVERYTHING,
    *,
    lines: bool = True,
) -> Stream:
    """Returns the stream of one run's events; ``view`` chooses among them. Without ``lines`` those before are not
    read."""
    known = (await context.in_thread(find, context, run_id)).new.run_id
    position = START if last_event_id is None else run_position(last_event_id, known)
    source = RunSource(context.run_facts, known, position)
    preface = b""
    if not await context.in_thread(source.begin):
        preface = frame("reset", Reset("the position is not known any more"), source.position.text(known))
    if not lines:
        await context.in_thread(source.skip_lines)
    return Stream(await context.events.open(caller, known, source, preface=preface, view=view), media_type=MEDIA_TYPE)
