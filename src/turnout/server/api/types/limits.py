"""Bodies of answers about limits."""

from __future__ import annotations

import msgspec

from turnout.model.slots import HeldLimit, LimitView


class Limits(msgspec.Struct, frozen=True):
    """The limits that are configured, declared, held or waited for, by name."""

    limits: list[LimitView]


class RunLimits(msgspec.Struct, frozen=True):
    """The limits that a run and its tasks hold or wait for."""

    limits: list[HeldLimit]
