"""Writes server-sent events: frames of text, and the comments that keep a stream open."""

from __future__ import annotations

from typing import Any

import msgspec

MEDIA_TYPE = "text/event-stream"
HEARTBEAT = b": \n\n"
"""A comment: clients ignore it, and proxies see that the stream lives."""
HEARTBEAT_INTERVAL = 15.0
RETRY_INTERVAL = 1.0
"""Seconds after which a client should connect again when the server ends its stream."""


def frame(event: str, data: Any, position: str | None = None) -> bytes:
    """Returns one event. Its data are JSON on one line.

    >>> frame("run", {"id": 7}, "12")
    b'id: 12\\nevent: run\\ndata: {"id":7}\\n\\n'
    """
    return frame_of(event, encoded(data), position)


encoded = msgspec.json.Encoder().encode
"""Returns data as JSON."""


def frame_of(event: str, data: bytes, position: str | None = None) -> bytes:
    """Returns one event with data that are JSON already."""
    head = b"" if position is None else b"id: %b\n" % position.encode()
    return b"%bevent: %b\ndata: %b\n\n" % (head, event.encode(), data)


def closing_frame(reason: str) -> bytes:
    """Returns the last event of a stream that the server ends, with the delay before the next connection."""
    return b"retry: %d\n%b" % (int(RETRY_INTERVAL * 1_000), frame("closed", {"reason": reason}))
