"""The process executor with real children: what it runs, what it kills, and what a death costs."""

from __future__ import annotations

import asyncio
import errno
import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests import process_bodies as bodies
from tests.fake_loader import FakeLoader
from tests.gates import PATIENCE, Gate, pass_gate
from turnout.errors import InvalidSetting, StoreUnreachable
from turnout.executors.process import ProcessExecutor
from turnout.model.breaker import at_fault
from turnout.model.events import ExecutionResult, ExecutionStatus, TaskReadyEvent
from turnout.runtime.attempt import key_of

Output = list[tuple[str, str, str]]


class Bench:
    """An executor with its loader; results and lines of output as they come."""

    def __init__(self, executor: ProcessExecutor) -> None:
        self.executor = executor
        self.loader = FakeLoader()
        self.lines: Output = []
        executor.bind(self.loader)

    def start(self, body: Any, *args: Any, **more: Any) -> Attempt:
        event = self.loader.add(body, *args, output=Heard(self.lines), **more)
        return Attempt(self.executor, event)

    def run(self, body: Any, *args: Any, **more: Any) -> ExecutionResult:
        return self.start(body, *args, **more).result()

    def value(self, body: Any, *args: Any, **more: Any) -> Any:
        result = self.run(body, *args, **more)
        assert result.output is not None, result
        return msgspec.json.decode(result.output)

    def said(self, stream: str) -> list[str]:
        return "".join(text for _, each, text in self.lines if each == stream).splitlines()


class Heard:
    """An ``Output`` that writes everything down."""

    echo = False

    def __init__(self, lines: Output) -> None:
        self._lines = lines

    def __call__(self, source: Any, stream: str, text: str) -> None:
        self._lines.append((source.task_id, str(stream), text))


class Attempt:
    def __init__(self, executor: ProcessExecutor, event: TaskReadyEvent) -> None:
        import queue

        self.event = event
        self.results: queue.SimpleQueue[ExecutionResult] = queue.SimpleQueue()
        executor.execute_many((event,), self.results.put)

    def result(self) -> ExecutionResult:
        return self.results.get(timeout=PATIENCE)


@pytest.fixture
def make_bench() -> Iterator[Callable[..., Bench]]:
    with ExitStack() as stack:

        def make(processes: int = 2, **options: Any) -> Bench:
            bench = Bench(ProcessExecutor(processes, **options))
            stack.callback(lambda: asyncio.run(bench.executor.stop(0)))
            return bench

        yield make


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    return make_bench()


@pytest.fixture
def gate() -> Iterator[Gate]:
    with Gate() as gate:
        yield gate


# -- what runs there -------------------------------------------------------------------------------------------------
def test_a_body_runs_in_another_process_which_is_used_again(bench: Bench) -> None:
    first, second = bench.value(bodies.pid), bench.value(bodies.pid)
    assert first == second != os.getpid()


def test_a_body_learns_the_same_of_its_attempt_as_in_a_thread(bench: Bench) -> None:
    attempt = bench.start(bodies.about, attempt=2, timeout=60.0)
    told = msgspec.json.decode(attempt.result().output or "null")
    task_id = attempt.event.task_id
    assert told == {"attempt": 2, "key": task_id, "token": f"{task_id}:2", "timeout": 60.0, "same": True}


def test_a_body_leaves_its_context(bench: Bench) -> None:
    assert bench.value(bodies.into_context, context={"orders": [1], "kept": True}) == {"orders": [1, 2], "kept": True}


def test_arguments_and_outputs_have_the_types_that_the_body_says(bench: Bench) -> None:
    order = {"number": 1, "due": "2024-02-28"}
    assert bench.value(bodies.delayed, order, 2) == {"number": 1, "due": "2024-03-01"}


def test_what_one_body_changes_about_its_process_the_next_does_not_see(bench: Bench, tmp_path: Path) -> None:
    home = os.getcwd()
    assert bench.value(bodies.wander_off, str(tmp_path)) == home
    assert bench.value(bodies.look_around) == [home, "nothing", "MainThread"]


def test_errors_carry_their_base_classes_for_the_retry_rules(bench: Bench) -> None:
    error = bench.run(bodies.busy).error
    assert error is not None
    assert error.mro[:2] == ("tests.process_bodies.Busy", "builtins.ConnectionError")
    assert 'raise Busy("try later")' in error.traceback


@pytest.mark.parametrize("text", ["try later", "never"])
def test_a_retry_predicate_is_asked_in_the_child(bench: Bench, text: str) -> None:
    task = bodies.judged_by_a_lambda
    result = bench.run(task.function, text, retry_predicate=task.retry_if)
    assert result.retryable is (text == "try later")
    assert bench.run(bodies.busy, retry_predicate=bodies.hopeless).retryable


def test_a_static_method_is_found_by_its_qualified_name(bench: Bench) -> None:
    assert bench.value(bodies.Holder.inside) == "found"


def test_a_module_that_is_on_no_path_is_loaded_from_its_file(bench: Bench, tmp_path: Path) -> None:
    import importlib.util
    import sys

    file = tmp_path / "far_away.py"
    file.write_text("def where(): return __name__\n")
    spec = importlib.util.spec_from_file_location("far_away", file)
    assert spec is not None and spec.loader is not None
    module = sys.modules["far_away"] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        assert bench.value(module.where) == "far_away"
    finally:
        del sys.modules["far_away"]


def test_output_of_every_kind_is_captured_line_by_line(bench: Bench) -> None:
    attempt = bench.start(bodies.print_everywhere)
    assert attempt.result().status is ExecutionStatus.COMPLETED
    assert sorted(bench.said("stdout")) == ["from C, without a newline", "from Python", "from a grandchild"]
    assert bench.said("stderr") == ["an error"]
    assert bench.said("log") == ["WARNING shop: a record"]
    assert [msgspec.json.decode(text) for text in bench.said("progress")] == [{"done": 1, "total": 2}]
    assert {task_id for task_id, _, _ in bench.lines} == {attempt.event.task_id}


# -- what cannot -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "why"),
    [
        (bodies.made_here(), "is a lambda"),
        (bodies.hidden, "is something else than the function"),
        (partial(len), "has no name that another process could find"),
    ],
)
def test_a_body_that_no_other_process_can_find_fails_for_good_and_says_why(bench: Bench, body: Any, why: str) -> None:
    result = bench.run(body)
    assert result.status is ExecutionStatus.FAILED
    assert result.error is not None
    assert result.error.code == "not_importable"
    assert why in result.error.message


def test_arguments_that_the_store_cannot_give_now_cost_nothing(bench: Bench) -> None:
    bench.loader.error = StoreUnreachable("no database")
    assert bench.run(bodies.pid).status is ExecutionStatus.RETURNED


@pytest.mark.parametrize(
    "options", [{"processes": 0}, {"recycle_after": 0}, {"memory_limit": "much"}, {"memory_limit": -1}]
)
def test_settings_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting):
        ProcessExecutor(**options)


# -- what is killed --------------------------------------------------------------------------------------------------
def test_a_body_that_ignores_sigterm_is_killed_with_its_grandchild_when_its_time_is_up(
    make_bench: Callable[..., Bench], gate: Gate
) -> None:
    bench = make_bench(grace=0.2)
    attempt = bench.start(bodies.ignore_sigterm_with_a_grandchild, gate.port, timeout=5.0)
    assert sorted(gate.arrived(2)) == ["child", "grandchild"]
    assert attempt.result().status is ExecutionStatus.TIMED_OUT
    gate.gone("child", "grandchild")
    assert bench.value(bodies.add, 1, 2) == {"sum": 3}


def test_a_cancelled_body_is_killed_with_its_grandchild(make_bench: Callable[..., Bench], gate: Gate) -> None:
    bench = make_bench(grace=0.2)
    attempt = bench.start(bodies.ignore_sigterm_with_a_grandchild, gate.port)
    gate.arrived(2)
    bench.executor.cancel(attempt.event)
    assert attempt.result().status is ExecutionStatus.CANCELLED
    gate.gone("child", "grandchild")


def test_a_body_that_is_ended_gets_the_chance_to_clean_up(bench: Bench, gate: Gate) -> None:
    attempt = bench.start(bodies.clean_up_when_terminated, gate.port, "tidy")
    gate.arrived()
    bench.executor.cancel(attempt.event)
    assert attempt.result().status is ExecutionStatus.CANCELLED
    assert bench.said("stdout") == ["cleaned up"]


def test_a_body_that_takes_no_notice_of_its_end_stays_cancelled(bench: Bench, gate: Gate) -> None:
    attempt = bench.start(bodies.swallow_sigterm, gate.port)
    gate.arrived()
    bench.executor.cancel(attempt.event)
    assert attempt.result().status is ExecutionStatus.CANCELLED


def test_stopping_hands_back_what_has_not_started_and_ends_the_rest(
    make_bench: Callable[..., Bench], gate: Gate
) -> None:
    bench = make_bench(processes=1, grace=0.2)
    running = bench.start(bodies.ignore_sigterm_with_a_grandchild, gate.port)
    gate.arrived(2)
    waiting = bench.start(bodies.pid)
    asyncio.run(bench.executor.stop(0))
    assert waiting.result().status is ExecutionStatus.RETURNED
    assert running.result().status is ExecutionStatus.LOST
    gate.gone("child", "grandchild")
    assert bench.run(bodies.pid).status is ExecutionStatus.RETURNED


def test_stopping_lets_a_running_body_end_within_its_time(bench: Bench, gate: Gate, until: Callable[..., None]) -> None:
    attempt = bench.start(pass_gate, gate.port, "body")
    gate.arrived()
    # The body may be quicker than the word that it has begun; what has not begun is handed back.
    until(lambda: bench.executor._live[key_of(attempt.event)].settled.is_set())

    async def stop() -> None:
        stopping = asyncio.create_task(bench.executor.stop(PATIENCE))
        await asyncio.sleep(0)
        gate.open()
        await stopping

    asyncio.run(stop())
    assert attempt.result().output == '"body"'


SLOW_TO_IMPORT = """
import os, pathlib, time

mark = pathlib.Path(os.environ["SLOW_TO_IMPORT"])
if os.environ["SLOW_TO_IMPORT_HERE"] != str(os.getpid()):
    mark.touch()
    time.sleep(60)


def body():
    mark.with_suffix(".begun").touch()
"""


def test_stopping_hands_back_what_its_child_has_taken_and_not_begun(
    bench: Bench, until: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "imported"
    (tmp_path / "slow_to_import.py").write_text(SLOW_TO_IMPORT)
    monkeypatch.setenv("SLOW_TO_IMPORT", str(mark))
    monkeypatch.setenv("SLOW_TO_IMPORT_HERE", str(os.getpid()))
    monkeypatch.syspath_prepend(tmp_path)
    attempt = bench.start(importlib.import_module("slow_to_import").body)
    until(mark.exists)
    asyncio.run(bench.executor.stop(3))
    result = attempt.result()
    assert (result.status, result.started_at) == (ExecutionStatus.RETURNED, None)
    assert not mark.with_suffix(".begun").exists()


def test_a_stopped_executor_can_be_started_again(bench: Bench) -> None:
    assert bench.value(bodies.add, 1, 1) == {"sum": 2}

    async def again() -> None:
        await bench.executor.stop(0)
        await bench.executor.start()

    asyncio.run(again())
    assert bench.value(bodies.add, 2, 2) == {"sum": 4}


# -- what dies -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "args", "said"),
    [
        (bodies.exit_at_once, (1,), "exited with code 1"),
        (bodies.exit_at_once, (0,), "exited with code 0"),
        (bodies.segfault, (), "was killed by SIGSEGV"),
        (bodies.kill_itself, (), "was killed by SIGKILL"),
    ],
)
def test_a_child_that_dies_is_a_crash_of_its_own_attempt_and_says_how(
    bench: Bench, gate: Gate, body: Any, args: tuple[Any, ...], said: str
) -> None:
    neighbour = bench.start(pass_gate, gate.port, "neighbour")
    gate.arrived()
    result = bench.run(body, *args)
    assert result.status is ExecutionStatus.CRASHED
    assert result.error_message == f"its process {said}"
    gate.open()
    assert neighbour.result().status is ExecutionStatus.COMPLETED
    assert bench.value(bodies.add, 1, 2) == {"sum": 3}


def test_an_attempt_that_holds_too_much_memory_is_ended_and_says_so(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(memory_limit="150MB")
    result = bench.run(bodies.hoard, 200)
    assert result.status is ExecutionStatus.CRASHED
    assert "exceeded the limit of 150 MB" in (result.error_message or "")
    assert bench.value(bodies.add, 1, 2) == {"sum": 3}


def test_what_a_dead_child_leaves_behind_is_ended(make_bench: Callable[..., Bench], gate: Gate) -> None:
    bench = make_bench(recycle_after=1)
    assert bench.run(bodies.leave_a_grandchild, gate.port).status is ExecutionStatus.COMPLETED
    gate.arrived()
    gate.gone("grandchild")


@pytest.mark.parametrize("options", [{"recycle_after": 2}, {"recycle_after": None, "recycle_above": 1}])
def test_children_are_replaced_when_they_have_done_enough(
    make_bench: Callable[..., Bench], options: dict[str, Any]
) -> None:
    bench = make_bench(processes=1, **options)
    used = [bench.value(bodies.pid) for _ in range(4)]
    changes = [used[n] != used[n + 1] for n in range(3)]
    assert changes == ([False, True, False] if options["recycle_after"] else [True, True, True])


def test_an_attempt_whose_process_cannot_be_started_goes_back_and_the_executor_is_to_blame(
    make_bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_fork(*args: Any, **more: Any) -> None:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    bench = make_bench()
    with monkeypatch.context() as patched:
        patched.setattr("turnout.runtime.supervised_process.subprocess.Popen", no_fork)
        result = bench.run(bodies.add, 1, 2)
    assert (result.status, result.started_at) == (ExecutionStatus.RETURNED, None)
    assert result.error_message == f"no process could be started: {os.strerror(errno.EAGAIN)}"
    assert at_fault(result, isolates=True) is True
    assert bench.value(bodies.add, 1, 2) == {"sum": 3}


def test_processes_that_die_before_they_take_the_attempt_are_the_executors_failure(
    make_bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make_bench()
    with monkeypatch.context() as patched:
        patched.setattr("turnout.executors.process.CHILD_MODULE", "no_such_module_at_all")
        result = bench.run(bodies.add, 1, 2)
    assert result.status is ExecutionStatus.CRASHED
    assert "3 processes died before they took it" in (result.error_message or "")
    assert at_fault(result, isolates=True) is True
