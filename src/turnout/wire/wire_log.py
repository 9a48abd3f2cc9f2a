"""Formats messages for logs, with the values of users masked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from turnout.wire.frames import JSON, MAX_SESSION_LENGTH, Malformed, UnknownKind, unpack

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

    Only what the protocol knows is shown: whatever a worker of another make adds to a message may be private.

    >>> shown([b"drain", b"s1", b'{"reason":"deploy"}', b"17b87713"])
    'drain s1 {"reason":"deploy"} (19 bytes)'
    """
    if len(frames) != 4:
        return f"{len(frames)} frames that are no message ({sum(map(len, frames))} bytes)"
    try:
        received = unpack(frames, codec)
        body = msgspec.json.encode(_masked(msgspec.to_builtins(received.message), received.kind in SAYING)).decode()
    except (Malformed, UnknownKind) as error:
        body = f"that cannot be read: {error}"
    except (ValueError, TypeError, RecursionError):
        body = "that cannot be shown"
    return f"{_word(frames[0])} {_word(frames[1]) or '-'} {body} ({len(frames[2])} bytes)"


def _word(frame: bytes) -> str:
    """Printable whatever it is, and not long."""
    return ascii(bytes(frame[:MAX_SESSION_LENGTH]).decode("latin-1"))[1:-1]


def _masked(value: Any, saying: bool) -> Any:
    if isinstance(value, dict):
        fields: dict[str, Any] = value
        return {name: _field(name, each, saying) for name, each in fields.items()}
    if isinstance(value, tuple):
        items: tuple[Any, ...] = value
        return [_masked(each, saying) for each in items]
    return value


def _field(name: str, value: Any, saying: bool) -> Any:
    if name in PAYLOAD or (saying and name == "message"):
        return MASK if value else value
    return _masked(value, saying)
