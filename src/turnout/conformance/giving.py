"""How does a script say a step in short?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnout.wire.messages import VERSION

_SHORT = {"token", "handler", "config", "context", "previous", "metadata", "extra"}


def batch(batch_id: str, steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The body of a ``steps`` message.

    >>> batch("b", [{"token": "7.1", "handler": "conformance.echo"}])["steps"][0]["step_id"]
    '7'
    """
    return {"batch_id": batch_id, "protocol_version": VERSION, "steps": [_step(each) for each in steps]}


def _step(short: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := set(short) - _SHORT:
        raise ValueError(f"a step in short has no {', '.join(sorted(unknown))}")
    token, handler = short["token"], short["handler"]
    return {
        "step_id": token.partition(".")[0],
        "task_id": "run-1",
        "step_name": handler.rpartition(".")[2],
        "handler_class": handler,
        "handler_config": short.get("config", {}),
        "task_context": short.get("context", {}),
        "previous_results": short.get("previous", {}),
        "metadata": {"token": token, "attempt": 0, "retry_limit": 3, **short.get("metadata", {})},
        **short.get("extra", {}),
    }
