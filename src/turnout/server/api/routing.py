"""Routing rules: reads, checks and replaces them, and tries others on decisions that were made."""

from __future__ import annotations

from asyncio import wrap_future

import msgspec
from litestar import Controller, get, post, put
from litestar.params import JSONBody

from turnout.dispatcher import DefaultDispatcher
from turnout.dispatcher.placement import depends_on_input
from turnout.dispatcher.routing import Router
from turnout.dispatcher.what_if import PastDecision, replay
from turnout.errors import DefinitionError, RunNotFound
from turnout.model.events import DispatchDecision
from turnout.server.api.types.routing import (
    CheckedRouting,
    Decision,
    Difference,
    Routing,
    Rule,
    WhatIfRequest,
    WhatIfResult,
    difference_of,
    routing_of,
)
from turnout.server.context import ServerContext
from turnout.server.dependencies import Context
from turnout.server.guards import requires
from turnout.server.responses import RUN_ID, answers

EXAMPLE = Routing(rules=(Rule(pattern="**::ml::*", executor="workers", labels={"gpu": "true"}),))
CHECKED_EXAMPLE = CheckedRouting(routing=EXAMPLE, warnings=[])


class RoutingController(Controller):
    """Routing rules."""

    path = "/api/v1/routing"
    tags = ("routing",)
    guards = (requires("viewer"),)

    @get(
        operation_id="get_routing",
        summary="Get the routing rules",
        responses=answers(Routing, "no_dispatcher", example=EXAMPLE, description="The rules in force."),
    )
    async def get_routing(self, context: Context) -> Routing:
        """The rules that this server decides by."""
        return routing_of(_dispatcher(context).routing)

    @post(
        "/validate",
        status_code=200,
        operation_id="validate_routing",
        summary="Check routing rules",
        responses=answers(
            CheckedRouting,
            "unknown_executor",
            "no_dispatcher",
            takes_body=True,
            example=CHECKED_EXAMPLE,
            description="The rules can work; what is doubtful is listed.",
        ),
    )
    async def validate(self, context: Context, data: JSONBody[Routing]) -> CheckedRouting:
        """Checks rules against the executors and workflows of this server. Nothing is changed."""
        warnings = await context.in_thread(_dispatcher(context).check, data.config())
        return CheckedRouting(routing=data, warnings=warnings)

    @put(
        operation_id="replace_routing",
        summary="Replace the routing rules",
        guards=[requires("admin")],
        responses=answers(
            CheckedRouting,
            "unknown_executor",
            "no_dispatcher",
            takes_body=True,
            example=CHECKED_EXAMPLE,
            description="The rules are in force.",
        ),
    )
    async def replace(self, context: Context, data: JSONBody[Routing]) -> CheckedRouting:
        """Replaces all rules of this server at once, or refuses them as a whole if one is invalid. The new version is
        recorded in the database; attempts that run keep their decision. Other servers on the same database keep
        their rules: send the request to each, or change their configuration. A restart returns to the configuration."""
        warnings = await wrap_future(context.core.admin.set_routing(data.config()))
        return CheckedRouting(routing=data, warnings=warnings)

    @post(
        "/what-if",
        status_code=200,
        operation_id="what_if_routing",
        summary="Try routing rules on past decisions",
        responses=answers(
            WhatIfResult,
            "unknown_executor",
            "no_dispatcher",
            takes_body=True,
            example=WhatIfResult(
                replayed=1_000,
                differences=[
                    Difference(
                        run_id=RUN_ID,
                        task="public::ml::train::fit",
                        was=Decision(executor="default", reason="default executor"),
                        now=Decision(executor="workers", labels={"gpu": "true"}, reason='rule 1 "**::ml::*" → workers'),
                    )
                ],
                warnings=[],
            ),
            description="The decisions that would be others.",
        ),
    )
    async def what_if(self, context: Context, data: JSONBody[WhatIfRequest]) -> WhatIfResult:
        """Replays the latest decisions, as they are stored with their tasks, against other rules, and returns those
        that would be others. Nothing is changed."""
        dispatcher, config = _dispatcher(context), data.routing.config()

        def compare() -> WhatIfResult:
            warnings = dispatcher.check(config)
            decisions = _decisions(context, data.limit)
            changed = replay(decisions, dispatcher.settings, Router(config))
            return WhatIfResult(
                replayed=len(decisions), differences=[difference_of(each) for each in changed], warnings=warnings
            )

        return await context.in_thread(compare)


def _dispatcher(context: ServerContext) -> DefaultDispatcher:
    if context.core.dispatcher is None:
        raise DefinitionError("this server has no dispatcher: pollers decide by its rules", code="no_dispatcher")
    return context.core.dispatcher


def _decisions(context: ServerContext, limit: int) -> list[PastDecision]:
    """Returns the latest decisions with the workflows that they were made for. Blocks."""
    graphs = context.core.engine.graphs
    found: list[PastDecision] = []
    for stored in context.store.decisions(limit):
        try:
            graph = graphs.stored(stored.version)
        except RunNotFound:  # its run was deleted meanwhile
            continue
        decision = DispatchDecision(stored.executor, stored.reason or "", stored.labels)
        found.append(PastDecision(stored.run_id, graph.tasks[stored.pos], graph.spec, decision))
    return _with_inputs(context, found)


def _with_inputs(context: ServerContext, decisions: list[PastDecision]) -> list[PastDecision]:
    """Returns the decisions with the input of their runs, where labels take values of it. Blocks."""
    needed = {each.run_id for each in decisions if depends_on_input(each.task, each.workflow)}
    if not needed:
        return decisions
    runs = context.store.runs_by_id(sorted(needed))
    inputs = {run.new.run_id: msgspec.json.decode(run.new.input) for run in runs}
    return [msgspec.structs.replace(each, input=inputs.get(each.run_id, {})) for each in decisions]
