"""The reasons of task and run states that other code compares, and the detail of a history row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from turnout.model.events import ExecutionResult, printable

RUN_TIMED_OUT, STORE_REJECTED, TURN_FAILED = "run_timed_out", "store_rejected", "turn_failed"
FAILING = frozenset({RUN_TIMED_OUT, STORE_REJECTED, TURN_FAILED})
"""Reasons for which a run that is being cancelled ends as failed."""
GIVEN_UP = frozenset({STORE_REJECTED, TURN_FAILED})
"""Those for which its data are given up."""
NOT_CHOSEN, RULE_SAID_NO = "not_chosen", "trigger_rule"
"""Reasons of a skip by choice, by a branch (``not_chosen:name``) or by a rule, which the default rule forgives."""
NO_CAPACITY, FOR_POLLERS, TO_BE_ALONE = "no_capacity", "waiting_for_poller", "waiting_to_run_alone"
TO_BE_ALONE_ON_A_WORKER = "waiting_to_run_alone_on_a_worker"
BREAKER_OPEN = "breaker_open"
"""Why a task waits whose executor has failed too often to get more than a probe now and then."""
LIMIT = "limit"
"""Why an item waits whose group has as many under way as ``max_parallel`` allows."""
NO_WORKER_MATCHES = "no_worker_matches"
PAUSED, CANCELLED = "paused", "cancelled"
"""Why an attempt comes back that had not begun when its run was paused or cancelled."""
CODE_MISSING = "code_missing"
"""Why an attempt comes back from somebody who was thought to have its body, and does not."""
ITEMS_FAILED = "items_failed"
DEFERRED, DEFERRED_TOO_OFTEN = "deferred", "deferred_too_often"
UNDECLARED_CONDITION = "undeclared_condition"
"""Why a task failed that was to wait for a predicate which its code does not declare."""

UNMET = "unmet"
"""In the detail of an attempt that only asked a condition: its body did not begin."""

MAX_MESSAGE, MAX_TRACEBACK = 2_000, 10_000
"""Characters of an error that are kept for each attempt; of a traceback the first half and the last. The error of a
task's last attempt stands whole on its row."""

NAMED = 3
"""How many workers a reason names."""

_encode = msgspec.json.Encoder().encode


@lru_cache(maxsize=1024)
def decided(executor: str, reason: str, worker: str | None = None) -> str:
    """The detail of a start; ``worker`` is the name of the worker that gets it."""
    said = {"executor": executor, "reason": reason}
    return _encode(said if worker is None else {**said, "worker": worker}).decode()


@lru_cache(maxsize=1024)
def because(reason: str | None) -> str | None:
    """The detail of a move that no result caused."""
    return None if reason is None else _encode({"reason": reason}).decode()


def no_worker_matches(labels: Mapping[str, str], handler: str) -> str:
    """Why a task waits for which no worker is there: what one would need.

    >>> no_worker_matches({"gpu": "true"}, "train")
    'no_worker_matches{gpu=true} handler train'
    """
    asked = ", ".join(f"{name}={value}" for name, value in sorted(labels.items()))
    return f"{NO_WORKER_MATCHES}{{{asked}}} handler {handler}"


def workers_barred(names: Sequence[str]) -> str:
    """Why a task waits that only workers could run whose breakers are not closed.

    >>> workers_barred(["gpu-1", "gpu-2", "gpu-3", "gpu-4"])
    'breaker_open{worker gpu-1, gpu-2, gpu-3 and 1 more}'
    """
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{BREAKER_OPEN}{{worker {', '.join(names[:NAMED])}{more}}}"


@lru_cache(maxsize=1024)
def succeeded(chosen: tuple[str, ...] | None, handler_version: str) -> str:
    """The detail of a success that has one: what a branch chose, and which version of a handler it was."""
    detail: dict[str, object] = {} if chosen is None else {"chosen": chosen}
    if handler_version:
        detail["handler_version"] = handler_version
    return _encode(detail).decode()


def ended(result: ExecutionResult, reason: str | None, delay: float | None) -> str:
    """The detail of an attempt's end that is not success. ``delay`` is given where another attempt follows."""
    detail: dict[str, object] = {"status": result.status}
    if reason:
        detail["reason"] = reason
    if result.error:
        detail["error"] = f"{result.error.type}: {result.error.message[:MAX_MESSAGE]}"
        # Of an attempt that no other follows the task's row keeps the error: nothing is written twice.
        if delay is not None and result.error.traceback:
            detail["traceback"] = printable(result.error.traceback, MAX_TRACEBACK)
    if result.deferral is not None and result.deferral.unmet:
        detail[UNMET] = True
    if result.handler_version:
        detail["handler_version"] = result.handler_version
    if delay is not None:
        detail["retry_in"] = round(delay, 3)
    return _encode(detail).decode()
