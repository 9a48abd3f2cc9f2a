"""TaskInfo: what an attempt knows of itself."""

from __future__ import annotations

import logging
import time

import msgspec

from turnout.model.events import TaskReadyEvent
from turnout.model.info import Progress, TaskInfo, info_of

EVENT = TaskReadyEvent(
    run_id="r", task_id="r.0", task_name="public::shop::fulfil::charge", attempt=2, max_attempts=3, begun=1
)


def test_names_and_attempts() -> None:
    info = info_of(EVENT, workflow="public::shop::fulfil", name="charge-2", idempotency_key="r.0", token="r.0:2")
    assert (info.run_id, info.task_name, info.workflow, info.name) == (
        "r",
        "public::shop::fulfil::charge",
        "public::shop::fulfil",
        "charge-2",
    )
    assert (info.attempt, info.max_attempts, info.is_last_attempt) == (2, 3, False)
    assert info_of(msgspec.structs.replace(EVENT, attempt=3, begun=2)).is_last_attempt
    handed_back = info_of(msgspec.structs.replace(EVENT, attempt=7, max_attempts=8))
    assert (handed_back.attempt, handed_back.max_attempts, handed_back.ordinal) == (2, 3, 7)
    assert (info.idempotency_key, info.token, info.item, info.shadow) == ("r.0", "r.0:2", None, False)


def test_the_deadline_is_the_start_and_the_timeout() -> None:
    info = info_of(EVENT, timeout=30.0, started_at=1000.0)
    assert info.deadline == 1030.0
    left = info.remaining()
    assert left is not None and 0 < left <= 30


def test_time_never_runs_below_zero() -> None:
    info = info_of(EVENT, timeout=5.0, started_at=1000.0)
    info.began = time.monotonic() - 10
    assert info.remaining() == 0.0


def test_without_a_timeout_there_is_no_deadline() -> None:
    info = info_of(EVENT, started_at=1000.0)
    assert (info.deadline, info.remaining(), info.began) == (None, None, None)


def test_the_logger_is_named_after_the_task() -> None:
    assert info_of(EVENT, name="charge-2").logger.logger is logging.getLogger("turnout.task.charge-2")
    assert info_of(EVENT).logger.name == "turnout.task.charge"


def test_progress_goes_to_whoever_runs_the_body() -> None:
    told: list[tuple[object, str, Progress]] = []

    class Listening:
        echo = False

        def __call__(self, source: TaskReadyEvent | TaskInfo, stream: str, text: str) -> None:
            told.append((source, stream, msgspec.json.decode(text, type=Progress)))

    info = info_of(EVENT, output=Listening())
    info.progress(3, 10, "three files")
    info.progress(0.5)
    assert told == [(info, "progress", Progress(3, 10, "three files")), (info, "progress", Progress(0.5))]
    info_of(EVENT).progress(1)  # nobody listens: nothing happens


def test_where_nobody_can_cancel_waiting_for_it_takes_no_time() -> None:
    info = info_of(EVENT)
    assert info.wait_cancelled(3600) is False
    info.cancelled = True
    assert info.cancelled and info.wait_cancelled() is True
