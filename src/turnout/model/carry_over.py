"""What a task carries from one attempt to the next, and leaves beside its output: one JSON column of its row."""

from __future__ import annotations

import msgspec

from turnout.model.deferral import Condition


class Memo(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Most tasks have none. While a task is open: what it saved when it deferred itself; later: what it chose."""

    saved: str | None = None
    """JSON text: what the body gets as ``info.saved`` when it starts again."""
    deferrals: int = 0
    unmet: int = 0
    """How many of the deferrals only asked a condition: the body did not begin."""
    condition: Condition | None = None
    """Asked before the body starts, until the body has deferred itself otherwise or has ended."""
    chosen: tuple[str, ...] | None = None
    """The names that a branch returned."""


NOTHING = Memo()

_decode = msgspec.json.Decoder(Memo).decode
_encode = msgspec.json.Encoder().encode


def read_memo(text: str | None) -> Memo:
    return NOTHING if text is None else _decode(text)


def write_memo(memo: Memo) -> str:
    return _encode(memo).decode()
