"""Ids of traces and spans: derived, valid, and sampled as asked."""

from __future__ import annotations

import re
import uuid

from hypothesis import given
from hypothesis import strategies as some

from turnout.model.trace_ids import SpanIdentity, attempt_span_id, is_sampled, run_span_id, trace_id_of

RUNS = some.uuids().map(str)


@given(RUNS, some.integers(0, 10_000), some.integers(1, 1_000))
def test_ids_are_valid_and_the_same_everywhere(run_id: str, pos: int, attempt: int) -> None:
    identity = SpanIdentity(trace_id_of(run_id), attempt_span_id(run_id, pos, attempt))
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", identity.traceparent)
    assert uuid.UUID(int=identity.trace_id) == uuid.UUID(run_id)
    assert identity.span_id == attempt_span_id(run_id, pos, attempt) != 0
    parts = {attempt_span_id(run_id, pos, attempt, part) for part in ("queue", "attempt", "commit")}
    assert len({*parts, run_span_id(run_id), attempt_span_id(run_id, pos, attempt + 1)}) == 5


@given(RUNS, some.floats(0, 1), some.floats(0, 1))
def test_a_larger_share_contains_a_smaller_one(run_id: str, one: float, other: float) -> None:
    trace_id, low, high = trace_id_of(run_id), min(one, other), max(one, other)
    assert is_sampled(trace_id, 1.0) and not is_sampled(trace_id, 0.0)
    assert is_sampled(trace_id, high) or not is_sampled(trace_id, low)


def test_the_share_is_kept_for_ids_of_runs() -> None:
    """The fixed bits of such ids do not count: uuid4 has those that the ids of runs have, at the same places."""
    traces = [
        uuid.UUID(int=(index * 0x9E3779B97F4A7C15F39CC0605CEDC835) % 2**128, version=4).int for index in range(4_000)
    ]
    share = sum(is_sampled(trace, 0.25) for trace in traces) / len(traces)
    assert abs(share - 0.25) < 0.03
