"""Data of the events of streams that are not runs, moves or log lines."""

from __future__ import annotations

from typing import Literal

import msgspec

from turnout.model.states import RunState


class Ready(msgspec.Struct, frozen=True):
    """The first event of the stream of all runs: a list that is read now, and the events from here on, miss nothing."""

    position: str


class Reset(msgspec.Struct, frozen=True):
    """The position that the client sent is not known any more: what it has may be incomplete."""

    reason: str


class End(msgspec.Struct, frozen=True):
    """The run has ended, and no event follows."""

    run_id: str
    state: RunState | None
    """Null if the run was deleted."""


class Closed(msgspec.Struct, frozen=True):
    """The server ends the stream. For ``revoked`` the client must not connect again with the same token."""

    reason: Literal["stopping", "revoked", "too_slow", "failed"]
