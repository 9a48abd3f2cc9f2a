"""Workers in lines, as people see them."""

from __future__ import annotations

from turnout.cli.workers import condition_of, is_orphaned, worker_rows
from turnout.model.workers import WorkerView


def view(name: str, id: str = "0123456789abcdef", **more: object) -> WorkerView:
    return WorkerView(id=id, name=name, **{"credits": 8, **more})  # pyright: ignore[reportArgumentType]


def test_workers_that_share_a_name_are_told_apart_by_their_ids() -> None:
    rows = worker_rows([view("gpu"), view("twin", "aaaaaaaabbbb"), view("twin", "ccccccccdddd")], ())
    assert [row[0][0] for row in rows] == ["gpu", "twin aaaaaaaa", "twin cccccccc"]


def test_what_is_special_about_a_worker_is_said_in_a_word() -> None:
    assert condition_of(view("a"), ())[0] == "✓"
    assert condition_of(view("a", credits=0), ())[0] == "■ takes nothing more"
    assert condition_of(view("a", credits=0, draining=True), ())[0] == "■ draining"
    assert condition_of(view("a", breaker="half_open"), ())[0] == "! breaker half open"


def test_figures_of_a_hub_that_is_gone_are_marked() -> None:
    one = view("a", hubs=("tcp://h:1", "tcp://h:2"), breaker="open")
    assert is_orphaned(one, {"tcp://h:3"}) and not is_orphaned(one, {"tcp://h:2"})
    assert not is_orphaned(view("a"), ()), "no hub has reported it yet"
    assert condition_of(one, {"tcp://h:3"}) == ("! hub gone", "yellow")
    assert worker_rows([one], ())[0][-1][0] == "! hub gone"
