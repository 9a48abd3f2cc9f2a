"""The moves of a commit, as versions of Turnout have stored them."""

from __future__ import annotations

from typing import Any

import pytest

from turnout.model.names import new_run_id
from turnout.model.rows import HistoryRow
from turnout.store.task_lists import TaskLists


class OneCommit:
    """A database with one commit."""

    def __init__(self, moves: str) -> None:
        self._moves = moves

    def read(self, name: str, **_: Any) -> list[tuple[Any, ...]]:
        assert name == "commits"
        return [(1.5, 1, self._moves)]


@pytest.mark.parametrize("detail", ['"{\\"poller\\":\\"p1\\"}"', '{"poller": "p1"}'], ids=["text", "object"])
def test_the_detail_of_a_move_is_text_also_where_an_older_version_stored_an_object(detail: str) -> None:
    lists = TaskLists()
    lists._database = OneCommit(f'[[3, 0, "ready", "running", 1, {detail}], [4, 0, "running", "completed", 1, null]]')  # type: ignore[assignment]
    assert lists.moves_between(new_run_id(), 0, 0) == [
        (1.5, HistoryRow(3, 0, "ready", "running", 1, '{"poller":"p1"}')),
        (1.5, HistoryRow(4, 0, "running", "completed", 1, None)),
    ]
