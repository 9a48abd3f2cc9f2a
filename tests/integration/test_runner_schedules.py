"""Schedules on a real orchestrator: due times fire, overlap follows its policy, decisions of others are finished."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from tests.kit.waiting import until
from turnout import Runner, Schedule, Workflow, task, workflow
from turnout.contracts.store import Store
from turnout.errors import ScheduleError
from turnout.model.names import new_run_id
from turnout.model.schedule_decisions import Facts, decide
from turnout.model.schedule_rows import DecisionRow, NewFire, ScheduleChange, ScheduleTurn, StoredSchedule
from turnout.model.states import RunState
from turnout.orchestration.settings import EngineSettings
from turnout.runner.definitions.settings import DefinitionSettings
from turnout.runner.schedule_commands import await_start, fire

QUICK = EngineSettings(sweep=0.2)


@contextmanager
def scheduled(url: str, *workflows: Workflow[..., object]) -> Iterator[Runner]:
    with Runner(url, workflows=workflows, schedules=True, settings=QUICK, config=False) as runner:
        yield runner


def only(store: Store) -> StoredSchedule:
    [found] = store.schedules_page()
    return found


def decisions(store: Store, wanted: Callable[[list[DecisionRow]], bool]) -> list[DecisionRow]:
    """Waits for decisions; oldest first."""
    schedule = until(lambda: store.schedules_page())[0]

    def look() -> list[DecisionRow]:
        found = store.schedule_decisions(schedule.id)[::-1]
        return found if wanted(found) else []

    return until(look)


def settled(found: list[DecisionRow]) -> bool:
    return bool(found) and all(each.state != "pending" for each in found)


def test_due_times_start_runs_with_their_parameters(store: Store, store_url: str) -> None:
    days: list[str] = []

    @task
    def note(day: str, number: int) -> None:
        days.append(f"{day} {number}")

    @workflow(schedule=Schedule(every=1, params={"day": "${due_at}", "number": 7}, overlap="allow", catch_up="all"))
    def often(day: str, number: int) -> None:
        note(day, number)

    with scheduled(store_url, often) as runner:
        until(lambda: len(days) >= 2)
        found = decisions(store, lambda rows: len(rows) >= 2 and settled(rows[:2]))
        runs = {run.id: run for run in runner.list()}
    assert all(each.outcome == "fired" for each in found)
    assert {later.due_at - earlier.due_at for earlier, later in pairwise(found)} == {1.0}
    assert found[0].run_id in runs and days[0].endswith("+00:00 7")
    assert len(days) == len(set(days))


def test_a_program_decides_no_due_times_unless_it_is_asked_to(store: Store, store_url: str) -> None:
    @task
    def nothing() -> None: ...

    @workflow(schedule=Schedule(every=1))
    def never() -> None:
        nothing()

    with Runner(store_url, workflows=[never], settings=QUICK, config=False) as runner:
        runner.run(never)
    assert store.schedules_page() == []


@pytest.mark.parametrize("overlap", ["skip", "queue", "cancel_previous"])
def test_a_due_time_during_an_earlier_run_follows_the_policy(store: Store, store_url: str, overlap: str) -> None:
    go_on = threading.Event()

    @task
    def wait() -> None:
        go_on.wait(60)

    @workflow(schedule=Schedule(every=1, overlap=overlap))  # type: ignore[arg-type]
    def slow() -> None:
        wait()

    with scheduled(store_url, slow) as runner:
        found = decisions(store, lambda rows: len(rows) >= 2)
        first, second = found[0], found[1]
        assert first.run_id is not None
        reason = {"skip": "overlap", "queue": "queued", "cancel_previous": "cancelled_previous"}[overlap]
        assert second.reason == f"{reason}{{{first.run_id}}}"
        if overlap == "skip":
            assert (second.outcome, second.run_id) == ("skipped", None)
        if overlap == "queue":
            assert second.run_id is not None and store.run(second.run_id) is None
        if overlap == "cancel_previous":
            until(lambda: runner.get(first.run_id or "").status().state == "cancelled")
        go_on.set()
        if second.run_id is not None and overlap == "queue":
            until(lambda: (run := store.run(second.run_id or "")) and run.row.state is RunState.COMPLETED)
            one, other = (store.run(each.run_id or "") for each in (first, second))
            assert one is not None and other is not None and one.row.finished_at is not None
            assert other.new.created_at >= one.row.finished_at - 0.1


def test_stop_and_restart_schedules_act_on_open_runs(store: Store, store_url: str) -> None:
    go_on = threading.Event()

    @task
    def wait() -> None:
        go_on.wait(60)

    @workflow(schedule=[Schedule(every=2, action="restart", name="again")])
    def service() -> None:
        wait()

    with scheduled(store_url, service) as runner:
        started = runner.submit(service)
        [fired, *_] = decisions(store, lambda rows: any(each.outcome == "fired" for each in rows))
        assert fired.reason == f"cancelled_previous{{{started.id}}}"
        assert started.wait(60) is RunState.CANCELLED
        until(lambda: store.run(fired.run_id or ""))
        go_on.set()


def test_a_restart_that_is_due_with_a_start_leaves_one_run(store: Store, store_url: str) -> None:
    go_on = threading.Event()

    @task
    def wait() -> None:
        go_on.wait(60)

    @workflow(schedule=[Schedule(every=1, overlap="allow"), Schedule(every=1, action="restart", name="again")])
    def service() -> None:
        wait()

    def made() -> list[DecisionRow]:
        found = [made for each in store.schedules_page() for made in store.schedule_decisions(each.id)]
        return found if sum(each.run_id is not None for each in found) >= 2 else []

    with scheduled(store_url, service):
        found = until(made)
        go_on.set()
    for due_at in {each.due_at for each in found}:
        pair = [each for each in found if each.due_at == due_at]
        assert len([each for each in pair if each.run_id is not None]) <= 1
        assert all(each.reason == "superseded" for each in pair if each.run_id is None)


def test_a_stop_cancels_what_is_open_and_starts_nothing(store: Store, store_url: str) -> None:
    go_on = threading.Event()

    @task
    def wait() -> None:
        go_on.wait(60)

    @workflow(schedule=Schedule(every=1, action="stop"))
    def service() -> None:
        wait()

    with scheduled(store_url, service) as runner:
        started = runner.submit(service)
        assert started.wait(60) is RunState.CANCELLED
        fired = decisions(store, lambda rows: any(row.outcome == "fired" and row.state == "closed" for row in rows))
        assert len(runner.list()) == 1
        assert all(each.run_id is None for each in fired)
        go_on.set()


def test_a_decision_whose_maker_died_is_finished_by_another(store: Store, store_url: str) -> None:
    seen: list[str] = []

    @task
    def note(day: str) -> None:
        seen.append(day)

    @workflow(schedule=Schedule("0 3 * * *", params={"day": "${due_date}"}))
    def daily(day: str) -> None:
        note(day)

    with scheduled(store_url, daily):
        schedule = until(lambda: store.schedules_page())[0]
    # As a server does that is killed after its commit.
    facts = Facts(now=schedule.decided_until + 2 * 86_400)
    spec = msgspec.structs.replace(schedule.spec, catch_up="latest")
    turn = decide(spec, schedule.key, schedule.decided_until, facts, new_run_id)
    made = ScheduleTurn(schedule_id=schedule.id, expected=schedule.decided_until, turn=turn, keeps_open=True)
    assert store.record_turns([made]).applied
    with scheduled(store_url, daily) as runner:
        until(lambda: seen)
        until(lambda: not store.pending_decisions())
        [run] = runner.list()
    assert run.id == turn.decisions[-1].run_id
    assert len(seen) == 1


def test_an_operator_fires_pauses_and_resumes(store: Store, store_url: str) -> None:
    seen: list[int] = []

    @task
    def note() -> None:
        seen.append(1)

    @workflow(schedule="0 3 * * *")
    def daily() -> None:
        note()

    with scheduled(store_url, daily):
        schedule = until(lambda: store.schedules_page())[0]
        store.fire_schedule(schedule.id, "manual", [NewFire(due_at=1.5, run_id=new_run_id())], "ada")
        until(lambda: seen)
        until(lambda: not store.pending_decisions())


def test_parameters_that_do_not_fit_any_more_are_a_skip_with_that_reason(store: Store, store_url: str) -> None:
    @task
    def note(n: int) -> None: ...

    @workflow(name="daily", schedule=Schedule("0 3 * * *", params={"n": 1}))
    def daily(n: int) -> None:
        note(n)

    with scheduled(store_url, daily):
        schedule = until(lambda: store.schedules_page())[0]
    spec = msgspec.structs.replace(schedule.spec, params={"m": 1})
    with scheduled(store_url, daily):
        change = store.schedules_by_id([schedule.id])[0]
        text = msgspec.json.encode(spec).decode()
        store.put_schedules(
            [
                ScheduleChange(
                    workflow=change.workflow, name=change.name, spec=text, anew=False, decided_until=0.0, next_at=None
                )
            ],
            "ada",
        )
        store.fire_schedule(schedule.id, "manual", [NewFire(due_at=1.5, run_id=new_run_id())], "ada")
        [refused] = decisions(store, settled)
    assert refused.outcome == "skipped"
    assert refused.reason.startswith("invalid_input{")


def test_a_fire_that_the_workflow_refuses_has_the_code_of_any_run_that_it_refuses(store: Store, store_url: str) -> None:
    @task
    def note() -> None: ...

    @workflow(name="daily", schedule=Schedule("0 3 * * *"))
    def daily() -> None:
        note()

    with scheduled(store_url, daily):
        schedule = until(lambda: store.schedules_page())[0]
        fired = fire(store, str(schedule.id), "ada", params={"nothing": 1})
        with pytest.raises(ScheduleError, match="has no parameter 'nothing'") as raised:
            await_start(store, fired, timeout=30)
    assert raised.value.code == "unknown_parameter"


def test_schedules_whose_runs_are_refused_are_in_the_log_from_the_start(
    store: Store, store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    @task
    def nothing() -> None: ...

    @workflow(schedule=Schedule(every=1), queue="nosuch")
    def queued() -> None:
        nothing()

    with scheduled(store_url, queued):
        assert "the schedules of public::embedded::queued start no runs" in caplog.text
        found = decisions(store, lambda rows: settled(rows) and rows[-1].due_times >= 2)
    assert [(each.outcome, each.run_id) for each in found] == [("skipped", None)]
    assert found[0].reason.startswith("unknown_queue{") and "[queues.nosuch]" in found[0].reason
    assert caplog.text.count("starts no run: unknown_queue") == 1


def test_a_changed_expression_begins_from_now_and_a_removed_schedule_is_gone(store: Store, store_url: str) -> None:
    @task
    def nothing() -> None: ...

    def body() -> None:
        nothing()

    def declared(schedule: Schedule | None) -> Workflow[..., object]:
        return Workflow.from_function(body, name="etl", schedule=schedule)

    with scheduled(store_url, declared(Schedule("0 3 * * *"))):
        first = until(lambda: store.schedules_page())[0]
    with scheduled(store_url, declared(Schedule("0 3 * * *", overlap="allow"))):
        options = until(lambda: (found := only(store)).spec.overlap == "allow" and found)
    assert (options.id, options.decided_until) == (first.id, first.decided_until)
    with scheduled(store_url, declared(Schedule("0 4 * * *"))):
        times = until(lambda: (found := only(store)).spec.cron == "0 4 * * *" and found)
    assert times.id == first.id and times.decided_until > first.decided_until
    with scheduled(store_url, declared(None)):
        until(lambda: store.schedules_page() == [])


def test_a_workflow_file_has_schedules(store: Store, store_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "workflows"
    folder.mkdir()
    (folder / "often.yaml").write_text(
        "schedule: {every: 1s, overlap: allow, params: {WHEN: '${due_at}'}}\n"
        "params: {WHEN: none}\n"
        f"steps: [{{command: 'echo \"$WHEN\" >> {tmp_path}/times'}}]\n"
    )
    definitions = DefinitionSettings(folders=(folder,), reload=True)
    with Runner(store_url, definitions=definitions, schedules=True, settings=QUICK, workflows=[], config=False):
        until(lambda: (tmp_path / "times").exists())
        (folder / "often.yaml").unlink()
        until(lambda: store.schedules_page() == [])
    assert (tmp_path / "times").read_text().split()[0].endswith("+00:00")
