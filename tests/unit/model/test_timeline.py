"""When a task could start, and when and why it waited."""

from __future__ import annotations

from turnout.model.rows import HistoryRow
from turnout.model.timeline import WaitSpan, waits_by_position


def moves(*made: tuple[float, int, str | None, str, str | None]) -> list[tuple[float, HistoryRow]]:
    return [(at, HistoryRow(seq, pos, old, new, 1, detail)) for seq, (at, pos, old, new, detail) in enumerate(made, 1)]


def test_a_task_that_starts_with_the_commit_that_made_it_ready_has_no_wait() -> None:
    found = waits_by_position(moves((5.0, 0, "pending", "running", None), (6.0, 0, "running", "completed", None)))
    assert found[0].ready_at == 5.0 and found[0].spans == ()


def test_a_wait_ends_with_the_next_move_and_has_its_reason() -> None:
    found = waits_by_position(
        moves(
            (5.0, 0, "pending", "ready", '{"reason":"no_capacity"}'),
            (9.0, 0, "ready", "running", '{"executor":"default"}'),
            (10.0, 0, "running", "ready", '{"reason":"retry_at","retry_in":3}'),
        )
    )
    assert found[0].ready_at == 5.0
    assert found[0].spans == (
        WaitSpan(since=5.0, until=9.0, reason="no_capacity"),
        WaitSpan(since=10.0, reason="retry_at"),
    )


def test_moves_from_ready_to_ready_for_one_reason_are_one_wait() -> None:
    reason = '{"reason":"no_capacity"}'
    found = waits_by_position(
        moves(
            (1.0, 3, "pending", "ready", reason), (2.0, 3, "ready", "ready", reason), (3.0, 3, "ready", "running", None)
        )
    )
    assert found[3].spans == (WaitSpan(since=1.0, until=3.0, reason="no_capacity"),)
