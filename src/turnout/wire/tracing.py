"""What does a message look like to a person who follows the conversation? Everything but what is nobody's business."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from turnout.wire.frames import JSON
from turnout.wire.messages import ALWAYS_JSON

MASK = "***"
PAYLOAD = frozenset(
    {
        *("handler_config", "task_context", "previous_results", "args", "positional", "saved", "condition", "context"),
        *("output", "deferral", "backtrace", "text"),
    }
)
"""Fields whose values come from users: arguments, outputs, lines."""
SAYING = frozenset({"results", "progress"})
"""Messages in which ``message`` is a user's too."""


def shown(frames: Sequence[bytes], codec: str = JSON) -> str:
    """One line: kind, session, body with what is in it masked, size. Never raises.

    >>> shown([b"drain", b"s1", b'{"reason":"deploy"}', b"87ef1e5e"])
    'drain s1 {"reason":"deploy"} (19 bytes)'
    """
    if len(frames) != 4:
        return f"{len(frames)} frames that are no message ({sum(map(len, frames))} bytes)"
    kind, session = (bytes(part).decode("ascii", "backslashreplace") for part in frames[:2])
    decode = msgspec.json.decode if kind in ALWAYS_JSON or codec == JSON else msgspec.msgpack.decode
    size = len(frames[2])
    try:
        body = msgspec.json.encode(_masked(decode(frames[2]), kind in SAYING)).decode()
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError):
        body = "that cannot be read"
    return f"{kind} {session or '-'} {body} ({size} bytes)"


def _masked(value: Any, saying: bool) -> Any:
    if isinstance(value, dict):
        fields: dict[str, Any] = value
        return {name: _field(name, each, saying) for name, each in fields.items()}
    if isinstance(value, list):
        items: list[Any] = value
        return [_masked(each, saying) for each in items]
    return value


def _field(name: str, value: Any, saying: bool) -> Any:
    if name in PAYLOAD or (saying and name == "message"):
        return MASK if value else value
    return _masked(value, saying)
