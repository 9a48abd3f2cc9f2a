"""Defaults of a Runner for its tasks: from arguments, the file and the environment, kept by the runs that have them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from turnout import Context, Runner, TaskInfo, Workflow, injected, remote, task, workflow
from turnout.errors import InvalidSetting
from turnout.model.states import RunState

pytestmark = pytest.mark.timeout(60)


@task
def plain(info: TaskInfo = injected()) -> Any:
    if info.attempt <= 2:
        raise ConnectionError("not yet")
    return [info.attempt, info.timeout]


@task(timeout=None, retries=0)
def own(info: TaskInfo = injected()) -> Any:
    return [info.max_attempts, info.timeout]


@task(at_most_once=True)
def once(info: TaskInfo = injected()) -> Any:
    return [info.max_attempts, info.timeout]


@workflow
def inner() -> Any:
    return plain()


@workflow
def defaults() -> Any:
    return [plain(), own(), once(), inner()]


EXPECTED = [[3, 5.0], [1, None], [1, 5.0], [3, 5.0]]


def test_tasks_that_say_nothing_have_the_runner_s_timeout_and_retries(make_runner: Callable[..., Runner]) -> None:
    runner = make_runner(default_timeout="5s", default_retries=2)
    assert runner.run(defaults) == EXPECTED


@pytest.mark.parametrize("how", ["file", "environment"])
def test_the_defaults_are_configured(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if how == "file":
        (tmp_path / "turnout.toml").write_text('default_timeout = "5s"\ndefault_retries = 2\n')
    else:
        monkeypatch.setenv("TURNOUT_DEFAULT_TIMEOUT", "5s")
        monkeypatch.setenv("TURNOUT_DEFAULT_RETRIES", "2")
    with Runner(sqlite_url, workflows=[defaults], handle_sigterm=False) as runner:
        assert runner.run(defaults) == EXPECTED
    with Runner(sqlite_url, workflows=[defaults], default_retries=0, handle_sigterm=False) as runner:
        assert runner.submit(defaults).wait(20) is RunState.FAILED, "an argument is stronger"


def test_a_run_keeps_the_defaults_that_it_was_submitted_with(make_runner: Callable[..., Runner]) -> None:
    submitter = make_runner(drives=False, default_timeout="5s", default_retries=2)
    run = submitter.submit(inner)
    submitter.close(5.0)
    assert make_runner(workflows=[inner], default_timeout="9s").get(run.id).result(20) == [3, 5.0]


@pytest.mark.parametrize(
    "options", [{"default_retries": -1}, {"default_retries": True}, {"default_timeout": 0}, {"default_retries": 1.5}]
)
def test_defaults_that_no_task_could_have_are_refused(
    make_sqlite_runner: Callable[..., Runner], options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidSetting, match=next(iter(options))):
        make_sqlite_runner(**options)


ship = remote("ship", handler="Shop::Ship", worker_selector={"gpu": "true"})


@workflow
def shipping() -> Any:
    return ship(order="a")


def test_a_runner_that_only_submits_needs_no_hub(make_sqlite_runner: Callable[..., Runner]) -> None:
    run = make_sqlite_runner(drives=False, workflows=[shipping]).submit(shipping)
    assert run.status().state is RunState.PENDING, "it waits for an orchestrator with a hub"


class Order(Context):
    @property
    def total(self) -> int:
        return sum(self["amounts"])


def test_a_class_that_derives_from_context_is_what_the_body_gets(sqlite_runner: Runner) -> None:
    @task
    def charge(order: Order) -> None:
        order["charged"] = order.total

    @task(depends_on=[charge])
    def ship(order: Order | None) -> dict[str, Any]:
        assert isinstance(order, Order)
        return {"shipped": type(order).__name__}

    paying = Workflow("paying", tasks=[charge, ship])
    assert sqlite_runner.run(paying, {"amounts": [1, 2]}) == {"amounts": [1, 2], "charged": 3, "shipped": "Order"}
