"""Packs steps or results into as few messages as their size allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

from turnout.model.bisection import bisect_failing
from turnout.wire.frames import pack
from turnout.wire.messages import Message

ENVELOPE = 1_024
"""Bytes of a message that are not its body, and then some."""

T = TypeVar("T")


class NotEncodable(msgspec.Struct, frozen=True):
    """The reason why one item cannot be encoded."""

    kind: str
    reason: str


class MessageWriter(msgspec.Struct, frozen=True):
    """The frames of one message; with several messages to one session, they are made in its codec."""

    session: str
    codec: str
    max_bytes: int
    """Bytes that a message may have."""

    def of(self, message: Message) -> list[bytes] | NotEncodable:
        try:
            frames = pack(message, self.session, self.codec)
        except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
            return NotEncodable("NotJson", f"it cannot be encoded in {self.codec}: {error}")
        size = len(frames[2])
        if size + ENVELOPE > self.max_bytes:
            return NotEncodable("TooLarge", f"it is {size:,} bytes; a message may have {self.max_bytes:,}")
        return frames


def pack_batches(
    items: Sequence[T], message_of: Callable[[Sequence[T]], Message], writer: MessageWriter
) -> Iterator[tuple[Sequence[T], list[bytes] | NotEncodable]]:
    """Items and the frames that hold them; a single one that cannot travel, and why."""
    return bisect_failing(
        items, lambda part: writer.of(message_of(part)), lambda frames: isinstance(frames, NotEncodable)
    )
