"""The ledger over a store that the test holds in its hand: when it commits, what, and what it answers."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence

import msgspec
import pytest

from turnout.errors import StoreError, StoreFull, StoreReadOnly, StoreRejected, StoreUnreachable
from turnout.model.rows import NewRun, RunRow, RunWrite, StoredRun, TaskRow, WriteOutcome
from turnout.model.states import RunState, TaskState
from turnout.orchestration import ledger as module
from turnout.orchestration.ledger import Ledger

WAIT = 20.0
Commit = Callable[[Sequence[RunWrite]], list[WriteOutcome]]


class HeldStore:
    """Every commit is announced and, when ``held``, waits until the test lets it go."""

    def __init__(self, *, lanes: int = 1, held: bool = False) -> None:
        self.lanes = lanes
        self.begun: queue.Queue[list[str]] = queue.Queue()
        self.commits: list[list[str]] = []
        self.wakes: list[frozenset[str]] = []
        self.script: list[Commit | BaseException] = []
        """What the next commits do; after it, all apply."""
        self.poison: set[str] = set()
        self.stored: dict[str, list[TaskRow]] = {}
        self.runs: dict[str, StoredRun] = {}
        self.read_errors: list[StoreError] = []
        self._go = threading.Semaphore(0)
        self._held = held

    def let_go(self, times: int = 1) -> None:
        self._go.release(times)

    def commit(self, writes: Sequence[RunWrite], *, wake: frozenset[str] = frozenset()) -> list[WriteOutcome]:
        names = [write.run_id for write in writes]
        self.commits.append(names)
        self.wakes.append(wake)
        self.begun.put(names)
        if self._held:
            assert self._go.acquire(timeout=WAIT)
        step = self.script.pop(0) if self.script else applied
        if isinstance(step, BaseException):
            raise step
        if self.poison & set(names):
            raise StoreRejected("unsupported Unicode escape sequence")
        return step(writes)

    def commit_channel(self) -> None: ...

    def tasks(self, run_id: str, *, outputs: bool = True) -> list[TaskRow]:
        if self.read_errors:
            raise self.read_errors.pop(0)
        return self.stored.get(run_id, [])

    def run(self, run_id: str) -> StoredRun | None:
        return self.runs.get(run_id)


def applied(writes: Sequence[RunWrite]) -> list[WriteOutcome]:
    return [WriteOutcome(write.run_id) for write in writes]


def all_stale(writes: Sequence[RunWrite]) -> list[WriteOutcome]:
    return [
        WriteOutcome(write.run_id, (*(row.pos for row in write.tasks), *([-1] if write.run else [])))
        for write in writes
    ]


def completed(pos: int = 0, attempt: int = 1, seq: int = 5) -> TaskRow:
    return TaskRow(pos=pos, state=TaskState.COMPLETED, was=TaskState.RUNNING, was_attempt=1, attempt=attempt, seq=seq)


def write(run_id: str, *tasks: TaskRow, run: RunRow | None = None, epoch: int = 1) -> RunWrite:
    return RunWrite(run_id=run_id, epoch=epoch, tasks=list(tasks), run=run)


def stored_run(run_id: str, state: RunState, epoch: int = 1) -> StoredRun:
    new = NewRun(run_id=run_id, workflow="w", version="1", input="{}", created_at=0.0)
    return StoredRun(new=new, row=RunRow(state=state), owner=None, epoch=epoch, seq=9)


def ledger_over(store: HeldStore, *, max_commit: int = 100, width: Callable[[], int] = lambda: 2) -> Ledger:
    return Ledger(
        store,  # type: ignore[arg-type]
        max_commit=max_commit,
        topics_of=lambda writes: frozenset(write.run_id for write in writes),
        width=width,
    )


def outcomes_of(store: HeldStore, *writes: RunWrite) -> tuple[list[WriteOutcome], Ledger]:
    async def scenario() -> tuple[list[WriteOutcome], Ledger]:
        ledger = ledger_over(store)
        try:
            return await asyncio.wait_for(ledger.write(writes), WAIT), ledger
        finally:
            ledger.close()

    return asyncio.run(scenario())


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INITIAL_BACKOFF", 0.0)


async def begun(store: HeldStore) -> list[str]:
    return await asyncio.to_thread(store.begun.get, timeout=WAIT)


# -- gathering -------------------------------------------------------------------------------------------------------
def test_an_idle_ledger_flushes_at_once() -> None:
    store = HeldStore()
    outcomes, ledger = outcomes_of(store, write("a"), write("b"))
    assert [outcome.run_id for outcome in outcomes] == ["a", "b"]
    assert all(outcome.applied for outcome in outcomes)
    assert store.commits == [["a", "b"]]
    assert (ledger.metrics.commits, ledger.metrics.writes) == (1, 2)


def test_a_commit_holds_no_more_text_than_it_may_unless_one_write_does() -> None:
    def heavy(run_id: str, share: float) -> RunWrite:
        row = msgspec.structs.replace(completed(), output="x" * int(module.MAX_COMMIT_CHARACTERS * share))
        return write(run_id, row)

    async def scenario() -> list[list[str]]:
        store = HeldStore(held=True)
        ledger = ledger_over(store)
        written = [ledger.write([write("first")])]
        assert await begun(store) == ["first"]
        written += [
            ledger.write([heavy(name, share)]) for name, share in (("a", 0.6), ("b", 0.3), ("c", 0.2), ("d", 2))
        ]
        store.let_go(10)
        await asyncio.wait_for(asyncio.gather(*written), WAIT)
        ledger.close()
        return store.commits

    assert asyncio.run(scenario()) == [["first"], ["a", "b"], ["c"], ["d"]]


def test_writes_gather_while_a_commit_is_under_way_and_go_out_together() -> None:
    async def scenario() -> None:
        store = HeldStore(held=True)
        ledger = ledger_over(store)
        first = ledger.write([write("a")])
        assert await begun(store) == ["a"]
        later = [ledger.write([write("b"), write("c")]), ledger.write([write("d")])]
        assert store.begun.empty()
        store.let_go()
        assert [outcome.run_id for outcome in await first] == ["a"]
        assert await begun(store) == ["b", "c", "d"]
        assert not any(future.done() for future in later)
        store.let_go()
        assert [[outcome.run_id for outcome in await future] for future in later] == [["b", "c"], ["d"]]
        ledger.close()

    asyncio.run(scenario())


def test_each_lane_makes_a_commit_of_its_own() -> None:
    async def scenario() -> None:
        store = HeldStore(lanes=2, held=True)
        ledger = ledger_over(store)
        futures = [ledger.write([write(name)]) for name in "abc"]
        assert sorted([*await begun(store), *await begun(store)]) == ["a", "b"]
        assert store.begun.empty()
        store.let_go(3)
        assert await begun(store) == ["c"]
        await asyncio.gather(*futures)
        ledger.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(("lanes", "width", "at_once"), [(8, 4, 4), (3, 8, 3), (8, 1, 2), (1, 1, 1)])
def test_as_many_commits_are_made_side_by_side_as_the_pools_are_wide(lanes: int, width: int, at_once: int) -> None:
    async def scenario() -> None:
        store = HeldStore(lanes=lanes, held=True)
        ledger = ledger_over(store, width=lambda: width)
        names = "abcdefghijkl"
        futures = [ledger.write([write(name)]) for name in names]
        first = [await begun(store) for _ in range(at_once)]
        assert sorted(first) == [[name] for name in names[:at_once]]
        assert store.begun.empty()
        store.let_go(at_once)
        assert await begun(store) == list(names[at_once:])
        store.let_go()
        await asyncio.gather(*futures)
        ledger.close()

    asyncio.run(scenario())


def test_a_pool_that_has_grown_gets_its_lanes_with_the_next_write() -> None:
    async def scenario() -> None:
        store, sizes = HeldStore(lanes=8, held=True), [2]
        ledger = ledger_over(store, width=lambda: sizes[0])
        futures = [ledger.write([write(name)]) for name in "abc"]
        assert sorted([*await begun(store), *await begun(store)]) == ["a", "b"]
        sizes[0] = 4
        futures.append(ledger.write([write("d")]))
        assert await begun(store) == ["c", "d"]
        store.let_go(3)
        await asyncio.gather(*futures)
        ledger.close()

    asyncio.run(scenario())


def test_the_loop_gives_way_to_commits_after_some_items_of_one_batch_or_of_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[int] = []
    seen: list[int] = []
    monkeypatch.setattr(module.time, "sleep", lambda seconds: given.append(len(seen)))

    async def scenario() -> None:
        store = HeldStore(held=True)
        ledger = ledger_over(store)
        for item in ledger.yielding(range(100)):
            seen.append(item)
        assert given == [], "it gave way to nobody"
        committed = ledger.write([write("a")])
        await begun(store)
        for item in ledger.yielding(range(40)):
            seen.append(item)
        for _ in range(8):
            for item in ledger.yielding(range(10)):
                seen.append(item)
        store.let_go()
        await committed
        ledger.close()

    asyncio.run(scenario())
    assert len(seen) == 220
    assert given == [100, 132, 170, 210]


def test_a_commit_is_bounded_but_never_splits_what_was_handed_in_together() -> None:
    async def scenario() -> None:
        store = HeldStore(held=True)
        ledger = ledger_over(store, max_commit=3)
        futures = [ledger.write([write("first")])]
        await begun(store)
        futures += [ledger.write([write("a"), write("b")]), ledger.write([write("c"), write("d")])]
        futures += [ledger.write([write(name) for name in "efghi"]), ledger.write([write("j")])]
        store.let_go(5)
        assert [await begun(store) for _ in range(4)] == [["a", "b"], ["c", "d"], list("efghi"), ["j"]]
        await asyncio.gather(*futures)
        ledger.close()

    asyncio.run(scenario())


def test_the_topics_to_wake_travel_with_the_commit() -> None:
    store = HeldStore()
    outcomes_of(store, write("a"), write("b"))
    assert store.wakes == [frozenset({"a", "b"})]


def test_a_waiter_that_gave_up_disturbs_nobody() -> None:
    async def scenario() -> None:
        store = HeldStore(held=True)
        ledger = ledger_over(store)
        given_up, other = ledger.write([write("a")]), ledger.write([write("b")])
        await begun(store)
        given_up.cancel()
        store.let_go(2)
        assert (await other)[0].applied
        assert store.commits == [["a"], ["b"]]
        ledger.close()

    asyncio.run(scenario())


def test_a_stale_outcome_is_a_value_and_is_counted() -> None:
    store = HeldStore()
    store.script = [all_stale]
    outcomes, ledger = outcomes_of(store, write("a", completed()))
    assert outcomes == [WriteOutcome("a", (0,))]
    assert ledger.metrics.stale == 1


# -- unknown outcomes ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("error", [StoreUnreachable("gone"), StoreFull("disk full")])
def test_a_commit_that_did_not_get_through_is_tried_again(error) -> None:
    store = HeldStore()
    store.script = [error, error]
    outcomes, ledger = outcomes_of(store, write("a", completed()))
    assert outcomes == [WriteOutcome("a")]
    assert store.commits == [["a"]] * 3
    assert ledger.metrics.retries == 2


def test_a_first_commit_that_had_counted_after_all_is_read_back_as_applied() -> None:
    store = HeldStore()
    store.script = [StoreUnreachable("the link died after COMMIT"), all_stale]
    store.stored["a"] = [completed(0), TaskRow(pos=1, state=TaskState.RUNNING, attempt=1, seq=7)]
    store.runs["a"] = stored_run("a", RunState.RUNNING)
    started = TaskRow(pos=1, state=TaskState.RUNNING, was=TaskState.PENDING, attempt=1, seq=7)
    outcomes, _ = outcomes_of(store, write("a", completed(0), started))
    assert outcomes == [WriteOutcome("a")]


@pytest.mark.parametrize(
    "there",
    [[], [completed(seq=6)], [completed(attempt=2)], [TaskRow(pos=0, state=TaskState.RUNNING, attempt=1, seq=5)]],
)
def test_a_row_that_is_not_as_it_was_wanted_stays_stale_after_reading_back(there) -> None:
    store = HeldStore()
    store.script = [StoreUnreachable("gone"), all_stale]
    store.stored["a"] = there
    outcomes, _ = outcomes_of(store, write("a", completed()))
    assert outcomes == [WriteOutcome("a", (0,))]


@pytest.mark.parametrize(
    ("stored", "stale"),
    [
        (stored_run("a", RunState.COMPLETED), ()),
        (stored_run("a", RunState.RUNNING), (-1,)),
        (stored_run("a", RunState.COMPLETED, epoch=2), (-1,)),
        (None, (-1,)),
    ],
)
def test_the_run_row_is_read_back_with_its_epoch(stored, stale) -> None:
    store = HeldStore()
    store.script = [StoreUnreachable("gone"), all_stale]
    store.stored["a"] = [completed()]
    if stored is not None:
        store.runs["a"] = stored
    end = RunRow(state=RunState.COMPLETED, was=RunState.RUNNING)
    outcomes, _ = outcomes_of(store, write("a", completed(), run=end))
    assert outcomes == [WriteOutcome("a", stale)]


def test_without_a_doubt_nothing_is_read_back() -> None:
    store = HeldStore()
    store.script = [all_stale]
    store.stored["a"] = [completed()]
    outcomes, _ = outcomes_of(store, write("a", completed()))
    assert outcomes == [WriteOutcome("a", (0,))]


def test_an_insert_that_meets_itself_counts_as_applied_and_one_that_meets_another_does_not() -> None:
    store = HeldStore()

    def existing(writes: Sequence[RunWrite]) -> list[WriteOutcome]:
        return [WriteOutcome("a", existing="a"), WriteOutcome("b", existing="other", existing_digest="d")]

    store.script = [StoreUnreachable("gone"), existing]
    inserts = [RunWrite(run_id=name, epoch=1, insert=stored_run(name, RunState.PENDING).new) for name in "ab"]
    outcomes, _ = outcomes_of(store, *inserts)
    assert outcomes == [WriteOutcome("a"), WriteOutcome("b", existing="other", existing_digest="d")]


def test_a_link_that_dies_again_while_reading_back_only_costs_another_try() -> None:
    store = HeldStore()
    store.script = [StoreUnreachable("gone"), all_stale, all_stale]
    store.read_errors = [StoreUnreachable("gone again")]
    store.stored["a"] = [completed()]
    outcomes, _ = outcomes_of(store, write("a", completed()))
    assert outcomes == [WriteOutcome("a")]
    assert len(store.commits) == 3


@pytest.mark.parametrize("error", [StoreFull("disk full"), StoreReadOnly("read-only")])
def test_submissions_are_told_at_once_that_nothing_can_be_written(error) -> None:
    store = HeldStore()
    store.script = [error]
    insert = RunWrite(run_id="a", epoch=1, insert=stored_run("a", RunState.PENDING).new)
    with pytest.raises(type(error)):
        outcomes_of(store, insert)
    assert store.commits == [["a"]]


def test_a_submission_that_may_be_stored_already_is_not_told_that_nothing_was_written() -> None:
    store = HeldStore()
    store.script = [StoreUnreachable("gone"), StoreFull("disk full")]
    insert = RunWrite(run_id="a", epoch=1, insert=stored_run("a", RunState.PENDING).new)
    outcomes, _ = outcomes_of(store, insert)
    assert outcomes == [WriteOutcome("a")]


# -- poison ----------------------------------------------------------------------------------------------------------
def test_a_rejected_batch_is_split_down_to_the_run_at_fault_and_the_others_apply() -> None:
    store = HeldStore()
    store.poison = {"c"}
    outcomes, ledger = outcomes_of(store, *(write(name) for name in "abcde"))
    assert [outcome.run_id for outcome in outcomes] == list("abcde")
    assert [outcome.run_id for outcome in outcomes if outcome.applied] == list("abde")
    assert outcomes[2].rejected == "unsupported Unicode escape sequence"
    assert ledger.metrics.splits == 2


def test_every_poisoned_run_is_found_and_each_waiter_hears_of_its_own() -> None:
    async def scenario() -> None:
        store = HeldStore(held=True)
        store.poison = {"a", "d"}
        ledger = ledger_over(store)
        first = ledger.write([write("first")])
        await begun(store)
        two = ledger.write([write("a"), write("b")]), ledger.write([write("c"), write("d")])
        store.let_go(20)
        await first
        assert [[outcome.applied for outcome in await future] for future in two] == [[False, True], [True, False]]
        ledger.close()

    asyncio.run(scenario())


def test_an_error_that_the_store_did_not_foresee_is_treated_as_a_refusal_of_the_data() -> None:
    store = HeldStore()
    store.script = [TypeError("cannot encode"), TypeError("cannot encode")]
    outcomes, _ = outcomes_of(store, write("a"), write("b"))
    assert outcomes == [WriteOutcome("a", rejected="TypeError: cannot encode"), WriteOutcome("b")]


def test_a_refusal_ends_an_outage_as_a_commit_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OUTAGE_TIMEOUT", -1.0)
    store = HeldStore()
    store.script = [StoreUnreachable("gone"), StoreRejected("poison")]
    outcomes, ledger = outcomes_of(store, write("a"))
    assert outcomes == [WriteOutcome("a", rejected="poison")]
    assert ledger.outage is None


@pytest.mark.parametrize(("patience", "said"), [(-1.0, True), (WAIT, False)])
def test_while_commits_do_not_get_through_for_long_the_ledger_says_so(
    patience: float, said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "OUTAGE_TIMEOUT", patience)
    store = HeldStore()
    seen: list[StoreError | None] = []

    def look(writes: Sequence[RunWrite]) -> list[WriteOutcome]:
        seen.append(ledgers[0].outage)
        return applied(writes)

    async def scenario() -> None:
        ledgers.append(ledger_over(store))
        await asyncio.wait_for(ledgers[0].write([write("a")]), WAIT)
        ledgers[0].close()

    ledgers: list[Ledger] = []
    error = StoreUnreachable("gone")
    store.script = [error, look]
    asyncio.run(scenario())
    assert seen == [error if said else None]
    assert ledgers[0].outage is None


def test_a_doubt_about_the_whole_batch_stays_when_it_is_split() -> None:
    store = HeldStore()
    store.script = [StoreUnreachable("gone"), StoreRejected("poison"), all_stale, StoreRejected("poison")]
    store.stored["a"] = [completed()]
    outcomes, _ = outcomes_of(store, write("a", completed()), write("b"))
    assert outcomes == [WriteOutcome("a"), WriteOutcome("b", rejected="poison")]


# -- the end ---------------------------------------------------------------------------------------------------------
def test_after_close_writes_fail_and_nothing_reaches_the_store() -> None:
    async def scenario() -> None:
        store = HeldStore()
        ledger = ledger_over(store)
        ledger.close()
        with pytest.raises(StoreUnreachable):
            await ledger.write([write("a")])
        assert store.commits == []

    asyncio.run(scenario())


def test_close_lets_the_commit_under_way_finish_and_fails_what_has_gathered() -> None:
    async def scenario() -> None:
        store = HeldStore(held=True)
        ledger = ledger_over(store)
        under_way = ledger.write([write("a")])
        await begun(store)
        gathered = ledger.write([write("b")])
        ledger.close()
        with pytest.raises(StoreUnreachable):
            await gathered
        store.let_go()
        assert (await asyncio.wait_for(under_way, WAIT))[0].applied
        assert store.commits == [["a"]]

    asyncio.run(scenario())


def test_close_ends_the_tries_of_a_commit_that_does_not_get_through() -> None:
    async def scenario() -> None:
        store = HeldStore(held=True)
        store.script = [StoreUnreachable("gone")]
        ledger = ledger_over(store)
        future = ledger.write([write("a")])
        await begun(store)
        ledger.close()
        store.let_go()
        with pytest.raises(StoreUnreachable):
            await asyncio.wait_for(future, WAIT)

    asyncio.run(scenario())
