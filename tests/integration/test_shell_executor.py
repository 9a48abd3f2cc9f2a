"""The shell executor with real commands: what it hands them, what it keeps of them, how it ends them."""

from __future__ import annotations

import asyncio
import errno
import os
import queue
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.fake_loader import FakeLoader
from tests.gates import PATIENCE, Gate
from turnout.contracts.clock import boot_time
from turnout.contracts.executor import Work
from turnout.executors.shell import ShellExecutor
from turnout.model.breaker import at_fault
from turnout.model.events import ExecutionResult, ExecutionStatus, TaskReadyEvent
from turnout.model.shell import ShellSpec
from turnout.model.spec import Body, TaskSpec

HOLD = "from tests.process_bodies import ignore_sigterm_with_a_grandchild as f; f({port})"
BEHIND = "from tests.process_bodies import leave_a_grandchild as f; f({port})"


class Bench:
    def __init__(self, **options: Any) -> None:
        self.executor = ShellExecutor(**options)
        self.loader = FakeLoader()
        self.lines: list[tuple[str, str]] = []
        self.executor.bind(self.loader)
        self.results: queue.SimpleQueue[ExecutionResult] = queue.SimpleQueue()

    echo = False

    def __call__(self, source: Any, stream: str, text: str) -> None:
        self.lines.append((str(stream), text))

    def start(
        self,
        command: str | list[str],
        values: dict[str, Any] | None = None,
        *,
        timeout: float | None = None,
        context: dict[str, Any] | None = None,
        fence: Callable[[], float] | None = None,
        handed_back: int = 0,
        **more: Any,
    ) -> TaskReadyEvent:
        event = self.loader.add(None, attempt=1 + handed_back, begun=0)
        spec = ShellSpec(command if isinstance(command, str) else tuple(command), **more)
        self.loader.works[event.task_id] = Work(
            event=event,
            task=TaskSpec(name="t", body=Body("shell", "t", spec)),
            body=None,
            kwargs=values or {},
            context=context,
            timeout=timeout,
            idempotency_key="the-key",
            token="the-key:1",
            output=self,
            fence=fence,
        )
        self.executor.execute_many((event,), self.results.put)
        return event

    def result(self) -> ExecutionResult:
        return self.results.get(timeout=PATIENCE)

    def run(self, command: str | list[str], values: dict[str, Any] | None = None, **more: Any) -> ExecutionResult:
        self.start(command, values, **more)
        return self.result()

    def value(self, command: str | list[str], values: dict[str, Any] | None = None, **more: Any) -> Any:
        result = self.run(command, values, **more)
        assert result.output is not None, result
        return msgspec.json.decode(result.output)


@pytest.fixture
def make_bench() -> Iterator[Callable[..., Bench]]:
    with ExitStack() as stack:

        def make(**options: Any) -> Bench:
            bench = Bench(**options)
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


def test_the_result_is_what_the_command_wrote_and_its_exit_code(bench: Bench) -> None:
    assert bench.value("echo out; echo err >&2") == {"exit_code": 0, "stdout": "out\n", "stderr": "err\n"}
    assert sorted(bench.lines) == [("stderr", "err\n"), ("stdout", "out\n")]


def test_a_command_knows_its_attempt_and_gets_the_environment_it_was_given(bench: Bench) -> None:
    wanted = "printf '%s ' $TURNOUT_RUN_ID $TURNOUT_ATTEMPT $TURNOUT_IDEMPOTENCY_KEY $TURNOUT_TOKEN $GREETING"
    got = bench.value(wanted, {"who": "you"}, env={"GREETING": "hello-{who}"}, parse="text")
    assert got == "run 1 the-key the-key:1 hello-you "


def test_attempts_that_were_handed_back_do_not_count_in_a_commands_number(bench: Bench) -> None:
    assert bench.value("printf %s $TURNOUT_ATTEMPT", parse="text", handed_back=2) == "1"


def test_a_command_runs_in_the_folder_that_it_is_told(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    found = bench.value(["pwd", "-P"], {"name": "sub"}, cwd=f"{tmp_path}/{{name}}", parse="text")
    assert Path(found) == (tmp_path / "sub").resolve()


def test_a_value_is_a_word_whatever_is_in_it(bench: Bench) -> None:
    nasty = "a b; echo 'c' $(id) \"d\" `e` \\ *"
    assert bench.value("printf %s {x}", {"x": nasty}, parse="text") == nasty
    assert bench.value(["printf", "%s", "{x}"], {"x": nasty}, parse="text") == nasty


def test_codes_that_are_ok_are_the_authors_choice(bench: Bench) -> None:
    assert bench.value("exit 3", ok_codes=(0, 3))["exit_code"] == 3
    assert bench.run("true", ok_codes=(3,)).error_message == "exit code 0"


@pytest.mark.parametrize(("code", "again"), [(75, True), (1, False)])
def test_codes_that_are_worth_another_attempt_are_the_authors_choice(bench: Bench, code: int, again: bool) -> None:
    result = bench.run("exit {code}", {"code": code}, retry_codes=(75,))
    assert result.retryable is again


def test_a_signal_is_a_failure_that_names_it(bench: Bench) -> None:
    assert bench.run("kill -9 $$").error_message == "killed by SIGKILL"


@pytest.mark.parametrize("parse", ["json", "lines"])
def test_output_is_parsed_as_asked(bench: Bench, parse: Any) -> None:
    assert bench.value("printf '[1,\\n2]'", parse=parse) == ([1, 2] if parse == "json" else ["[1,", "2]"])


def test_output_that_is_not_what_was_promised_fails(bench: Bench) -> None:
    result = bench.run("echo hello", parse="json")
    assert result.error is not None
    assert (result.error.code, "is not JSON" in result.error.message) == ("bad_output", True)
    result = bench.run("echo hello", parse="text", max_capture=3)
    assert result.error is not None
    assert result.error.code == "output_too_large"


def test_of_long_output_the_end_is_kept(bench: Bench) -> None:
    value = bench.value("seq 100000", max_capture=100)
    assert value["stdout"].startswith("… 588,795 bytes cut …\n")
    assert value["stdout"].endswith("99999\n100000\n")


def test_in_context_style_the_result_is_left_under_the_tasks_name(bench: Bench) -> None:
    assert bench.value(["echo", "x"], parse="text", context={"kept": 1}) == {"kept": 1, "t": "x"}


def test_a_program_that_does_not_exist_fails_for_good(bench: Bench, tmp_path: Path) -> None:
    result = bench.run(["no-such-program-anywhere"])
    assert result.status is ExecutionStatus.FAILED
    assert result.error is not None
    assert result.error.code == "command_not_found"
    assert result.error.message == "'no-such-program-anywhere' cannot be run: No such file or directory"
    elsewhere = bench.run(["true"], cwd=str(tmp_path / "nowhere"))
    assert elsewhere.status is ExecutionStatus.FAILED
    assert "nowhere" in (elsewhere.error_message or "")


def test_a_value_that_cannot_be_a_word_fails_for_good(bench: Bench) -> None:
    result = bench.run(["echo", "{x}"], {"x": {"a": 1}})
    assert result.status is ExecutionStatus.FAILED
    assert "x is a value of type dict" in (result.error_message or "")


def test_a_command_that_ignores_sigterm_is_killed_with_its_grandchild_when_its_time_is_up(
    make_bench: Callable[..., Bench], gate: Gate
) -> None:
    bench = make_bench(grace=0.2)
    bench.start([sys.executable, "-c", HOLD], {"port": gate.port}, timeout=5.0)
    assert sorted(gate.arrived(2)) == ["child", "grandchild"]
    assert bench.result().status is ExecutionStatus.TIMED_OUT
    gate.gone("child", "grandchild")


def test_a_cancelled_command_is_ended_with_what_it_has_started(make_bench: Callable[..., Bench], gate: Gate) -> None:
    bench = make_bench(grace=0.2)
    event = bench.start([sys.executable, "-c", HOLD], {"port": gate.port})
    gate.arrived(2)
    bench.executor.cancel(event)
    assert bench.result().status is ExecutionStatus.CANCELLED
    gate.gone("child", "grandchild")


def test_what_a_command_leaves_in_the_background_is_ended_with_it(bench: Bench, gate: Gate) -> None:
    bench.start([sys.executable, "-c", BEHIND], {"port": gate.port})
    gate.arrived()
    assert bench.result().status is ExecutionStatus.COMPLETED
    gate.gone("grandchild")


def test_the_shell_of_a_text_command_does_not_hide_its_programs(make_bench: Callable[..., Bench], gate: Gate) -> None:
    bench = make_bench(grace=0.2)
    inner = HOLD.replace("{port}", str(gate.port))
    event = bench.start("{python} -c {inner} | cat; true", {"python": sys.executable, "inner": inner})
    gate.arrived(2)
    bench.executor.cancel(event)
    assert bench.result().status is ExecutionStatus.CANCELLED
    gate.gone("child", "grandchild")


def test_a_command_that_no_process_could_be_started_for_goes_back_and_the_executor_is_to_blame(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_files(*args: Any, **more: Any) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patched:
        patched.setattr("turnout.runtime.supervised_process.subprocess.Popen", no_files)
        result = bench.run("true")
    assert result.status is ExecutionStatus.RETURNED
    assert at_fault(result, isolates=True) is True


def test_a_command_that_is_too_long_is_not_the_executors_failure(bench: Bench) -> None:
    result = bench.run(["true", "x" * 3_000_000])
    assert result.status in (ExecutionStatus.FAILED, ExecutionStatus.RETRY)
    assert at_fault(result, isolates=True) is False


@pytest.mark.parametrize("left", [-1.0, 0.001])
def test_a_command_does_not_begin_when_its_time_to_is_over(bench: Bench, tmp_path: Path, left: float) -> None:
    """Also if it passes on the way: a supervisor takes longer to start than this."""
    until, mark = boot_time() + left, tmp_path / "mark"
    result = bench.run(["touch", str(mark)], fence=lambda: until)
    assert (result.status, result.error_message) == (ExecutionStatus.RETURNED, "attempt_fenced")
    assert result.started_at is None
    assert not mark.exists()
    assert bench.run(["touch", str(mark)], fence=lambda: boot_time() + 3600.0).status is ExecutionStatus.COMPLETED
    assert mark.exists()
