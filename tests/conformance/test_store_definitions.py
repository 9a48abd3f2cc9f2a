"""Definitions have numbered versions that change by compare-and-swap, in one order for all processes."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.conformance.store_rows import VERSION, WORKFLOW, begin, completed, insert, new_run, update
from turnout.contracts.store import Store
from turnout.errors import DefinitionInUse, StaleDefinition
from turnout.model.definitions import MAX_DEFINITION_VERSIONS, NewDefinition, StoredDefinition
from turnout.model.rows import RunRow, TaskRow
from turnout.model.states import RunState, TaskState
from turnout.store import connect

NAME = "public::embedded::etl"


def new(text: str = "steps: [a]", **columns: Any) -> NewDefinition:
    given: dict[str, Any] = {"full_name": NAME, "kind": "yaml", "origin": "api", "spec_version": "s1", "actor": "ada"}
    return NewDefinition(text=text, **(given | columns))


def put(store: Store, text: str = "steps: [a]", expected: int | None = None, **columns: Any) -> StoredDefinition:
    return store.put_definition(new(text, **columns), expected)


def test_a_new_definition_is_version_1_and_comes_back_as_it_was(store: Store) -> None:
    made = put(store, "steps: ['ü']", 0, base="env: {}", remote_only=True)
    assert store.definition(NAME) == made and store.definition("public::embedded::other") is None
    assert (made.version, made.kind, made.origin, made.removed, made.exists) == (1, "yaml", "api", False, True)
    current = made.current
    assert current is not None and current == store.definition_version(NAME, 1)
    assert (current.text, current.base, current.actor, current.remote_only) == ("steps: ['ü']", "env: {}", "ada", True)
    assert current.digest == new("steps: ['ü']", base="env: {}").digest != new("steps: ['ü']").digest
    assert abs(current.created_at - store.clock()) < 60 and made.updated_by == "ada"


@pytest.mark.parametrize(("expected", "code"), [(0, "stale_etag"), (1, "stale_etag"), (3, "stale_etag")])
def test_another_version_than_the_expected_one_is_not_replaced(store: Store, expected: int, code: str) -> None:
    put(store, "one", 0)
    put(store, "two", 1)
    with pytest.raises(StaleDefinition) as raised:
        put(store, "three", expected)
    assert raised.value.code == code and raised.value.fields["version"] == 2
    with pytest.raises(StaleDefinition):
        store.remove_definition(NAME, expected, "ada")
    found = store.definition(NAME)
    assert found is not None and found.version == 2 and found.current is not None and found.current.text == "two"
    assert [each.version for each in store.definition_versions(NAME)] == [2, 1]


def test_a_replacement_of_nothing_is_stale(store: Store) -> None:
    with pytest.raises(StaleDefinition, match="does not exist"):
        put(store, "one", 1)
    assert store.definition(NAME) is None and store.definitions() == []


def test_of_many_that_replace_one_version_at_once_one_wins(store: Store) -> None:
    put(store, "first", 0)
    won: list[int] = []
    lost: list[StaleDefinition] = []
    gate = threading.Barrier(6)

    def replace(number: int) -> None:
        gate.wait()
        try:
            put(store, f"text {number}", 1)
            won.append(number)
        except StaleDefinition as error:
            lost.append(error)

    threads = [threading.Thread(target=replace, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = store.definition(NAME)
    assert len(won) == 1 and len(lost) == 5
    assert found is not None and found.current is not None and found.current.text == f"text {won[0]}"


def test_the_text_that_is_in_force_makes_no_version_and_no_change(store: Store) -> None:
    made = put(store, "one", origin="file", file="etl.yaml")
    again = put(store, "one", origin="file", file="etl.yaml", actor="bob")
    assert again == made and [each.revision for each in store.definitions()] == [made.revision]
    moved = put(store, "one", origin="file", file="sub/etl.yaml")
    assert (moved.version, moved.file) == (1, "sub/etl.yaml") and moved.revision > made.revision
    restricted = put(store, "one", origin="file", file="sub/etl.yaml", remote_only=True)
    assert restricted.version == 2


def test_each_change_has_the_next_revision_and_a_reader_continues_behind_the_last(store: Store) -> None:
    begin(store)
    assert store.glance("owner").definitions == 0 and store.definitions() == []
    first, other = put(store, "one"), put(store, "two", full_name="public::embedded::other")
    assert first.revision < other.revision == store.glance("owner").definitions
    assert store.definitions(since=first.revision) == [other]
    changed = put(store, "three")
    assert store.definitions(since=other.revision) == [changed]
    assert store.definitions() == [other, changed]
    assert store.definitions(since=changed.revision) == []


def test_another_process_sees_the_same(store: Store, store_url: str) -> None:
    made = put(store, "one")
    again = connect(store_url)
    again.open()
    assert again.definitions() == [made]
    with pytest.raises(StaleDefinition):
        again.put_definition(new("two"), 0)
    changed = again.put_definition(new("two"), 1)
    again.close()
    assert store.definitions(since=made.revision) == [changed]


def test_a_change_wakes_other_processes(store: Store, store_url: str) -> None:
    woken = threading.Event()
    topics: list[str] = []
    ready = threading.Event()

    def on_wake(topic: str) -> None:
        topics.append(topic)
        ready.set()
        if "definitions" in topics or topics.count("any") > 1:
            woken.set()

    stop = store.listen(on_wake)
    try:
        assert ready.wait(20)
        other = connect(store_url)
        other.open()
        other.put_definition(new("one"), 0)
        other.close()
        assert woken.wait(20), topics
    finally:
        stop()


def test_a_removed_definition_stays_with_its_versions_and_its_numbers_go_on(store: Store) -> None:
    put(store, "one")
    removed = store.remove_definition(NAME, 1, "bob")
    assert removed is not None and removed.removed and not removed.exists and removed.updated_by == "bob"
    assert store.remove_definition(NAME, None, "bob") is None, "there is nothing left to remove"
    assert store.remove_definition("public::embedded::other", None, "bob") is None
    with pytest.raises(StaleDefinition):
        put(store, "two", 1)
    back = put(store, "two", 0)
    assert back.version == 2 and back.exists
    assert [each.version for each in store.definition_versions(NAME)] == [2, 1]
    assert store.remove_definition(NAME, None, "bob") is not None
    same = put(store, "two", 0)
    assert (same.version, same.exists) == (2, True), "the same text again is the same version again"


@pytest.mark.parametrize("owner", ["owner", None], ids=["owned", "unowned"])
def test_a_definition_with_open_runs_is_removed_only_if_they_may_go_on(store: Store, owner: str | None) -> None:
    begin(store)
    put(store, "one", full_name=WORKFLOW)
    put(store, "one")
    run = new_run(owner=owner)
    insert(store, run)
    with pytest.raises(DefinitionInUse) as raised:
        store.remove_definition(WORKFLOW, 1, "ada")
    assert raised.value.fields["runs"] == [run.run_id]
    assert (found := store.definition(WORKFLOW)) is not None and found.exists
    assert store.remove_definition(NAME, 1, "ada") is not None, "the runs of others do not count"
    assert store.remove_definition(WORKFLOW, 1, "ada", with_open_runs=True) is not None


def test_runs_that_have_ended_do_not_hold_a_definition(store: Store) -> None:
    begin(store)
    put(store, "one", full_name=WORKFLOW)
    run = new_run()
    insert(store, run)
    rest = TaskRow(pos=1, state=TaskState.SKIPPED, was=TaskState.PENDING, seq=5)
    end = RunRow(state=RunState.COMPLETED, was=RunState.RUNNING, finished_at=2.0)
    assert store.commit([update(run.run_id, completed(), rest, run=end)])[0].applied
    assert store.remove_definition(WORKFLOW, 1, "ada") is not None


@pytest.mark.parametrize("owner", ["owner", None], ids=["owned", "unowned"])
def test_earlier_versions_are_in_use_while_runs_of_them_are_open(store: Store, owner: str | None) -> None:
    begin(store)
    run = new_run(owner=owner)
    put(store, "before", full_name=WORKFLOW, spec_version="another")
    put(store, "earlier", full_name=WORKFLOW, spec_version=VERSION)
    insert(store, run)
    assert store.definition_versions_in_use() == [], "it is the current one"
    put(store, "now", full_name=WORKFLOW, spec_version="newest")
    [found] = store.definition_versions_in_use()
    assert found == store.definition_version(WORKFLOW, 2) and found.text == "earlier"
    if owner is not None:
        rest = TaskRow(pos=1, state=TaskState.SKIPPED, was=TaskState.PENDING, seq=5)
        end = RunRow(state=RunState.COMPLETED, was=RunState.RUNNING, finished_at=2.0)
        assert store.commit([update(run.run_id, completed(), rest, run=end)])[0].applied
        assert store.definition_versions_in_use() == []


def test_findings_of_a_broken_file_leave_the_version_in_force(store: Store) -> None:
    good = put(store, "one", origin="file", file="etl.yaml")
    broken = store.put_findings(NAME, "yaml", "etl.yaml", '[{"line":1}]', "server")
    assert broken is not None and broken.findings == '[{"line":1}]' and broken.current == good.current
    assert broken.exists and broken.revision > good.revision
    assert store.put_findings(NAME, "yaml", "etl.yaml", '[{"line":1}]', "server") == broken, "nothing has changed"
    mended = put(store, "one", origin="file", file="etl.yaml")
    assert mended.findings is None and mended.version == 1
    assert store.put_findings(NAME, "yaml", "etl.yaml", None, "server") == mended


def test_a_file_that_was_never_valid_is_version_0(store: Store) -> None:
    assert store.put_findings(NAME, "yaml", "etl.yaml", None, "server") is None
    broken = store.put_findings(NAME, "yaml", "etl.yaml", "[]", "server")
    assert broken is not None and broken.version == 0 and broken.current is None and not broken.exists
    assert store.definition_versions(NAME) == []
    assert put(store, "one", 0, origin="file", file="etl.yaml").version == 1


def test_findings_do_not_touch_an_uploaded_definition_nor_revive_a_removed_one(store: Store) -> None:
    uploaded = put(store, "one")
    assert store.put_findings(NAME, "yaml", "etl.yaml", "[]", "server") == uploaded
    store.remove_definition(NAME, 1, "ada")
    broken = store.put_findings(NAME, "yaml", "etl.yaml", "[]", "server")
    assert broken is not None and (broken.removed, broken.origin, broken.findings) == (True, "file", "[]")


def test_the_oldest_versions_above_the_limit_are_deleted(store: Store) -> None:
    for number in range(MAX_DEFINITION_VERSIONS + 3):
        put(store, f"text {number}")
    found = store.definition_versions(NAME, limit=1000)
    assert [each.version for each in found] == list(range(MAX_DEFINITION_VERSIONS + 3, 3, -1))
    assert store.definition_version(NAME, 3) is None and {each.text for each in found} == {""}
    assert [each.version for each in store.definition_versions(NAME, before=50, limit=2)] == [49, 48]


def test_the_newest_runs_of_each_workflow_come_newest_first(store: Store) -> None:
    begin(store)
    mine = [new_run() for _ in range(4)]
    other = new_run(workflow="public::embedded::other", owner=None, state=RunState.PENDING)
    insert(store, *mine, other)
    found = store.recent_runs([WORKFLOW, "public::embedded::other", "public::embedded::none"], 3)
    assert [run.run_id for run in found[WORKFLOW]] == [run.run_id for run in reversed(mine[1:])]
    assert {run.state for run in found[WORKFLOW]} == {"running"} and found["public::embedded::none"] == []
    (single,) = found["public::embedded::other"]
    assert (single.run_id, single.state, single.finished_at) == (other.run_id, "pending", None)
    assert store.recent_runs([], 3) == {}


def test_the_spec_of_a_stored_version_is_not_pruned(store: Store) -> None:
    store.put_workflow("kept", NAME, "{}")
    store.put_workflow("dropped", NAME, '{"a":1}')
    put(store, "one", spec_version="kept")
    assert store.prune_rest(-1).workflows == 1
    assert store.workflow("kept") == "{}" and store.workflow("dropped") is None
