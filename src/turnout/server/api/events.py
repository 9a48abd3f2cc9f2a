"""Streams of events: changes of all runs, and everything that happens in one run."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Controller, get
from litestar.params import Parameter
from litestar.response import Stream

from turnout.server.api.found_runs import find
from turnout.server.api.parameters import LastEventId, RunId
from turnout.server.api.types.events import Ready, Reset
from turnout.server.change_source import ChangeSource, is_of_workflow
from turnout.server.context import ServerContext
from turnout.server.dependencies import ByCaller, Context
from turnout.server.event_streams import Keep
from turnout.server.exchange import Caller
from turnout.server.guards import UNBOUNDED, requires
from turnout.server.positions import START, change_position, run_position
from turnout.server.responses import Responses, answers
from turnout.server.run_source import RunSource
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
    ) -> Stream:
        """An event `run` for each new run and each change of a run's state, with the run as it is then.

        The first event is `ready`: a list of runs that is read after it and the events behind it miss nothing. With
        ``Last-Event-ID`` the stream continues behind that event. If it cannot, since the position is too old or of
        another database, the first event is `reset`: read the list again. Before the server ends a stream it sends
        `closed` with the reason: `stopping`, `too_slow`, `failed` (connect again) or `revoked`. Deleted runs make no
        event."""
        position = None if last_event_id is None else change_position(last_event_id)
        source = ChangeSource(context.store, position)
        lost = await context.in_thread(source.begin)
        at = str(source.position)
        preface = frame("ready", Ready(at), at) if lost is None else frame("reset", Reset(lost), at)
        keep: Keep | None = None if workflow is None else lambda event: is_of_workflow(event, workflow)
        events = await context.events.open(caller, CHANGES, source, preface=preface, keep=keep)
        return Stream(events, media_type=MEDIA_TYPE)

    @get(
        "/runs/{run_id:str}/events",
        operation_id="stream_run_events",
        summary="Follow one run",
        responses=stream_answers(
            *STREAM_ERRORS,
            example='id: …:4.0.17\nevent: task\ndata: {"seq":4,"task":"charge","old":"running","new":"completed"}\n\n',
            description="Events `run`, `task`, `log`, `end`, `reset` and `closed`.",
        ),
        **STREAM_OPTIONS,
    )
    async def one_run(
        self, context: Context, caller: ByCaller, run_id: RunId, last_event_id: LastEventId = None
    ) -> Stream:
        """The moves of the run (`run`) and of its tasks (`task`), and log lines (`log`): from the beginning, or from
        ``Last-Event-ID`` on. The last event is `end`, once the run has ended or was deleted. A position that is not
        known any more is answered with `reset`, and the stream starts from the beginning.

        Moves come in the order of their commits, and lines in the order in which they were stored; between the two
        kinds there is no order: ``at`` says when each was. What is stored already comes in rounds of at most 500 moves
        and 500 lines, in each the moves first: of a run that has ended, usually all moves and then all lines."""
        return await follow_run(context, caller, run_id, last_event_id)


async def follow_run(
    context: ServerContext, caller: Caller, run_id: str, last_event_id: str | None, keep: Keep | None = None
) -> Stream:
    """Returns the stream of one run's events; ``keep`` chooses among them."""
    known = (await context.in_thread(find, context, run_id)).new.run_id
    position = START if last_event_id is None else run_position(last_event_id, known)
    source = RunSource(context.run_facts, known, position)
    preface = b""
    if not await context.in_thread(source.begin):
        preface = frame("reset", Reset("the position is not known any more"), source.position.text(known))
    return Stream(await context.events.open(caller, known, source, preface=preface, keep=keep), media_type=MEDIA_TYPE)
