"""The loops of schedules and triggers end when they are stopped, in whichever iteration of the event loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import msgspec
import pytest
from kit.loop import ManualLoop
from kit.parts import Parts
from kit.store import MemoryStore

from turnout import Schedule, Trigger, Workflow, task
from turnout.model.schedule_rows import ScheduleChange, StoredSchedule
from turnout.model.schedules import ScheduleSpec
from turnout.model.triggers import ClaimedPoll
from turnout.model.values import MAX_BYTES
from turnout.orchestration.run_requests import RunRequests
from turnout.orchestration.upkeep import triggers
from turnout.orchestration.upkeep.triggers import TriggerPolls

MAX_ITERATIONS = 30
"""Iterations of the event loop between the start and the stop: more than the first round of each loop takes."""
EVERY_ITERATION = pytest.mark.parametrize("iterations", range(MAX_ITERATIONS + 1))
Build = Callable[..., Parts]


class UpkeepStore(MemoryStore):
    """Keeps the schedules that it is given. Its one trigger is due until it was polled."""

    def __init__(self) -> None:
        super().__init__()
        self.scheduled: list[StoredSchedule] = []
        self.polls = 0

    def schedules(self, *, since: int) -> list[StoredSchedule]:
        return [each for each in self.scheduled if each.revision > since]

    def put_schedules(self, changes: Sequence[ScheduleChange], actor: str) -> None:
        self.scheduled = [
            StoredSchedule(
                id=number,
                workflow=each.workflow,
                spec=msgspec.json.decode(each.spec, type=ScheduleSpec),
                paused=False,
                removed=False,
                decided_until=each.decided_until,
                next_at=each.next_at,
                changed_at=each.decided_until,
                changed_by=actor,
                revision=number,
            )
            for number, each in enumerate(changes, 1)
        ]

    def pending_decisions(self, *, after: int) -> list[Any]:
        return []

    def put_trigger(self, name: str, workflow: str, every: float) -> None: ...

    def trigger_delays(self, names: Sequence[str]) -> dict[str, float]:
        return dict.fromkeys(names, 3_600.0 if self.polls else 0.0)

    def claim_poll(self, name: str, holder: str, lease: float) -> ClaimedPoll:
        return ClaimedPoll(state=None, revision=1, failures=0)

    def finish_poll(self, name: str, revision: int, delay: float, state: Any, runs: int) -> bool:
        self.polls += 1
        return True

    def release_polls(self, holder: str) -> None: ...


@task
def nothing() -> None: ...


def body() -> None:
    nothing()


@EVERY_ITERATION
def test_schedules_stop_in_any_iteration_after_their_start(build: Build, loop: ManualLoop, iterations: int) -> None:
    parts = build(store=UpkeepStore(), schedules=True)
    parts.registry.add(Workflow.from_function(body, name="etl", schedule=Schedule(every=3_600)))
    loop.run_until_complete(parts.schedules.start())
    assert parts.store.scheduled
    for _ in range(iterations):
        loop.step()
    assert loop.start(parts.schedules.stop()).done()


@EVERY_ITERATION
def test_polls_of_triggers_stop_in_any_iteration_after_their_start(
    build: Build, loop: ManualLoop, iterations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def poll_at_once(call: Callable[[], Any], limit: int, name: str) -> Future[list[Any]]:
        done: Future[list[Any]] = Future()
        done.set_result(list(call()))
        return done

    monkeypatch.setattr(triggers, "poll_in_thread", poll_at_once)
    parts = build(store=UpkeepStore())
    made = Workflow.from_function(body, name="etl")
    parts.registry.add(made)
    polled = Trigger(list, every=60, workflow=made, name="orders")
    polls = TriggerPolls(
        parts.store,
        parts.registry,
        parts.session,
        requests=RunRequests(parts.registry, None, MAX_BYTES),
        submissions=parts.submissions,
        background=parts.background,
        tenant="public",
        triggers=lambda: [polled],
    )
    polls.start()
    for _ in range(iterations):
        loop.step()
    assert loop.start(polls.stop()).done()
    assert iterations < MAX_ITERATIONS or parts.store.polls == 1, "the poll has not ended within these iterations"
