"""A worker's process and a hub: what it runs, what it says, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import msgspec
import pytest
import zmq
import zmq.auth
from kit.waiting import stop_process, until
from scripted_hub import WAIT, ScriptedHub, start_worker, step

from turnout import Runner, remote, workflow
from turnout.executors.workers.settings import HubSettings
from turnout.wire.handshake import HelloCheck
from turnout.wire.messages import Error

Start = Callable[..., subprocess.Popen[str]]
BODIES = "worker_bodies"
pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def hub() -> Iterator[ScriptedHub]:
    with ScriptedHub() as made:
        yield made


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def begin(hub: ScriptedHub | str | None, *options: str, **more: Any) -> subprocess.Popen[str]:
        address = hub.address if isinstance(hub, ScriptedHub) else str(hub)
        worker = start_worker("--connect", address, "--import", BODIES, *options, **more)
        started.append(worker)
        return worker

    yield begin
    for worker in started:
        if worker.poll() is None:
            worker.kill()
        worker.communicate()


def ref(name: str) -> str:
    return f"{BODIES}:{name}"


spawn = remote("spawn", handler=ref("spawn"))


@workflow
def spawning(begun: str) -> Any:
    return spawn(begun=begun)


held = remote("held", handler=ref("hold"))


@workflow
def holding(begun: str, until: str) -> Any:
    return held(begun=begun, until=until)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_tasks_handlers_and_commands_run_and_answer(hub: ScriptedHub, start: Start, tmp_path: Path) -> None:
    start(hub, "--concurrency", "8")
    sum_ = step(ref("add"), args={"left": 2}, positional=())
    later = step(ref("wait"), args={"seconds": 0})
    ship = step("Shop::Ship", {"carrier": "sea"}, args={"order": "a"})
    echo = step("turnout.shell", {"command": ["echo", "hi {name}"], "parse": "text"}, args={"name": "you"})
    chosen, missing = step(ref("choose")), step("no.such")
    hub.give(sum_, later, ship, echo, chosen, missing)
    assert [hub.result(each).output for each in (sum_, later, ship, echo)] == [3, "waited", "a by sea", "hi you"]
    assert hub.result(chosen).metadata.chosen == ("left",) and hub.result(chosen).output == 1
    assert (hub.result(missing).status, hub.result(missing).metadata.outcome) == ("error", "handler_missing")
    worker = hub.workers[0].hello
    assert worker.language == "python" and ref("add") in worker.handlers and worker.credits == 16


@pytest.mark.parametrize("how", ["--threads", "--processes"])
def test_failures_say_what_the_verdict_needs(hub: ScriptedHub, start: Start, how: str) -> None:
    start(hub, how)
    plain, later, never = (step(ref("fail"), args={"how": each}) for each in ("plain", "later", "never"))
    hub.give(plain, later, never)
    error = hub.result(plain).error
    assert error is not None and error.type == "KeyError" and "builtins.LookupError" in error.mro
    assert "worker_bodies.py" in "".join(error.backtrace) and hub.result(plain).metadata.retryable
    assert hub.result(later).metadata.retry_after_ms == 2500
    assert not hub.result(never).metadata.retryable


@pytest.mark.parametrize("how", ["--threads", "--processes"])
def test_a_handler_that_asks_for_the_step_gets_it(hub: ScriptedHub, start: Start, how: str) -> None:
    start(hub, how)
    ship = step("Shop::Ship", {"carrier": "air"}, args={"order": "a"})
    hub.give(ship)
    assert hub.result(ship).output == "a by air"


def test_a_step_that_puts_itself_off_finds_what_it_saved(hub: ScriptedHub, start: Start) -> None:
    start(hub)
    first, second = step(ref("put_off")), step(ref("put_off"), saved={"tried": 1})
    hub.give(first, second)
    metadata = hub.result(first).metadata
    assert metadata.outcome == "deferred" and metadata.deferral == {"seconds": 3.0, "saved": {"tried": 1}}
    assert hub.result(second).output == {"tried": 1}


def test_a_condition_is_asked_in_place_of_the_body(hub: ScriptedHub, start: Start, tmp_path: Path) -> None:
    start(hub)
    condition = {"ref": f"{BODIES}:is_there", "args": json.dumps([str(tmp_path / "flag")])}
    unmet = step(ref("met"), args={"before": "x"}, condition=condition)
    hub.give(unmet)
    deferral = hub.result(unmet).metadata.deferral
    assert deferral is not None and deferral["unmet"]
    (tmp_path / "flag").touch()
    met = step(ref("met"), args={"before": "x"}, condition=condition)
    hub.give(met)
    assert hub.result(met).output == "x"


def test_lines_and_progress_arrive_while_the_step_runs(hub: ScriptedHub, start: Start, tmp_path: Path) -> None:
    worker = start(hub)
    begun, go = tmp_path / "begun", tmp_path / "go"
    one = step(ref("talk"), args={"begun": str(begun), "until": str(go)})
    hub.give(one)
    hub.until(lambda: len(hub.lines.get(one.token, ())) == 2 and hub.progress == [1])
    assert hub.lines[one.token] == ["printed", "WARNING shop: logged"] and one.token not in hub.results
    go.touch()
    hub.result(one)
    assert hub.lines[one.token] == ["printed", "WARNING shop: logged", "and the rest"]
    worker.terminate()
    shown = worker.communicate(timeout=WAIT)[0]
    assert shown == "printed\nand the rest"


@pytest.mark.parametrize("how", ["--threads", "--processes"])
def test_records_are_kept_from_the_level_on_that_was_asked_for(hub: ScriptedHub, start: Start, how: str) -> None:
    worker = start(hub, how, "--log-level", "info")
    one = step(ref("record"), args={"text": "tea is 4"})
    hub.give(one)
    hub.result(one)
    assert sorted(hub.lines[one.token]) == ["INFO shop.prices: tea is 4", "printed tea is 4"]
    worker.terminate()
    assert worker.wait(WAIT) == 0


def test_what_tasks_print_is_shown_in_a_pipe_as_it_comes(hub: ScriptedHub, start: Start) -> None:
    worker = start(hub, env={"PYTHONUNBUFFERED": ""})
    one = step(ref("record"), args={"text": "tea is 4"})
    hub.give(one)
    assert worker.stdout is not None and worker.stdout.readline() == "printed tea is 4\n"


def test_a_worker_that_hears_nothing_from_its_hub_says_so_and_waits(start: Start) -> None:
    with ScriptedHub() as gone:
        address = gone.address
    worker = start(address)
    assert worker.stderr is not None
    assert any(f"hub {address} has not answered yet" in line for line in iter(worker.stderr.readline, ""))
    worker.terminate()
    assert worker.wait(WAIT) == 0


def test_a_timeout_ends_the_process_and_what_it_started(hub: ScriptedHub, start: Start, tmp_path: Path) -> None:
    start(hub, "--processes")
    # Enough for a child to start on a machine that is very busy: the clock runs from the body's start.
    one = step(ref("spawn"), args={"begun": str(tmp_path / "begun")}, timeout_ms=1_500)
    hub.give(one)
    result = hub.result(one)
    assert result.metadata.outcome == "timed_out" and result.error is not None
    assert result.error.mro == ("builtins.TimeoutError",)
    if (tmp_path / "begun").exists():
        assert not any(alive(int(pid)) for pid in (tmp_path / "begun").read_text().split())


def test_cancelling_ends_the_process_and_what_it_started(hub: ScriptedHub, start: Start, tmp_path: Path) -> None:
    start(hub, "--processes")
    one = step(ref("spawn"), args={"begun": str(tmp_path / "begun")})
    hub.give(one)
    until((tmp_path / "begun").exists)
    pids = [int(pid) for pid in (tmp_path / "begun").read_text().split()]
    assert all(alive(pid) for pid in pids)
    hub.cancel(one)
    assert hub.result(one).metadata.outcome == "cancelled"
    assert not any(alive(pid) for pid in pids)


def test_a_coroutine_is_cancelled_and_its_place_is_free_again(hub: ScriptedHub, start: Start, tmp_path: Path) -> None:
    start(hub, "--concurrency", "1")
    one = step(ref("wait"), args={"seconds": 600, "begun": str(tmp_path / "begun")})
    hub.give(one)
    until((tmp_path / "begun").exists)
    hub.cancel(one)
    assert hub.result(one).metadata.outcome == "cancelled"
    after = step(ref("add"), args={"left": 1})
    hub.give(after)
    assert hub.result(after).output == 2


def test_a_child_that_dies_is_a_crash_of_its_step_alone(hub: ScriptedHub, start: Start) -> None:
    start(hub, "--processes")
    dead, well = step(ref("die")), step(ref("add"), args={"left": 1})
    hub.give(dead, well)
    assert hub.result(dead).metadata.outcome == "crashed" and hub.result(dead).status == "error"
    assert hub.result(well).output == 2


def test_a_command_is_ended_at_its_timeout(hub: ScriptedHub, start: Start) -> None:
    start(hub)
    one = step("turnout.shell", {"command": ["sleep", "600"]}, timeout_ms=200)
    hub.give(one)
    assert hub.result(one).metadata.outcome == "timed_out"


def test_sigterm_gives_back_what_waits_finishes_what_runs_and_says_bye(
    hub: ScriptedHub, start: Start, tmp_path: Path
) -> None:
    worker = start(hub, "--concurrency", "1")
    begun, go = tmp_path / "begun", tmp_path / "go"
    runs, waits = step(ref("hold"), args={"begun": str(begun), "until": str(go)}), step(ref("add"), args={"left": 1})
    hub.give(runs, waits)
    until(begun.exists)
    worker.terminate()
    assert hub.result(waits).metadata.outcome == "returned" and runs.token not in hub.results
    go.touch()
    assert hub.result(runs).output == "let go"
    assert worker.wait(WAIT) == 0
    hub.until(lambda: hub.left)
    assert hub.lost == []


def test_a_second_sigterm_does_not_wait(hub: ScriptedHub, start: Start, tmp_path: Path) -> None:
    worker = start(hub, "--processes")
    hub.give(step(ref("spawn"), args={"begun": str(tmp_path / "begun")}))
    until((tmp_path / "begun").exists)
    worker.terminate()
    hub.until(lambda: hub.workers[0].credits == 0)
    worker.terminate()
    assert worker.wait(WAIT) == 1
    assert not any(alive(int(pid)) for pid in (tmp_path / "begun").read_text().split())


def test_a_hub_can_ask_a_worker_to_leave(hub: ScriptedHub, start: Start) -> None:
    worker = start(hub)
    hub.until(lambda: hub.workers)
    hub.drain()
    assert worker.wait(WAIT) == 0


def test_a_worker_that_is_killed_loses_its_steps_to_others(hub: ScriptedHub, start: Start, tmp_path: Path) -> None:
    worker = start(hub, "--processes")
    one = step(ref("spawn"), args={"begun": str(tmp_path / "begun")})
    hub.give(one)
    until((tmp_path / "begun").exists)
    pids = [int(pid) for pid in (tmp_path / "begun").read_text().split()]
    worker.kill()
    worker.wait(WAIT)
    hub.skip(1_000)
    hub.until(lambda: hub.lost == [one.token])
    # Nothing of it goes on: whoever gets the step next is alone.
    until(lambda: not any(alive(pid) for pid in pids))


def test_what_waits_behind_a_long_step_goes_to_a_worker_that_joins(start: Start, tmp_path: Path) -> None:
    quick = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.2)
    with Runner(f"sqlite:///{tmp_path}/runs.db", hub=quick, config=False, handle_sigterm=False) as runner:
        first = start(runner.hub, "--concurrency", "1")
        paths = [tmp_path / name for name in ("one", "two")]
        runs = [runner.submit(holding, str(path), str(tmp_path / "end")) for path in paths]
        until(lambda: any(path.exists() for path in paths))
        until(lambda: all(run.tasks()[0].state == "running" for run in runs))
        second = start(runner.hub, "--concurrency", "1")
        until(lambda: all(path.exists() and path.read_text() for path in paths))
        assert {int(path.read_text()) for path in paths} == {first.pid, second.pid}
        (tmp_path / "end").touch()
        assert [run.result() for run in runs] == ["let go"] * 2
        outcomes = sorted(tuple(each.outcome for each in run.attempts()) for run in runs)
        assert outcomes == [("completed",), ("returned", "completed")]


def test_on_the_same_machine_nobody_waits_for_the_lease_of_a_worker_that_was_killed(
    start: Start, tmp_path: Path
) -> None:
    lasting = HubSettings(address="tcp://127.0.0.1:0", lease=3_600)
    with Runner(f"sqlite:///{tmp_path}/runs.db", hub=lasting, config=False, handle_sigterm=False) as runner:
        worker = start(runner.hub, "--processes")
        run = runner.submit(spawning, str(tmp_path / "begun"))
        until((tmp_path / "begun").exists)
        worker.kill()
        worker.wait(WAIT)
        until(lambda: [each.outcome for each in run.attempts()] == ["lost"])
        until(lambda: not runner.workers())
        until(lambda: (run.tasks()[0].reason or "").startswith("no_worker_matches"))
        run.cancel()


@pytest.mark.parametrize("how", ["--threads", "--processes"])
def test_what_a_worker_had_to_leave_undone_is_lost_and_no_failure_of_its_handler(
    hub: ScriptedHub, start: Start, tmp_path: Path, how: str
) -> None:
    worker = start(hub, how, "--concurrency", "1")
    begun = tmp_path / "begun"
    one, two = (step(ref("hold"), args={"begun": str(begun), "until": str(tmp_path / "never")}) for _ in range(2))
    hub.give(one, two)
    until(begun.exists)
    worker.terminate()
    assert hub.result(two).metadata.outcome == "returned", "it had not begun"
    worker.terminate()
    assert (hub.result(one).status, hub.result(one).metadata.outcome) == ("error", "lost")
    worker.communicate(timeout=WAIT)


def test_a_worker_that_was_stopped_for_long_comes_back_and_begins_nothing_old(start: Start, tmp_path: Path) -> None:
    fence = 3.0
    with ScriptedHub(told_lease_ms=int(fence / 0.8 * 1000), heartbeat_ms=200, resend_ms=200) as hub:
        worker = start(hub, "--concurrency", "1")
        hub.until(lambda: hub.workers)
        stop_process(worker.pid)
        stopped = time.monotonic()
        one = step(ref("hold"), args={"begun": str(tmp_path / "begun"), "until": str(tmp_path)})
        hub.give(one)
        hub.skip(1_000)
        hub.until(lambda: hub.lost == [one.token])
        until(lambda: time.monotonic() > stopped + 2 * fence)
        os.kill(worker.pid, signal.SIGCONT)
        two = step(ref("add"), args={"left": 1})
        hub.give(two)
        assert hub.result(two).output == 2
        assert not (tmp_path / "begun").exists()


def test_a_result_waits_for_the_hub_that_comes_back(start: Start, tmp_path: Path) -> None:
    begun, go = tmp_path / "begun", tmp_path / "go"
    one = step(ref("hold"), args={"begun": str(begun), "until": str(go)})
    with ScriptedHub() as first:
        start(first)
        first.give(one)
        until(begun.exists)
    go.touch()
    with ScriptedHub(first.port) as second:
        assert second.result(one).output == "let go"
        assert [held.token for held in second.greeted[0].unknown] == [one.token]


def test_a_worker_finds_the_other_hubs_that_one_names(start: Start) -> None:
    with ScriptedHub() as other, ScriptedHub(hubs=(other.address,)) as hub:
        start(hub, "--concurrency", "4")
        other.until(lambda: other.workers)
        other.until(lambda: other.workers[0].credits == 4)
        hub.until(lambda: hub.workers[0].credits == 4)
        assert hub.workers[0].capacity == other.workers[0].capacity == 4, "its places are the same for both"
        one = step(ref("add"), args={"left": 1})
        other.give(one)
        assert other.result(one).output == 2


def test_two_addresses_of_one_hub_are_one_hub(start: Start) -> None:
    with ScriptedHub() as hub:
        again = hub.address.replace("127.0.0.1", "localhost")
        worker = start(hub, "--connect", again)
        one = step(ref("add"), args={"left": 1})
        hub.give(one)
        assert hub.result(one).output == 2
        worker.terminate()
        assert worker.wait(WAIT) == 0


def test_a_worker_that_is_refused_for_good_ends_and_says_why(start: Start) -> None:
    refusal = Error("labels_refused", "this key may not claim gpu=true", retry=False)
    with ScriptedHub(hello_check=HelloCheck(lambda key, hello: refusal if hello.labels else None)) as hub:
        worker = start(hub, "--label", "gpu=true")
        said = worker.communicate(timeout=WAIT)[1]
        assert worker.returncode == 1
        assert "error[worker_refused]" in said and "this key may not claim gpu=true" in said


def test_with_keys_everything_is_encrypted_and_without_them_nobody_is_heard(start: Start, tmp_path: Path) -> None:
    zmq.auth.create_certificates(tmp_path, "worker")
    public, secret = zmq.curve_keypair()
    with ScriptedHub(keys=(public, secret)) as hub:
        plain = start(hub)
        start(hub, "--server-key", public.decode(), "--key-file", str(tmp_path / "worker.key_secret"))
        one = step(ref("add"), args={"left": 1})
        hub.give(one)
        assert hub.result(one).output == 2
        assert [worker.hello.pid for worker in hub.workers] != [plain.pid] and len(hub.workers) == 1
        assert plain.stderr is not None
        assert any("encrypted connections only" in line for line in iter(plain.stderr.readline, ""))


def test_health_and_a_trace_that_hides_what_is_said(hub: ScriptedHub, start: Start) -> None:
    worker = start(hub, "--health-port", "0", "--trace-wire")
    assert worker.stderr is not None
    line = next(each for each in worker.stderr if "/healthz" in each)
    one = step("Shop::Ship", {"carrier": "hush-hush"}, args={"order": "hush-hush"})
    hub.give(one)
    assert hub.result(one).output == "hush-hush by hush-hush"
    with urlopen(line.rpartition(" ")[2].strip()) as answer:
        said = json.load(answer)
    assert said["status"] == "ok" and said["name"].endswith(str(worker.pid))
    worker.terminate()
    trace = worker.communicate(timeout=WAIT)[1]
    assert f"<- {hub.address} steps" in trace and one.token in trace and "hush" not in trace


def test_an_output_beyond_the_hubs_messages_is_a_failure(start: Start) -> None:
    with ScriptedHub(max_message_bytes=10_000) as hub:
        start(hub)
        large = step("turnout.shell", {"command": "head -c 20000 /dev/zero | tr '\\0' x", "parse": "text"})
        small = step(ref("add"), args={"left": 1})
        hub.give(large, small)
        error = hub.result(large).error
        assert error is not None and error.type == "TooLarge"
        assert hub.result(small).output == 2


def test_numbers_of_any_size_come_back_as_they_went(hub: ScriptedHub, start: Start) -> None:
    start(hub)
    one = step(ref("add"), args={"left": 2**80, "right": 1})
    hub.give(one)
    assert hub.result(one).output == 2**80 + 1
    assert msgspec.json.decode(msgspec.json.encode(hub.result(one).output)) == 2**80 + 1


def test_quick_steps_are_asked_for_ahead_and_long_ones_behind_them_go_back(
    hub: ScriptedHub, start: Start, tmp_path: Path
) -> None:
    start(hub, "--concurrency", "2")
    hub.until(lambda: bool(hub.workers))
    while hub.workers[0].credits < 24:
        quick = [step(ref("add"), args={"left": 1}) for _ in range(4)]
        hub.give(*quick)
        for each in quick:
            hub.result(each)
    assert hub.workers[0].capacity == 2, "what it runs at once has not changed"
    begun, go_on = tmp_path / "begun", tmp_path / "go_on"
    long = [step(ref("hold"), args={"begun": str(begun), "until": str(go_on)}) for _ in range(12)]
    hub.give(*long)
    # Two run and two wait, as without any quick ones before them.
    for each in long[4:]:
        assert hub.result(each).metadata.outcome == "returned"
    assert not any(each.token in hub.results for each in long[:4])
    go_on.touch()
    assert [hub.result(each).status for each in long[:4]] == ["completed"] * 4
