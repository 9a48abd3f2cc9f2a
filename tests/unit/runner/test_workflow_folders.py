"""Workflow folders: files become definitions, and what an editor does to them on the way does not matter."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from turnout.authoring.registry import Registry
from turnout.authoring.yaml.compiler import compile_file
from turnout.contracts.store import Store
from turnout.errors import StoreUnreachable, WorkflowNotFound
from turnout.model.definitions import NewDefinition, StoredDefinition
from turnout.runner.definitions.catalog import Catalog
from turnout.runner.definitions.folder_files import MAX_FILE_BYTES, Stamp, due, is_workflow_file, look
from turnout.runner.definitions.folder_import import FolderImport
from turnout.runner.definitions.folder_watch import FolderWatch
from turnout.runner.definitions.service import Definitions
from turnout.runner.definitions.settings import DefinitionSettings
from turnout.store import connect

ONE, TWO = Stamp(1, 1, 1), Stamp(2, 2, 2)


# -- what is due -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("done", "before", "now", "changed", "gone"),
    [
        ({}, {}, {"a.yaml": ONE}, (), ()),
        ({}, {"a.yaml": ONE}, {"a.yaml": ONE}, ("a.yaml",), ()),
        ({}, {"a.yaml": ONE}, {"a.yaml": TWO}, (), ()),
        ({"a.yaml": ONE}, {"a.yaml": ONE}, {"a.yaml": ONE}, (), ()),
        ({"a.yaml": ONE}, {"a.yaml": TWO}, {"a.yaml": TWO}, ("a.yaml",), ()),
        ({"a.yaml": ONE}, {"a.yaml": ONE}, {}, (), ()),
        ({"a.yaml": ONE}, {}, {}, (), ("a.yaml",)),
        ({"a.yaml": ONE}, {}, {"a.yaml": TWO}, (), ()),
    ],
    ids=["new", "new and settled", "being written", "as it was", "changed", "gone for a moment", "gone", "replaced"],
)
def test_a_file_is_due_when_two_looks_in_a_row_see_the_same(
    done: Any, before: Any, now: Any, changed: Any, gone: Any
) -> None:
    found = due(done, before, now)
    assert (found.changed, found.gone, found.base) == (changed, gone, False)


def test_where_changes_take_effect_at_once_nothing_has_to_settle() -> None:
    found = due({"b.yaml": ONE}, {"b.yaml": ONE}, {"a.yaml": ONE}, settle=False)
    assert (found.changed, found.gone) == (("a.yaml",), ("b.yaml",))


def test_a_look_sees_workflow_files_and_links_to_them_and_nothing_hidden(tmp_path: Path) -> None:
    for name in (
        "a.yaml",
        "b.yml",
        "c.py",
        "_d.py",
        "e.txt",
        ".f.yaml",
        "sub/g.yaml",
        ".git/h.yaml",
        "__pycache__/i.py",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "a.yaml")
    (tmp_path / "nowhere.yaml").symlink_to(tmp_path / "absent.yaml")
    (tmp_path / "folder").symlink_to(tmp_path / "sub")
    assert sorted(look(tmp_path) or ()) == ["a.yaml", "b.yml", "c.py", "link.yaml", "sub/g.yaml"]
    assert look(tmp_path / "absent") is None
    assert is_workflow_file("base.yaml") and not is_workflow_file("_helper.py")


# -- the import ------------------------------------------------------------------------------------------------------
@pytest.fixture
def memory() -> Iterator[Store]:
    store = connect("sqlite:///:memory:")
    store.open()
    yield store
    store.close()


class Server:
    """A process that follows the store and has the folder."""

    def __init__(self, store: Store, folder: Path, **more: Any) -> None:
        self.store = store
        self.registry = Registry()
        self.catalog = Catalog(store, self.registry, compile_file, tenant="public")
        self.catalog.refresh()
        self.folder = FolderImport(folder, store, self.catalog, **more)
        self.folder.start()

    def settle(self) -> None:
        """Looks as often as a change needs to take effect."""
        for _ in range(2):
            self.folder.poll()

    def stored(self, name: str) -> StoredDefinition:
        found = self.store.definition(f"public::embedded::{name}")
        assert found is not None
        return found

    def codes(self, name: str) -> list[str]:
        found = msgspec.json.decode(self.stored(name).findings or "[]")
        return [each["code"] for each in found if each["severity"] != "note"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "flows"
    made.mkdir()
    return made


Serve = Callable[..., Server]


@pytest.fixture
def serve(memory: Store, folder: Path) -> Serve:
    def make(**more: Any) -> Server:
        return Server(memory, folder, **more)

    return make


def text_of(stored: StoredDefinition) -> str:
    assert stored.current is not None
    return stored.current.text


def test_the_files_of_a_folder_are_in_force_after_the_start(folder: Path, serve: Serve) -> None:
    (folder / "etl.yaml").write_text("steps: [echo 1]")
    (folder / "sub").mkdir()
    (folder / "sub" / "other.yml").write_text("name: named\nsteps: [echo 1]")
    server = serve()
    stored = server.stored("etl")
    assert (stored.origin, stored.file, stored.version, stored.updated_by) == ("file", "flows/etl.yaml", 1, "file")
    assert server.stored("named").file == "flows/sub/other.yml"
    assert server.catalog.workflow("etl").name == "etl"
    revision = server.catalog.revision
    server.settle()
    assert serve().catalog.revision == revision, "a second start, or another server, changes nothing"


def test_a_change_makes_a_version_and_a_look_without_one_makes_none(folder: Path, serve: Serve) -> None:
    (folder / "etl.yaml").write_text("steps: [echo 1]")
    server = serve()
    (folder / "etl.yaml").write_text("steps: [echo 22]")
    assert not server.folder.poll(), "it may still be written"
    assert server.folder.poll() and server.stored("etl").version == 2
    assert not server.folder.poll()
    os.utime(folder / "etl.yaml", ns=(1, 1))
    server.settle()
    assert server.stored("etl").version == 2, "touched, with the same text"


def test_a_broken_file_keeps_the_last_good_version_and_does_not_touch_the_others(folder: Path, serve: Serve) -> None:
    (folder / "etl.yaml").write_text("steps: [echo 1]")
    (folder / "bad.yaml").write_text("stepz: [echo 1]")
    server = serve()
    assert server.codes("bad") and server.stored("bad").version == 0
    (folder / "etl.yaml").write_text("steps: [echo 1\n")
    server.settle()
    stored = server.stored("etl")
    assert stored.exists and text_of(stored) == "steps: [echo 1]" and server.codes("etl") == ["malformed_yaml"]
    assert server.catalog.workflow("etl").name == "etl"
    restarted = serve()
    assert restarted.catalog.workflow("etl").name == "etl" and restarted.codes("etl") == ["malformed_yaml"]
    (folder / "etl.yaml").write_text("steps: [echo 3]")
    (folder / "bad.yaml").write_text("steps: [echo good]")
    restarted.settle()
    assert restarted.codes("etl") == restarted.codes("bad") == []
    assert (restarted.stored("etl").version, restarted.stored("bad").version) == (2, 1)


def test_a_removed_file_is_a_removed_definition_and_comes_back_with_its_file(folder: Path, serve: Serve) -> None:
    (folder / "etl.yaml").write_text("steps: [echo 1]")
    server = serve()
    (folder / "etl.yaml").unlink()
    server.settle()
    assert server.stored("etl").removed
    with pytest.raises(WorkflowNotFound):
        server.catalog.workflow("etl")
    (folder / "etl.yaml").write_text("steps: [echo 1]")
    server.settle()
    assert server.catalog.workflow("etl") and server.stored("etl").version == 1
    (folder / "etl.yaml").unlink()
    assert serve().stored("etl").removed, "also if it went while no server ran"


def test_an_editor_that_replaces_a_file_does_not_remove_its_definition(folder: Path, serve: Serve) -> None:
    (folder / "etl.yaml").write_text("steps: [echo 1]")
    server = serve()
    revision = server.catalog.revision
    (folder / "etl.yaml").rename(folder / "etl.yaml~")
    server.folder.poll()
    (folder / ".etl.yaml.swp").write_text("steps: [echo 2]")
    (folder / ".etl.yaml.swp").rename(folder / "etl.yaml")
    server.settle()
    assert server.stored("etl").version == 2 and server.catalog.revision == revision + 1


def test_a_renamed_file_and_a_renamed_workflow_leave_nothing_behind(folder: Path, serve: Serve) -> None:
    (folder / "etl.yaml").write_text("name: etl\nsteps: [echo 1]")
    server = serve()
    (folder / "etl.yaml").rename(folder / "moved.yaml")
    server.settle()
    server.settle()
    assert (server.stored("etl").file, server.stored("etl").exists) == ("flows/moved.yaml", True)
    (folder / "moved.yaml").write_text("name: renamed\nsteps: [echo 1]")
    server.settle()
    assert server.stored("etl").removed and server.stored("renamed").exists


def test_a_folder_that_cannot_be_read_removes_nothing(folder: Path, serve: Serve) -> None:
    (folder / "etl.yaml").write_text("steps: [echo 1]")
    server = serve()
    away = folder.rename(folder.with_name("away"))
    server.settle()
    assert server.stored("etl").exists
    assert serve().stored("etl").exists
    away.rename(folder)
    server.settle()
    assert server.stored("etl").exists


def test_two_files_of_one_name_and_a_file_of_an_uploaded_one_are_named(
    folder: Path, serve: Serve, memory: Store
) -> None:
    uploaded: dict[str, Any] = {"kind": "yaml", "origin": "api", "spec_version": "s", "actor": "ada"}
    memory.put_definition(NewDefinition(full_name="public::embedded::up", text="steps: [echo up]", **uploaded), 0)
    (folder / "a.yaml").write_text("name: same\nsteps: [echo a]")
    (folder / "b.yaml").write_text("name: same\nsteps: [echo b]")
    (folder / "up.yaml").write_text("steps: [echo file]")
    server = serve()
    assert text_of(server.stored("same")) == "name: same\nsteps: [echo a]"
    assert text_of(server.stored("up")) == "steps: [echo up]"
    watch = FolderWatch([server.folder])
    assert sorted(watch.problems) == ["flows/b.yaml", "flows/up.yaml"]
    assert {each.code for found in watch.problems.values() for each in found} == {"duplicate_definition"}
    revision = server.catalog.revision
    server.settle()
    assert server.catalog.revision == revision
    (folder / "a.yaml").unlink()
    server.settle()
    server.settle()
    assert text_of(server.stored("same")) == "name: same\nsteps: [echo b]" and sorted(watch.problems) == [
        "flows/up.yaml"
    ]


def test_a_circle_of_files_and_calls_of_broken_ones_are_named_as_such(folder: Path, serve: Serve) -> None:
    (folder / "a.yaml").write_text("steps: [{call: b}]\n")
    (folder / "b.yaml").write_text("steps: [{call: a}]\n")
    (folder / "c.yaml").write_text("steps: [{call: d}]\n")
    (folder / "d.yaml").write_text("steps:\n  - comand: make\n")
    (folder / "e.yaml").write_text("steps: [{call: nowhere}]\n")
    server = serve()
    messages = {name: server.stored(name).findings or "" for name in "abcde"}
    for name, code in zip("abce", (*2 * ["recursive_workflow"], "unknown_key", "unknown_workflow"), strict=True):
        assert f'"{code}"' in messages[name], messages[name]
    assert "b → a → b" in messages["b"] and "a → b → a" in messages["a"]
    assert "workflow 'd', line 2: steps[0] has no key 'comand'" in messages["c"]
    (folder / "b.yaml").write_text("steps: [make]\n")
    server.settle()
    assert server.stored("a").version == server.stored("b").version == 1 and server.stored("a").findings is None


def test_files_that_call_one_another_come_in_any_order(folder: Path, serve: Serve) -> None:
    (folder / "a.yaml").write_text("steps: [{name: go, call: b}]")
    (folder / "b.yaml").write_text("steps: [{name: go, call: c}]")
    (folder / "c.yaml").write_text("steps: [echo 1]")
    server = serve()
    assert all(server.stored(name).exists and not server.codes(name) for name in "abc")
    (folder / "d.yaml").write_text("steps: [{name: go, call: e}]")
    server.settle()
    assert server.codes("d") == ["unknown_workflow"]
    (folder / "e.yaml").write_text("steps: [echo 1]")
    server.settle()
    server.settle()
    assert server.stored("d").exists and server.codes("d") == []


def test_a_base_is_inherited_by_all_files_and_its_change_changes_all(folder: Path, serve: Serve) -> None:
    (folder / "base.yaml").write_text("description: one")
    (folder / "etl.yaml").write_text("steps: [echo 1]")
    server = serve()
    first = server.stored("etl").current
    assert first is not None and first.base == "description: one"
    (folder / "base.yaml").write_text("description: two")
    server.settle()
    second = server.stored("etl").current
    assert second is not None and (second.version, second.base) == (2, "description: two")
    (folder / "base.yaml").unlink()
    server.settle()
    assert (third := server.stored("etl").current) is not None and third.base is None


@pytest.mark.parametrize(
    ("data", "code"), [(b"\xff\xfe", "unreadable_file"), (b"#" * (MAX_FILE_BYTES + 1), "file_too_large")]
)
def test_a_file_that_is_no_text_or_too_large_is_listed(folder: Path, serve: Serve, data: bytes, code: str) -> None:
    (folder / "my flow.yaml").write_bytes(data)
    assert serve().codes("my_flow") == [code]


def test_an_outage_of_the_database_costs_a_look_and_no_more(
    folder: Path, serve: Serve, memory: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    watch = FolderWatch([server.folder])
    (folder / "etl.yaml").write_text("steps: [echo 1]")
    watch.poll()
    with monkeypatch.context() as patch:

        def away(*args: Any, **given: Any) -> Any:
            raise StoreUnreachable("away")

        patch.setattr(memory, "put_definition", away)
        watch.poll()
    watch.poll()
    assert server.stored("etl").exists


# -- Python files ------------------------------------------------------------------------------------------------------
PYTHON = """
from turnout import task, workflow

@task
def load():
    return {number}

@workflow
def {name}():
    return load()
"""


@pytest.fixture
def modules() -> Iterator[None]:
    before, paths = set(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]
    sys.path[:] = paths


@pytest.mark.usefixtures("modules")
def test_a_python_file_is_loaded_once_and_its_tasks_can_be_named(folder: Path, serve: Serve) -> None:
    (folder / "jobs_a.py").write_text(PYTHON.format(number=1, name="nightly"))
    (folder / "helpers_a.py").write_text("ANSWER = 42")
    (folder / "use.yaml").write_text("steps: [{name: a, python: 'jobs_a:load'}]")
    server = serve()
    stored = server.stored("nightly")
    assert (stored.kind, stored.file, stored.version) == ("python", "flows/jobs_a.py", 1)
    assert server.store.workflow(stored.current.spec_version if stored.current else "") is not None
    assert server.catalog.workflow("nightly") and server.catalog.workflow("use")
    assert server.store.definition("public::embedded::helpers_a") is None
    (folder / "jobs_a.py").write_text(PYTHON.format(number=22, name="nightly"))
    server.settle()
    assert server.codes("nightly") == ["restart_needed"] and server.stored("nightly").version == 1
    (folder / "jobs_a.py").unlink()
    server.settle()
    assert server.stored("nightly").removed and "public::embedded::nightly" not in server.registry.workflows


@pytest.mark.usefixtures("modules")
def test_a_python_file_is_loaded_again_where_that_is_asked_for(folder: Path, serve: Serve) -> None:
    (folder / "jobs_b.py").write_text(PYTHON.format(number=1, name="daily"))
    server = serve(reload_python=True)
    first = server.registry.workflows["public::embedded::daily"]
    (folder / "jobs_b.py").write_text(PYTHON.format(number=2, name="daily"))
    os.utime(folder / "jobs_b.py", ns=(1, 1))
    assert server.folder.poll()
    second = server.registry.workflows["public::embedded::daily"]
    assert second is not first and second.tasks["load"].function() == 2 and server.codes("daily") == []
    (folder / "jobs_b.py").write_text("def broken(:")
    server.folder.poll()
    assert server.codes("daily") == ["import_failed"]
    assert server.registry.workflows["public::embedded::daily"] is second, "the last good one stays"
    (folder / "jobs_b.py").write_text(PYTHON.format(number=3, name="hourly"))
    server.folder.poll()
    assert server.stored("daily").removed and server.catalog.workflow("hourly")


@pytest.mark.usefixtures("modules")
def test_a_broken_python_file_is_listed_and_loads_once_it_is_mended(folder: Path, serve: Serve) -> None:
    (folder / "jobs_c.py").write_text("import nowhere_to_be_found")
    (folder / "etl.yaml").write_text("steps: [echo 1]")
    server = serve()
    assert server.codes("jobs_c") == ["import_failed"] and server.stored("etl").exists
    (folder / "jobs_c.py").write_text(PYTHON.format(number=1, name="weekly"))
    server.settle()
    assert server.catalog.workflow("weekly") and server.stored("jobs_c").removed


@pytest.mark.usefixtures("modules")
def test_a_restart_warns_only_of_what_cannot_run_when_all_files_are_loaded(
    folder: Path, memory: Store, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "jobs_d.py").write_text("from turnout import task\n@task\ndef load():\n    return 1\n")
    (folder / "mixed.yaml").write_text("steps: [{name: a, python: 'jobs_d:load'}]")
    (folder / "lost.yaml").write_text("steps: [{name: a, python: 'gone_d:load'}]")

    def start(modules: tuple[ModuleType, ...] = ()) -> Definitions:
        settings = DefinitionSettings(folders=(folder,), modules=modules)
        made = Definitions(memory, Registry(), settings, compile_file, tenant="public", workflows=(), hub=False)
        made.load()
        made.stop()
        return made

    lost = ModuleType("gone_d")
    exec("from turnout import task\n@task\ndef load():\n    return 1\n", vars(lost))
    assert start((lost,)).catalog.workflow("lost"), "a module that was named declares tasks too"
    caplog.clear()
    catalog = start().catalog
    assert catalog.workflow("mixed")
    warned = [each.getMessage() for each in caplog.records if "cannot run here" in each.getMessage()]
    assert len(warned) == 1 and "::lost cannot run here" in warned[0]


def test_a_removed_workflow_is_not_suggested(folder: Path, serve: Serve) -> None:
    (folder / "long.yaml").write_text("steps: [echo 1]")
    (folder / "longer.yaml").write_text("steps: [echo 1]")
    server = serve()
    (folder / "long.yaml").unlink()
    server.settle()
    with pytest.raises(WorkflowNotFound, match="no workflow 'long': did you mean 'longer'"):
        server.catalog.workflow("long")
