"""Routing rules: reads, checks and replaces them, and tries others on decisions that were made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from litestar import Controller, Request, Response, delete, get, post, put
from litestar.params import JSONBody

from turnout.dispatcher import DefaultDispatcher
from turnout.dispatcher.placement import depends_on_input
from turnout.dispatcher.routing import Router, RoutingConfig
from turnout.dispatcher.what_if import PastDecision, replay
from turnout.errors import DefinitionError, RunNotFound
from turnout.model.events import DispatchDecision
from turnout.model.names import made_at
from turnout.server.api.parameters import IfMatch
from turnout.server.api.types.routing import (
    MAX_DIFFERENCES,
    REVERT,
    CheckedRouting,
    Decision,
    Difference,
    Routing,
    RoutingInForce,
    Rule,
    WhatIfRequest,
    WhatIfResult,
    changes_of,
    difference_of,
    in_force_of,
)
from turnout.server.context import ServerContext
from turnout.server.dependencies import ByCaller, Context
from turnout.server.guards import requires
from turnout.server.preconditions import check_if_match, etag
from turnout.server.responses import RUN_ID, answers

EXAMPLE = Routing(rules=(Rule(pattern="**::ml::*", executor="workers", labels={"gpu": "true"}),))
CHECKED_EXAMPLE = CheckedRouting(routing=EXAMPLE, warnings=[])
SHARED_EXAMPLE = RoutingInForce(
    routing=EXAMPLE, origin="database", version=3, updated_at=1_760_000_000.4, updated_by="ada", revert=REVERT
)
CHANGES = ("precondition_required", "stale_etag", "no_dispatcher", "routing_from_program")
ADMIN = [requires("admin")]


class RoutingController(Controller):
    """Routing rules."""

    path = "/api/v1/routing"
    tags = ("routing",)
    guards = (requires("viewer"),)

    @get(
        operation_id="get_routing",
        summary="Get the routing rules",
        responses=answers(RoutingInForce, "no_dispatcher", example=SHARED_EXAMPLE, description="The rules in force."),
    )
    async def get_routing(self, context: Context) -> Response[RoutingInForce]:
        """The rules that this server decides by, where they come from, and how to return to those of the configuration.
        The ETag is for `If-Match` of a change."""
        return _in_force(context)

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
        warnings = await context.in_thread(dispatcher_of(context).check, data.config())
        return CheckedRouting(routing=data, warnings=warnings)

    @put(
        operation_id="replace_routing",
        summary="Replace the routing rules",
        guards=ADMIN,
        responses=answers(
            RoutingInForce,
            "unknown_executor",
            *CHANGES,
            takes_body=True,
            example=SHARED_EXAMPLE,
            description="The rules are in force.",
        ),
    )
    async def replace(
        self,
        context: Context,
        caller: ByCaller,
        request: Request[Any, Any, Any],
        data: JSONBody[Routing],
        if_match: IfMatch = None,
    ) -> Response[RoutingInForce]:
        """Replaces all rules at once, or refuses them as a whole if one is invalid. They are stored in the database:
        within a second every server and Runner on it decides by them, unless its program gave it rules, and also after
        a restart. Attempts that run keep their decision."""
        warnings = await context.in_thread(_change, context, request, data.config(), caller.name)
        return _in_force(context, warnings)

    @delete(
        status_code=200,
        operation_id="delete_routing",
        summary="Return to the rules of the configuration",
        guards=ADMIN,
        responses=answers(
            RoutingInForce,
            *CHANGES,
            example=RoutingInForce(routing=EXAMPLE, origin="config", file="turnout.toml", version=4),
            description="The rules of the configuration are in force.",
        ),
    )
    async def delete_routing(
        self, context: Context, caller: ByCaller, request: Request[Any, Any, Any], if_match: IfMatch = None
    ) -> Response[RoutingInForce]:
        """Deletes the rules in the database: every server decides by those of its own configuration."""
        await context.in_thread(_change, context, request, None, caller.name)
        return _in_force(context)

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
        """Replays the latest decisions, or those of the last days, as they are stored with their tasks, against other
        rules, and returns those that would be others, also by task. Nothing is changed."""
        dispatcher, config = dispatcher_of(context), data.routing.config()

        def compare() -> WhatIfResult:
            warnings = dispatcher.check(config)
            decisions = _decisions(context, data.limit, data.created_from)
            changed = replay(decisions, dispatcher.settings, Router(config))
            return WhatIfResult(
                replayed=len(decisions),
                differences=[difference_of(each) for each in changed[:MAX_DIFFERENCES]],
                changes=changes_of(changed),
                since=made_at(decisions[-1].run_id) if decisions else None,
                warnings=warnings,
            )

        return await context.in_thread(compare)


def _in_force(context: ServerContext, warnings: Sequence[str] = ()) -> Response[RoutingInForce]:
    found = in_force_of(context.core.admin.routing(), context.core.config.rules_origin, warnings)
    return Response(found, headers={"ETag": etag(found.version)})


def _change(
    context: ServerContext, request: Request[Any, Any, Any], routing: RoutingConfig | None, actor: str
) -> list[str]:
    """Replaces the shared rules, and returns warnings. Raises PreconditionFailed if the request is not based on the
    current version. Blocks."""
    admin = context.core.admin
    admin.routing()
    current = context.store.shared_routing().version
    check_if_match(request.headers, current, "the set of routing rules")
    return admin.share_routing(routing, current, actor)


def dispatcher_of(context: ServerContext) -> DefaultDispatcher:
    """Returns the dispatcher of the server. Raises DefinitionError if it has none."""
    if context.core.dispatcher is None:
        raise DefinitionError("this server has no dispatcher: pollers decide by its rules", code="no_dispatcher")
    return context.core.dispatcher


def _decisions(context: ServerContext, limit: int, since: float | None) -> list[PastDecision]:
    """Returns the latest decisions with the workflows that they were made for. Blocks."""
    graphs = context.core.engine.graphs
    found: list[PastDecision] = []
    for stored in context.store.decisions(limit):
        if since is not None and made_at(stored.run_id) < since:
            continue
        try:
            graph = graphs.stored(stored.version)
        except RunNotFound:  # its run was deleted meanwhile
            continue
        decision = DispatchDecision(stored.executor, stored.reason or "", stored.labels, stored.resources)
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
