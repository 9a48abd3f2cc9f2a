"""Large values pass in portions, and the memory that they used is given back once it is quiet."""

from __future__ import annotations

import asyncio

import pytest

from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.model.rows import NewRun, RunWrite, TaskRow
from turnout.model.states import TaskState
from turnout.orchestration import heap as module
from turnout.orchestration.active_runs import PendingResult, first_results
from turnout.orchestration.heap import MIN_CHARACTERS, Heap, trimmer, weight


def answer(size: int) -> PendingResult:
    event = TaskReadyEvent(run_id="r", task_id="r.0", task_name="t", attempt=1, max_attempts=1)
    return PendingResult(0, ExecutionResult.success(event, "x" * size))


def test_the_weight_of_a_write_is_what_its_values_have() -> None:
    rows = [TaskRow(pos=0, state=TaskState.COMPLETED, output="12345"), TaskRow(pos=1, state=TaskState.READY, memo="1")]
    new = NewRun(run_id="r", workflow="w", version="v", input="{}", created_at=0.0)
    assert weight(RunWrite(run_id="r", epoch=1, insert=new, tasks=rows, items=rows[:1])) == 2 + 5 + 1 + 5


@pytest.mark.parametrize(("sizes", "taken"), [([], 0), ([500], 1), ([10, 20, 30], 3), ([60, 60, 60], 1), ([1, 500], 1)])
def test_a_turn_takes_as_many_answers_as_fit_a_commit_and_at_least_one(sizes: list[int], taken: int) -> None:
    assert len(first_results([answer(size) for size in sizes], 100)) == taken


def test_memory_is_given_back_when_enough_has_passed_and_nothing_passes_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CHECK_INTERVAL", 0.001)

    async def use() -> list[str]:
        done: list[str] = []
        trimmed = asyncio.Event()
        loop = asyncio.get_running_loop()

        def trim() -> None:
            done.append("trimmed")
            loop.call_soon_threadsafe(trimmed.set)

        heap = Heap(trim)
        keeping = asyncio.ensure_future(heap.keep_trimmed())
        heap.passed(MIN_CHARACTERS - 1)
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert done == []
        heap.passed(1)
        await asyncio.wait_for(trimmed.wait(), 20)
        keeping.cancel()
        return done

    assert asyncio.run(use()) == ["trimmed"]


def test_the_c_library_is_asked_and_may_have_nothing_to_offer() -> None:
    trimmer()()
