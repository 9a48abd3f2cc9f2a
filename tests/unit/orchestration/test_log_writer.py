"""Lines reach the store in batches, from a thread of the writer's own, whatever the store does."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from turnout.errors import StoreRejected, StoreUnreachable
from turnout.model.events import TaskReadyEvent
from turnout.model.logs import LogRow, StoredLines
from turnout.orchestration.upkeep.log_writer import LogWriter
from turnout.runtime.log_buffer import OVERHEAD, LogSettings

WAIT = 20.0


class LogStore:
    """Takes lines, or fails as the test wants it."""

    def __init__(self) -> None:
        self.rows: list[LogRow] = []
        self.calls = 0
        self.error: Exception | None = None
        self.refuses = ""
        self.failed = threading.Event()
        self.entered = threading.Event()
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def append_logs(self, rows: Sequence[LogRow]) -> None:
        self.calls += 1
        self.entered.set()
        assert self.may_go_on.wait(WAIT)
        # Looked at once: the test may take it away as soon as it has seen the failure.
        error = self.error
        if error is not None:
            self.failed.set()
            raise error
        if self.refuses and any(self.refuses in row.text for row in rows):
            raise StoreRejected("not this")
        self.rows += rows

    @property
    def texts(self) -> list[str]:
        return [row.text for row in self.rows]


@pytest.fixture
def store() -> LogStore:
    return LogStore()


@pytest.fixture
def make(store: LogStore) -> Iterator[Callable[..., LogWriter]]:
    made: list[LogWriter] = []

    def make(observer: Any = None, **settings: Any) -> LogWriter:
        made.append(LogWriter(store, LogSettings(**settings), observer))  # type: ignore[arg-type]
        return made[-1]

    yield make
    store.error = None
    store.may_go_on.set()
    for writer in made:
        writer.stop(WAIT)


def event(pos: int = 0, attempt: int = 1, shadow: bool = False) -> TaskReadyEvent:
    return TaskReadyEvent(
        run_id="run",
        task_id=f"run.{pos}",
        task_name=f"public::embedded::w::t{pos}",
        attempt=attempt,
        max_attempts=1,
        shadow=shadow,
    )


def test_a_line_is_written_without_anybody_asking(make: Callable[..., LogWriter], store: LogStore) -> None:
    make(log_flush=0.01)(event(), "stdout", "hello\n")
    assert store.entered.wait(WAIT)


def test_a_flush_writes_all_that_was_said_before(make: Callable[..., LogWriter], store: LogStore) -> None:
    writer = make(log_flush=3600.0)
    for number in range(2_500):
        writer(event(), "stdout", f"{number}\n")
    writer(event(), "stdout", "without an end")
    writer(event(1, attempt=3), "log", "INFO: other")
    assert writer.flush(WAIT, ended="run")
    assert store.texts == [*map(str, range(2_500)), "INFO: other", "without an end"]
    assert {(row.run_id, row.pos, row.attempt, row.stream) for row in store.rows} == {
        ("run", 0, 1, "stdout"),
        ("run", 1, 3, "log"),
    }
    assert store.calls < 20, "in batches"


def test_a_flush_of_nothing_asks_nobody(make: Callable[..., LogWriter], store: LogStore) -> None:
    writer = make()
    assert writer.flush(WAIT)
    writer(event(), "stdout", "")
    assert writer.flush(WAIT)
    assert store.calls == 0


def test_a_flush_leaves_the_lines_that_others_have_begun(make: Callable[..., LogWriter], store: LogStore) -> None:
    writer = make(log_flush=3600.0)
    writer(event(), "stdout", "half a ")
    assert writer.flush(WAIT) and writer.flush(WAIT, ended="another run")
    assert store.texts == []
    writer(event(), "stdout", "line\n")
    assert writer.flush(WAIT)
    assert store.texts == ["half a line"]


def test_many_threads_lose_nothing_and_each_keeps_its_order(make: Callable[..., LogWriter], store: LogStore) -> None:
    writer = make(log_flush=0.001)

    def speak(pos: int) -> None:
        for number in range(300):
            writer(event(pos), "stdout", f"{number}")
            writer(event(pos), "stdout", "\n")

    threads = [threading.Thread(target=speak, args=(pos,)) for pos in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert writer.flush(WAIT)
    for pos in range(4):
        assert [row.text for row in store.rows if row.pos == pos] == [str(number) for number in range(300)]


def test_a_shadow_is_not_written_down(make: Callable[..., LogWriter], store: LogStore) -> None:
    writer = make()
    writer(event(shadow=True), "stdout", "not me\n")
    writer(event(), "stdout", "me\n")
    assert writer.flush(WAIT)
    assert store.texts == ["me"]


def test_what_is_said_while_the_store_is_away_is_written_when_it_is_back(
    make: Callable[..., LogWriter], store: LogStore
) -> None:
    writer = make(log_flush=0.001)
    store.error = StoreUnreachable("away")
    writer(event(), "stdout", "before\n")
    assert store.failed.wait(WAIT)
    assert writer.flush(0.0) is False
    writer(event(), "stdout", "meanwhile\n")
    store.error = None
    assert writer.flush(WAIT)
    assert store.texts == ["before", "meanwhile"]


def test_a_store_that_stays_away_costs_the_oldest_lines_and_says_how_many(
    make: Callable[..., LogWriter], store: LogStore
) -> None:
    writer = make(log_flush=0.001, max_waiting_logs=50 * (OVERHEAD + 4))
    store.error = StoreUnreachable("away")
    for number in range(400):
        writer(event(), "stdout", f"{number:04}\n")
    assert store.failed.wait(WAIT)
    store.error = None
    assert writer.flush(WAIT)
    notes = [text for text in store.texts if not text.isdigit()]
    kept = [text for text in store.texts if text.isdigit()]
    assert store.texts[-1] == "0399"
    assert kept == sorted(kept)
    assert sum(int(note.split()[1]) for note in notes) + len(kept) == 400


def test_a_line_that_the_store_refuses_does_not_hold_up_the_others(
    make: Callable[..., LogWriter], store: LogStore
) -> None:
    writer = make(log_flush=3600.0)
    store.refuses = "poison"
    for text in ("a", "b", "poison", "c", "d"):
        writer(event(), "stdout", f"{text}\n")
    assert writer.flush(WAIT)
    assert sorted(set(store.texts)) == ["a", "b", "c", "d"]


def test_stopping_writes_what_there_is_and_keeps_nothing_that_comes_later(
    make: Callable[..., LogWriter], store: LogStore
) -> None:
    writer = make(log_flush=3600.0)
    writer(event(), "stdout", "last words")
    writer.stop(WAIT)
    writer(event(), "stdout", "too late\n")
    assert store.texts == ["last words"]
    assert writer.flush(WAIT)


def test_stopping_gives_up_on_a_store_that_stays_away_and_says_what_is_lost(
    make: Callable[..., LogWriter], store: LogStore, caplog: pytest.LogCaptureFixture
) -> None:
    writer = make(log_flush=0.001)
    store.error = StoreUnreachable("away")
    writer(event(), "stdout", "a\nb\n")
    assert store.failed.wait(WAIT)
    writer.stop(0.05)
    assert "2 lines of attempts are lost" in caplog.text
    assert store.texts == []


def test_an_observer_gets_every_line_once_and_may_fail(make: Callable[..., LogWriter], store: LogStore) -> None:
    seen: list[tuple[object, ...]] = []

    def observe(*line: object) -> None:
        seen.append(line)
        raise ValueError("the observer's own trouble")

    writer = make(observe, log_flush=0.001)
    store.error = StoreUnreachable("away")
    writer(event(2), "stdout", "one\n")
    assert store.failed.wait(WAIT)
    store.error = None
    writer(event(2, attempt=2), "stderr", "two\n")
    assert writer.flush(WAIT)
    assert seen == [("run", "t2", 1, "stdout", "one"), ("run", "t2", 2, "stderr", "two")]
    assert store.texts == ["one", "two"]


def test_bodies_do_not_wait_for_a_slow_store(make: Callable[..., LogWriter], store: LogStore) -> None:
    writer = make(log_flush=0.001)
    store.may_go_on.clear()
    writer(event(), "stdout", "first\n")
    assert store.entered.wait(WAIT)
    for number in range(100):
        writer(event(), "stdout", f"{number}\n")  # returns although the store has not answered
    assert store.texts == []
    store.may_go_on.set()
    assert writer.flush(WAIT)
    assert len(store.texts) == 101


def test_lines_of_a_program_that_can_start_no_more_threads_are_written_when_it_stops(
    make: Callable[..., LogWriter], store: LogStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    writer = make()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        writer(event(), "stdout", "last\nwords")
    writer.stop(WAIT)
    assert store.texts == ["last", "words"]


def test_lines_said_during_the_last_write_before_the_end_are_written_too(
    make: Callable[..., LogWriter], store: LogStore
) -> None:
    writer = make(log_flush=0.001)
    store.may_go_on.clear()
    writer(event(), "stdout", "first\n")
    assert store.entered.wait(WAIT)
    writer(event(), "stdout", "second\n")
    stopping = threading.Thread(target=writer.stop, args=(WAIT,))
    stopping.start()
    store.may_go_on.set()
    stopping.join()
    assert store.texts == ["first", "second"]


def test_numbered_lines_are_reported_when_the_store_has_them(make: Callable[..., LogWriter], store: LogStore) -> None:
    writer, reported = make(log_flush=3600.0), queue.SimpleQueue[StoredLines]()
    writer.on_stored(lambda stored: [reported.put(each) for each in stored])
    writer.add_numbered(event(2, attempt=3), 4, [("stdout", "four"), ("log", "INFO: five")])
    assert reported.get(timeout=WAIT) == StoredLines("run.2", 3, 4) and not store.rows
    store.error = StoreUnreachable("away")
    writer.hurry()
    assert store.failed.wait(WAIT) and reported.empty()
    store.error = None
    assert reported.get(timeout=WAIT) == StoredLines("run.2", 3, 6)
    assert [(row.pos, row.attempt, row.seq, row.text) for row in store.rows] == [
        (2, 3, 4, "four"),
        (2, 3, 5, "INFO: five"),
    ]


def test_a_numbered_line_that_the_store_refuses_does_not_wait(make: Callable[..., LogWriter], store: LogStore) -> None:
    store.refuses = "bad"
    writer, reported = make(log_flush=0.01), queue.SimpleQueue[StoredLines]()
    writer.on_stored(lambda stored: [reported.put(each) for each in stored])
    writer.add_numbered(event(), 0, [("stdout", "bad"), ("stdout", "good")])
    assert [reported.get(timeout=WAIT).next for _ in range(2)] == [0, 2]
    assert store.texts == ["good"]
