"""Several orchestrators on one database agree on the definitions that are in force, and drive one another's runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kit.waiting import until

from turnout import Runner
from turnout.errors import DefinitionInUse
from turnout.model.states import RunState
from turnout.runner import EngineSettings
from turnout.runner.definitions.service import Definitions
from turnout.runner.definitions.settings import DefinitionSettings
from turnout.store.postgres import PostgresStore

pytestmark = pytest.mark.timeout(90)

Make = Callable[..., Runner]
FREE = DefinitionSettings(allow_local_execution=True)
SWEEP = 0.4
NAME = "public::embedded::shared"


def definitions(runner: Runner) -> Definitions:
    found = runner.core.definitions
    assert found is not None
    return found


def says(text: str) -> str:
    return f"steps: [{{name: say, command: printf {text}, output: SAID}}]"


def in_force(runner: Runner) -> str | None:
    definition = runner.core.registry.workflows.get(NAME)
    return None if definition is None else definition.spec.version()


def run(runner: Runner, name: str = "shared") -> Any:
    return runner.run(definitions(runner).catalog.workflow(name))


def test_what_one_puts_is_in_force_at_the_other_by_a_notification(make_runner: Make) -> None:
    one, other = (make_runner(definitions=FREE) for _ in range(2))
    editor = definitions(one).editor
    for number, text in enumerate(("first", "second"), 1):
        editor.put("shared", says(text), number - 1, "ada")
        until(lambda: in_force(one) == in_force(other) is not None)
        assert run(other) == {"SAID": text} == run(one)
    editor.remove("shared", 2, "ada")
    until(lambda: in_force(other) is None)


def test_without_notifications_they_agree_after_a_sweep(
    make_sqlite_runner: Make, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgresStore, "listen", lambda self, on_wake: lambda: None)
    settings = EngineSettings(stop_grace=1.0, sweep=SWEEP)
    one, other = (make_sqlite_runner(postgres_url, definitions=FREE, settings=settings) for _ in range(2))
    definitions(one).editor.put("shared", says("hello"), 0, "ada")
    began = time.monotonic()
    until(lambda: in_force(other) == in_force(one))
    assert time.monotonic() - began < 2 * SWEEP + 1.0
    assert run(other) == {"SAID": "hello"}


def test_a_running_run_keeps_its_graph_and_its_definition_cannot_be_removed(make_runner: Make, tmp_path: Path) -> None:
    runner = make_runner(definitions=FREE)
    editor = definitions(runner).editor
    wait = f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"
    editor.put(
        "shared", f"steps: [{{name: a, command: '{wait}'}}, {{name: b, command: printf old, output: SAID}}]", 0, "ada"
    )
    open_ = runner.submit(definitions(runner).catalog.workflow("shared"))
    until(lambda: open_.tasks()[0].state == "running")
    editor.put("shared", says("new"), 1, "ada")
    with pytest.raises(DefinitionInUse):
        editor.remove("shared", 2, "ada")
    assert run(runner) == {"SAID": "new"}
    (tmp_path / "go").touch()
    assert open_.result(20) == {"SAID": "old"}
    editor.remove("shared", 2, "ada")


def test_runs_of_removed_files_go_on_at_an_orchestrator_that_never_had_them(make_runner: Make, tmp_path: Path) -> None:
    folder = tmp_path / "flows"
    folder.mkdir()
    wait = f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"
    (folder / "child.yaml").write_text(says("child"))
    (folder / "shared.yaml").write_text(
        f"steps: [{{name: a, command: '{wait}'}}, {{name: b, call: child}}, {{name: c, call: local}}]\n"
        "---\nname: local\nsteps: [echo local]\n"
    )
    first = make_runner(definitions=DefinitionSettings(folders=(folder,), reload=True))
    run_id = first.submit(definitions(first).catalog.workflow("shared")).id
    until(lambda: first.get(run_id).tasks()[0].state == "running")
    (folder / "shared.yaml").unlink()
    until(lambda: in_force(first) is None)
    first.close()
    (tmp_path / "go").touch()
    second = make_runner(definitions=FREE)
    assert second.get(run_id).wait(30) is RunState.COMPLETED
    called = [child.workflow for child in second.get(run_id).children()]
    assert called == ["public::embedded::child", "public::shared::local"]


def test_runs_of_an_earlier_version_find_its_sub_workflows_after_a_restart(make_runner: Make, tmp_path: Path) -> None:
    wait = f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"
    before = (
        f"steps: [{{name: a, command: '{wait}'}}, {{name: b, call: dropped, output: B}}, "
        "{name: c, call: kept, output: C}]\n"
        "---\nname: dropped\nsteps: [{name: d, call: inner, output: D}]\n"
        f"---\nname: inner\n{says('inner')}\n---\nname: kept\n{says('old')}\n"
    )
    after = f"steps: [{{name: c, call: kept, output: C}}]\n---\nname: kept\n{says('new')}\n"
    first = make_runner(definitions=FREE)
    editor = definitions(first).editor
    editor.put("shared", before, 0, "ada")
    run_id = first.submit(definitions(first).catalog.workflow("shared")).id
    until(lambda: first.get(run_id).tasks()[0].state == "running")
    editor.put("shared", after, 1, "ada")
    first.close()
    (tmp_path / "go").touch()
    second = make_runner(definitions=FREE)
    run = second.get(run_id)
    assert run.wait(30) is RunState.COMPLETED
    assert run.result()["C"] == {"outputs": {"SAID": "old"}}
    assert run.result()["B"]["outputs"]["D"] == {"outputs": {"SAID": "inner"}}
    fresh = second.run(definitions(second).catalog.workflow("shared"))
    assert fresh["C"] == {"outputs": {"SAID": "new"}}


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("retried", ["", "retry_policy: {limit: 1, interval_sec: 1}\n"])
def test_a_run_keeps_its_sub_workflows_if_only_these_have_changed(
    make_runner: Make, tmp_path: Path, restarted: bool, retried: str
) -> None:
    wait = f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"

    def text(said: str) -> str:
        outer = f"{retried}steps: [{{name: a, command: '{wait}'}}, {{name: b, call: outer, output: B}}]\n"
        return (
            f"{outer}---\nname: outer\nsteps: [{{name: c, call: inner, output: C}}]\n---\nname: inner\n{says(said)}\n"
        )

    runner = make_runner(definitions=FREE)
    editor = definitions(runner).editor
    editor.put("shared", text("old"), 0, "ada")
    run_id = runner.submit(definitions(runner).catalog.workflow("shared")).id
    until(lambda: runner.get(run_id).tasks()[0].state == "running")
    editor.put("shared", text("new"), 1, "ada")
    if restarted:
        runner.close()
        runner = make_runner(definitions=FREE)
    (tmp_path / "go").touch()
    run = runner.get(run_id)
    assert run.wait(30) is RunState.COMPLETED
    assert "old" in json.dumps(run.result()) and "new" not in json.dumps(run.result())
    assert "new" in json.dumps(runner.run(definitions(runner).catalog.workflow("shared")))


def test_a_failed_run_is_continued_once_after_a_restart(make_runner: Make, tmp_path: Path) -> None:
    text = (
        "retry_policy: {limit: 5, interval_sec: 1}\n"
        f"steps: [{{name: a, command: 'echo >> {tmp_path}/tries; test -e {tmp_path}/go && printf done', output: A}}]"
    )
    first = make_runner(definitions=FREE)
    definitions(first).editor.put("shared", text, 0, "ada")
    run_id = first.submit(definitions(first).catalog.workflow("shared")).id
    until(lambda: [each.state for each in first.get(run_id).children()] == [RunState.FAILED])
    until(lambda: first.get(run_id).tasks()[0].state == "ready")
    first.close()
    (tmp_path / "go").touch()
    second = make_runner(definitions=FREE)
    assert second.get(run_id).result(30) == {"A": "done"}
    failed, completed = sorted(second.get(run_id).children(), key=lambda each: each.created_at)
    assert (failed.state, completed.state) == (RunState.FAILED, RunState.COMPLETED)
    assert second.get(completed.id).status().rerun_of == failed.id
    assert (tmp_path / "tries").read_text() == "\n\n"


def test_an_orchestrator_without_definitions_leaves_them_alone(make_runner: Make) -> None:
    plain, follower = make_runner(), make_runner(definitions=FREE)
    definitions(follower).editor.put("shared", says("hello"), 0, "ada")
    until(lambda: in_force(follower) is not None)
    assert in_force(plain) is None
