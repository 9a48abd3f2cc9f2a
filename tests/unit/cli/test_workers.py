"""Workers in lines, as people see them."""

from __future__ import annotations

from turnout.cli.workers import condition_of, worker_rows
from turnout.model.workers import WorkerView


def view(name: str, id: str = "0123456789abcdef", **more: object) -> WorkerView:
    return WorkerView(id=id, name=name, **{"credits": 8, **more})  # pyright: ignore[reportArgumentType]


def test_workers_that_share_a_name_are_told_apart_by_their_ids() -> None:
    rows = worker_rows([view("gpu"), view("twin", "aaaaaaaabbbb"), view("twin", "ccccccccdddd")])
    assert [row[0][0] for row in rows] == ["gpu", "twin aaaaaaaa", "twin cccccccc"]


def test_what_is_special_about_a_worker_is_said_in_a_word() -> None:
    assert condition_of(view("a"))[0] == "✓"
    assert condition_of(view("a", credits=0))[0] == "■ takes nothing more"
    assert condition_of(view("a", credits=0, draining=True))[0] == "■ draining"
    assert condition_of(view("a", breaker="half_open"))[0] == "! breaker half open"
