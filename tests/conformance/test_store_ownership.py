"""A run has one owner at a time; ownership always expires and never strands a run."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import psycopg
import pytest

from tests.conformance.store_rows import (
    OWNER,
    SPEC,
    WORKFLOW,
    begin,
    claim_one,
    completed,
    insert,
    moved,
    new_run,
    update,
)
from turnout.contracts.store import Store
from turnout.errors import WorkerInUse
from turnout.model.names import new_run_id
from turnout.model.rows import Holder, Renewal, RunRow, Session, TaskRow
from turnout.model.states import RunState, TaskState

LIMIT, INLINE = 100, 1024


def test_a_session_is_alive_until_it_ends(store: Store) -> None:
    session = Session(
        id="s", kind="poller", host="h", boot_id="b", pid_namespace="n", pid=7, process_started="9", workflows=("w",)
    )
    store.start_session(session, lease=15)
    assert store.live_sessions() == [session]
    assert store.holders_alive(["s", "t"]) == frozenset({"s"})
    store.end_session("s")
    assert store.live_sessions() == []
    assert store.holders_alive(["s"]) == frozenset()


def test_a_renewal_says_how_many_others_are_alive(store: Store) -> None:
    begin(store, "a", "b")
    assert (store.renew_session("a", 15).held, store.renew_session("a", 15, health='{"ok":true}').peers) == (True, 1)
    store.end_session("b")
    assert store.renew_session("a", 15).peers == 0


def test_a_live_session_keeps_what_it_last_said_of_itself(store: Store) -> None:
    begin(store, "a")
    [new] = store.session_health()
    assert (new.session, new.health) == (store.live_sessions()[0], None)
    store.renew_session("a", 15, health='{"at":1}')
    store.renew_session("a", 15)
    begin(store, "b")
    first, second = store.session_health()
    assert (first.session.id, first.health, second.session.id) == ("a", '{"at":1}', "b"), "oldest first"
    assert first.age >= 0.0 and 0.0 <= first.silent < 15.0
    store.renew_session("a", lease=-1.0)
    assert [one.session.id for one in store.session_health()] == ["b"]
    store.end_session("b")
    assert store.session_health() == []


def test_a_session_whose_lease_is_over_is_buried_and_its_runs_are_free(store: Store) -> None:
    begin(store, OWNER, "peer")
    write = new_run()
    insert(store, write)
    assert store.bury_sessions() == []
    store.renew_session(OWNER, lease=-1.0)
    assert store.holders_alive([OWNER, "peer"]) == frozenset({"peer"})
    assert store.bury_sessions(grace=60) == []
    assert store.bury_sessions() == [OWNER]
    stored = store.run(write.run_id)
    assert stored is not None and stored.owner is None
    assert store.tasks(write.run_id)[0].holder == OWNER, "attempts stay as they are"
    assert store.bury_sessions() == []


@pytest.mark.parametrize("kind", ["worker", "poller"])
def test_workers_and_pollers_can_be_spared_while_others_are_buried(store: Store, kind: str) -> None:
    begin(store, OWNER)
    store.start_session(Session(id="holder", kind=kind), lease=-1.0)
    store.renew_session(OWNER, lease=-1.0)
    assert store.bury_sessions(spare_holders=True) == [OWNER]
    assert store.bury_sessions(spare_holders=True, gone=["holder"]) == ["holder"], "what is seen dead is dead"


def test_holders_are_known_also_when_they_have_ended(store: Store) -> None:
    session = Session(
        id="s", kind="poller", host="h", boot_id="b", pid_namespace="n", pid=7, process_started="9", workflows=("w",)
    )
    store.start_session(session, lease=15)
    store.start_session(Session(id="late", kind="worker"), lease=-1.0)
    assert store.holders(["s", "unknown"]) == {"s": Holder(session=session, alive=True, lease=15.0)}
    assert not store.holders(["late"])["late"].alive
    store.end_session("s")
    assert store.holders(["s"]) == {"s": Holder(session=session, alive=False, lease=15.0)}
    store.join_worker(Session(id="worker", kind="worker", key="K"), 15.0, "{}")
    assert store.holders(["worker"])["worker"].session.key == "K"


def test_a_session_that_was_declared_dead_stays_dead(store: Store) -> None:
    begin(store)
    assert store.bury_sessions(gone=[OWNER, "unknown"]) == [OWNER]
    assert store.renew_session(OWNER, 15).held is False
    assert store.live_sessions() == []
    insert(store, new_run(owner=None))
    assert store.claim_runs(OWNER, [WORKFLOW], LIMIT, INLINE) == []


def test_a_run_that_a_dead_session_inserts_afterwards_is_freed_by_the_next_sweep(store: Store) -> None:
    begin(store, OWNER, "peer")
    store.end_session(OWNER)
    late = new_run()
    insert(store, late)
    store.bury_sessions()
    assert [loaded.run.new.run_id for loaded in store.claim_runs("peer", [WORKFLOW], LIMIT, INLINE)] == [late.run_id]


def test_ending_a_session_hands_its_runs_over_at_once(store: Store) -> None:
    begin(store, OWNER, "peer")
    write = new_run()
    insert(store, write)
    assert store.claim_runs("peer", [WORKFLOW], LIMIT, INLINE) == []
    store.end_session(OWNER)
    assert len(store.claim_runs("peer", [WORKFLOW], LIMIT, INLINE)) == 1


def test_runs_of_other_workflows_can_be_claimed_by_their_version(store: Store) -> None:
    begin(store, OWNER, "peer")
    owned, free = new_run(), new_run(owner=None)
    insert(store, owned)
    insert(store, free)
    assert free.insert is not None
    version = free.insert.version
    assert store.unclaimed_versions([]) == [version] and store.unclaimed_versions([WORKFLOW]) == []
    assert store.claim_runs("peer", ["other"], LIMIT, INLINE, ["another version"]) == []
    claimed = store.claim_runs("peer", ["other"], LIMIT, INLINE, [version])
    assert [loaded.run.new.run_id for loaded in claimed] == [free.run_id]
    assert store.unclaimed_versions([]) == []
    assert store.claim_runs("peer", [], LIMIT, INLINE, [version]) == []


def test_releasing_runs_hands_over_these_and_no_others(store: Store) -> None:
    begin(store, OWNER, "peer")
    kept, released = new_run(), new_run()
    insert(store, kept)
    insert(store, released)
    store.release_runs("peer", [kept.run_id])
    store.release_runs(OWNER, [released.run_id])
    claimed = store.claim_runs("peer", [WORKFLOW], LIMIT, INLINE)
    assert [loaded.run.new.run_id for loaded in claimed] == [released.run_id]


def test_a_claim_takes_the_run_under_a_new_epoch_and_fences_the_old_owner(store: Store) -> None:
    begin(store, OWNER, "peer")
    write = new_run()
    insert(store, write)
    store.end_session(OWNER)
    (loaded,) = store.claim_runs("peer", [WORKFLOW], LIMIT, INLINE)
    assert (loaded.run.owner, loaded.run.epoch, loaded.run.seq, loaded.spec) == ("peer", 2, 3, SPEC)
    assert loaded.tasks == store.tasks(write.run_id)
    assert store.commit([update(write.run_id, completed(), epoch=1)])[0].stale == (0,)
    assert store.commit([update(write.run_id, completed(), epoch=2)])[0].applied


def test_a_claim_leaves_finished_tasks_as_they_are(store: Store) -> None:
    begin(store, OWNER, "peer")
    write = new_run()
    insert(store, write)
    store.commit([update(write.run_id, completed())])
    store.end_session(OWNER)
    (loaded,) = store.claim_runs("peer", [WORKFLOW], LIMIT, INLINE)
    assert loaded.tasks[0].output == '"done"'
    start = TaskRow(pos=1, state=TaskState.RUNNING, was=TaskState.PENDING, attempt=1, seq=6)
    assert store.commit([update(write.run_id, start, epoch=2)])[0].applied


def test_a_pending_run_starts_with_its_claim(store: Store) -> None:
    begin(store)
    write = new_run(owner=None, state=RunState.PENDING, tasks=[TaskRow(pos=0, name="t", state=TaskState.PENDING)])
    insert(store, write)
    (loaded,) = store.claim_runs(OWNER, [WORKFLOW], LIMIT, INLINE)
    assert loaded.run.row.state is RunState.RUNNING
    assert loaded.run.row.started_at is not None
    assert loaded.run.seq == 2
    assert moved(store, write.run_id) == [(-1, None, "pending"), (-1, "pending", "running")]


def test_paused_and_cancelling_runs_are_claimed_as_they_are(store: Store) -> None:
    begin(store)
    insert(store, new_run(owner=None, state=RunState.PAUSED), new_run(owner=None, state=RunState.CANCELLING))
    claimed = store.claim_runs(OWNER, [WORKFLOW], LIMIT, INLINE)
    assert {loaded.run.row.state for loaded in claimed} == {RunState.PAUSED, RunState.CANCELLING}


def test_claims_take_the_highest_priority_first_then_the_oldest(store: Store) -> None:
    begin(store)
    writes = [new_run(owner=None, priority=priority) for priority in (0, 5, 0, 5)]
    for write in writes:
        insert(store, write)
    order: list[str] = []
    while claimed := store.claim_runs(OWNER, [WORKFLOW], 1, INLINE):
        order += [loaded.run.new.run_id for loaded in claimed]
    assert order == [writes[index].run_id for index in (1, 3, 0, 2)]


def test_only_runs_of_the_given_workflows_are_claimed(store: Store) -> None:
    begin(store)
    insert(store, new_run(owner=None, workflow="public::embedded::other"))
    assert store.claim_runs(OWNER, [WORKFLOW], LIMIT, INLINE) == []
    assert store.claim_runs(OWNER, [], LIMIT, INLINE) == []
    assert len(store.claim_runs(OWNER, ["public::embedded::other"], LIMIT, INLINE)) == 1


def test_finished_runs_are_never_claimed(store: Store) -> None:
    begin(store)
    write = new_run()
    insert(store, write)
    store.commit([update(write.run_id, completed(), run=RunRow(state=RunState.COMPLETED, was=RunState.RUNNING))])
    assert store.claim_runs(OWNER, [WORKFLOW], LIMIT, INLINE) == []
    assert claim_one(store, OWNER, write.run_id, INLINE) is None


def test_large_outputs_stay_in_the_store(store: Store) -> None:
    begin(store, OWNER, "peer")
    write = new_run()
    insert(store, write)
    text = '"' + "x" * 2000 + '"'
    store.commit([update(write.run_id, completed(output=text))])
    store.end_session(OWNER)
    (loaded,) = store.claim_runs("peer", [WORKFLOW], LIMIT, INLINE)
    assert loaded.large == frozenset({0})
    assert loaded.tasks[0].output is None
    assert store.outputs(write.run_id, [0, 1, 2]) == {0: text}


def test_one_run_can_be_claimed_by_its_id(store: Store) -> None:
    begin(store, OWNER, "peer")
    mine, free = new_run(), new_run(owner=None)
    insert(store, mine, free)
    assert claim_one(store, "peer", mine.run_id, INLINE) is None, "it is owned by another"
    taken = claim_one(store, "peer", free.run_id, INLINE)
    assert taken is not None and (taken.run.owner, taken.run.epoch) == ("peer", 1)
    again = claim_one(store, OWNER, mine.run_id, INLINE)
    assert again is not None and again.run.epoch == 2, "a reload comes under a new epoch"
    assert store.commit([update(mine.run_id, completed(), epoch=1)])[0].stale == (0,)
    assert claim_one(store, OWNER, new_run_id(), INLINE) is None
    assert claim_one(store, OWNER, "nonsense", INLINE) is None


def test_a_run_without_an_owner_is_written_by_its_first_one_only(
    store: Store,
) -> None:
    begin(store, "peer")
    free = new_run(owner=None)
    insert(store, free)
    early = update(free.run_id, completed(), epoch=free.epoch, run=RunRow(state=RunState.PAUSED, was=RunState.RUNNING))
    assert store.commit([update(free.run_id, completed(), epoch=free.epoch)])[0].stale == (0,)
    taken = claim_one(store, "peer", free.run_id, INLINE)
    assert taken is not None
    assert set(store.commit([early])[0].stale) == {0, -1}
    assert store.commit([update(free.run_id, completed(), epoch=taken.run.epoch)])[0].applied


def test_tasks_that_were_stored_with_an_epoch_before_the_first_owners_are_fenced_by_its_claim(
    store: Store, store_url: str
) -> None:
    begin(store, "peer")
    free, other = new_run(owner=None), new_run(owner=None)
    insert(store, free, other)
    execute_apart(store_url, f"update task set epoch = 0 where run_id = '{free.run_id}'")
    taken = {run.run.new.run_id: run for run in store.claim_runs("peer", [WORKFLOW], LIMIT, INLINE)}
    assert {run.run.epoch for run in taken.values()} == {1}
    for run_id in taken:
        assert store.commit([update(run_id, completed())])[0].applied


def execute_apart(url: str, statement: str) -> None:
    """Executes this on a connection of its own."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.execute(statement)
            connection.commit()
    else:
        with psycopg.connect(url, autocommit=True) as server:
            server.execute(statement.encode())


def test_a_session_gives_its_runs_to_another_that_claims_them_by_id(store: Store) -> None:
    begin(store, OWNER, "peer")
    mine, second, foreign = new_run(), new_run(), new_run(owner="peer")
    insert(store, mine, second, foreign)
    given = store.give_runs(OWNER, "peer", [mine.run_id, second.run_id, foreign.run_id, new_run_id()])
    assert sorted(given) == sorted([mine.run_id, second.run_id])
    assert store.owned_runs(OWNER) == []
    assert store.claim_listed(OWNER, given, INLINE) == [], "they are owned by another"
    taken = store.claim_listed("peer", [*given, "nonsense", new_run_id()], INLINE)
    assert sorted(one.run.new.run_id for one in taken) == sorted(given)
    assert {(one.run.owner, one.run.epoch) for one in taken} == {("peer", 2)}
    assert store.commit([update(mine.run_id, completed(), epoch=1)])[0].stale == (0,), "the giver is fenced"


def test_nothing_is_given_to_a_session_that_has_ended_or_never_was(store: Store) -> None:
    begin(store, OWNER, "peer")
    mine = new_run()
    insert(store, mine)
    store.end_session("peer")
    assert store.give_runs(OWNER, "peer", [mine.run_id]) == []
    assert store.give_runs(OWNER, "stranger", [mine.run_id]) == []
    assert store.owned_runs(OWNER) == [mine.run_id]


def test_the_wait_that_is_left_comes_with_the_claim(store: Store) -> None:
    begin(store, OWNER, "peer")
    write = new_run()
    insert(store, write)
    waiting = TaskRow(
        pos=0, state=TaskState.READY, was=TaskState.RUNNING, was_attempt=1, attempt=1, retry_in=60.0, seq=4
    )
    store.commit([update(write.run_id, waiting)])
    store.end_session(OWNER)
    (loaded,) = store.claim_runs("peer", [WORKFLOW], LIMIT, INLINE)
    assert loaded.tasks[0].retry_in == pytest.approx(60, abs=5)


def test_the_store_knows_which_attempts_a_session_holds(store: Store) -> None:
    begin(store, OWNER, "peer")
    write = new_run()
    insert(store, write, new_run(owner="peer"))
    assert store.running_tasks(OWNER) == [(write.run_id, 0, 1)]


def test_a_worker_that_is_to_leave_hears_of_it_with_each_renewal_and_when_it_joins_again(store: Store) -> None:
    worker = Session(id="w", kind="worker")
    assert store.join_worker(worker, 15, "{}") is None
    assert store.renew_workers({"w": "{}", "unknown": "{}"}, 15) == Renewal(frozenset({"unknown"}), {})
    assert store.drain_worker("w", "deploy")
    assert store.drain_worker("w", "another reason"), "asking twice is no mistake"
    assert store.renew_workers({"w": '{"at":1}'}, 15) == Renewal(frozenset(), {"w": "deploy"})
    assert store.join_worker(worker, 15, "{}") == "deploy"
    [seen] = store.session_health()
    assert (seen.session, seen.drain, seen.health) == (worker, "deploy", "{}")
    store.end_session("w")
    assert not store.drain_worker("w", "deploy")
    assert store.renew_workers({"w": "{}"}, 15).dead == {"w"}


@pytest.mark.parametrize("ended", [False, True])
def test_a_worker_id_stays_with_the_key_that_first_came_with_it(store: Store, ended: bool) -> None:
    mine, others = (Session(id="w", kind="worker", key=key) for key in ("k1", "k2"))
    store.join_worker(mine, 15, "{}")
    if ended:
        store.end_session("w")
    for intruder in (others, Session(id="w", kind="worker")):
        with pytest.raises(WorkerInUse):
            store.join_worker(intruder, 15, "{}")
    assert store.holders_alive(["w"]) == (frozenset() if ended else {"w"}), "nor does the intruder renew it"
    store.join_worker(mine, 15, "{}")
    assert store.holders_alive(["w"]) == {"w"}


def test_a_worker_cannot_join_under_the_session_of_an_orchestrator(store: Store) -> None:
    begin(store)
    with pytest.raises(WorkerInUse):
        store.join_worker(Session(id=OWNER, kind="worker"), 15, "{}")
    assert [session.kind for session in store.live_sessions()] == ["orchestrator"]


def test_only_workers_are_told_to_leave(store: Store) -> None:
    begin(store)
    assert not store.drain_worker(OWNER, "deploy")
    assert not store.drain_worker("nobody", "deploy")


def test_what_a_worker_holds_is_known_whoever_owns_the_runs(store: Store) -> None:
    begin(store)
    running = TaskRow(pos=0, name="ship", state=TaskState.RUNNING, attempt=2, holder="w", dispatched_at=5.0)
    waiting = TaskRow(pos=1, name="pack", state=TaskState.READY)
    owned, unowned = new_run(tasks=[running, waiting]), new_run(tasks=[running], owner=None)
    other = new_run()
    insert(store, owned, unowned, other)
    assert {(one.run_id, one.workflow, one.task, one.attempt, one.since) for one in store.held_by("w")} == {
        (owned.run_id, WORKFLOW, "ship", 2, 5.0),
        (unowned.run_id, WORKFLOW, "ship", 2, 5.0),
    }
    assert store.held_by("nobody") == []


def test_one_look_tells_an_idle_session_whether_there_is_anything_to_do(store: Store) -> None:
    begin(store, "me", "other")
    quiet = store.glance("me")
    assert {session.id for session in quiet.sessions} == {"me", "other"}
    assert quiet.sessions[0] in store.live_sessions()
    assert not (quiet.owns or quiet.unowned or quiet.overdue or quiet.unheard)
    mine, waiting = (
        new_run(owner="me"),
        new_run(owner=None, state=RunState.PENDING, tasks=[TaskRow(pos=0, name="t", state=TaskState.PENDING)]),
    )
    insert(store, mine)
    assert (store.glance("me").owns, store.glance("other").owns) == (True, False)
    insert(store, waiting)
    assert store.glance("other").unowned
    store.start_session(Session(id="late"), lease=-1.0)
    assert store.glance("me").overdue
    assert store.bury_sessions() == ["late"]
    assert not store.glance("me").overdue
    store.end_session("other")
    assert [session.id for session in store.glance("me").sessions] == ["me"]
