"""Workers as people see them: a real hub in a Runner, real sockets, small workers in threads of the test."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kit.waiting import until
from small_worker import SmallWorker

from turnout import Runner, task, workflow
from turnout.dispatcher import BreakerSettings, RoutingConfig, RoutingRule
from turnout.errors import InvalidInput, RunFailed
from turnout.executors.workers.settings import HubSettings
from turnout.runner import EngineSettings
from turnout.wire.documents import Outcome, ResultMetadata, Step, StepError, StepResult

EVERYTHING = RoutingConfig("default", (RoutingRule("**", "workers"),))
QUICK = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.2, lease=1.0, resend=0.2)
PATIENT = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.2, lease=20.0, resend=0.2)


@task
def add_one(x: int) -> int:
    return x + 1


@workflow
def adding(x: int) -> int:
    return add_one(x)


@workflow(worker_selector={"gpu": "true"})
def labelled(x: int) -> int:
    return add_one(x)


def argument(step: Step) -> Any:
    return [*step.metadata.positional, *step.metadata.args.values()][0]


HANDLERS: dict[str, Callable[[Step], Any]] = {add_one.ref: lambda step: argument(step) + 1}


def answer(step: Step, outcome: Outcome, kind: str) -> StepResult:
    """An answer for which no body is to blame."""
    return StepResult(
        step_id=step.step_id,
        status="error",
        error=StepError("it cannot", kind),
        metadata=ResultMetadata(token=step.token, attempt=step.metadata.attempt, outcome=outcome),
    )


def missing(step: Step) -> StepResult:
    """The worker said that it had the handler, and has not."""
    return answer(step, "handler_missing", "HandlerMissing")


def unable(step: Step) -> StepResult:
    """The worker cannot start anything, for example because it cannot fork."""
    return answer(step, "returned", "ExecutorUnavailable")


def crash(step: Step) -> StepResult:
    return answer(step, "crashed", "Crashed")


@contextmanager
def runner_of(url: str, hub: HubSettings = QUICK, **options: Any) -> Iterator[Runner]:
    workflows = [adding, labelled]
    with Runner(url, hub=hub, routing=EVERYTHING, workflows=workflows, handle_sigterm=False, **options) as runner:
        yield runner


def address_of(runner: Runner) -> str:
    assert runner.hub is not None
    return runner.hub


def breakers(runner: Runner) -> list[str]:
    return [view.breaker for view in runner.workers()]


def barring(**more: Any) -> EngineSettings:
    return EngineSettings(executor_breaker=BreakerSettings(threshold=2, **more))


def test_a_program_sees_its_workers_and_what_they_have(store_url: str) -> None:
    with runner_of(store_url, PATIENT) as runner:
        worker = SmallWorker(
            address_of(runner), handlers=HANDLERS, labels={"zone": "a"}, credits=3, name="one", host="box"
        )
        worker.held.set()
        with worker:
            until(runner.workers)
            run = runner.submit(adding, 1)
            until(lambda: len(worker.held_steps))
            [view] = runner.workers()
            assert (view.name, view.id, view.language) == ("one", worker.id, "python")
            assert (view.labels, view.handlers) == ({"zone": "a"}, (add_one.ref,))
            assert (view.credits, view.in_flight, view.breaker) == (3, 1, "closed")
            assert (view.capacity, view.running, view.waiting) == (2, 1, 0), "half of what it asks for, unless it says"
            assert view.hubs == (runner.hub,)
            [held] = runner.core.store.held_by(worker.id)
            assert (held.run_id, held.task, held.attempt) == (run.id, "add_one", 1)
            worker.held.clear()
            assert run.result() == 2
            until(lambda: runner.workers()[0].executed == 1)
            assert runner.core.store.held_by(worker.id) == []


def test_an_attempt_tells_its_worker_and_why_it_was_there_when_both_have_gone(store_url: str) -> None:
    with runner_of(store_url) as runner:
        going = SmallWorker(address_of(runner), handlers=HANDLERS, name="going")
        going.held.set()
        with going:
            run = runner.submit(adding, 1)
            until(lambda: len(going.held_steps))
            going.vanish()
        with SmallWorker(address_of(runner), handlers=HANDLERS, name="staying"):
            assert run.result() == 2
        run_id = run.id
    with Runner(store_url, workflows=[adding], handle_sigterm=False) as other:
        first, *between, last = other.get(run_id).attempts()
    assert (first.executor, first.worker, first.outcome) == ("workers", "going", "lost")
    assert (last.executor, last.worker, last.outcome) == ("workers", "staying", "completed")
    assert first.decision is not None and first.decision == last.decision and "**" in first.decision
    assert [one.attempt for one in (first, *between, last)] == list(range(1, 3 + len(between)))


def test_a_drained_worker_hears_of_it_from_any_process_and_gets_nothing_more(store_url: str) -> None:
    with (
        runner_of(store_url, PATIENT) as runner,
        Runner(store_url, workflows=[], drives=False, handle_sigterm=False) as elsewhere,
    ):
        leaving = SmallWorker(address_of(runner), handlers=HANDLERS, name="leaving")
        leaving.held.set()
        with leaving:
            until(runner.workers)
            first = runner.submit(adding, 1)
            until(lambda: len(leaving.held_steps))
            assert elsewhere.drain_worker("leaving", "deploy").id == leaving.id
            assert leaving.drained.wait(60)
            second = runner.submit(adding, 2)
            until(lambda: (second.tasks()[0].reason or "").startswith("no_worker_matches"))
            [view] = elsewhere.workers()
            assert (view.draining, view.drain_reason) == (True, "deploy")
            leaving.held.clear()
            assert first.result() == 2
            assert sum(leaving.begun.values()) == 1
            with SmallWorker(address_of(runner), handlers=HANDLERS, name="next"):
                assert second.result() == 3
            assert [one.worker for one in second.attempts()] == ["next"]


def test_a_worker_that_is_to_leave_is_told_again_when_it_comes_back(store_url: str) -> None:
    with runner_of(store_url) as runner, SmallWorker(address_of(runner), handlers=HANDLERS) as worker:
        until(runner.workers)
        runner.drain_worker(worker.id)
        assert worker.drained.wait(60)
        worker.vanish()
        with SmallWorker(address_of(runner), handlers=HANDLERS, worker_id=worker.id) as back:
            assert back.drained.wait(60)


def test_who_is_meant_must_be_clear(store_url: str) -> None:
    with runner_of(store_url, PATIENT) as runner:
        with pytest.raises(InvalidInput, match="no worker 'gpu-1' is alive: there are none") as unknown:
            runner.drain_worker("gpu-1")
        assert unknown.value.code == "worker_not_found"
        handlers, address = HANDLERS, address_of(runner)
        with SmallWorker(address, handlers=handlers, name="a"), SmallWorker(address, handlers=handlers, name="a") as b:
            until(lambda: len(runner.workers()) == 2)
            with pytest.raises(InvalidInput, match="2 workers answer to 'a'") as ambiguous:
                runner.drain_worker("a")
            assert ambiguous.value.code == "ambiguous_worker"
            assert runner.drain_worker(b.id).id == b.id


@pytest.mark.parametrize("reply", [missing, unable])
def test_a_worker_that_cannot_run_what_it_gets_is_barred_and_a_good_one_does_the_work(
    store_url: str, reply: Callable[[Step], StepResult]
) -> None:
    with runner_of(store_url, PATIENT, settings=barring(recovery=3600.0, longest=3600.0)) as runner:
        with SmallWorker(address_of(runner), handlers={add_one.ref: reply}, name="bad") as bad:
            runs = [runner.submit(adding, number) for number in range(6)]
            until(lambda: breakers(runner) == ["open"])
            answered = sum(bad.begun.values())
            waiting = until(lambda: [run for run in runs if run.tasks()[0].reason == "breaker_open{worker bad}"])
            assert waiting
            assert "worker bad: its circuit breaker is open" in troubles(runner)
            with SmallWorker(address_of(runner), handlers=HANDLERS, name="good"):
                assert [run.result() for run in runs] == [number + 1 for number in range(6)]
            assert sum(bad.begun.values()) == answered, "it got nothing more"
            assert {run.attempts()[-1].worker for run in runs} == {"good"}
            assert runner.core.dispatcher is not None and runner.core.dispatcher.breaker("workers") == "closed"


def test_a_barred_worker_is_tried_with_one_step_and_is_back_when_it_goes_well(store_url: str) -> None:
    mended = threading.Event()

    def handler(step: Step) -> Any:
        return argument(step) + 1 if mended.is_set() else missing(step)

    with (
        runner_of(store_url, PATIENT, settings=barring(recovery=0.1, longest=0.2)) as runner,
        SmallWorker(address_of(runner), handlers={add_one.ref: handler}, name="ill"),
    ):
        runs = [runner.submit(adding, number) for number in range(6)]
        until(lambda: breakers(runner) == ["open"])
        mended.set()
        assert [run.result() for run in runs] == [number + 1 for number in range(6)]
        until(lambda: breakers(runner) == ["closed"])


def test_a_worker_that_dies_over_what_it_gets_is_known_again_under_its_name(store_url: str) -> None:
    # Short, as the test waits for it, and long enough that nobody is taken for dead who is only slow.
    hub = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.2, lease=3.0, resend=0.2)
    with runner_of(store_url, hub, settings=barring(recovery=3600.0, longest=3600.0)) as runner:
        run = runner.submit(adding, 1)
        for _ in range(2):
            dying = SmallWorker(address_of(runner), handlers=HANDLERS, name="frail", host="box")
            dying.held.set()
            with dying:
                until(lambda: len(dying.held_steps))  # noqa: B023 - asked at once
                dying.vanish()
            until(lambda: not runner.core.workers.protocol.workers)  # pyright: ignore[reportOptionalMemberAccess]
        back = SmallWorker(address_of(runner), handlers=HANDLERS, name="frail", host="box")
        with back:
            view = until(lambda: next((view for view in runner.workers() if view.id == back.id), None))
            assert (view.breaker, view.lost) == ("open", 2)
            until(lambda: run.tasks()[0].reason == "breaker_open{worker frail}")
            with SmallWorker(address_of(runner), handlers=HANDLERS, name="frail", host="elsewhere"):
                assert run.result() == 2
        assert not back.begun


def test_crashes_bar_a_worker_beside_which_others_stand(store_url: str) -> None:
    with runner_of(store_url, PATIENT, settings=barring(recovery=3600.0, longest=3600.0)) as runner:
        with SmallWorker(address_of(runner), handlers={add_one.ref: crash}, credits=1, name="bad"):
            until(lambda: len(runner.workers()) == 1)
            with SmallWorker(address_of(runner), handlers=HANDLERS, name="good"):
                until(lambda: len(runner.workers()) == 2)
                # Both are free, and the one that came first is asked first.
                run = runner.submit(adding, 1)
                assert run.result() == 2
                assert [one.worker for one in run.attempts()] == ["bad", "bad", "good"]
                assert breakers(runner) == ["open", "closed"]


def test_a_body_that_crashes_wherever_it_runs_bars_nobody(store_url: str) -> None:
    with (
        runner_of(store_url, PATIENT, settings=barring()) as runner,
        SmallWorker(address_of(runner), handlers={add_one.ref: crash}, name="only"),
    ):
        run = runner.submit(adding, 1)
        with pytest.raises(RunFailed):
            run.result()
        assert [one.outcome for one in run.attempts()] == ["crashed"] * 3
        assert breakers(runner) == ["closed"]


def test_health_names_the_labels_that_nobody_has(store_url: str) -> None:
    with runner_of(store_url, PATIENT) as runner, SmallWorker(address_of(runner), handlers=HANDLERS):
        run = runner.submit(labelled, 1)
        until(lambda: "tasks wait for a worker that is not there: no_worker_matches{gpu=true}" in troubles(runner))
        until(lambda: runner.health()["status"] != "healthy")  # it is tried again now and then, and waits on
        with SmallWorker(address_of(runner), handlers=HANDLERS, labels={"gpu": "true"}):
            assert run.result() == 2
            until(lambda: "no_worker_matches" not in troubles(runner))


def test_tasks_that_wait_say_so_when_the_worker_that_they_wait_for_has_gone(store_url: str) -> None:
    with runner_of(store_url) as runner:
        going = SmallWorker(address_of(runner), handlers=HANDLERS, credits=1)
        going.held.set()
        with going:
            until(runner.workers)
            runs = [runner.submit(adding, number) for number in range(3)]
            until(lambda: [run.tasks()[0].reason for run in runs].count("no_capacity") == 2)
            going.vanish()
        missing = f"no_worker_matches{{}} handler {add_one.ref}"
        until(lambda: [run.tasks()[0].reason for run in runs] == [missing] * 3)
        with SmallWorker(address_of(runner), handlers=HANDLERS):
            assert [run.result() for run in runs] == [1, 2, 3]


def troubles(runner: Runner) -> str:
    [one] = [one for one in runner.core.admin.orchestrators() if one.id == runner.core.engine.session.id]
    return "\n".join(f"{trouble.where}: {trouble.why}" for trouble in one.status.troubles)


def test_metrics_tell_each_worker_by_its_name(store_url: str) -> None:
    with runner_of(store_url, PATIENT) as runner, SmallWorker(address_of(runner), handlers=HANDLERS, name="one"):
        assert runner.run(adding, 1) == 2
        orchestrator = f'orchestrator="{runner.core.engine.session.id}"'
        done = f'turnout_worker_attempts_total{{{orchestrator},worker="one",outcome="completed"}} 1'
        text = until(lambda: (said := runner.metrics()) and done in said and said)
        assert f"turnout_workers{{{orchestrator}}} 1" in text
        assert f'turnout_worker_in_flight_attempts{{{orchestrator},worker="one"}} 0' in text
        assert f"turnout_hub_malformed_total{{{orchestrator}}} 0" in text


def test_every_message_can_be_followed_and_says_nothing_of_what_users_send(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="turnout.wire")
    hub = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.2, lease=20.0, resend=0.2, trace_wire=True)
    with runner_of(store_url, hub) as runner, SmallWorker(address_of(runner), handlers=HANDLERS, name="one") as worker:
        assert runner.run(adding, 987654321) == 987654322
        until(lambda: len(worker.held_steps) == 0)
    lines = [record.getMessage() for record in caplog.records if record.name == "turnout.wire"]
    for way, kind in (("←", "hello"), ("→", "welcome"), ("→", "steps"), ("←", "results"), ("→", "ack")):
        assert any(f" {way} {kind} " in line for line in lines), (kind, lines)
    assert any(line.startswith("one ← results ") for line in lines)
    assert not [line for line in lines if "98765432" in line]
