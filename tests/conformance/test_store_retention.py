"""What is deleted goes whole, in bounded steps, and nothing goes that somebody may still need."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing

import psycopg
import pytest

from tests.conformance.store_rows import OWNER, VERSION, WORKFLOW, begin, completed, insert, new_run, update
from turnout.contracts.store import Store
from turnout.errors import RunNotFound
from turnout.model.logs import LogRow
from turnout.model.names import new_run_id
from turnout.model.retention import Deleted
from turnout.model.rows import RunRow, Session
from turnout.model.states import RunState
from turnout.store.retention import RUN_TABLES

ALL = (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED)
DAY = 86_400.0


def query(url: str, sql: str) -> list[tuple[object, ...]]:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
            return connection.execute(sql).fetchall()
    with psycopg.connect(url) as connection:
        cursor = connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []


def tables_with_run_id(url: str) -> set[str]:
    if url.startswith("sqlite"):
        sql = (
            "select m.name from sqlite_master m join pragma_table_info(m.name) c"
            " where m.type = 'table' and c.name = 'run_id'"
        )
    else:
        sql = (
            "select table_name from information_schema.columns join information_schema.tables"
            " using (table_schema, table_name)"
            " where column_name = 'run_id' and table_schema = current_schema() and table_type = 'BASE TABLE'"
        )
    return {str(name) for (name,) in query(url, sql)}


def begun(store: Store, parent: str | None = None) -> str:
    """A run under way; with a parent, as the child run of its first task, which runs."""
    child = {"parent_run": parent, "parent_pos": 0, "parent_attempt": 1} if parent is not None else {}
    write = new_run(**child)
    insert(store, write)
    return write.run_id


def end(store: Store, run: str, days: float = 0.0, state: RunState = RunState.COMPLETED) -> None:
    """It ended so long ago."""
    number = store.add_command(run, "pause")
    row = RunRow(state=state, was=RunState.RUNNING, finished_at=time.time() - days * DAY)
    assert store.commit([update(run, completed(), run=row, commands_done=[number])])[0].applied


def ended(store: Store, days: float = 0.0, state: RunState = RunState.COMPLETED, logs: int = 0) -> str:
    """A run that ended so long ago, with rows in every table but the inbox."""
    run = begun(store)
    if logs:
        store.append_logs([LogRow(run, 0, 1, seq, "stdout", 0.0, "x") for seq in range(1, logs + 1)])
    end(store, run, days, state)
    return run


def rows_of(url: str, run_id: str) -> dict[str, object]:
    found = {table: query(url, f"select count(*) from {table} where run_id = '{run_id}'")[0][0] for table in RUN_TABLES}
    return found | {"run": query(url, f"select count(*) from run where id = '{run_id}'")[0][0]}


def expired(store: Store, age: float, states: Sequence[RunState], limit: int) -> list[str]:
    return store.expired_runs(store.clock() - age, states, limit)


def delete(store: Store, ids: Sequence[str], limit: int = 1_000) -> Deleted:
    total = Deleted(more=True)
    while total.more:
        total += store.delete_runs(ids, limit)
    return total


def test_no_table_with_rows_of_runs_is_forgotten(store: Store, store_url: str) -> None:
    # A decision of a schedule says what was decided, and outlives the run.
    assert tables_with_run_id(store_url) == {*RUN_TABLES, "schedule_decision"}


def test_runs_of_a_workflow_are_kept_by_its_own_rule(store: Store) -> None:
    begin(store)
    old, newer, newest = ended(store, days=9), ended(store, days=2), ended(store, days=1)
    waiting = begun(store)
    before = store.clock() - 5 * DAY
    assert store.surplus_runs(WORKFLOW, before, None, 10) == [old]
    assert store.surplus_runs(WORKFLOW, None, 1, 10) == [old, newer]
    assert store.surplus_runs(WORKFLOW, None, 1, 1) == [newer], "a limited number at a time"
    assert store.surplus_runs(WORKFLOW, before, 3, 10) == [old]
    assert store.surplus_runs("another", before, 1, 10) == []
    assert {newest, waiting}.isdisjoint(store.surplus_runs(WORKFLOW, before, 1, 10))


def test_a_child_run_is_kept_while_its_parent_has_not_ended(store: Store) -> None:
    begin(store)
    parent = begun(store)
    child = begun(store, parent)
    end(store, child, days=9)
    ended(store)
    assert store.surplus_runs(WORKFLOW, store.clock(), 1, 10) != [] and child not in store.surplus_runs(
        WORKFLOW, store.clock(), 1, 10
    )
    end(store, parent, days=0)
    assert child in store.surplus_runs(WORKFLOW, store.clock(), None, 10)


def test_expired_runs_of_workflows_with_a_rule_of_their_own_are_left_out(store: Store) -> None:
    begin(store)
    old = ended(store, days=9)
    before = store.clock() - DAY
    assert store.expired_runs(before, ALL, 10) == [old]
    assert store.expired_runs(before, ALL, 10, other_than=["another"]) == [old]
    assert store.expired_runs(before, ALL, 10, other_than=["another", WORKFLOW]) == []


def test_a_deleted_run_leaves_nothing_behind_and_no_other_run_is_touched(store: Store, store_url: str) -> None:
    begin(store)
    gone, stays = ended(store, logs=3), ended(store, logs=3)
    before = rows_of(store_url, stays)
    assert before["run"] == 1 and before["log"] == 3 and before["task"] == 2
    assert delete(store, [gone]).runs == 1
    assert set(rows_of(store_url, gone).values()) == {0}
    assert rows_of(store_url, stays) == before
    assert store.run(gone) is None
    assert delete(store, [gone, new_run_id()]) == Deleted(), "a second time changes nothing"


def test_a_run_that_has_not_ended_is_never_deleted(store: Store, store_url: str) -> None:
    begin(store)
    writes = [new_run(state=state) for state in (RunState.PENDING, RunState.RUNNING)]
    insert(store, *writes)
    assert delete(store, [write.run_id for write in writes]) == Deleted()
    assert rows_of(store_url, writes[1].run_id)["task"] == 2


def test_a_large_run_goes_in_steps_of_bounded_size(store: Store, store_url: str) -> None:
    begin(store)
    run = ended(store, logs=25)
    step = store.delete_runs([run], 10)
    assert step.more and step.runs == 0
    assert rows_of(store_url, run)["log"] == 15
    assert store.run(run) is not None, "the run goes last, so that an interrupted deletion is taken up again"
    total = delete(store, [run], 10)
    assert (total.runs, step.rows + total.rows) == (1, 25 + len(("first", "second")) + 2 + 1)
    assert set(rows_of(store_url, run).values()) == {0}


def test_runs_expire_by_the_time_of_their_end_oldest_first(store: Store) -> None:
    begin(store)
    old, older = ended(store, 40), ended(store, 50)
    ended(store, 10)
    insert(store, new_run())
    assert expired(store, 30 * DAY, ALL, 100) == [older, old]
    assert expired(store, 30 * DAY, ALL, 1) == [older]
    assert expired(store, 60 * DAY, ALL, 100) == []


def test_only_runs_that_ended_in_the_given_states_expire(store: Store) -> None:
    begin(store)
    ended(store, 40)
    failed = ended(store, 40, RunState.FAILED)
    assert expired(store, DAY, [RunState.FAILED], 100) == [failed]


def test_a_child_run_stays_until_its_parent_has_ended(store: Store) -> None:
    begin(store)
    parent = begun(store)
    child = begun(store, parent)
    end(store, child, 40)
    assert expired(store, DAY, ALL, 100) == []
    end(store, parent)
    assert expired(store, DAY, ALL, 100) == [child]


def test_the_family_of_a_run_is_its_children_and_theirs(store: Store) -> None:
    begin(store)
    parent = begun(store)
    child = begun(store, parent)
    grandchild = begun(store, child)
    end(store, child)
    end(store, parent, state=RunState.FAILED)
    ended(store)
    assert store.family(parent) == {
        parent: RunState.FAILED,
        child: RunState.COMPLETED,
        grandchild: RunState.RUNNING,
    }
    for missing in (new_run_id(), "nonsense"):
        with pytest.raises(RunNotFound):
            store.family(missing)


# -- what else is of no use -------------------------------------------------------------------------------------------
def aged(url: str, days: float) -> None:
    """Everything that is there now has been there for so long."""
    past = days * DAY
    query(url, f"update workflow set used_at = used_at - {past}, created_at = created_at - {past}")
    query(url, f"update session set started_at = started_at - {past}, ended_at = ended_at - {past}")
    query(url, f"update routing set created_at = created_at - {past}")


def test_versions_without_runs_go_once_no_living_session_can_have_them(store: Store, store_url: str) -> None:
    begin(store)
    insert(store, new_run())
    store.put_workflow("v2", WORKFLOW, "{}")
    aged(store_url, 40)
    assert store.prune_rest(30 * DAY).workflows == 0, "the session that is alive may have said that it uses it"
    store.end_session(OWNER)
    store.start_session(Session(id="next"), 15)
    assert store.prune_rest(60 * DAY).workflows == 0
    assert store.prune_rest(30 * DAY).workflows == 1
    assert store.workflow("v2") is None
    assert store.workflow(VERSION) is not None, "it has a run"


def test_a_version_that_a_new_session_uses_again_stays(store: Store, store_url: str) -> None:
    begin(store)
    store.put_workflow("v2", WORKFLOW, "{}")
    store.end_session(OWNER)
    aged(store_url, 40)
    store.start_session(Session(id="next"), 15)
    store.put_workflow("v2", WORKFLOW, "{}")
    store.prune_rest(30 * DAY)
    assert store.workflow("v2") == "{}"


def test_sessions_that_ended_and_rules_that_were_replaced_go(store: Store, store_url: str) -> None:
    begin(store, "gone", "alive")
    for session in ("gone", "alive", "gone"):
        store.record_routing(session, f'"{session}"')
    store.end_session("gone")
    assert store.prune_rest(30 * DAY) == Deleted()
    aged(store_url, 40)
    pruned = store.prune_rest(30 * DAY)
    assert (pruned.sessions, pruned.routings) == (1, 1)
    assert [session.id for session in store.live_sessions()] == ["alive"]
    assert query(store_url, "select session from routing order by number") == [("alive",), ("gone",)], (
        "the newest stays"
    )


def test_a_duty_is_done_by_one_of_all_and_again_when_its_time_has_come(store: Store, store_url: str) -> None:
    assert [store.take_duty("retention", session, 3600) for session in ("a", "b", "a")] == [True, False, False]
    assert store.take_duty("another", "b", 3600)
    query(store_url, "update duty set begun_at = begun_at - 3601")
    assert [store.take_duty("retention", session, 3600) for session in ("b", "a")] == [True, False]
