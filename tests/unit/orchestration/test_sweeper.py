"""The slow poll: what a lost notification, a dead process or a crash has left behind is found."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kit.dispatcher import FakeAssigner
from kit.loop import ManualLoop
from kit.parts import ME, OTHER, Parts
from kit.runs import graph_of, task

from turnout.contracts.clock import boot_time
from turnout.errors import RunNotFound, StoreUnreachable
from turnout.model.events import ExecutionResult, ExecutionStatus
from turnout.model.rows import Glance, Holder, RunRow, Session
from turnout.model.states import RunState
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.stages.stage import Stage
from turnout.orchestration.upkeep.dead_sessions import DeadSessions
from turnout.runtime.process_info import boot_id, pid_namespace

GRAPH = graph_of(task("a"), task("b", "a"))
AWAY = StoreUnreachable("it is away")
Build = Callable[..., Parts]


def gone(session_id: str, kind: str = "orchestrator") -> Session:
    """A session of a process that was on this machine."""
    return Session(
        id=session_id, kind=kind, boot_id=boot_id(), pid_namespace=pid_namespace(), pid=0, process_started="long ago"
    )


def seen(*sessions: Session, **flags: bool) -> Glance:
    return Glance(sessions=sessions, **{"owns": True, "unowned": False, "overdue": False, "unheard": False, **flags})


def claims_wanted(parts: Parts) -> int:
    return len(parts.queues[Stage.CLAIM])


# -- dead sessions ---------------------------------------------------------------------------------------------------
def test_a_process_that_is_gone_from_this_machine_is_declared_dead_and_its_runs_become_free(
    build: Build, loop: ManualLoop
) -> None:
    parts = build(GRAPH)
    parts.stored(GRAPH, OTHER)
    parts.store.seen = seen(gone(OTHER), Session(id="elsewhere"))
    assert loop.run(parts.dead_sessions.declare()) == [OTHER]
    assert parts.store.tables["run-1"].owner is None and parts.dispatcher.dead == [OTHER]


def test_an_orchestrator_does_not_declare_itself_dead(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.store.seen = seen(gone(ME))
    assert loop.run(parts.dead_sessions.declare()) == []
    assert parts.store.calls("bury_sessions") == []


def test_the_database_is_asked_again_only_when_a_session_may_have_come(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    for _ in range(3):
        loop.run(parts.dead_sessions.declare())
    assert len(parts.store.calls("glance")) == 1
    parts.dead_sessions.outdated = True
    loop.run(parts.dead_sessions.declare())
    assert len(parts.store.calls("glance")) == 2


def test_leases_that_are_over_count_in_the_sweep_only_and_connected_workers_are_renewed_first(
    build: Build, loop: ManualLoop
) -> None:
    parts = build(GRAPH)
    parts.dispatcher.assigners["hub"] = assigner = FakeAssigner(one=1)
    parts.store.seen, parts.store.overdue = seen(overdue=True), [OTHER]
    assert loop.run(parts.dead_sessions.declare()) == [] and assigner.kept == 0
    assert loop.run(parts.dead_sessions.declare(by_lease=True)) == [OTHER] and assigner.kept == 1


@pytest.mark.parametrize(("lease", "spared"), [(1_000.0, True), (0.0, False)])
def test_workers_are_spared_during_the_first_lease_of_an_orchestrator(
    build: Build, loop: ManualLoop, lease: float, spared: bool
) -> None:
    parts = build(GRAPH)
    parts.store.seen = seen(overdue=True)
    dead = DeadSessions(parts.store, parts.dispatcher, parts.session, parts.background, lease)
    loop.run(dead.declare(by_lease=True))
    assert parts.store.calls("bury_sessions") == [((), 0.0, spared)]


def test_a_look_that_failed_is_repeated(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.store.errors["glance"] = AWAY
    with pytest.raises(StoreUnreachable):
        loop.run(parts.dead_sessions.declare())
    assert parts.dead_sessions.outdated
    parts.store.seen = seen(gone(OTHER))
    assert loop.run(parts.dead_sessions.declare()) == [OTHER]


# -- runs that this session owns and does not know -------------------------------------------------------------------
def test_an_unknown_run_of_this_session_is_claimed_when_it_is_seen_twice(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.stored(GRAPH, ME)
    loop.run(parts.unknown_runs.sweep())
    assert parts.unknown_runs.seen and len(parts.runs) == 0
    loop.run(parts.unknown_runs.sweep())
    assert list(parts.runs) == ["run-1"] and not parts.unknown_runs.seen


def test_runs_that_are_known_or_owned_by_others_are_not_claimed(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH, run_id="known")
    parts.stored(GRAPH, OTHER, run_id="theirs")
    for _ in range(3):
        loop.run(parts.unknown_runs.sweep())
    assert list(parts.runs) == ["known"] and parts.store.calls("claim_listed") == []


def test_nothing_counts_as_unknown_while_a_claim_is_under_way(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.stored(GRAPH, ME)
    parts.claims.claiming = 1
    for _ in range(3):
        loop.run(parts.unknown_runs.sweep())
    assert not parts.unknown_runs.seen and parts.store.calls("owned_runs") == []


# -- the inbox -------------------------------------------------------------------------------------------------------
def polled_run(parts: Parts) -> ExecutionResult:
    """A run whose task a poller has claimed, and the result that it is about to leave."""
    owned = parts.idle_run(GRAPH)
    owned.queued = True
    parts.loop.run(parts.scheduler.process([owned]))
    parts.store.tables["run-1"].claim_ready(0, "poller-1")
    event = owned.machine.event(0)
    return ExecutionResult(run_id="run-1", task_id=event.task_id, attempt=1, status=ExecutionStatus.COMPLETED)


def test_a_result_in_the_inbox_is_taken_once_and_its_row_goes_with_the_commit(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH, polled=None)
    number = parts.store.leave(polled_run(parts), "poller-1")
    for _ in range(2):
        assert loop.run(parts.inbox.take_results()) is False
    assert len(parts.runs["run-1"].results) == 1 and number in parts.store.inbox
    parts.drive()
    assert parts.states()["a"] == "completed" and parts.store.inbox == {}
    assert list(parts.store.writes[-1].inbox_done) == [number]


def test_a_result_is_delivered_again_to_a_run_that_was_read_anew(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH, polled=None)
    parts.store.leave(polled_run(parts), "poller-1")
    loop.run(parts.inbox.take_results())
    parts.runs["run-1"].results.clear()
    loop.run(parts.claims.reload(parts.runs["run-1"]))
    assert [answer.inbox for answer in parts.runs["run-1"].results if answer.inbox] == []
    loop.run(parts.inbox.take_results())
    assert [answer.inbox for answer in parts.runs["run-1"].results if answer.inbox] == [1]


def test_a_result_that_cannot_be_read_fails_its_attempt_for_good(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH, polled=None)
    parts.store.leave(polled_run(parts), "poller-1", text='{"status": 7}')
    loop.run(parts.inbox.take_results())
    (answer,) = parts.runs["run-1"].results
    assert answer.result.status is ExecutionStatus.FAILED and not answer.result.retryable
    parts.drive()
    assert parts.states() == {"a": "failed", "b": "skipped"} and parts.store.inbox == {}


def test_a_command_of_another_process_is_given_to_its_run_once(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH)
    parts.store.add_command("run-1", "pause", "lunch\0")
    owned = parts.runs["run-1"]
    for _ in range(2):
        loop.run(parts.inbox.take_commands())
    assert [(order.kind, order.row) for order in owned.commands] == [("pause", 1)]
    assert "\0" not in (owned.commands[0].reason or "")
    parts.drive()
    loop.run(parts.inbox.take_commands())
    assert parts.store.closed == {1: None} and parts.runs["run-1"].commands == []


# -- attempts that no process has ------------------------------------------------------------------------------------
def held_run(parts: Parts, holder: str) -> None:
    """A run that is driven here with an attempt in the hands of this holder."""
    parts.held_by(GRAPH, holder, owner=None)
    parts.store.known_holders[holder] = Holder(session=Session(id=holder, kind="worker"), alive=True, lease=30.0)
    parts.loop.run(parts.claims.claim(["run-1"]))
    parts.drive()
    parts.runs["run-1"].grace.clear()
    parts.store.lapsed = [("run-1", 0, 1, holder)]


def lost_results(parts: Parts) -> list[str]:
    return [answer.result.error.message for answer in parts.runs["run-1"].results if answer.result.error is not None]


def test_the_attempt_of_a_holder_that_went_silent_is_lost_and_repeated(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    held_run(parts, "worker-1")
    loop.run(parts.lost_attempts.sweep())
    assert lost_results(parts) == ["its holder worker-1 went silent"] and parts.runs["run-1"].has_lost_attempts
    parts.drive()
    assert parts.event("a").attempt == 2


@pytest.mark.parametrize("why", ["grace", "in flight", "busy", "connected", "not driven here"])
def test_an_attempt_is_not_lost_although_its_lease_is_over(build: Build, loop: ManualLoop, why: str) -> None:
    parts = build(GRAPH, hub=1)
    held_run(parts, "worker-1")
    owned = parts.runs["run-1"]
    match why:
        case "grace":
            owned.grace[0, 1] = boot_time() + 1_000.0
        case "in flight":
            event = owned.machine.event(0)
            parts.dispatcher.flying[event.task_id, 1] = event
        case "busy":
            owned.busy = True
        case "connected":
            parts.dispatcher.assigners["hub"] = FakeAssigner(**{"worker-1": 0})
        case _:
            parts.runs.release(owned)
    loop.run(parts.lost_attempts.sweep())
    assert owned.results == []


def test_the_grace_of_a_holder_ends_when_it_is_seen_to_be_dead(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    held_run(parts, "worker-1")
    parts.runs["run-1"].grace[0, 1] = boot_time() + 1_000.0
    parts.store.known_holders["worker-1"] = Holder(session=gone("worker-1", "worker"), alive=True, lease=30.0)
    loop.run(parts.lost_attempts.sweep())
    assert len(parts.runs["run-1"].results) == 1


def test_an_attempt_of_this_session_that_no_executor_has_is_lost_when_it_is_seen_twice(
    build: Build, loop: ManualLoop
) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH)
    for _ in range(3):
        loop.run(parts.lost_attempts.sweep())
    assert parts.runs["run-1"].results == [], "an executor has it"
    parts.dispatcher.flying.clear()
    loop.run(parts.lost_attempts.sweep())
    assert parts.runs["run-1"].results == []
    loop.run(parts.lost_attempts.sweep())
    assert lost_results(parts) == ["no executor has it"]


def test_an_attempt_whose_result_has_come_is_not_lost(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH)
    parts.answer("a")
    for _ in range(3):
        loop.run(parts.lost_attempts.sweep())
    assert lost_results(parts) == [] and len(parts.runs["run-1"].results) == 1


# -- notifications ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("topic", "asked"),
    [
        ("runs", set()),
        ("commands", {"commands_for"}),
        ("inbox", {"inbox_for"}),
        ("given", {"owned_runs"}),
        ("any", {"commands_for", "inbox_for", "owned_runs"}),
        ("ready", set()),
    ],
)
def test_a_topic_is_followed_by_a_look_at_what_it_names(
    build: Build, loop: ManualLoop, topic: str, asked: set[str]
) -> None:
    parts = build(GRAPH)
    loop.run(parts.notifications.handle({topic}))
    assert {name for name, _ in parts.store.asked} == asked
    assert claims_wanted(parts) == (topic in ("runs", "any"))


def test_notifications_of_the_store_are_followed_until_they_are_stopped(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    loop.run(parts.notifications.start())
    following = loop.start(parts.notifications.run())
    parts.dead_sessions.outdated = False
    parts.store.wake("runs")
    loop.settle()
    assert claims_wanted(parts) == 1 and not parts.dead_sessions.outdated
    parts.store.wake("sessions")
    loop.settle()
    assert parts.dead_sessions.outdated
    loop.run(parts.notifications.stop())
    parts.store.wake("inbox")
    loop.settle()
    assert parts.store.calls("inbox_for") == [] and not following.done()


@pytest.mark.parametrize("error", [AWAY, ValueError("a defect")])
def test_a_notification_that_could_not_be_followed_is_not_the_last(
    build: Build, loop: ManualLoop, error: Exception
) -> None:
    parts = build(GRAPH)
    loop.start(parts.notifications.run())
    parts.store.errors["inbox_for"] = error
    for _ in range(2):
        parts.wakeups.announce("inbox")
        loop.settle()
    assert len(parts.store.calls("inbox_for")) == 2


def test_a_session_that_was_opened_is_known_before_the_next_renewal(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    loop.start(parts.notifications.run())
    parts.wakeups.announce("runs")
    loop.settle()
    assert parts.session.peers == 0
    parts.wakeups.announce("sessions")
    loop.settle()
    assert parts.session.peers == 1 and parts.dead_sessions.outdated


def test_everything_is_looked_at_no_more_than_ten_times_a_second(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.store.seen = seen(owns=True)
    loop.start(parts.notifications.run())
    for _ in range(100):
        parts.wakeups.announce("any")
        loop.advance(0.01)
    assert 9 <= len(parts.store.calls("inbox_for")) <= 11


# -- the sweep -------------------------------------------------------------------------------------------------------
def test_a_sweeper_looks_claims_and_listens_at_its_start(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    sweeper = parts.sweeper()
    loop.run(sweeper.start())
    assert len(parts.store.calls("glance")) == 1 and claims_wanted(parts) == 1
    parts.store.wake("inbox")
    loop.settle()
    assert len(parts.store.calls("inbox_for")) == 1
    loop.run(sweeper.stop())


def test_the_sweeps_of_the_parts_run_in_order_at_every_interval(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH, settings=EngineSettings(sweep=2.0))
    parts.store.seen = seen()
    swept: list[str] = []

    async def one() -> None:
        swept.append("one")

    async def two() -> None:
        swept.append("two")
        if len(swept) == 2:
            raise ValueError("a defect")

    sweeper = parts.sweeper(one, two)
    loop.run(sweeper.start())
    loop.advance(1.9)
    assert swept == []
    loop.advance(4.2)
    assert swept == ["one", "two"] * 3
    loop.run(sweeper.stop())
    loop.advance(10.0)
    assert swept == ["one", "two"] * 3


def test_a_session_that_owns_nothing_sweeps_no_runs(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    swept: list[str] = []

    async def sweep() -> None:
        swept.append("swept")

    loop.run(parts.sweeper(sweep).start())
    parts.queues[Stage.CLAIM].take(9)
    loop.run(parts.claims.process([None]))
    loop.advance(2.1)
    assert swept == [] and parts.store.calls("inbox_for") == [] and claims_wanted(parts) == 0


def test_a_sweep_requests_a_claim_for_unowned_runs_and_closes_commands_of_ended_ones(
    build: Build, loop: ManualLoop
) -> None:
    parts = build(GRAPH)
    loop.run(parts.sweeper().start())
    loop.run(parts.claims.process(parts.queues[Stage.CLAIM].take(9)))
    parts.store.seen = seen(owns=False, unowned=True, unheard=True)
    loop.advance(2.1)
    assert claims_wanted(parts) == 1 and len(parts.store.calls("close_commands")) == 1


def test_a_sweep_during_an_outage_is_followed_by_the_next(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.store.seen = seen()
    loop.run(parts.sweeper().start())
    parts.store.errors["glance"] = AWAY
    loop.advance(2.1)
    assert parts.store.calls("commands_for") == []
    loop.advance(2.1)
    assert len(parts.store.calls("commands_for")) == 1


def test_a_process_that_dies_on_this_machine_is_noticed_between_two_sweeps(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH, settings=EngineSettings(sweep=60.0))
    parts.stored(GRAPH, OTHER)
    loop.run(parts.sweeper().start())
    loop.run(parts.claims.process(parts.queues[Stage.CLAIM].take(9)))
    parts.store.seen = seen(gone(OTHER))
    parts.dead_sessions.outdated = True
    loop.advance(0.6)
    assert parts.store.tables["run-1"].owner is None and claims_wanted(parts) == 1


# -- taking one run --------------------------------------------------------------------------------------------------
def test_a_run_of_a_dead_session_is_taken(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.stored(GRAPH, OTHER)
    parts.store.sessions[OTHER] = gone(OTHER)
    parts.store.seen = seen(gone(OTHER))
    loop.run(parts.sweeper().take("run-1"))
    assert list(parts.runs) == ["run-1"]


@pytest.mark.parametrize("why", ["another is alive", "it has ended"])
def test_a_run_is_not_taken_if(build: Build, loop: ManualLoop, why: str) -> None:
    parts = build(GRAPH)
    table = parts.stored(GRAPH, OTHER)
    parts.store.sessions[OTHER] = Session(id=OTHER)
    if why == "it has ended":
        table.run = RunRow(state=RunState.COMPLETED)
    loop.run(parts.sweeper().take("run-1"))
    assert len(parts.runs) == 0 and table.owner == OTHER


def test_a_run_that_does_not_exist_cannot_be_taken(build: Build, loop: ManualLoop) -> None:
    with pytest.raises(RunNotFound):
        loop.run(build(GRAPH).sweeper().take("run-9"))


def test_a_run_is_taken_as_soon_as_its_owners_lease_is_over(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.stored(GRAPH, OTHER)  # its session is not among the living, and has not been declared dead
    taking = loop.start(parts.sweeper().take("run-1"))
    loop.advance(1.0)
    assert not taking.done()
    parts.store.seen, parts.store.overdue = seen(overdue=True), [OTHER]
    loop.advance(0.1)
    assert taking.done() and list(parts.runs) == ["run-1"]


def test_an_unknown_change_costs_one_statement_while_no_run_is_driven(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    loop.start(parts.notifications.run())
    loop.advance(0.01)
    parts.store.asked.clear()
    parts.wakeups.announce("any")
    loop.advance(0.2)
    assert [name for name, _ in parts.store.asked] == ["glance"] and claims_wanted(parts) == 0
    parts.store.seen = seen(unowned=True)
    parts.wakeups.announce("any")
    loop.advance(0.2)
    assert claims_wanted(parts) == 1, "a run that waits for an owner is claimed at once"
    parts.store.asked.clear()
    parts.store.seen = seen(owns=True)
    parts.wakeups.announce("any")
    loop.advance(0.2)
    assert "commands_for" in {name for name, _ in parts.store.asked}, "commands to runs of this session are looked for"


# -- stored definitions ----------------------------------------------------------------------------------------------
def test_definitions_are_refreshed_when_a_notification_or_the_sweep_shows_a_change(
    build: Build, loop: ManualLoop
) -> None:
    calls: list[int] = []
    parts = build(GRAPH, refresh=lambda: calls.append(parts.store.seen.definitions))
    sweeper = parts.sweeper()
    parts.store.seen = seen(definitions=1)
    loop.run(parts.notifications.handle({"definitions"}))
    assert calls == [1] and claims_wanted(parts) == 1, "runs may be claimable that were not before"
    asked = len(parts.store.calls("newest_revision"))
    loop.run(sweeper._sweep())
    loop.run(parts.notifications.handle({"runs", "finished"}))
    assert calls == [1] and len(parts.store.calls("newest_revision")) == asked, "an idle sweep asks nothing more"
    loop.run(parts.notifications.handle({"any"}))
    assert calls == [1], "what is in force is not read again"
    parts.store.seen = seen(definitions=3)
    loop.run(parts.notifications.handle({"any"}))
    assert calls == [1, 3]
    parts.store.seen = seen(definitions=4)
    loop.run(sweeper._sweep())
    loop.run(sweeper._sweep())
    assert calls == [1, 3, 4]


def test_an_orchestrator_without_definitions_asks_for_none(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.store.seen = seen(definitions=7)
    loop.run(parts.sweeper()._sweep())
    loop.run(parts.notifications.handle({"definitions", "any"}))
    assert parts.store.calls("newest_revision") == []
