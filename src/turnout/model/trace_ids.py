"""Derives the ids of traces and spans from runs, tasks and attempts, so that every owner of a run has the same (pure).

The trace of a run is that of its topmost ancestor, and its id is the id of that run: nothing of it is stored.
"""

from __future__ import annotations

import hashlib
import uuid

import msgspec

RANDOM_BITS = 56
"""The last bits of a trace id, which are random in the ids of runs: whether a trace is recorded follows from them."""


class SpanIdentity(msgspec.Struct, frozen=True, gc=False):
    """The ids of a span, and whether its trace is recorded."""

    trace_id: int
    span_id: int
    sampled: bool = True

    @property
    def traceparent(self) -> str:
        """The header of W3C Trace Context that makes this span the parent of what follows.

        >>> SpanIdentity(1, 2).traceparent
        '00-00000000000000000000000000000001-0000000000000002-01'
        """
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{int(self.sampled):02x}"


def trace_id_of(root_run: str) -> int:
    """Returns the id of the trace of this run and of all runs below it.

    >>> hex(trace_id_of("0199d4c5-a1b2-7def-8123-456789abcdef"))
    '0x199d4c5a1b27def8123456789abcdef'
    """
    return uuid.UUID(root_run).int


def is_sampled(trace_id: int, ratio: float) -> bool:
    """True if a trace with this id is recorded, when this share of all traces is. Every process decides the same."""
    return (trace_id & ((1 << RANDOM_BITS) - 1)) < ratio * (1 << RANDOM_BITS)


def run_span_id(run_id: str) -> int:
    """Returns the id of the span of a run."""
    return _span_id(run_id)


def attempt_span_id(run_id: str, pos: int, attempt: int, part: str = "attempt") -> int:
    """Returns the id of a span of an attempt: the attempt itself, its ``queue`` time or its ``commit``."""
    return _span_id(f"{run_id}/{pos}/{attempt}/{part}")


def _span_id(text: str) -> int:
    # 0 is no valid id.
    return int.from_bytes(hashlib.sha256(f"turnout/{text}".encode()).digest()[:8], "big") or 1
