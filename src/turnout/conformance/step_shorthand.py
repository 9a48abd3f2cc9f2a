"""Expands the shorthand of steps in scripts. Fields that it lacks are varied, so that no worker relies on one value."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from turnout.wire.messages import VERSION

_SHORT = {"token", "handler", "config", "context", "previous", "metadata", "extra"}
_RUNS = ("0198f2a1-7c3e-7d52-b1a4-5f0c9d6e2a77", "run-1", "6591")
_VARIED: Mapping[str, tuple[Any, ...]] = {
    "attempt": (0, 0, 1, 4),
    "retry_limit": (0, 3, 5),
    "timeout_ms": (None, None, 600_000),
    "deadline_ms": (None, None, 3_600_000),
    "idempotency_key": ("", "order-12345", "Schlüssel – 鍵"),
    "task_name": ("", "public::embedded::shop::step"),
    "workflow": ("", "public::embedded::shop"),
    "labels": ({}, {"zone": "a", "gpu": "true"}),
    "index": (None, None, 0, 7),
    "saved": (None, None, {"cursor": 3}),
}
"""Metadata that no handler of the conformance program reads, except ``attempt``, which the result repeats."""


def batch(batch_id: str, steps: Sequence[Mapping[str, Any]], seed: str = "") -> dict[str, Any]:
    """Returns the body of a ``steps`` message; a token is always the same step.

    >>> batch("b", [{"token": "7.1", "handler": "conformance.echo"}])["steps"][0]["step_name"]
    'echo'
    """
    return {"batch_id": batch_id, "protocol_version": VERSION, "steps": [_step(each, seed) for each in steps]}


def _step(short: Mapping[str, Any], seed: str) -> dict[str, Any]:
    if unknown := set(short) - _SHORT:
        raise ValueError(f"a step in short has no {', '.join(sorted(unknown))}")
    token, handler = short["token"], short["handler"]
    chance = random.Random(f"{seed} {token.partition('.')[0]}")
    run = chance.choice(_RUNS)
    varied = {name: chance.choice(values) for name, values in _VARIED.items()}
    return {
        "step_id": f"{run}.{token.partition('.')[0]}",
        "task_id": run,
        "step_name": handler.rpartition(".")[2],
        "handler_class": handler,
        "handler_config": short.get("config", {}),
        "task_context": short.get("context", chance.choice(({}, {"order_id": 12345}))),
        "previous_results": short.get("previous", chance.choice(({}, {"before": {"n": 1}}, {"before": None}))),
        "metadata": {"token": token, **varied, **short.get("metadata", {})},
        **short.get("extra", {}),
    }
