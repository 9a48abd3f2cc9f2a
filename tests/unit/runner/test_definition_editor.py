"""Changes of definitions: each refusal has its own code, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from turnout.authoring.registry import Registry
from turnout.authoring.yaml.compiler import compile_file
from turnout.contracts.store import Store
from turnout.errors import TurnoutError
from turnout.model.definitions import NewDefinition
from turnout.model.limit_declarations import LimitDeclaration
from turnout.model.limits import LimitSize
from turnout.runner.definitions.catalog import Catalog
from turnout.runner.definitions.editor import Editor
from turnout.runner.definitions.names import checked_name
from turnout.store import connect

GOOD = "steps: [echo 1]"
NAME = "public::embedded::etl"


@pytest.fixture
def memory() -> Iterator[Store]:
    store = connect("sqlite:///:memory:")
    store.open()
    yield store
    store.close()


Edit = Callable[..., Editor]


@pytest.fixture
def edit(memory: Store) -> Edit:
    def make(*, hub: bool = False, allow: bool = True) -> Editor:
        catalog = Catalog(memory, Registry(), compile_file, tenant="public")
        catalog.refresh()
        return Editor(memory, catalog, hub=hub, allow_local_execution=allow)

    return make


def refusal(call: Callable[..., Any], *args: Any) -> TurnoutError:
    with pytest.raises(TurnoutError) as raised:
        call(*args)
    return raised.value


def from_file(store: Store, **more: Any) -> None:
    given: dict[str, Any] = {"kind": "yaml", "origin": "file", "file": "flows/etl.yaml", "spec_version": "s"}
    store.put_definition(NewDefinition(full_name=NAME, text=GOOD, actor="file", **(given | more)), None)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("../etc/passwd", "path_in_name"),
        ("..", "path_in_name"),
        ("a/b", "path_in_name"),
        ("a\\b", "path_in_name"),
        ("a..b", "path_in_name"),
        ("nul\0", "path_in_name"),
        ("", "bad_definition_name"),
        ("9lives", "bad_definition_name"),
        ("with space", "bad_definition_name"),
        ("a" * 129, "bad_definition_name"),
        ("a::b::c::d", "bad_definition_name"),
    ],
)
def test_a_name_is_an_identifier_and_never_a_path(edit: Edit, name: str, code: str) -> None:
    assert refusal(checked_name, name).code == code
    assert refusal(edit().put, name, GOOD, 0, "ada").code == code
    assert refusal(edit().remove, name, 1, "ada").code == code


def test_a_new_text_is_in_force_at_once_and_replaces_what_was_read(memory: Store, edit: Edit) -> None:
    editor = edit()
    assert editor.put("etl", GOOD, 0, "ada").version == 1
    assert refusal(editor.put, "etl", "steps: [echo 2]", 0, "ada").code == "stale_etag"
    assert editor.put("etl", "steps: [echo 2]", 1, "bob").version == 2
    assert refusal(editor.put, "etl", "steps: [echo 3]", 1, "ada").code == "stale_etag"
    stored = memory.definition(NAME)
    assert stored is not None and stored.current is not None and stored.updated_by == "bob"
    assert memory.workflow(stored.current.spec_version) is not None, "the spec of each version is stored"
    assert editor.remove("etl", 2, "ada").removed
    assert refusal(editor.remove, "etl", 2, "ada").code == "workflow_not_found"
    assert refusal(editor.remove, "never", 1, "ada").code == "workflow_not_found"


def test_all_errors_of_a_text_are_named_at_once_and_nothing_is_stored(memory: Store, edit: Edit) -> None:
    error = refusal(edit().put, "etl", "stepz: [echo 1]\nnam: etl\n", 0, "ada")
    assert error.code == "invalid_definition_text" and len(error.fields["findings"]) >= 2
    assert {each["line"] for each in error.fields["findings"]} >= {1, 2}
    assert memory.definitions() == []


def test_the_name_in_the_text_is_the_one_that_it_is_put_under(memory: Store, edit: Edit) -> None:
    assert refusal(edit().put, "etl", f"name: other\n{GOOD}", 0, "ada").code == "name_mismatch"
    assert memory.definitions() == []
    assert edit().put("etl", f"name: etl\n{GOOD}", 0, "ada").version == 1
    assert refusal(edit().put, "ml::etl", GOOD, 0, "ada").code == "bad_definition_name"


def test_a_definition_of_a_file_is_changed_in_the_file(memory: Store, edit: Edit) -> None:
    from_file(memory)
    editor = edit()
    for call in (lambda: editor.put("etl", GOOD, 1, "ada"), lambda: editor.remove("etl", 1, "ada")):
        error = refusal(call)
        assert error.code == "definition_from_file" and error.fields["file"] == "flows/etl.yaml"
    memory.remove_definition(NAME, None, "file")
    assert editor.put("etl", "steps: [echo mine]", 0, "ada").origin == "api"


def test_a_definition_that_others_call_is_not_removed(edit: Edit) -> None:
    editor = edit()
    editor.put("child", GOOD, 0, "ada")
    editor.put("parent", "steps: [{name: go, call: child}]", 0, "ada")
    error = refusal(editor.remove, "child", 1, "ada")
    assert error.code == "definition_called" and error.fields["callers"] == ["parent"]
    editor.remove("parent", 1, "ada")
    editor.remove("child", 1, "ada")


def test_what_would_run_on_the_server_is_refused_with_all_reasons_unless_it_is_allowed(
    memory: Store, edit: Edit
) -> None:
    text = "dotenv: .env\nsteps: [{name: a, command: ls, stdout: /tmp/x}]"
    error = refusal(edit(allow=False).put, "etl", text, 0, "ada")
    assert error.code == "local_execution_refused"
    codes = [each["code"] for each in error.fields["findings"] if each["severity"] == "error"]
    assert codes == ["local_shell", "local_file", "local_dotenv"] and memory.definitions() == []
    assert [each.code for each in edit(allow=False).validate(text).findings if each.severity == "error"] == codes
    free = edit().put("etl", text, 0, "ada")
    assert free.current is not None and not free.current.remote_only


def test_an_uploaded_definition_is_bound_to_workers(memory: Store, edit: Edit) -> None:
    bound = edit(hub=True, allow=False).put("etl", GOOD, 0, "ada")
    assert bound.current is not None and bound.current.remote_only
    assert '"remote_only":true' in (memory.workflow(bound.current.spec_version) or "")
    # Allowed later, the same text is another version: what was bound stays bound until it is uploaded again.
    free = edit().put("etl", GOOD, 1, "ada")
    assert free.version == 2 and free.current is not None and not free.current.remote_only


# -- limits -------------------------------------------------------------------------------------------------------
def limited(at_most: int) -> str:
    return f"limit: {{name: db, at_most: {at_most}}}\nsteps: [echo 1]"


def test_an_upload_with_another_size_of_a_limit_than_others_is_refused_with_its_line(edit: Edit) -> None:
    editor = edit()
    editor.put("etl", limited(3), 0, "ada")
    error = refusal(editor.put, "other", f"\n{limited(1)}", 0, "ada")
    assert error.code == "limit_conflict"
    assert "workflow 'other' declares the limit 'db' with 1 at once, and workflow 'etl' with 3 at once" in error.message
    [finding] = [each for each in error.fields["findings"] if each["severity"] == "error"]
    assert (finding["code"], finding["line"], finding["where"]) == ("limit_conflict", 2, "limits")
    assert [each.code for each in editor.validate(limited(1), "other").findings if each.severity == "error"]
    editor.put("other", limited(3), 0, "ada")


def test_a_definition_changes_the_size_of_a_limit_that_it_alone_declares(edit: Edit) -> None:
    editor = edit()
    editor.put("etl", limited(3), 0, "ada")
    assert editor.put("etl", limited(1), 1, "ada").version == 2
    editor.remove("etl", 2, "ada")
    assert editor.put("other", limited(5), 0, "ada").version == 1


def test_an_upload_is_compared_with_programs_on_the_database_and_with_the_configuration(
    edit: Edit, memory: Store
) -> None:
    theirs = LimitDeclaration(workflow="a::b::c", declared="db", place="workflow 'c'", size=LimitSize(2))
    memory.put_limit_declarations({"a::b::c": [theirs]})
    assert refusal(edit().put, "etl", limited(3), 0, "ada").code == "limit_conflict"
    memory.put_limit_sizes({"db": LimitSize(9)})
    assert edit().put("etl", limited(3), 0, "ada").version == 1


def test_a_refusal_for_what_would_run_on_the_server_comes_first(edit: Edit) -> None:
    edit().put("etl", limited(3), 0, "ada")
    error = refusal(edit(allow=False).put, "other", limited(1), 0, "ada")
    assert error.code == "local_execution_refused"
    assert {"local_shell", "limit_conflict"} <= {each["code"] for each in error.fields["findings"]}


def test_limits_and_queues_without_a_size_are_warned_of(memory: Store) -> None:
    text = "schedule: {every: 1h}\nqueue: nightly\nlimit: db\nsteps: [{command: echo 1, limits: mail}]"
    catalog = Catalog(memory, Registry(), compile_file, tenant="public")
    editor = Editor(memory, catalog, hub=False, allow_local_execution=True, limits={"mail": LimitSize(2)})
    found = [each for each in editor.validate(text, "etl").findings if each.severity == "warning"]
    assert [(each.code, each.line, each.where) for each in found] == [
        ("unknown_limit", 3, "limits"),
        ("unknown_queue", 2, "queue"),
    ]
    assert editor.put("etl", text, 0, "ada").version == 1
