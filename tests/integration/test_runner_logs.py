"""What attempts print and log is kept for each of them, wherever they run, and read back from anywhere."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.faults.unreliable import unreliable
from tests.integration.conftest import PATIENCE, Gate
from turnout import AsyncRunner, RoutingConfig, RoutingRule, Runner, TaskInfo, current_task, task, workflow
from turnout.dispatcher import ExecutionResult, ExecutorMetrics, Loader, TaskReadyEvent
from turnout.errors import InvalidInput, RunFailed, RunNotFound
from turnout.model.info import info_of
from turnout.runner import EngineSettings, LogSettings, Poller

pytestmark = pytest.mark.timeout(60)

library = logging.getLogger("some.library")
never = EngineSettings(stop_grace=1.0, logs=LogSettings(log_flush=3600.0))
"""Lines are written when somebody asks for them, and not before."""


@task
def talk(name: str) -> str:
    print("hello", name)
    print("careful", file=sys.stderr)
    library.warning("%s is here", name)
    return name


@task
async def talk_async(name: str) -> str:
    print("async", name)
    await asyncio.sleep(0)
    await asyncio.to_thread(print, "from a thread of asyncio")
    return name


@workflow
def talking(name: str) -> str:
    return talk_async(talk(name))


def lines(run: Any, *args: Any, **filters: Any) -> list[tuple[str, int, str, str]]:
    return [(line.task, line.attempt, line.stream, line.text) for line in run.logs(*args, **filters)]


def texts(run: Any, *args: Any, **filters: Any) -> list[str]:
    return [line.text for line in run.logs(*args, **filters)]


SAID = [
    ("talk", 1, "stdout", "hello Ada"),
    ("talk", 1, "stderr", "careful"),
    ("talk", 1, "log", "WARNING some.library: Ada is here"),
    ("talk_async", 1, "stdout", "async Ada"),
    ("talk_async", 1, "stdout", "from a thread of asyncio"),
]


def test_all_that_a_run_said_can_be_read_right_after_its_result(make_runner: Callable[..., Runner]) -> None:
    runner = make_runner(settings=never)
    run = runner.submit(talking, "Ada")
    assert run.result(PATIENCE) == "Ada"
    assert lines(run) == SAID
    assert lines(run, "talk_async") == SAID[3:]


def test_another_runner_reads_what_a_closed_one_has_left(make_runner: Callable[..., Runner]) -> None:
    runner = make_runner(settings=never)
    run = runner.submit(talking, "Ada")
    run.wait(PATIENCE)
    runner.close()
    assert lines(make_runner().get(run.id)) == SAID


def test_output_still_appears_unless_echo_is_off(
    make_sqlite_runner: Callable[..., Runner], capsys: pytest.CaptureFixture[str]
) -> None:
    make_sqlite_runner().run(talking, "Ada")
    shown = capsys.readouterr()
    assert shown.out == "hello Ada\nasync Ada\nfrom a thread of asyncio\n"
    assert "careful\n" in shown.err


def test_without_echo_an_observer_has_it_all_and_the_console_nothing(
    make_sqlite_runner: Callable[..., Runner], capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[tuple[object, ...]] = []
    settings = EngineSettings(stop_grace=1.0, logs=LogSettings(echo=False))
    runner = make_sqlite_runner(settings=settings, on_output=lambda *line: seen.append(line))
    run = runner.submit(talking, "Ada")
    run.wait(PATIENCE)
    runner.close()
    assert capsys.readouterr().out == ""
    assert seen == [(run.id, *line) for line in SAID]


def test_nothing_is_captured_where_it_is_switched_off(make_sqlite_runner: Callable[..., Runner]) -> None:
    real = sys.stdout
    runner = make_sqlite_runner(settings=EngineSettings(stop_grace=1.0, logs=LogSettings(capture=False)))
    assert sys.stdout is real
    run = runner.submit(talking, "Ada")
    run.wait(PATIENCE)
    assert lines(run) == []


def test_tasks_that_run_at_once_do_not_mix(make_runner: Callable[..., Runner]) -> None:
    together = threading.Barrier(4, timeout=PATIENCE)

    @task
    def count(who: int) -> None:
        for number in range(20):
            if number % 5 == 0:
                together.wait()
            print(who, number)

    @task
    async def count_async(who: int) -> None:
        for number in range(20):
            await asyncio.sleep(0)
            print(who, number)

    @workflow
    def counting() -> None:
        for who in range(4):
            count(who)
        for who in range(4):
            count_async(who)

    runner = make_runner()
    run = runner.submit(counting)
    run.wait(PATIENCE)
    for who, suffix in enumerate(["", "-2", "-3", "-4"]):
        for name in ("count", "count_async"):
            assert texts(run, f"{name}{suffix}") == [f"{who} {number}" for number in range(20)]


def test_every_attempt_has_its_own_lines(make_runner: Callable[..., Runner]) -> None:
    @task(retries=2)
    def unsteady(info: TaskInfo) -> int:
        print("attempt", info.attempt)
        if info.attempt < 3:
            raise ValueError("again")
        return info.attempt

    @workflow
    def retried() -> int:
        return unsteady()

    run = make_runner().submit(retried)
    assert run.result(PATIENCE) == 3
    assert [(line[1], line[3]) for line in lines(run)] == [(1, "attempt 1"), (2, "attempt 2"), (3, "attempt 3")]
    assert texts(run, "unsteady", attempt=2) == ["attempt 2"]


def test_threads_and_loggers_of_a_body_belong_to_its_attempt(make_sqlite_runner: Callable[..., Runner]) -> None:
    @task
    def spreading(info: TaskInfo) -> None:
        inherited = contextvars.copy_context()
        for target in (lambda: inherited.run(print, "printed"), lambda: info.logger.info("logged")):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()

    @workflow
    def spread() -> None:
        spreading()

    run = make_sqlite_runner().submit(spread)
    run.wait(PATIENCE)
    assert lines(run) == [("spreading", 1, "stdout", "printed"), ("spreading", 1, "log", "INFO: logged")]


def test_a_failed_attempt_leaves_what_it_said_before(make_sqlite_runner: Callable[..., Runner]) -> None:
    @task
    def failing() -> None:
        print("last words", end="")
        raise ValueError("no")

    @workflow
    def fails() -> None:
        failing()

    run = make_sqlite_runner().submit(fails)
    with pytest.raises(RunFailed):
        run.result(PATIENCE)
    assert texts(run) == ["last words"]


def test_the_engine_is_not_heard_in_the_body_that_uses_it(make_runner: Callable[..., Runner]) -> None:
    runner = make_runner(workflows=(talking,))

    @task
    def submitting() -> str:
        print("before")
        inner = runner.submit(talking, "inner")
        inner.wait(PATIENCE)
        print("after")
        return inner.id

    @workflow
    def outer() -> str:
        return submitting()

    run = runner.submit(outer)
    inner = runner.get(run.result(PATIENCE))
    assert texts(run) == ["before", "after"]
    assert texts(inner)[0] == "hello inner"


class Custom:
    """An executor of thirty lines, which knows nothing of output."""

    local = True
    kinds = frozenset({"python"})
    name = "custom"
    capacity = 4

    def bind(self, loader: Loader) -> None:
        self._loader = loader

    def has_capacity(self) -> bool:
        return True

    def metrics(self) -> ExecutorMetrics:
        return ExecutorMetrics()

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        work = await self._loader.load(event)
        value = await asyncio.to_thread(work.invoke, info_of(event))
        value = await value if asyncio.iscoroutine(value) else value
        assert current_task() is None
        return ExecutionResult.success(event, value)


def test_a_custom_executor_is_captured_too(make_runner: Callable[..., Runner]) -> None:
    routing = RoutingConfig("default").with_rule(RoutingRule("**", "custom"))
    run = make_runner(executors={"custom": Custom()}, routing=routing).submit(talking, "Ada")
    assert run.result(PATIENCE) == "Ada"
    assert lines(run) == SAID


def test_what_a_poller_runs_is_read_through_the_runner(make_runner: Callable[..., Runner], store_url: str) -> None:
    runner = make_runner(dispatcher=None)
    run = runner.submit(talking, "Ada")
    with Poller(store_url, workflows=[talking]):
        assert run.result(PATIENCE) == "Ada"
    assert lines(run) == SAID


# -- reading ----------------------------------------------------------------------------------------------------------
def test_lines_are_followed_until_the_run_has_ended(make_runner: Callable[..., Runner], gate: Gate) -> None:
    @task
    def slowly() -> None:
        print("first")
        gate.pass_through()
        print("second")

    @workflow
    def slow() -> None:
        slowly()

    run = make_runner().submit(slow)
    following = run.logs(follow=True)
    assert next(following).text == "first", "while the body still runs"
    gate.open()
    assert [line.text for line in following] == ["second"]


def test_coroutines_read_and_follow_too(store_url: str) -> None:
    async def main() -> tuple[list[str], list[str]]:
        async with AsyncRunner(store_url, workflows=()) as runner:
            run = await runner.submit(talking, "Ada")
            followed = [line.text async for line in run.logs(follow=True)]
            return followed, [line.text async for line in run.logs("talk")]

    followed, read = asyncio.run(main())
    assert followed == [line[3] for line in SAID]
    assert read == followed[:3]


def test_lines_of_a_task_or_run_that_is_not_there_are_an_error(make_sqlite_runner: Callable[..., Runner]) -> None:
    runner = make_sqlite_runner()
    run = runner.submit(talking, "Ada")
    run.wait(PATIENCE)
    with pytest.raises(InvalidInput, match="did you mean 'talk'") as caught:
        run.logs("tak")
    assert caught.value.code == "unknown_task"
    runner.delete(run.id)
    with pytest.raises(RunNotFound):
        run.logs()


# -- bounds and outages -----------------------------------------------------------------------------------------------
def test_an_attempt_that_never_stops_talking_is_cut(make_runner: Callable[..., Runner]) -> None:
    @task
    def chatting() -> int:
        for number in range(5_000):
            print(number, "x" * 50)
        print("\x00 \ud800 not text")
        return 1

    @workflow
    def chat() -> int:
        return chatting()

    settings = EngineSettings(stop_grace=1.0, logs=LogSettings(max_attempt_logs=10_000))
    run = make_runner(settings=settings).submit(chat)
    assert run.result(PATIENCE) == 1
    said = texts(run)
    assert len(said) < 200
    assert said[-1] == "turnout: more than 10,000 bytes: the rest of this attempt's lines is not kept"


def test_lines_survive_a_store_that_is_away_for_a_while_and_are_kept_once(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with unreliable(monkeypatch, store_url, workflows=()) as (runner, store):
        store.plan("append_logs", "before", "after", "after", None)
        run = runner.submit(talking, "Ada")
        assert run.result(PATIENCE) == "Ada"
        assert lines(run) == SAID
        assert store.injected == 3


def test_a_run_is_not_held_up_by_lines_that_cannot_be_written(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with unreliable(monkeypatch, store_url, workflows=()) as (runner, store):
        store.broken.add("append_logs")
        run = runner.submit(talking, "Ada")
        assert run.result(PATIENCE) == "Ada"
        store.broken.clear()
        assert lines(run) == SAID
