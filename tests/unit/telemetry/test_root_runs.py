"""The topmost ancestor of a run, from memory if it is there, else read once."""

from __future__ import annotations

import msgspec

from turnout.model.rows import NewRun
from turnout.telemetry.root_runs import RootRuns

TOP = NewRun(run_id="top", workflow="w", version="1", input="{}", created_at=0.0)
MIDDLE = msgspec.structs.replace(TOP, run_id="middle", parent_run="top", depth=1)
BOTTOM = msgspec.structs.replace(TOP, run_id="bottom", parent_run="middle", depth=2)


def test_ancestors_in_memory_are_not_read() -> None:
    roots = RootRuns({"middle": MIDDLE}.get, lambda run_id: 1 / 0)  # type: ignore[arg-type, return-value]
    assert [roots.of(each, read=False) for each in (TOP, MIDDLE, BOTTOM)] == ["top", "top", "top"]


def test_other_ancestors_are_read_once_and_only_if_allowed() -> None:
    read: list[str] = []

    def stored(run_id: str) -> NewRun | None:
        read.append(run_id)
        return MIDDLE

    roots = RootRuns(lambda run_id: None, stored)
    assert roots.of(BOTTOM, read=False) is None and read == []
    assert [roots.of(BOTTOM), roots.of(BOTTOM, read=False)] == ["top", "top"] and read == ["middle"]


def test_a_parent_that_was_deleted_is_where_the_trace_begins() -> None:
    assert RootRuns(lambda run_id: None, lambda run_id: None).of(BOTTOM) == "middle"
