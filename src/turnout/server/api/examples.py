"""Holds an example of each body that requests about runs, workers and routing carry, for the OpenAPI document."""

from __future__ import annotations

import msgspec

from turnout.model.states import RunState
from turnout.server.api.types.routing import Routing, Rule, WhatIfRequest
from turnout.server.api.types.runs import (
    BulkCancelRequest,
    BulkRerunRequest,
    CancelRequest,
    RerunRequest,
    RunSelection,
    StartRequest,
)
from turnout.server.api.types.workers import DrainRequest

_ROUTING = Routing(rules=(Rule(pattern="**::ml::*", executor="workers", labels={"gpu": "true"}),))

BODIES: tuple[msgspec.Struct, ...] = (
    StartRequest(workflow="fulfil", input={"order": 7}, priority=5, timeout=3_600.0),
    CancelRequest(reason="the order was withdrawn"),
    RerunRequest(from_task="charge", input={"card": "new"}),
    BulkCancelRequest(filter=RunSelection(workflow="fulfil", states=(RunState.RUNNING,)), dry_run=True),
    BulkRerunRequest(filter=RunSelection(workflow="fulfil", created_from=1_760_000_000.0), limit=50),
    DrainRequest(reason="maintenance of gpu-7"),
    _ROUTING,
    WhatIfRequest(routing=_ROUTING, limit=500),
)
