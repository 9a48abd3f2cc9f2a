"""Hooks on ``stuck``: called by a timer while the run is open, once, and skipped at its end otherwise."""

from __future__ import annotations

from kit.runs import TinyRun, task

from turnout.model.durations import seconds, shown
from turnout.model.hooks import hook_arguments
from turnout.model.notifications import MAX_WAITING, OpenTask, stuck_event
from turnout.model.reasons import WAIT_REASONS, in_words
from turnout.model.spec import Hook, TaskSpec
from turnout.model.states import RunState, TaskState

NAME = "on_stuck.tell"


def hook() -> TaskSpec:
    return task(NAME, hook=Hook("stuck", takes_outcome=True, after=600.0))


def call(run: TinyRun) -> None:
    run.commit(lambda transition: transition.call_stuck(NAME))


def test_it_is_skipped_if_the_run_ends_in_time() -> None:
    run = TinyRun(task("load"), hook()).start()
    run.complete("load")
    assert run.machine.row.state is RunState.COMPLETED
    assert (run.row(NAME).state, run.row(NAME).reason) == (TaskState.SKIPPED, "not_called")


def test_it_is_called_once_while_the_run_is_open_and_the_run_ends_as_before() -> None:
    run = TinyRun(task("load"), hook()).start()
    call(run)
    call(run)
    assert run.row(NAME).attempt == 1
    run.complete(NAME)
    call(run)
    assert run.row(NAME).attempt == 1 and run.machine.row.state is RunState.RUNNING
    run.complete("load")
    assert run.machine.row.state is RunState.COMPLETED


def test_it_is_not_called_once_only_hooks_are_open() -> None:
    after = task("on_success.tidy", hook=Hook("success"))
    run = TinyRun(task("load"), after, hook()).start()
    run.complete("load")
    call(run)
    assert run.row(NAME).attempt == 0


def test_its_event_has_what_is_open() -> None:
    run = TinyRun(task("load"), task("ship", "load"), hook()).start()
    machine = run.machine
    [event] = hook_arguments(
        machine.graph, machine.graph.position[NAME], "r", machine.row, machine.tasks.__getitem__, lambda name: None
    )
    assert event["data"]["waiting"] == [{"task": "load", "state": "running", "reason": None, "attempt": 1}]
    assert event["type"] == "run.stuck" and event["text"].endswith("has not ended after 10m: load is running")


def test_an_event_is_bounded_and_names_first_what_waits() -> None:
    running = [OpenTask(task=f"t{n}", state="running", reason=None, attempt=1) for n in range(100)]
    waits = OpenTask(task="slow", state="ready", reason="no_capacity", attempt=0)
    event = stuck_event(
        run_id="r", workflow="a::b::c", status="running", reason=None, after=90, waiting=[*running, waits]
    )
    assert len(event["data"].get("waiting", ())) == MAX_WAITING
    assert "after 1m30s: slow waits: all slots" in event["text"] and "(and 100 more)" in event["text"]


def test_every_waiting_reason_has_words() -> None:
    for code in WAIT_REASONS:
        assert in_words(code).endswith(f"({code})") and len(in_words(code)) > len(code) + 10
    assert in_words("limit:a, b").endswith("(limit:a, b)") and in_words("its own words") == "its own words"
    assert in_words(None) == ""


def test_a_duration_is_shown_as_it_is_written() -> None:
    for text in ("1s", "10m", "1h30m", "2d", "1m0.5s"):
        assert shown(seconds(text)) == text
