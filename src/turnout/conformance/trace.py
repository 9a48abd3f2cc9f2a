"""Formats the messages of a session as lines of a trace."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from turnout.conformance.steps import MessagePattern


class TraceLine(msgspec.Struct, frozen=True):
    """One event of a session."""

    seconds: float
    hub: int
    arrow: str
    text: str

    def __str__(self) -> str:
        where = "" if self.hub == 1 else f"(hub {self.hub}) "
        return f"{self.seconds:7.3f}  {self.arrow} {where}{self.text}"


def brief(wanted: MessagePattern) -> str:
    return f"{wanted.kind} {json.dumps(wanted.body, ensure_ascii=False)}" if wanted.body else wanted.kind


def message_text(frames: Sequence[bytes], longest: int = 600) -> str:
    """Returns a message as text: kind, session, body."""
    if len(frames) != 4:
        return f"{len(frames)} frames: {list(frames)!r}"[:longest]
    body = bytes(frames[2])
    if body[:1] == b"{" and len(body) > 4 * longest:
        body = body[: 4 * longest].decode(errors="ignore").encode()
    try:
        body_text = body.decode() if body[:1] == b"{" else json.dumps(msgspec.msgpack.decode(body), ensure_ascii=False)
    except (ValueError, TypeError, msgspec.MsgspecError):
        body_text = repr(body)
    kind, session = (bytes(each).decode("utf-8", "replace") for each in frames[:2])
    text = f"{kind} [{session}] {body_text}"
    return text if len(text) <= longest else text[:longest] + "…"
