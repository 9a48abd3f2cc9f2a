"""What is stored can be found again, and changes are noticed from elsewhere."""

from __future__ import annotations

import threading

import pytest

from tests.conformance.store_rows import OWNER, SPEC, WORKFLOW, begin, claim_one, completed, insert, new_run, update
from turnout.contracts.store import Store
from turnout.errors import PreconditionFailed
from turnout.model.names import new_run_id
from turnout.model.rows import RunRow, TaskRow
from turnout.model.states import RunState, TaskState
from turnout.store import connect


def test_what_does_not_exist_is_none_or_empty(store: Store) -> None:
    for run_id in (new_run_id(), "nonsense"):
        assert store.run(run_id) is None
        assert store.tasks(run_id) == [] and store.history(run_id) == [] and store.outputs(run_id, [0]) == {}
    assert store.workflow("v0") is None
    assert store.runs() == []


def test_workflow_versions_are_kept_once(store: Store) -> None:
    store.put_workflow("a", WORKFLOW, SPEC)
    store.put_workflow("a", WORKFLOW, "ignored")
    store.put_workflow("b", WORKFLOW, "{}")
    assert (store.workflow("a"), store.workflow("b")) == (SPEC, "{}")


def test_many_threads_may_add_versions_of_one_workflow(store: Store) -> None:
    threads = [threading.Thread(target=store.put_workflow, args=(f"v{n}", WORKFLOW, str(n))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [store.workflow(f"v{n}") for n in range(8)] == [str(n) for n in range(8)]


def test_runs_are_listed_newest_first_and_page_by_page(store: Store) -> None:
    begin(store)
    ids = sorted(new_run_id() for _ in range(5))
    insert(store, *[new_run(run_id=run_id) for run_id in ids])
    newest = [run.new.run_id for run in store.runs(limit=2)]
    assert newest == [ids[4], ids[3]]
    assert [run.new.run_id for run in store.runs(limit=10, before=newest[-1])] == [ids[2], ids[1], ids[0]]


def test_open_runs_and_their_tasks_are_counted(store: Store) -> None:
    begin(store)
    runs = [new_run() for _ in range(3)]
    insert(store, *runs)
    done = runs[0].run_id
    store.commit([update(done, completed(), run=RunRow(state=RunState.COMPLETED, was=RunState.RUNNING))])
    found = [run.new.run_id for run in store.open_runs(10)]
    assert (
        found == sorted((run.run_id for run in runs[1:]), reverse=True) and store.open_runs(1)[0].new.run_id == found[0]
    )
    counts = store.task_counts([run.run_id for run in runs])
    assert (
        set(counts) == {run.run_id for run in runs} and store.task_counts([]) == store.task_counts(["nonsense"]) == {}
    )
    for run in runs:
        expected: dict[TaskState, int] = {}
        for row in store.tasks(run.run_id):
            expected[row.state] = expected.get(row.state, 0) + 1
        assert {state: count for state, count, _ in counts[run.run_id]} == expected


def test_runs_are_found_by_workflow_and_state(store: Store) -> None:
    begin(store)
    store.put_workflow("o1", "acme::etl::other", "{}")
    done, other = new_run(), new_run(workflow="acme::etl::other", version="o1")
    insert(store, done, other)
    store.commit([update(done.run_id, completed(), run=RunRow(state=RunState.COMPLETED, was=RunState.RUNNING))])
    assert [run.new.run_id for run in store.runs(states=[RunState.COMPLETED])] == [done.run_id]
    for name in ("other", "acme::etl::other"):
        assert [run.new.run_id for run in store.runs(workflow=name)] == [other.run_id]
    assert store.runs(workflow="chain", states=[RunState.RUNNING]) == []
    assert store.runs(workflow="unknown") == []


@pytest.mark.parametrize(
    "states",
    [*[(state,) for state in RunState], (RunState.FAILED, RunState.RUNNING, RunState.PENDING), tuple(RunState)],
    ids="+".join,
)
def test_lists_by_state_and_workflow_hold_the_newest_of_them_page_by_page(
    store: Store, states: tuple[RunState, ...]
) -> None:
    begin(store)
    names = (WORKFLOW, "acme::etl::chain", "acme::etl::other")
    for number, name in enumerate(names):
        store.put_workflow(f"o{number}", name, "{}")
    stored = [
        (new_run(state=state, workflow=name, owner=owner), state, name)
        for state in RunState
        for name in names
        for owner in (OWNER, None)
    ]
    insert(store, *[write for write, _, _ in stored])
    for workflow, meant in ((None, names), ("chain", names[:2]), ("acme::etl::chain", names[1:2])):
        wanted = [write.run_id for write, state, name in stored if state in states and name in meant]
        pages: list[str] = []
        while page := [
            run.new.run_id
            for run in store.runs(workflow=workflow, states=states, limit=4, before=pages[-1] if pages else None)
        ]:
            assert len(page) <= 4
            pages += page
        assert pages == sorted(wanted, reverse=True)


def test_runs_are_read_by_their_ids(store: Store) -> None:
    begin(store)
    writes = [new_run() for _ in range(3)]
    insert(store, *writes)
    wanted = {write.run_id for write in writes[1:]}
    assert {run.new.run_id for run in store.runs_by_id([*wanted, new_run_id(), "nonsense"])} == wanted
    assert store.runs_by_id([]) == []


def test_tasks_may_be_read_without_their_outputs(store: Store) -> None:
    begin(store)
    write = new_run()
    insert(store, write)
    store.commit([update(write.run_id, completed())])
    assert store.tasks(write.run_id)[0].output == '"done"'
    assert store.tasks(write.run_id, outputs=False)[0].output is None


def test_history_has_times_that_do_not_go_back(store: Store) -> None:
    begin(store)
    write = new_run()
    insert(store, write)
    store.commit([update(write.run_id, completed())])
    times = [at for at, _ in store.history(write.run_id)]
    assert times == sorted(times) and len(times) == 4


def test_waiting_counts_unfinished_runs(store: Store) -> None:
    begin(store)
    assert store.waiting() == {"runs": {}, "unfinished": 0, "owners": {}, "queued": 0}
    finished = new_run()
    insert(store, finished, new_run(), new_run(owner=None), new_run(owner=None, state=RunState.PENDING))
    store.commit([update(finished.run_id, completed(), run=RunRow(state=RunState.COMPLETED, was=RunState.RUNNING))])
    assert store.waiting() == {
        "runs": {"running": {"owned": 1, "unowned": 1}, "pending": {"owned": 0, "unowned": 1}},
        "unfinished": 3,
        "owners": {OWNER: 1},
        "queued": 0,
    }


def test_shared_rules_are_replaced_by_compare_and_swap_and_take_a_revision(store: Store) -> None:
    first = store.shared_routing()
    assert (first.version, first.config, first.updated_at, first.updated_by) == (0, None, None, None)
    revision = store.newest_revision()
    put = store.put_shared_routing('{"rules": []}', 0, actor="ada", session_id=OWNER)
    assert (put.version, put.config, put.updated_by) == (1, '{"rules": []}', "ada")
    assert store.shared_routing() == put and abs(float(put.updated_at or 0) - store.clock()) < 60
    assert store.newest_revision() == revision + 1 == store.glance(OWNER).definitions
    for expected in (0, 2):
        with pytest.raises(PreconditionFailed) as raised:
            store.put_shared_routing(None, expected, actor="ada", session_id=OWNER)
        assert raised.value.code == "stale_etag" and raised.value.fields["version"] == 1
    assert store.put_shared_routing(put.config, 1, actor="eve", session_id=OWNER) == put
    assert store.newest_revision() == revision + 1, "the same rules are no change"
    removed = store.put_shared_routing(None, None, actor="eve", session_id=OWNER)
    assert (removed.version, removed.config, removed.updated_by) == (2, None, "eve")
    assert store.newest_revision() == revision + 2


def test_routing_versions_are_numbered(store: Store) -> None:
    first, second = store.record_routing(OWNER, "{}"), store.record_routing(OWNER, "{}")
    assert second > first


def test_a_change_made_elsewhere_wakes_a_listener(store: Store, store_url: str) -> None:
    begin(store)
    woken: list[str] = []
    heard = threading.Event()

    def on_wake(topic: str) -> None:
        woken.append(topic)
        heard.set()

    stop = store.listen(on_wake)
    elsewhere = connect(store_url)
    elsewhere.open()
    # The listener may not be connected yet: a hint may be lost, so it is given again until it is heard.
    announced = {"runs", "ready"} if store_url.startswith("postgres") else {"any"}
    for _ in range(100):
        elsewhere.commit([new_run()], wake=frozenset({"runs", "ready"}))
        if heard.wait(0.1) and not announced.isdisjoint(woken):
            break
        heard.clear()
    stop()
    elsewhere.close()
    assert set(woken) <= {"runs", "ready", "any"} and not announced.isdisjoint(woken)


def test_in_memory_everything_is_shared_between_threads() -> None:
    store = connect("sqlite:///:memory:")
    store.open()
    begin(store)
    heard = threading.Event()
    stop = store.listen(lambda topic: heard.set())
    writes = [new_run() for _ in range(8)]
    threads = [threading.Thread(target=store.commit, args=([write],)) for write in writes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {run.new.run_id for run in store.runs()} == {write.run_id for write in writes}
    for _ in range(100):
        insert(store, new_run())
        if heard.wait(0.1):
            break
    assert heard.is_set()
    stop()
    store.close()


def test_a_memo_is_kept_over_a_poller_s_claim_until_another_is_written(store: Store) -> None:
    begin(store)
    ready = TaskRow(pos=0, name="first", state=TaskState.READY, poll_key="gpu", memo='{"saved":"1"}')
    write = new_run(tasks=[ready])
    insert(store, write)
    assert store.tasks(write.run_id)[0].memo == '{"saved":"1"}'
    assert store.claim_ready("poller", ["gpu"], 1, 30)
    assert store.tasks(write.run_id)[0].memo == '{"saved":"1"}'
    loaded = claim_one(store, OWNER, write.run_id, 10)
    assert loaded is not None and loaded.tasks[0].memo == '{"saved":"1"}'
    done = completed(memo='{"chosen":["a"]}')
    assert store.commit([update(write.run_id, done, epoch=loaded.run.epoch)])[0].applied
    assert store.tasks(write.run_id)[0].memo == '{"chosen":["a"]}'


def test_a_database_says_what_it_is_and_what_time_it_has(store: Store) -> None:
    before = store.about()
    assert before.version[:1].isdigit() and before.schema >= 1
    assert store.about().now >= before.now > 1_600_000_000


def test_the_origin_of_a_run_comes_back_with_it_and_with_a_claim(store: Store) -> None:
    begin(store, OWNER)
    hostile = "api:<b>\u202eada'\";--"
    told, silent = (new_run(owner=None, state=RunState.PENDING, origin=each) for each in (hostile, None))
    insert(store, told, silent)
    assert {run.new.run_id: run.new.origin for run in store.runs()} == {told.run_id: hostile, silent.run_id: None}
    loaded = claim_one(store, OWNER, told.run_id, 100)
    assert loaded is not None and loaded.run.new.origin == hostile
