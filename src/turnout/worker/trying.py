"""What would a worker answer to this step? A handler run here and now, without sockets: for tests."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextvars import Context
from typing import Any

import msgspec

from turnout.bodies.attempt import call, info_for
from turnout.bodies.outcome import raised, returned_value
from turnout.wire.documents import Step, StepResult
from turnout.wire.holdings import unable
from turnout.wire.translation import answer_of
from turnout.worker.handlers import Handlers
from turnout.worker.loading import StepLoader, refused


def run_step(handlers: Handlers, step: Step | Mapping[str, Any]) -> StepResult:
    """Run one step document in this thread and return its result document. Timeouts are not applied."""
    given = step if isinstance(step, Step) else msgspec.convert(step, Step)
    try:
        work = StepLoader(handlers, None).put(given)
    except Exception as error:
        return refused(given, error)
    if work.body is None:
        return unable(given, "handler_missing", "a command needs a worker: only Python handlers are run here")
    began = time.time()
    try:
        value = Context().run(call, work, info_for(work, began))
        result = returned_value(work.event, value, began, time.time())
    except BaseException as error:
        result = raised(work, error, began, time.time())
    found = handlers.find(given.handler_class)
    return answer_of(given, result, "" if found is None else found.version)
