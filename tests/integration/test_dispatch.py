"""The decision along the life of runs: warnings, refusals, waits, stored decisions, and runs on one worker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kit.waiting import until
from small_worker import SmallWorker

from turnout import AsyncRunner, RoutingConfig, RoutingRule, Runner, task, workflow
from turnout.dispatcher import PlacementSettings
from turnout.errors import HubUnavailable, InvalidSetting
from turnout.executors.thread import ThreadExecutor
from turnout.executors.workers.settings import HubSettings
from turnout.model.reasons import HUB_UNAVAILABLE
from turnout.model.states import RunState
from turnout.orchestration.stages import takeover
from turnout.orchestration.stages.affinity import ONE_WORKER
from turnout.runner import EngineSettings

HUB = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.2, lease=1.0, resend=0.2)
PLAIN: dict[str, Any] = {"config": False, "handle_sigterm": False}
DISK = {"disk": "true"}


@task(retries=1)
def fetch(day: str) -> str:
    return day


@task
def load(day: str) -> str:
    return day


@task
def here(day: str) -> str:
    return day


@workflow(worker_selector=DISK, affinity="run")
def daily(day: str) -> str:
    return load(load(load(fetch(day))))


@workflow(worker_selector={"zone": "${zone}"})
def zoned(zone: str) -> str:
    return fetch(zone)


@workflow(worker_selector=DISK)
def labelled(day: str) -> str:
    return fetch(day)


@workflow
def parent(day: str) -> str:
    return labelled(here(day))


@workflow
def unlabelled(day: str) -> str:
    return here(day)


def handlers_of(name: str, log: list[str] | None = None) -> dict[str, Callable[[Any], Any]]:
    def run(step: Any) -> str:
        if log is not None:
            log.append(name)
        return name

    return {fetch.ref: run, load.ref: run}


def address_of(runner: Runner) -> str:
    assert runner.hub is not None
    return runner.hub


def test_labels_without_a_hub_are_answered_with_a_warning_also_for_the_workflows_that_it_calls(sqlite_url: str) -> None:
    with Runner(sqlite_url, workflows=[labelled, parent, unlabelled], **PLAIN) as runner:
        for flow in (labelled, parent):
            handle = runner.submit(flow, "monday")
            (warning,) = handle.warnings
            assert '"public::embedded::labelled::fetch" runs locally' in warning and handle.result() == "monday"
        assert runner.submit(unlabelled, "monday").warnings == ()
        assert len(handle.rerun("labelled").warnings) == 1, "a rerun is answered in the same way"


def test_the_answer_of_an_async_runner_has_the_warnings_too(sqlite_url: str) -> None:
    async def main() -> None:
        async with AsyncRunner(sqlite_url, workflows=[labelled], config=False) as runner:
            assert len((await runner.submit(labelled, "monday")).warnings) == 1

    asyncio.run(main())


def test_strict_selectors_refuse_the_run_and_not_the_program(sqlite_url: str) -> None:
    with Runner(sqlite_url, workflows=[labelled, parent], strict_selectors=True, **PLAIN) as runner:
        for flow in (labelled, parent):
            with pytest.raises(HubUnavailable, match="strict_selectors") as caught:
                runner.submit(flow, "monday")
            assert caught.value.code == "selector_without_hub"
        assert runner.run(unlabelled, "monday") == "monday" and len(runner.list()) == 1


def test_a_child_run_that_needs_a_hub_which_is_not_up_is_stored_and_waits(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Runner(sqlite_url, drives=False, workflows=[parent], **PLAIN) as client:
        run_id = client.submit(parent, "monday").id
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turnout.toml").write_text('hub = "tcp://127.0.0.1:5899"')
    with Runner(sqlite_url, hub=False, workflows=[parent], handle_sigterm=False) as without:
        with pytest.raises(HubUnavailable, match="the hub is not up here"):
            without.submit(parent, "tuesday")
        handle = without.get(run_id)
        until(lambda: any(without.get(child.id).tasks()[0].reason == HUB_UNAVAILABLE for child in handle.children()))
        assert [run.id for run in without.list() if run.parent_run is None] == [run_id], "nothing is half-started"
    with Runner(sqlite_url, hub=HUB, workflows=[parent], **PLAIN) as runner:
        with SmallWorker(address_of(runner), handlers=handlers_of("there"), labels=DISK):
            assert runner.get(run_id).result(30) == "there"


@pytest.mark.parametrize("mode", ["other", "Local"])
def test_a_mode_that_does_not_exist_stops_the_start_and_the_two_are_named(
    sqlite_url: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    placement = PlacementSettings(default_execution_mode=mode)  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting, match="'local' or 'distributed'"):
        Runner(sqlite_url, placement=placement, **PLAIN)
    for variable in ("TURNOUT_DEFAULT_EXECUTION_MODE", "DAGU_DEFAULT_EXECUTION_MODE"):
        with monkeypatch.context() as patched:
            patched.setenv(variable, mode)
            with pytest.raises(InvalidSetting, match=f"{variable}.*local.*distributed"):
                Runner(sqlite_url, handle_sigterm=False)


def test_automatic_attempts_keep_the_stored_decision_and_a_rerun_decides_anew(sqlite_url: str) -> None:
    tried: list[int] = []

    @task(retries=1)
    def flaky() -> int:
        tried.append(1)
        if len(tried) < 3:
            runner.set_routing(RoutingConfig("second"))
            raise ValueError("not yet")
        return len(tried)

    @workflow
    def trying() -> int:
        return flaky()

    executors = {"first": ThreadExecutor(name="first"), "second": ThreadExecutor(name="second")}
    with Runner(sqlite_url, routing=RoutingConfig("first"), executors=executors, workflows=[trying], **PLAIN) as runner:
        handle = runner.submit(trying)
        assert handle.wait() is RunState.FAILED
        assert [each.executor for each in handle.attempts()] == ["first", "first"]
        again = handle.rerun()
        assert again.result() == 3 and [each.executor for each in again.attempts()] == ["second"]


def test_labels_of_the_input_choose_the_worker(store_url: str) -> None:
    with (
        Runner(store_url, hub=HUB, workflows=[zoned], **PLAIN) as runner,
        SmallWorker(address_of(runner), handlers=handlers_of("of a"), labels={"zone": "a"}),
        SmallWorker(address_of(runner), handlers=handlers_of("of b"), labels={"zone": "b"}),
    ):
        handles = {zone: runner.submit(zoned, zone) for zone in ("b", "a", "b")}
        assert {zone: handle.result() for zone, handle in handles.items()} == {"a": "of a", "b": "of b"}
        assert handles["a"].attempts()[0].decision == "worker_selector {zone=a} on the workflow → workers"
        assert runner.explain(zoned, handles["a"].id)["fetch"].decision.labels == {"zone": "a"}


def test_all_steps_of_a_run_stay_on_one_worker_and_others_take_other_runs(store_url: str) -> None:
    with Runner(store_url, hub=HUB, workflows=[daily], **PLAIN) as runner:
        names = ("one", "two", "three")
        workers = [
            SmallWorker(address_of(runner), handlers=handlers_of(name), labels=DISK, name=name) for name in names
        ]
        for worker in workers:
            worker.__enter__()
        until(lambda: len(runner.workers()) == 3)
        handles = [runner.submit(daily, str(number)) for number in range(12)]
        for handle in handles:
            handle.result()
            used = {each.worker for each in handle.attempts()}
            assert len(used) == 1 and all(ONE_WORKER in str(each.decision) for each in handle.attempts())
        assert len({handle.attempts()[0].worker for handle in handles}) > 1
        for worker in workers:
            worker.vanish()


def test_the_rest_goes_to_another_worker_if_the_runs_own_is_lost_also_after_a_restart(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(takeover, "MIN_GRACE", 1.0)
    settings = EngineSettings(sweep=0.2)
    with Runner(store_url, hub=HUB, workflows=[daily], settings=settings, **PLAIN) as runner:
        begun: list[str] = []
        first = SmallWorker(address_of(runner), handlers=handlers_of("one", begun), labels=DISK, name="one")
        first.handlers[load.ref] = lambda step: first.held.set() or "one"
        with first:
            run_id = runner.submit(daily, "monday").id
            until(first.held.is_set)
            assert begun == ["one"]
    with Runner(store_url, hub=HUB, workflows=[daily], settings=settings, **PLAIN) as runner:
        with SmallWorker(address_of(runner), handlers=handlers_of("two"), labels=DISK, name="two"):
            assert runner.get(run_id).result(30) == "two"
            attempts = runner.get(run_id).attempts()
    assert attempts[0].worker == "one" and attempts[-1].worker == "two"
    moved = next(each for each in attempts if each.worker == "two")
    assert "which it had, is lost or leaves" in str(moved.decision)


def test_a_worker_without_the_handlers_of_all_steps_does_not_get_the_first(sqlite_url: str) -> None:
    with Runner(sqlite_url, hub=HUB, workflows=[daily], **PLAIN) as runner:
        half = {fetch.ref: handlers_of("half")[fetch.ref]}
        with SmallWorker(address_of(runner), handlers=half, labels=DISK):
            handle = runner.submit(daily, "monday")
            until(lambda: str(handle.tasks()[0].reason).startswith("no_worker_matches{disk=true}"))
            with SmallWorker(address_of(runner), handlers=handlers_of("whole"), labels=DISK):
                assert handle.result(30) == "whole"


def test_a_rule_sends_what_the_mode_would_not(sqlite_url: str) -> None:
    routing = RoutingConfig("default", (RoutingRule("**::unlabelled::*", "workers"),))
    with (
        Runner(sqlite_url, hub=HUB, routing=routing, workflows=[unlabelled], **PLAIN) as runner,
        SmallWorker(address_of(runner), handlers={here.ref: lambda step: "there"}),
    ):
        assert runner.run(unlabelled, "monday") == "there"


def test_an_enqueued_run_is_stored_for_any_orchestrator_and_decided_where_it_is_claimed(store_url: str) -> None:
    with Runner(store_url, workflows=[labelled], **PLAIN) as runner:
        definition = runner.core.registry.workflows[labelled.spec.full_name]
        request = runner.core.submitter.request_named(definition, {"day": "monday"}, enqueue=True)
        assert len(request.warnings) == 1
        runner.core.submitter.submit([request])
        handle = runner.get(request.accepted.result())
        assert handle.result(30) == "monday" and "no hub is configured" in str(handle.attempts()[0].decision)
        states = [row.new for _, row in handle.history() if row.pos == -1]
        assert states[0] == "pending", "it had no owner at first"


def test_a_run_that_was_stored_elsewhere_waits_where_strict_selectors_refuse_it(sqlite_url: str) -> None:
    with Runner(sqlite_url, drives=False, workflows=[labelled], **PLAIN) as client:
        handle = client.submit(labelled, "monday")
        assert len(handle.warnings) == 1
        with Runner(sqlite_url, workflows=[labelled], strict_selectors=True, **PLAIN):
            until(lambda: handle.tasks()[0].reason == HUB_UNAVAILABLE)
        with Runner(sqlite_url, workflows=[labelled], **PLAIN):
            assert handle.result(30) == "monday", "nothing was decided before"
