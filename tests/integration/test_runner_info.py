"""What bodies are told of their attempts, that their timeouts hold, and what is kept of each attempt: the same wherever
they run."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import info_flow
import pytest
from kit.waiting import until
from scripted_hub import start_worker
from small_worker import SmallWorker

from tests.conformance.test_task_executor import recipe
from turnout import RoutingConfig, RoutingRule, Runner, remote, shell, workflow
from turnout.contracts.executor import Report
from turnout.dispatcher import ExecutionResult, ExecutorMetrics, Loader, TaskReadyEvent
from turnout.errors import RunFailed
from turnout.executors.thread import ThreadExecutor
from turnout.executors.workers.settings import HubSettings
from turnout.runner import Poller
from turnout.testing import inline
from turnout.wire.documents import ResultMetadata, Step, StepError, StepResult

pytestmark = pytest.mark.timeout(120)

FLOWS = [info_flow.asking, info_flow.too_slow, info_flow.paying, info_flow.waiting]
LABELS = {"gpu": "true"}
GRACE = 5.0
"""Seconds that an attempt may last beyond its timeout, at most."""


def worker(runner: Runner, stack: ExitStack, *options: str) -> None:
    process: subprocess.Popen[str] = start_worker(
        "--connect", str(runner.hub), "--import", "info_flow", "--label", "gpu=true", "--grace", "1s", *options
    )
    stack.callback(process.communicate)
    stack.callback(process.kill)


@pytest.fixture
def runner_with(sqlite_url: str) -> Iterator[Callable[[str], Runner]]:
    """A Runner all of whose tasks go to an executor of this kind."""
    with ExitStack() as stack:

        def make(kind: str) -> Runner:
            key = "workers" if kind.startswith("workers") else kind
            runner = stack.enter_context(
                Runner(
                    sqlite_url,
                    workflows=FLOWS,
                    executors={"recipe": recipe()} if kind == "recipe" else None,
                    routing=RoutingConfig("default", (RoutingRule("**", key, labels=LABELS),)),
                    polling=["polled"] if kind == "polled" else None,
                    hub=HubSettings(address="tcp://127.0.0.1:0") if key == "workers" else None,
                    handle_sigterm=False,
                )
            )
            if kind == "polled":
                poller = Poller(sqlite_url, workflows=FLOWS, keys=["polled"], poll=0.05)
                stack.callback(poller.close, 1.0)
            elif key == "workers":
                worker(runner, stack, *(["--processes"] if kind == "workers-processes" else []))
            return runner

        yield make


KINDS = ["default", "process", "polled", "recipe", "workers", "workers-processes"]


def expected(run_id: str, name: str, pos: int, index: int, labels: dict[str, str]) -> dict[str, Any]:
    task_id = f"{run_id}.{pos}"
    return {
        "letter": "ab"[index],
        "task_id": task_id,
        "task_name": f"public::embedded::asking::{name}",
        "workflow": "public::embedded::asking",
        "name": name,
        "index": index,
        "item": index,
        "labels": labels,
        "attempt": 2,
        "max_attempts": 3,
        "is_last_attempt": False,
        "timeout": info_flow.TIMEOUT,
        "saved": {"by": 1},
        "idempotency_key": task_id,
        "token": f"{task_id}:2",
        "shadow": False,
        "cancelled": False,
    }


def all_expected(run_id: str, labels: dict[str, str]) -> list[Any]:
    return [
        [expected(run_id, name, first + index, index, labels) for index in range(2)]
        for name, first in (("here", 2), ("later", 4))
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_is_told_the_same_on_every_executor(runner_with: Callable[[str], Runner], kind: str) -> None:
    run = runner_with(kind).submit(info_flow.asking, ["a", "b"])
    assert run.result(90) == all_expected(run.id, LABELS)
    items = [(f"{name}[{index}]", 2) for name in ("here", "later") for index in range(2)]
    # What others than this Runner hear is written when they next write.
    until(lambda: sorted((line.task, line.attempt) for line in run.logs() if line.stream == "progress") == items)


def test_a_body_is_told_the_same_by_a_run_of_a_test() -> None:
    run = inline(info_flow.asking, ["a", "b"])
    assert run.result() == all_expected(run.id, {})


@pytest.mark.parametrize("kind", KINDS)
def test_a_timeout_holds_on_every_executor(runner_with: Callable[[str], Runner], kind: str) -> None:
    runner = runner_with(kind)
    assert runner.run(info_flow.asking, ["a"])  # what has to be started is there
    began = time.monotonic()
    with pytest.raises(RunFailed, match=r"TimeoutError: exceeded its timeout of 0\.3 s"):
        runner.run(info_flow.too_slow)
    assert time.monotonic() - began < 0.3 + GRACE


class Silent:
    """An executor that never answers, whatever it is asked."""

    local, kinds, name = True, frozenset({"python"}), "silent"

    def bind(self, loader: Loader) -> None: ...

    def has_capacity(self) -> bool:
        return True

    def metrics(self) -> ExecutorMetrics:
        return ExecutorMetrics()

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(3600)


def test_a_timeout_holds_where_the_executor_never_answers(make_sqlite_runner: Callable[..., Runner]) -> None:
    routing = RoutingConfig("default", (RoutingRule("**", "silent"),))
    runner = make_sqlite_runner(executors={"silent": Silent()}, routing=routing)
    run = runner.submit(info_flow.too_slow)
    with pytest.raises(RunFailed, match=r"TimeoutError: exceeded its timeout of 0\.3 s"):
        run.result(60)
    [attempt] = run.task("deaf").attempts
    assert attempt.ended_at is not None and attempt.ended_at - attempt.began_at < 0.3 + 2 * GRACE


@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_is_asked_on_every_executor(
    runner_with: Callable[[str], Runner], kind: str, tmp_path: Path
) -> None:
    run = runner_with(kind).submit(info_flow.waiting, str(tmp_path / "open"))
    until(lambda: all(task.attempt > 2 for task in run.tasks()))  # each was asked once at least, and it did not hold
    (tmp_path / "open").touch()
    assert run.result(90) == [[True, 1], [True, 1]]


def test_the_backtrace_of_a_worker_in_any_language_is_kept(sqlite_url: str) -> None:
    backtrace = ("ship.rb:3:in `call'", "worker.rb:40:in `run'")

    def ship(step: Step) -> Any:
        if step.metadata.attempt > 0:
            return "shipped"
        error = StepError("no such order", "KeyError", backtrace)
        metadata = ResultMetadata(token=step.token, attempt=step.metadata.attempt)
        return StepResult(step_id=step.step_id, status="failed", error=error, metadata=metadata)

    shipping = remote("ship", handler="Shop::Ship", retries=1)

    @workflow
    def sending() -> Any:
        return shipping()

    hub = HubSettings(address="tcp://127.0.0.1:0")
    with (
        Runner(sqlite_url, hub=hub, workflows=[sending], handle_sigterm=False) as runner,
        SmallWorker(str(runner.hub), handlers={"Shop::Ship": ship}),
    ):
        run = runner.submit(sending)
        assert run.result(60) == "shipped"
        first, second = run.task("ship").attempts
    assert (first.error, first.traceback) == ("KeyError: no such order", "\n".join(backtrace))
    assert (second.outcome, second.traceback) == ("completed", None)


@pytest.mark.parametrize("kind", KINDS)
def test_each_attempt_keeps_its_error_and_its_lines_on_every_executor(
    runner_with: Callable[[str], Runner], kind: str
) -> None:
    run = runner_with(kind).submit(info_flow.paying, "tea")
    assert run.result(90) == "tea paid"
    task = run.task("unsteady")
    assert (task.state, task.attempt, task.output) == ("completed", 3, "tea paid")
    first, second, last = task.attempts
    for number, attempt in enumerate((first, second), 1):
        assert (attempt.attempt, attempt.failed, attempt.error_type) == (number, True, "LookupError")
        assert attempt.message == f"no answer to call {number}"
        assert attempt.traceback is not None and 'raise LookupError(f"no answer to call' in attempt.traceback
    assert (last.outcome, last.failed, last.error, last.traceback) == ("completed", False, None, None)
    said = [(number, f"call {number} about tea") for number in (1, 2, 3)]
    until(lambda: [(line.attempt, line.text) for line in run.logs("unsteady")] == said)
    assert [line.text for line in run.logs("unsteady", attempt=2)] == ["call 2 about tea"]


def test_a_command_is_told_which_item_it_is(sqlite_runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNOUT_INDEX", "7")  # of the command that this program was started by
    numbered = shell("echo {letter}/$TURNOUT_INDEX", name="numbered", parse="text")

    @workflow
    def commanding(letters: list[str]) -> Any:
        return [numbered.map(letter=letters), numbered.named("alone")(letter="c")]

    assert sqlite_runner.run(commanding, ["a", "b"]) == [["a/0", "b/1"], "c/"]


class Hesitant(ThreadExecutor):
    """Hands back the first attempt that it is given."""

    asked = 0

    def execute_many(self, events: Sequence[TaskReadyEvent], report: Report) -> None:
        for event in events:
            self.asked += 1
            if self.asked == 1:
                report(ExecutionResult.returned(event, "not_now"))
            else:
                super().execute_many([event], report)


@pytest.mark.parametrize("polled", [False, True])
def test_an_attempt_that_was_handed_back_before_it_began_is_not_counted(sqlite_url: str, polled: bool) -> None:
    here = Hesitant(threads=2)
    with ExitStack() as stack:
        executors = {} if polled else {"default": here}
        runner = stack.enter_context(
            Runner(
                sqlite_url,
                workflows=FLOWS,
                executors=executors,
                dispatcher=None if polled else True,
                handle_sigterm=False,
            )
        )
        if polled:
            stack.enter_context(Poller(sqlite_url, workflows=FLOWS, executor=here, poll=0.05))
        run = runner.submit(info_flow.paying, "book")
        assert run.result(30) == "book paid"
        seen = [(one.attempt, one.number, one.outcome, one.message) for one in run.attempts()]
        assert seen == [
            (1, None, "returned", "not_now"),
            (2, 1, "retry", "no answer to call 1"),
            (3, 2, "retry", "no answer to call 2"),
            (4, 3, "completed", None),
        ]
        until(lambda: [line.attempt for line in run.logs("unsteady")] == [2, 3, 4])
