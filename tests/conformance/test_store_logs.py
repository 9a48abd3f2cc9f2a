"""Lines are kept once, in order, and a reader that goes on from the last one misses none."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from tests.conformance.store_rows import begin, insert, new_run
from turnout.contracts.store import Store
from turnout.errors import StoreRejected
from turnout.model.logs import LogRow
from turnout.model.names import new_run_id
from turnout.model.rows import RunRow, RunWrite, TaskRow
from turnout.model.states import RunState, TaskState
from turnout.store import connect
from turnout.store.postgres import PostgresStore


def line(run_id: str, seq: int, text: str = "", *, pos: int = 0, attempt: int = 1, stream: str = "stdout") -> LogRow:
    return LogRow(run_id, pos, attempt, seq, stream, 1000.0 + seq, text or f"line {seq}")


def started(store: Store, **columns: Any) -> RunWrite:
    begin(store)
    write = new_run(**columns)
    insert(store, write)
    return write


def texts(store: Store, run_id: str, **filters: Any) -> list[str]:
    return [each.text for each in store.logs(run_id, **filters)]


def test_lines_come_back_as_they_were_said(store: Store) -> None:
    run = started(store).run_id
    store.append_logs([line(run, 5, "a", stream="stderr"), line(run, 7, "ü \u2028 'quoted' \\ \n%s {x}", attempt=2)])
    store.append_logs([line(run, 1, "b", pos=1)])
    first, second, third = store.logs(run)
    assert (first.task, first.attempt, first.stream, first.at, first.text) == ("first", 1, "stderr", 1005.0, "a")
    assert (second.attempt, second.text) == (2, "ü \u2028 'quoted' \\ \n%s {x}")
    assert (third.task, third.text) == ("second", "b")
    assert first.id < second.id < third.id


def test_a_line_that_is_sent_twice_is_kept_once(store: Store) -> None:
    run = started(store).run_id
    rows = [line(run, seq) for seq in range(1, 4)]
    store.append_logs(rows[:2])
    store.append_logs(rows)
    assert texts(store, run) == ["line 1", "line 2", "line 3"]


def test_lines_are_read_page_by_page(store: Store) -> None:
    run = started(store).run_id
    store.append_logs([line(run, seq) for seq in range(1, 26)])
    seen: list[str] = []
    after = 0
    while page := store.logs(run, after=after, limit=10):
        seen += [each.text for each in page]
        after = page[-1].id
    assert seen == [f"line {seq}" for seq in range(1, 26)]


def test_lines_of_one_task_or_attempt_are_read_alone(store: Store) -> None:
    tasks = [
        TaskRow(pos=pos, name=name, state=TaskState.PENDING)
        for pos, name in enumerate(["load", "load[0]", "load[1]", "loader"])
    ]
    run = started(store, tasks=tasks).run_id
    store.append_logs([line(run, 1, name.name, pos=name.pos) for name in tasks])
    store.append_logs([line(run, 2, "again", pos=3, attempt=2)])
    assert texts(store, run, task="load") == ["load", "load[0]", "load[1]"], "a mapped task stands for its items"
    assert texts(store, run, task="load[1]") == ["load[1]"]
    assert texts(store, run, task="loader") == ["loader", "again"]
    assert texts(store, run, task="loader", attempt=2) == ["again"]
    assert texts(store, run, task="load_") == texts(store, run, task="%") == []


def test_the_last_progress_of_running_attempts_is_read_alone(store: Store) -> None:
    tasks = [
        TaskRow(pos=pos, name=name, state=state, attempt=2)
        for pos, (name, state) in enumerate(
            [("a", TaskState.RUNNING), ("b", TaskState.COMPLETED), ("c", TaskState.RUNNING)]
        )
    ]
    run, other = started(store, tasks=tasks).run_id, new_run(tasks=tasks)
    insert(store, other)
    said = [(0, 1, "before"), (0, 2, "first"), (0, 2, "last"), (1, 2, "ended"), (2, 1, "before")]
    store.append_logs(
        [line(run, seq, text, pos=pos, attempt=n, stream="progress") for seq, (pos, n, text) in enumerate(said, 1)]
        + [line(run, 9, "printed", attempt=2), line(other.run_id, 1, "others", attempt=2, stream="progress")]
    )
    assert store.progress(run) == {"a": "last"}
    assert store.progress("nonsense") == {}


def test_lines_of_runs_that_are_not_there_are_dropped(store: Store) -> None:
    run, other = started(store).run_id, new_run_id()
    store.append_logs([line(other, 1), line(run, 1)])
    assert texts(store, run) == ["line 1"]
    assert store.logs(other) == store.logs("nonsense") == []
    store.append_logs([])


@pytest.mark.parametrize("text", ["\x00", "\ud800"])
def test_text_that_no_database_keeps_is_refused_or_kept_but_never_half(store: Store, text: str) -> None:
    run = started(store).run_id
    try:
        store.append_logs([line(run, 1), line(run, 2, text)])
    except StoreRejected:
        assert store.logs(run) == []
    store.append_logs([line(run, 3)])
    assert texts(store, run)[-1] == "line 3"


def test_many_writers_at_once_and_a_reader_that_follows_misses_nothing(store: Store, store_url: str) -> None:
    run = started(store).run_id
    done = threading.Event()
    failed: list[BaseException] = []

    def write(attempt: int) -> None:
        try:
            for seq in range(1, 41):
                store.append_logs([line(run, 2 * seq + more, attempt=attempt) for more in (0, 1)])
        except BaseException as error:
            failed.append(error)

    seen: list[tuple[int, str]] = []

    def follow() -> None:
        after = 0
        while True:
            over = done.is_set()
            page = store.logs(run, after=after)
            seen.extend((each.attempt, each.text) for each in page)
            if page:
                after = page[-1].id
            elif over:
                return

    writers = [threading.Thread(target=write, args=(attempt,)) for attempt in range(1, 5)]
    reader = threading.Thread(target=follow)
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    assert failed == []
    for attempt in range(1, 5):
        assert [text for who, text in seen if who == attempt] == [f"line {seq}" for seq in range(2, 82)]


# -- PostgreSQL: what the locks are for -------------------------------------------------------------------------------
class Held:
    """A write of lines that has everything but its commit."""

    def __init__(self, url: str, rows: list[LogRow]) -> None:
        self.store = PostgresStore(url)
        self._rows = rows
        self._written, self._commit = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        database = self.store._postgres  # pyright: ignore[reportPrivateUsage]
        transaction = database.transaction

        def hold(*args: Any) -> Any:
            stack = ExitStack()
            execute = stack.enter_context(transaction(*args))

            class Later:
                def __enter__(self) -> Any:
                    return execute

                def __exit__(self_, *error: Any) -> None:  # pyright: ignore[reportSelfClsParameterName]
                    self._written.set()
                    assert self._commit.wait(20)
                    stack.close()

            return Later()

        database.transaction = hold  # type: ignore[method-assign]
        self.store.append_logs(self._rows)

    def __enter__(self) -> Held:
        self._thread.start()
        assert self._written.wait(20)
        return self

    def commit(self) -> None:
        self._commit.set()
        self._thread.join()

    def __exit__(self, *error: object) -> None:
        self.commit()
        self.store.close()


@pytest.fixture
def someone_waits(postgres_url: str) -> Callable[[], None]:
    """Waits until somebody in this database waits for a lock."""

    def wait() -> None:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            sql = b"select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
            while connection.execute(sql).fetchone() is None:
                time.sleep(0.01)

    return wait


def opened(url: str, stack: ExitStack) -> Store:
    store = connect(url)
    store.open()
    stack.callback(store.close)
    return store


def ended(store: Store) -> str:
    run = started(store).run_id
    end = RunWrite(run_id=run, epoch=1, run=RunRow(state=RunState.CANCELLED, was=RunState.RUNNING, finished_at=1.0))
    assert store.commit([end])[0].applied
    return run


def test_lines_of_a_run_become_readable_in_the_order_of_their_ids(
    postgres_url: str, someone_waits: Callable[[], None]
) -> None:
    with ExitStack() as stack:
        store = opened(postgres_url, stack)
        run = started(store).run_id
        with Held(postgres_url, [line(run, 1, "earlier")]) as held:
            second = threading.Thread(target=store.append_logs, args=([line(run, 1, "later", pos=1)],))
            second.start()
            someone_waits()
            assert store.logs(run) == [], "a reader sees neither, or it would never see the earlier one"
            held.commit()
            second.join()
        assert texts(store, run) == ["earlier", "later"]


def test_a_deletion_waits_for_a_late_line_and_takes_it_along(
    postgres_url: str, someone_waits: Callable[[], None]
) -> None:
    with ExitStack() as stack:
        store = opened(postgres_url, stack)
        run = ended(store)
        with Held(postgres_url, [line(run, 1)]) as held:
            deletion = threading.Thread(target=store.delete_runs, args=([run], 100))
            deletion.start()
            someone_waits()
            held.commit()
            deletion.join()
        with psycopg.connect(postgres_url) as connection:
            assert connection.execute("select count(*) from log").fetchone() == (0,)
        assert store.run(run) is None
