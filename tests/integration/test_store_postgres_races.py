"""What two connections can do to one another on a real PostgreSQL, and what a restarted server does to all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
import pytest

from tests.conformance.store_rows import OWNER, WORKFLOW, begin, claim_one, completed, insert, moved, new_run, update
from tests.conformance.test_store_messages import POLLER, offered, result
from tests.postgres import GivenServer, OwnServer
from turnout.errors import StoreError, StoreUnreachable
from turnout.model.rows import RunRow, RunWrite, Session, TaskRow
from turnout.model.states import RunState, TaskState
from turnout.store import connect
from turnout.store.database import json_list, json_text
from turnout.store.postgres import PostgresStore
from turnout.store.postgres.ledger import statements_of
from turnout.store.queries import load_blocks


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    opened = connect(postgres_url)
    assert isinstance(opened, PostgresStore)
    opened.open()
    yield opened
    opened.close()


@pytest.fixture
def other(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    """A second connection, whose transaction the test holds open as long as it likes."""
    with psycopg.connect(postgres_url) as connection:
        yield connection


class Background:
    """A call in another thread, and its answer."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self.answer: Any = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.answer = self._call()
        except BaseException as error:
            self.error = error

    def result(self) -> Any:
        self._thread.join(timeout=20)
        assert not self._thread.is_alive()
        if self.error:
            raise self.error
        return self.answer


def wait_until_blocked(url: str, count: int = 1) -> None:
    """Until that many of our connections really wait for a lock."""
    deadline = time.monotonic() + 10
    with psycopg.connect(url, autocommit=True) as watcher:
        while time.monotonic() < deadline:
            row = watcher.execute(
                "select count(*) from pg_stat_activity where datname = current_database()"
                " and wait_event_type = 'Lock' and application_name = 'turnout'"
            ).fetchone()
            if row and row[0] >= count:
                return
            time.sleep(0.01)
    raise AssertionError("nothing is waiting for a lock")


def adopt(connection: psycopg.Connection[Any], run_id: str) -> None:
    """The statements of an adoption, in a transaction that stays open."""
    blocks = load_blocks("postgres")
    for block in ("take_runs", "fence_tasks"):
        connection.execute(blocks[block].encode(), {"ids": json_list([run_id]), "session": "peer"})


def execute_apart(connection: psycopg.Connection[Any], write: RunWrite) -> None:
    """The statement of the ledger for this write, in a transaction that stays open."""
    (statement,) = statements_of([write])
    connection.execute(load_blocks("postgres")[statement.block].encode(), {**statement.params, "wake": "[]"})


# -- DECISIONS 2: adoption against the old owner's write -------------------------------------------------------------
def test_an_old_owners_write_that_waits_for_the_adopters_lock_changes_nothing(
    store: PostgresStore, other: psycopg.Connection[Any], postgres_url: str
) -> None:
    begin(store, OWNER, "peer")
    write = new_run()
    insert(store, write)
    adopt(other, write.run_id)
    late = Background(lambda: store.commit([update(write.run_id, completed())]))
    wait_until_blocked(postgres_url)
    other.commit()
    assert late.result()[0].stale == (0,)
    assert store.tasks(write.run_id)[0].state is TaskState.RUNNING
    assert (0, "running", "completed") not in moved(store, write.run_id)


def test_comparing_the_run_rows_epoch_alone_would_let_the_old_owner_through(
    store: PostgresStore, other: psycopg.Connection[Any], postgres_url: str
) -> None:
    """Why the epoch lives on the task rows: a row that was waited for is checked again, a joined one is not."""
    begin(store, OWNER, "peer")
    write = new_run()
    insert(store, write)
    other.execute("update run set epoch = epoch + 1, owner = 'peer' where id = %s", (write.run_id,))
    other.execute("update task set reason = 'adopted' where run_id = %s", (write.run_id,))

    def naive() -> int:
        with psycopg.connect(postgres_url, application_name="turnout") as connection:
            return connection.execute(
                "update task set state = 'completed' from run where run.id = task.run_id and run.epoch = 1"
                " and task.run_id = %s and task.pos = 0 and task.state = 'running'",
                (write.run_id,),
            ).rowcount

    late = Background(naive)
    wait_until_blocked(postgres_url)
    other.commit()
    assert late.result() == 1, "if this fails, PostgreSQL has become stricter and the rule may be relaxed"


def test_an_adopter_waits_for_the_old_owners_write_and_reads_what_it_left(
    store: PostgresStore, other: psycopg.Connection[Any], postgres_url: str
) -> None:
    begin(store, OWNER, "peer")
    write = new_run()
    insert(store, write)
    store.release_runs(OWNER, [write.run_id])
    execute_apart(other, update(write.run_id, completed()))
    claim = Background(lambda: store.claim_runs("peer", [WORKFLOW], 10, 1000))
    wait_until_blocked(postgres_url)
    other.commit()
    (loaded,) = claim.result()
    assert (loaded.tasks[0].state, loaded.tasks[0].output) == (TaskState.COMPLETED, '"done"')
    start = TaskRow(pos=1, state=TaskState.RUNNING, was=TaskState.PENDING, attempt=1, seq=6)
    assert store.commit([update(write.run_id, start, epoch=loaded.run.epoch)])[0].applied


def test_two_claimers_share_the_runs_and_never_one_run(store: PostgresStore, postgres_url: str) -> None:
    begin(store, "a", "b", "c", "d")
    insert(store, *[new_run(owner=None) for _ in range(80)])
    taken: dict[str, list[str]] = {name: [] for name in "abcd"}

    def claim(name: str) -> None:
        while some := store.claim_runs(name, [WORKFLOW], 5, 1000):
            taken[name] += [loaded.run.new.run_id for loaded in some]

    for call in [Background(lambda name=name: claim(name)) for name in taken]:
        call.result()
    claim("a")
    everything = [run_id for some in taken.values() for run_id in some]
    assert len(everything) == len(set(everything)) == 80


def test_a_run_locked_by_another_claimer_is_skipped(store: PostgresStore, other: psycopg.Connection[Any]) -> None:
    begin(store, "peer")
    first, second = new_run(owner=None), new_run(owner=None)
    insert(store, first)
    insert(store, second)
    other.execute("select 1 from run where id = %s for update", (first.run_id,))
    assert [run.run.new.run_id for run in store.claim_runs("peer", [WORKFLOW], 10, 1000)] == [second.run_id]


# -- DECISIONS 3: one UPDATE per row and transaction -----------------------------------------------------------------
def test_of_two_images_of_one_row_in_one_statement_only_one_applies(store: PostgresStore) -> None:
    """Why ``commit`` refuses them: the statement itself would lose one without a word."""
    begin(store)
    write = new_run()
    insert(store, write)
    twice = update(
        write.run_id,
        TaskRow(pos=1, state=TaskState.READY, was=TaskState.PENDING, seq=4),
        TaskRow(pos=1, state=TaskState.READY, was=TaskState.PENDING, seq=5, reason="second"),
    )
    with pytest.raises(ValueError, match="two images"):
        store.commit([twice])
    params = {"writes": json_text([twice]), "wake": "[]"}
    ((applied, missed, _),) = store._postgres.statement("update_batch", params)  # pyright: ignore[reportPrivateUsage]
    assert missed is True
    assert applied.count(write.run_id) == 1


# -- DECISIONS 6: a poller's claim against pause and cancel ----------------------------------------------------------
@pytest.mark.parametrize("state", [RunState.PAUSED, RunState.CANCELLING])
def test_a_pause_that_is_under_way_excludes_a_claim(
    store: PostgresStore, other: psycopg.Connection[Any], state: RunState
) -> None:
    begin(store)
    write = offered()
    insert(store, write)
    ends = [TaskRow(pos=0, state=TaskState.CANCELLED, was=TaskState.READY, seq=9)]
    change = update(
        write.run_id,
        *(ends if state is RunState.CANCELLING else []),
        run=RunRow(state=state, was=RunState.RUNNING),
    )
    execute_apart(other, change)
    assert store.claim_ready(POLLER, ["gpu"], 10, 30) == [], "the run's row is locked"
    other.commit()
    assert store.claim_ready(POLLER, ["gpu"], 10, 30) == [], "the run is not running, or its tasks have ended"


def test_a_pause_waits_for_a_claim_that_is_under_way(
    store: PostgresStore, other: psycopg.Connection[Any], postgres_url: str
) -> None:
    begin(store)
    write = offered()
    insert(store, write)
    blocks = load_blocks("postgres")
    rows = other.execute(blocks["offered_tasks"].encode(), {"keys": '["gpu"]', "limit": 5}).fetchall()
    assert len(rows) == 1
    attempts = json_list([{"run_id": write.run_id, "pos": 0}])
    for block in ("record_polled", "take_polled"):
        other.execute(blocks[block].encode(), {"attempts": attempts, "poller": POLLER, "lease": 30.0})
    held = TaskRow(pos=0, state=TaskState.READY, was=TaskState.READY, reason="paused", seq=4)
    pause = update(write.run_id, held, run=RunRow(state=RunState.PAUSED, was=RunState.RUNNING))
    paused = Background(lambda: store.commit([pause]))
    wait_until_blocked(postgres_url)
    other.commit()
    assert paused.result()[0].stale == (0,), "the owner learns that the task was claimed before the pause"
    assert store.tasks(write.run_id)[0].holder == POLLER


def test_pollers_and_pauses_at_random_never_start_anything_after_the_pause(store: PostgresStore) -> None:
    begin(store)
    for _ in range(15):
        write = offered()
        insert(store, write)
        pause = update(write.run_id, run=RunRow(state=RunState.PAUSED, was=RunState.RUNNING))
        claiming = Background(lambda: store.claim_ready(POLLER, ["gpu"], 10, 30))
        assert store.commit([pause])[0].applied
        paused_at = max(at for at, row in store.history(write.run_id) if row.new == "paused")
        claimed = claiming.result()
        starts = [at for at, row in store.history(write.run_id) if (row.pos, row.new) == (0, "running")]
        assert len(starts) == len(claimed) <= 1
        assert all(at <= paused_at for at in starts)
        assert store.claim_ready(POLLER, ["gpu"], 10, 30) == []


# -- DECISIONS 4: the outcome of a commit is unknown -----------------------------------------------------------------
def test_a_commit_whose_link_dies_is_unreachable_and_can_be_read_back(
    store: PostgresStore, other: psycopg.Connection[Any], postgres_url: str
) -> None:
    begin(store)
    write, fresh = new_run(), new_run()
    insert(store, write)
    other.execute("select 1 from run where id = %s for update", (write.run_id,))
    ended = RunRow(state=RunState.COMPLETED, was=RunState.RUNNING)
    dying = Background(lambda: store.commit([update(write.run_id, completed(), run=ended), fresh]))
    wait_until_blocked(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as killer:
        killer.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'"
            " and datname = current_database()"
        )
    with pytest.raises(StoreUnreachable):
        dying.result()
    other.rollback()
    assert store.run(fresh.run_id) is None, "all or nothing"
    outcomes = store.commit([update(write.run_id, completed(), run=ended), fresh])
    assert [outcome.applied for outcome in outcomes] == [True, True]
    again = store.commit([update(write.run_id, completed(), run=ended), fresh])
    assert again[0].stale == (0, -1)
    assert again[1].existing == fresh.run_id


# -- plans, leases, restarts -----------------------------------------------------------------------------------------
def test_updates_go_by_key_on_an_empty_table_and_stay_heap_only(store: PostgresStore) -> None:
    begin(store)
    database = store._postgres  # pyright: ignore[reportPrivateUsage]
    write = update(new_run().run_id, completed())
    (single,) = statements_of([write])
    (narrow,) = statements_of([write, update(new_run().run_id, completed())])
    assert (single.block, narrow.block) == ("update_step", "update_steps")
    whole = {"writes": json_text([write])}
    for block, given in (
        ("update_step", single.params),
        ("update_steps", narrow.params),
        ("update_batch", whole),
        ("update_and_answer", whole),
    ):
        params = {**given, "wake": "[]"}
        statement = database.statements[block]
        cursor = psycopg.RawCursor(database.own("ledger"))
        cursor.execute(b"explain " + statement.text, statement.values(params))
        plan = "\n".join(row[0] for row in cursor.fetchall())
        for table in ("task", "run", "inbox", "command"):
            assert f"Seq Scan on {table}" not in plan, plan
        assert "Index Scan using task_pkey on task" in plan
    writes = [new_run() for _ in range(50)]
    insert(store, *writes)
    assert all(outcome.applied for outcome in store.commit([update(write.run_id, completed()) for write in writes]))
    database.own("ledger").execute("select pg_stat_force_next_flush()")
    rows = (
        database.own("ledger")
        .execute("select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = 'task'")
        .fetchall()
    )
    assert rows == [(50, 50)]


def test_after_a_start_of_the_server_leases_get_their_length_once_more(store: PostgresStore, other: Any) -> None:
    store.start_session(Session(id="slow"), lease=100_000)
    other.execute("update session set lease_until = 1 where id = 'slow'")
    other.commit()
    assert store.bury_sessions() == [], "the server started less than a lease ago"
    assert store.bury_sessions(gone=["slow"]) == ["slow"], "but what is seen dead is dead"


def test_a_lease_is_renewed_on_a_connection_of_its_own(store: PostgresStore) -> None:
    begin(store)
    pool = store._postgres.pool  # pyright: ignore[reportPrivateUsage]
    with ExitStack() as stack:
        for _ in range(pool.waits.size):
            stack.enter_context(pool.lend())
        assert store.renew_session(OWNER, 15).held
        assert store.commit([new_run()])[0].applied, "so has the ledger"
        assert store.use().active == pool.waits.size


def test_who_finds_no_connection_waits_for_one_and_the_wait_is_measured(store: PostgresStore) -> None:
    pool = store._postgres.pool  # pyright: ignore[reportPrivateUsage]
    with ExitStack() as stack:
        for _ in range(pool.waits.size):
            stack.enter_context(pool.lend())
        reader = threading.Thread(target=store.runs)
        reader.start()
        while not (use := store.use()).waiting:
            assert reader.is_alive()
        use = store.use()
        assert use.saturation > 0
    reader.join(20)
    assert not reader.is_alive()
    assert (store.use().active, store.use().waiting) == (0, 0)


@contextmanager
def restarted(server: OwnServer) -> Iterator[None]:
    server.stop("immediate")
    yield
    server.start()


def everything_works(store: PostgresStore, name: str) -> None:
    """Each method once, on connections that may have died."""
    calls: list[Callable[[], object]] = []
    store.put_workflow("v1", WORKFLOW, "{}")
    store.start_session(Session(id=name, workflows=(WORKFLOW,)), lease=15)
    write, keyed, polled = new_run(owner=name), new_run(owner=None), offered()
    polled.owner = name
    insert(store, write, keyed, polled)
    assert store.renew_session(name, 15).held
    assert [row.run.new.run_id for row in store.claim_runs(name, [WORKFLOW], 9, 9)] == [keyed.run_id]
    assert claim_one(store, name, keyed.run_id, 9) is not None
    assert store.commit([update(write.run_id, completed())])[0].applied
    number = store.add_command(write.run_id, "pause")
    assert [command.id for command in store.commands_for(name)] == [number]
    assert store.command_done(number) is False
    assert len(store.claim_ready(POLLER, ["gpu"], 9, 30)) == 1
    assert store.renew_attempts(POLLER, [(polled.run_id, 0, 1)], 30) == []
    store.post_results(POLLER, [result(polled.run_id)])
    assert len(store.inbox_for(name, 9)) == 1
    assert store.lapsed_attempts(name) == []
    assert store.run(write.run_id) and store.runs() and store.tasks(write.run_id) and store.history(write.run_id)
    assert store.outputs(write.run_id, [0]) and store.workflow("v1") and store.waiting()["unfinished"]
    calls += [store.live_sessions, store.session_health, store.bury_sessions, lambda: store.holders_alive([name])]
    calls.append(lambda: store.holders([name]))
    for call in calls:
        call()
    assert store.record_routing(name, "{}")
    store.end_session(name)
    # Nothing is left for the next round.
    for row in store.runs():
        if row.row.state is RunState.RUNNING and row.owner is None:
            taken = RunWrite(
                run_id=row.new.run_id, epoch=row.epoch, run=RunRow(state=RunState.CANCELLED, was=row.row.state)
            )
            assert store.commit([taken])[0].applied


def test_every_method_works_again_after_the_server_was_restarted(
    postgres_server: GivenServer, postgres_url: str
) -> None:
    if not isinstance(postgres_server, OwnServer):
        pytest.skip("this server is not ours to restart")
    store = connect(postgres_url)
    assert isinstance(store, PostgresStore)
    store.open()
    woken: list[str] = []
    heard = threading.Event()
    stop = store.listen(lambda topic: (woken.append(topic), heard.set()))
    everything_works(store, "before")
    postgres_server.restart("immediate")
    assert store.runs(), "a read finds its way by itself"
    everything_works(store, "after")
    with restarted(postgres_server):
        with pytest.raises(StoreError) as caught:
            store.commit([new_run()])
        assert caught.value.code == "store_unreachable"
        with pytest.raises(StoreUnreachable):
            store.runs()
    heard.clear()
    everything_works(store, "last")
    assert heard.wait(10)
    deadline = time.monotonic() + 10
    while woken.count("any") < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert woken.count("any") >= 2, "everything is looked at when it begins to listen, and after a reconnect"
    stop()
    store.close()


def test_changes_wait_for_an_older_transaction_so_that_none_appears_behind_a_position(
    store: PostgresStore, other: psycopg.Connection[Any]
) -> None:
    begin(store)
    after = store.change_span().newest
    early, late = new_run(), new_run()
    moves = '[[1,-1,null,"running",0,null]]'
    other.execute("insert into history_commit (run_id, seq, at, moves) values (%s, 1, 0, %s)", (early.run_id, moves))
    insert(store, late)
    assert store.run_changes(after, 10) == []
    other.commit()
    found = store.run_changes(after, 10)
    assert [change.run_id for change in found] == [early.run_id, late.run_id]
    assert found[0].position < found[1].position <= store.change_span().newest
