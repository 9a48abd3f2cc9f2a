"""Results that an executor hands in together are taken as if each had come by itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnout.contracts.executor import BatchReport
from turnout.dispatcher.executor_breaker import ExecutorBreaker
from turnout.dispatcher.in_flight import Batch, InFlightTable
from turnout.dispatcher.slot import ExecutorSlot
from turnout.executors.thread import ThreadExecutor
from turnout.model.breaker import BreakerSettings
from turnout.model.events import ExecutionResult, TaskReadyEvent

EVENTS = [
    TaskReadyEvent(run_id="r", task_id=f"r.{pos}", task_name="public::shop::w::t", attempt=1, max_attempts=1)
    for pos in range(8)
]
ANSWERS = {
    "completed": lambda event: ExecutionResult.success(event, 1),
    "failed": lambda event: ExecutionResult.failed(event, "broken"),
    "lost": lambda event: ExecutionResult.lost(event, "gone"),
    "returned": lambda event: ExecutionResult.returned(event, "full"),
    "nonsense": lambda _: "nonsense",
}


def delivered(kinds: list[str], *, together: bool) -> tuple[Batch, ExecutorSlot, InFlightTable]:
    table = InFlightTable(lambda: None, 1000)
    slot = ExecutorSlot("default", ThreadExecutor(), ExecutorBreaker("default", BreakerSettings()))
    report = table.reporter(slot)
    assert isinstance(report, BatchReport)
    for event in EVENTS:
        table.add(event, slot)
        slot.in_flight += 1
    answers = [ANSWERS[kind](event) for kind, event in zip(kinds, EVENTS, strict=False)]
    if together:
        report.all(answers)
    else:
        for answer in answers:
            report(answer)
    return table.drain(), slot, table


@given(st.lists(st.sampled_from(sorted(ANSWERS)), max_size=len(EVENTS)))
def test_results_that_come_together_are_taken_in_order_as_single_ones_are(kinds: list[str]) -> None:
    one_by_one, slot, table = delivered(kinds, together=False)
    together, same_slot, same_table = delivered(kinds, together=True)
    assert together.results == one_by_one.results
    assert same_table.table.keys() == table.table.keys()
    assert same_slot.metrics() == slot.metrics()
    assert same_slot.breaker.state == slot.breaker.state
    assert same_slot.breaker.has_failures == slot.breaker.has_failures
    assert (bool(together.answered), bool(together.refused)) == (bool(one_by_one.answered), bool(one_by_one.refused))
