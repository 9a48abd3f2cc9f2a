"""Processes and commands in workflows: out of the box, from scripts, and with the reason when something dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import turnout
from tests import process_bodies as bodies
from tests.gates import PATIENCE, Gate, pass_gate
from turnout import Runner, Workflow, shell, task, workflow
from turnout.errors import CommandFailed, InvalidRouting, RunFailed
from turnout.executors.process import ProcessExecutor

add = task(executor="process")(bodies.add)
pid = task(executor="process")(bodies.pid)


def one_task(body: Any, *args: Any, name: str = "single", task_name: str = "", **options: Any) -> Workflow[..., Any]:
    """A workflow of this one body in a process."""
    step = task(**{"executor": "process", "name": task_name or body.__name__, **options})(body)

    @workflow(name=name)
    def single() -> Any:
        return step(*args)

    return single


def failure(runner: Runner, flow: Workflow[..., Any]) -> Any:
    with pytest.raises(RunFailed) as caught:
        runner.run(flow)
    (one,) = caught.value.fields["failures"]
    return one


def test_a_task_asks_for_a_process_and_gets_one_without_further_ado(runner: Runner) -> None:
    @workflow
    def sums() -> dict[str, Any]:
        return {"sum": add(1, 2), "elsewhere": pid()}

    result = runner.run(sums)
    assert result["sum"] == {"sum": 3}
    assert result["elsewhere"] != os.getpid()


def test_three_crashes_fail_the_task_with_the_reason_and_neighbours_finish(
    make_sqlite_runner: Callable[..., Runner],
) -> None:
    runner = make_sqlite_runner(executors={"process": ProcessExecutor(2)})
    dying = [
        (one_task(bodies.exit_at_once, 1, name="exits"), "its process exited with code 1"),
        (one_task(bodies.segfault, name="segfaults"), "its process was killed by SIGSEGV"),
    ]
    with Gate() as gate:
        neighbour = runner.submit(one_task(pass_gate, gate.port, "neighbour", name="neighbour"))
        gate.arrived()
        for flow, reason in dying:
            found = failure(runner, flow)
            assert (found.message, found.attempts) == (reason, 3)
        gate.open()
        assert neighbour.result(PATIENCE) == "neighbour"
    handle = runner.submit(dying[0][0])
    handle.wait(PATIENCE)
    assert handle.tasks()[0].reason == "crashed_too_often"


def test_memory_above_the_limit_fails_the_task_alone(make_sqlite_runner: Callable[..., Runner]) -> None:
    runner = make_sqlite_runner(executors={"process": ProcessExecutor(2, memory_limit="150MB")})
    found = failure(runner, one_task(bodies.hoard, 200))
    assert "exceeded the limit of 150 MB" in found.message
    assert found.attempts == 3
    assert runner.run(one_task(bodies.add, 1, 2, name="after")) == {"sum": 3}


def test_a_crash_is_not_repeated_where_a_second_start_would_do_harm(sqlite_runner: Runner) -> None:
    handle = sqlite_runner.submit(one_task(bodies.exit_at_once, 1, at_most_once=True))
    handle.wait(PATIENCE)
    (view,) = handle.tasks()
    assert (view.attempt, view.reason) == (1, "crashed_at_most_once")


def test_retry_rules_name_exceptions_by_their_base_class(sqlite_runner: Runner) -> None:
    found = failure(sqlite_runner, one_task(bodies.busy, retries=2, retry_on=ConnectionError))
    assert found.attempts == 3


def test_a_cancelled_run_ends_with_its_processes(make_sqlite_runner: Callable[..., Runner]) -> None:
    runner = make_sqlite_runner(executors={"process": ProcessExecutor(1, grace="200ms")})
    with Gate() as gate:
        handle = runner.submit(one_task(bodies.ignore_sigterm_with_a_grandchild, gate.port))
        gate.arrived(2)
        handle.cancel()
        assert handle.wait(PATIENCE) == "cancelled"
        gate.gone("child", "grandchild")


def local_function() -> Any:
    def inner() -> int:
        return 1

    return inner


def test_a_body_in_a_process_puts_itself_off_and_finds_what_it_saved(
    sqlite_runner: Runner, tmp_path: Path, until: Callable[..., None]
) -> None:
    awaited = tmp_path / "awaited"
    handle = sqlite_runner.submit(one_task(bodies.put_off_until, str(awaited), conditions=[bodies.is_there]))
    until(lambda: (handle.tasks()[0].reason or "").startswith("deferred:"), "the deferral")
    awaited.touch()
    assert handle.result(PATIENCE) == {"attempt": 1}


def test_a_body_in_a_process_chooses_a_branch(sqlite_runner: Runner) -> None:
    choose = task(executor="process")(bodies.choose)

    @task
    def left() -> str:
        return "left"

    @task
    def right() -> str:
        return "right"

    @workflow
    def fork(name: str) -> list[Any]:
        chosen = choose(name)
        return [left.after(chosen)(), right.after(chosen)()]

    assert sqlite_runner.run(fork, "right") == [None, "right"]


@pytest.mark.parametrize(
    ("body", "why"), [(bodies.made_here(), "is a lambda"), (local_function(), "is defined inside local_function")]
)
def test_a_function_that_no_process_can_find_is_refused_at_submission(
    sqlite_runner: Runner, body: Any, why: str
) -> None:
    with pytest.raises(InvalidRouting, match=why) as caught:
        sqlite_runner.submit(one_task(body, task_name="step"))
    assert caught.value.code == "not_importable"


def test_what_processes_and_commands_say_is_kept_with_their_attempts(sqlite_runner: Runner) -> None:
    speak = task(executor="process")(bodies.print_everywhere)
    echo = shell(["echo", "from a command"], name="echo")

    @workflow
    def speaking() -> None:
        speak()
        echo()

    handle = sqlite_runner.submit(speaking)
    handle.result(PATIENCE)
    said = {(line.task, line.stream, line.text) for line in handle.logs()}
    assert said >= {
        ("print_everywhere", "stdout", "from Python"),
        ("print_everywhere", "stdout", "from a grandchild"),
        ("print_everywhere", "log", "WARNING shop: a record"),
        ("print_everywhere", "stderr", "an error"),
        ("echo", "stdout", "from a command"),
    }
    assert not any("a record" in text for _, stream, text in said if stream == "stderr")


# -- scripts ---------------------------------------------------------------------------------------------------------
SCRIPT = """
import os
from turnout import Runner, task, workflow

class Odd(Exception):
    pass

@task(executor="process", retries=1, retry_on=Odd)
def double(number: int) -> list[int]:
    if number < 0:
        raise Odd("negative")
    return [2 * number, os.getpid()]

@workflow
def doubled(number: int) -> list[int]:
    return double(number)

def main():
    with Runner("sqlite:///:memory:") as runner:
        print("result", runner.run(doubled, 21)[0], runner.run(doubled, 2)[1] != os.getpid())
        handle = runner.submit(doubled, -1)
        handle.wait()
        print("attempts", handle.tasks()[0].attempt)

"""


def run_script(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(text)
    return subprocess.run(
        [sys.executable, *(arguments or ("script.py",))],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(turnout.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("arguments", [("script.py",), ("-m", "script")])
def test_functions_of_a_script_run_in_processes(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run_script(tmp_path, SCRIPT + 'if __name__ == "__main__":\n    main()\n', *arguments)
    assert done.stdout.splitlines() == ["result 42 True", "attempts 2"], done.stderr


def test_a_script_that_starts_over_when_imported_is_told_what_to_do(tmp_path: Path) -> None:
    done = run_script(tmp_path, SCRIPT + "main()\n")
    assert "RunFailed" in done.stderr
    assert 'put what starts it under  if __name__ == "__main__":' in done.stderr


def test_functions_of_an_interactive_session_are_refused_with_the_way_out(tmp_path: Path) -> None:
    done = run_script(tmp_path, "", "-c", SCRIPT + "main()\n")
    assert "not_importable" in done.stderr or "InvalidRouting" in done.stderr
    assert "notebook or an interactive session" in done.stderr


def test_a_killed_program_leaves_none_of_its_processes(tmp_path: Path) -> None:
    text = """
import sys
from tests import process_bodies as bodies
from turnout import Runner, shell, task, workflow

held = task(executor="process")(bodies.ignore_sigterm_with_a_grandchild)
command = shell([sys.executable, "-c", "from tests.gates import pass_gate; pass_gate({port}, 'command')"])

@workflow
def both(port: int) -> None:
    held(port)
    command(port=port)

if __name__ == "__main__":
    with Runner("sqlite:///:memory:") as runner:
        runner.run(both, int(sys.argv[1]))
"""
    (tmp_path / "program.py").write_text(text)
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(Path(turnout.__file__).parents[1]), str(root)])
    with Gate() as gate:
        program = subprocess.Popen(
            [sys.executable, "program.py", str(gate.port)], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}
        )
        try:
            names = gate.arrived(3)
        finally:
            program.send_signal(signal.SIGKILL)
            program.wait()
        assert sorted(names) == ["child", "command", "grandchild"]
        gate.gone(*names)


# -- commands --------------------------------------------------------------------------------------------------------
def test_a_command_is_a_task_like_any_other(runner: Runner) -> None:
    words = shell(["printf", "%s\\n", "{first}", "{rest}"], parse="lines")
    count = shell("printf '%s' {text} | wc -c", parse="text", name="count")

    @workflow
    def commands(first: str) -> dict[str, Any]:
        found = words(first=first, rest=["b c", "d"])
        return {"found": found, "length": count.after(found)(text="it's $HOME")}

    result = runner.run(commands, "a")
    assert result["found"] == ["a", "b c", "d"]
    assert result["length"].strip() == "10"
    explained = runner.explain(commands)
    assert explained["printf"].decision.executor_key == "shell"
    assert explained["printf"].decision.reason == "default executor of shell bodies"


def test_a_command_that_fails_says_what_it_said(sqlite_runner: Runner) -> None:
    broken = shell("echo begun; echo it is broken >&2; exit {code}", retries=1, name="broken")

    @workflow
    def breaking() -> Any:
        return broken(code=3)

    found = failure(sqlite_runner, breaking)
    assert (found.type, found.code, found.message) == ("CommandFailed", "command_failed", "exit code 3: it is broken")
    assert found.attempts == 2


def test_a_shell_task_runs_plainly_outside_of_a_workflow() -> None:
    assert shell(["echo", "{what}"])(what="hello") == {"exit_code": 0, "stdout": "hello\n", "stderr": ""}
    with pytest.raises(CommandFailed, match="exit code 7"):
        shell("exit 7")()


def test_a_rule_may_not_send_a_command_to_an_executor_that_cannot_run_it(sqlite_runner: Runner) -> None:
    @workflow
    def misled() -> Any:
        return shell(["true"], executor="process", name="misled_step")()

    with pytest.raises(InvalidRouting) as caught:
        sqlite_runner.submit(misled)
    assert caught.value.code == "unsupported_body"
