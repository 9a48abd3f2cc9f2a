"""Branches through whole Runners, on both stores: in threads, on the event loop, by pollers, in reruns."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from turnout import Branch, Context, Runner, Workflow, task, workflow
from turnout.errors import RunFailed
from turnout.runner import Poller

pytestmark = pytest.mark.timeout(60)


@task
def decide(weight: int) -> Branch:
    return Branch(["ship", "hold"][weight > 10], value={"weight": weight})


@task
def ship(order: dict[str, int]) -> str:
    return f"shipped {order['weight']}"


@task
def hold(order: dict[str, int]) -> str:
    return f"held {order['weight']}"


@task
def report(shipped: str | None, held: str | None) -> list[str | None]:
    return [shipped, held]


@workflow(name="branching")
def branching(weight: int) -> list[str | None]:
    order: Any = decide(weight)
    return report(ship(order), hold(order))


def reasons(run: Any) -> dict[str, str | None]:
    return {each.name: each.reason for each in run.tasks()}


def test_a_branch_chooses_and_the_join_gets_none_for_the_other_way(runner: Runner) -> None:
    light, heavy = runner.submit(branching, 3), runner.submit(branching, 30)
    assert (light.result(20), heavy.result(20)) == (["shipped 3", None], [None, "held 30"])
    assert reasons(light)["hold"] == reasons(heavy)["ship"] == "not_chosen:decide"
    chosen = [
        json.loads(move.detail or "{}") for _, move in light.history() if move.pos == 0 and move.new == "completed"
    ]
    assert chosen == [{"chosen": ["ship"]}]


def test_a_branch_in_polling_mode_chooses_through_the_inbox(make_runner: Callable[..., Runner], store_url: str) -> None:
    runner = make_runner(workflows=[branching], dispatcher=None)
    run = runner.submit(branching, 30)
    poller = Poller(store_url, workflows=[branching])
    try:
        assert run.result(20) == [None, "held 30"]
    finally:
        poller.close(1.0)


def test_an_async_body_chooses_by_the_task_itself(sqlite_runner: Runner) -> None:
    @task
    async def ask() -> Branch:
        return Branch(late)

    @task
    def early() -> str:
        return "early"

    @task
    def late() -> str:
        return "late"

    @workflow
    def asking() -> list[Any]:
        asked = ask()
        return [early.after(asked)(), late.after(asked)(), asked]

    assert sqlite_runner.run(asking) == [None, "late", None]


def test_a_choice_that_names_no_dependent_fails_the_task_with_what_was_meant(sqlite_runner: Runner) -> None:
    @task(retries=2)
    def mistaken() -> Branch:
        return Branch("lata")

    @task
    def late() -> None: ...

    @workflow
    def mistaking() -> None:
        late.after(mistaken())()

    run = sqlite_runner.submit(mistaking)
    with pytest.raises(RunFailed, match="did you mean 'late'"):
        run.result(20)
    assert [each.attempt for each in run.tasks()] == [1, 0], "another attempt would choose the same"


def test_in_context_style_a_branch_leaves_its_context(sqlite_runner: Runner) -> None:
    @task
    def look(context: Context) -> Branch:
        context["seen"] = True
        return Branch("big", value={"size": 9})

    @task(depends_on=[look])
    def small(context: Context) -> None:
        context["way"] = "small"

    @task(depends_on=[look])
    def big(context: Context) -> None:
        context["way"] = "big"

    looking = Workflow("looking", tasks=[look, small, big])
    assert sqlite_runner.run(looking) == {"seen": True, "size": 9, "way": "big"}


def test_a_rerun_goes_the_way_that_was_chosen_before(runner: Runner) -> None:
    calls: list[str] = []
    broken = [True]

    @task
    def pick() -> Branch:
        calls.append("pick")
        return Branch("left")

    @task
    def left() -> str:
        calls.append("left")
        return "left"

    @task
    def right() -> str:
        calls.append("right")
        return "right"

    @task
    def join(one: str | None, other: str | None) -> list[str | None]:
        calls.append("join")
        return [one, other]

    @task
    def last(found: list[str | None]) -> list[str | None]:
        calls.append("last")
        if broken[0]:
            raise ValueError("once")
        return found

    @workflow
    def picking() -> list[str | None]:
        picked = pick()
        return last(join(left.after(picked)(), right.after(picked)()))

    first = runner.submit(picking)
    with pytest.raises(RunFailed):
        first.result(20)
    broken[0] = False
    again = first.rerun()
    assert again.result(20) == ["left", None]
    assert calls == ["pick", "left", "join", "last", "last"], "what was done and what was left out stay so"
    assert reasons(again)["right"] == "not_chosen:pick"
    assert first.rerun(from_task="pick").result(20) == ["left", None]
    assert calls[5:] == ["pick", "left", "join", "last"]
