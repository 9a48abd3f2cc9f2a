"""``turnout runs``: looking, controlling beside the process that drives, running again."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.waiting import until

from tests.acceptance.command import Done, Project

pytestmark = pytest.mark.timeout(900)

RUN_FIELDS = {
    "id",
    "workflow",
    "state",
    "reason",
    "error",
    "key",
    "priority",
    "rerun_of",
    "owner",
    "created_at",
    "started_at",
    "finished_at",
}


class Prepared:
    """A project in which one run went well and one failed."""

    def __init__(self, folder: Path) -> None:
        self.project = Project(folder)
        good, bad = self.project.run_all(
            [["run", "flows.py:doubling", "--json"], ["run", "flows.py:doubling", "-p", "limit=1", "--json"]]
        )
        self.good, self.bad = good.json["run_id"], bad.json["run_id"]

    def all(self, *commands: str) -> list[Done]:
        return self.project.run_all(
            [command.replace("GOOD", self.good).replace("BAD", self.bad).split() for command in commands]
        )


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return Prepared(tmp_path_factory.mktemp("prepared"))


def test_runs_are_listed_newest_first(prepared: Prepared) -> None:
    every, failed, none, one, table = prepared.all(
        "runs ls --json",
        "runs ls --workflow doubling --state failed --json",
        "runs ls --workflow other --json",
        "runs ls --limit 1 --json",
        "runs ls --state completed --state failed",
    )
    assert {done.code for done in (every, failed, none, one, table)} == {0}
    listed = [run["id"] for run in every.json]
    assert listed.index(prepared.bad) < listed.index(prepared.good)
    assert all(set(run) >= RUN_FIELDS for run in every.json)
    assert prepared.bad in [run["id"] for run in failed.json] and {run["state"] for run in failed.json} == {"failed"}
    assert none.json == [] and len(one.json) == 1
    assert prepared.good[:18] in table.out and "✗ failed" in table.out and "✓ completed" in table.out


def test_a_run_is_shown_task_by_task(prepared: Prepared) -> None:
    shown, text, short = prepared.all("runs show BAD --json", "runs show BAD", f"runs show {prepared.bad[:23]} --json")
    document = shown.json
    assert set(document) >= RUN_FIELDS | {"input", "tasks", "driven"}
    assert document["input"] == {"number": 21, "limit": 1}
    states = {task["name"]: task["state"] for task in document["tasks"]}
    assert states == {"double": "completed", "check": "failed", "tell": "skipped"}
    check = next(task for task in document["tasks"] if task["name"] == "check")
    assert (check["attempt"], check["executor"]) == (2, "small") and "rule 1" in check["decision"]
    assert "✗ check" in text.out and "ValueError: 42 is more than 1" in text.out and "Traceback" in text.out
    assert short.json["id"] == prepared.bad, "the beginning of an id is enough"


def test_a_run_is_shown_with_its_result(prepared: Prepared) -> None:
    text, document, failed = prepared.all("runs show GOOD", "runs show GOOD --json", "runs show BAD --json")
    assert '"it is 42"' in text.out
    assert (document.json["result"], document.json["input"]) == ("it is 42", {"number": 21, "limit": 100})
    assert failed.json["result"] is None


def test_what_a_run_and_its_tasks_returned_is_printed(prepared: Prepared) -> None:
    result, task, document, failed, none, unknown, twice = prepared.all(
        "runs output GOOD",
        "runs output GOOD double",
        "runs output GOOD check --json",
        "runs output BAD",
        "runs output BAD check",
        "runs output GOOD duble",
        "runs output BAD double",
    )
    assert (result.out, task.out, twice.out) == ("it is 42\n", "42\n", "42\n")
    assert document.json == {"run_id": prepared.good, "task": "check", "output": 42}
    assert failed.code == 1 and "error[run_failed]" in failed.err and "42 is more than 1" in failed.err
    assert none.code == 2 and "error[no_output]" in none.err
    assert unknown.code == 2 and "did you mean 'double'" in unknown.err


def test_the_errors_of_all_attempts_are_shown_when_asked_for(prepared: Prepared) -> None:
    text, document, short, moves = prepared.all(
        "runs show BAD --attempts", "runs show BAD --attempts --json", "runs show BAD --json", "runs history BAD"
    )
    for number in (1, 2):
        assert f"✗ check attempt {number}: ValueError: 42 is more than 1" in text.out
    assert text.out.count("Traceback (most recent call last)") == 2
    for shown in (document.json, short.json):
        check = next(task for task in shown["tasks"] if task["name"] == "check")
        assert [attempt["attempt"] for attempt in check["attempts"]] == [1, 2]
        assert all("raise ValueError" in attempt["traceback"] for attempt in check["attempts"])
        assert all(attempt["error_type"] == "ValueError" for attempt in check["attempts"])
    check = next(task for task in document.json["tasks"] if task["name"] == "check")
    assert [[line["text"] for line in attempt["lines"]] for attempt in check["attempts"]] == [["checking 42"]] * 2
    assert "check │ checking 42" in text.out and "check#2 │ checking 42" in text.out
    assert "Traceback" not in moves.out


def test_the_history_has_every_move_in_order(prepared: Prepared) -> None:
    found, text = prepared.all("runs history GOOD --json", "runs history GOOD")
    moves = found.json["moves"]
    assert found.json["run_id"] == prepared.good
    assert all(set(move) == {"at", "task", "old", "new", "attempt", "detail"} for move in moves)
    assert [move["new"] for move in moves if move["task"] == "tell"] == ["running", "completed"]
    assert (moves[-1]["task"], moves[-1]["new"]) == (None, "completed")
    assert [at["at"] for at in moves] == sorted(at["at"] for at in moves)
    assert "✓ completed" in text.out


def test_a_run_is_run_again_from_its_failures_or_from_a_task(prepared: Prepared) -> None:
    again, still, stored, unknown = prepared.all(
        "runs rerun BAD -p limit=100 --json",
        "runs rerun GOOD --from check -p limit=2 --json",
        "runs rerun BAD --no-wait --json",
        "runs rerun BAD --target deaf.py",
    )
    assert again.code == 0 and again.json["result"] == "it is 42", again
    assert still.code == 1 and still.json["failures"][0]["task"] == "check"
    assert stored.code == 0 and stored.json["state"] == "pending"
    assert unknown.code == 2 and "error[no_workflow]" in unknown.err
    (shown,) = prepared.all(f"runs show {again.json['run_id']} --json")
    assert shown.json["rerun_of"] == prepared.bad
    reused = {task["name"] for task in shown.json["tasks"] if (task["reason"] or "").startswith("reused")}
    assert reused == {"double"}


def test_a_graph_of_a_run_shows_its_states(prepared: Prepared) -> None:
    text, mermaid, document = prepared.all("graph BAD", "graph BAD --format mermaid", "graph BAD --json")
    assert [line.split()[:2] for line in text.out.splitlines()] == [["✓", "double"], ["✗", "check"], ["∅", "tell"]]
    assert '["check"]:::failed' in mermaid.out
    assert document.json["tasks"][1] == {"name": "check", "state": "failed"}


def test_what_tasks_printed_is_read_back(prepared: Prepared) -> None:
    text, one, document, none, unknown = prepared.all(
        "logs GOOD", "logs GOOD double --attempt 1", "logs GOOD --json", "logs GOOD tell", "logs GOOD nowhere"
    )
    assert text.out == one.out == "double │ doubling 21\n"
    line = document.json
    assert set(line) == {"id", "task", "attempt", "stream", "at", "text"}
    assert (line["task"], line["stream"], line["text"]) == ("double", "stdout", "doubling 21")
    assert none.code == 0 and none.out == ""
    assert unknown.code == 2 and "error[unknown_task]" in unknown.err


def test_logs_are_followed_to_the_end_of_the_run(tmp_path: Path) -> None:
    project = Project(tmp_path)
    driving = project.start("run", "flows.py:waiting", "-p", "file=go", "--json")
    until((tmp_path / "go.waiting").exists, "the body did not start")
    following = project.start("logs", "last", "--follow")
    (tmp_path / "go").touch()
    assert project.finish(driving).code == 0
    assert "after │ came" in project.finish(following).out


def test_runs_are_deleted_by_name_and_by_age(tmp_path: Path) -> None:
    project = Project(tmp_path)
    ran = [["run", "flows.py:doubling", "--json"]] * 2
    stored = ["run", "flows.py:doubling", "--no-wait"]
    refused, forced, dry, pruned, left = project.run_all(
        [
            *ran,
            stored,
            ["runs", "delete", "last"],
            ["runs", "delete", "last", "--force", "--json"],
            ["prune", "--older-than", "0s", "--dry-run", "--json"],
            ["prune", "--older-than", "0s", "--json"],
            ["runs", "ls", "--json"],
        ]
    )[3:]
    assert refused.code == 2 and refused.err.startswith("error[run_not_finished]"), refused
    assert forced.code == 0 and forced.json["runs"] == 1, forced
    assert dry.json == {"runs": 2, "deleted": False}
    assert pruned.json["runs"] == 2 and pruned.json["deleted"]
    assert left.json == []


def test_commands_reach_the_process_that_drives_the_run(tmp_path: Path) -> None:
    project = Project(tmp_path)
    driving = project.start("run", "flows.py:waiting", "-p", "file=go", "--json")
    until((tmp_path / "go.waiting").exists, "the body did not start")
    paused = project.run("runs", "pause", "last", "--json")
    assert paused.code == 0 and paused.json["state"] == "paused", paused
    (tmp_path / "go").touch()
    resumed, cancelled = project.run_all([["runs", "resume", "last", "--json"], ["runs", "show", "last", "--json"]])
    assert resumed.code == 0 and resumed.json["state"] in ("running", "completed"), resumed
    assert cancelled.code == 0
    done = project.finish(driving)
    assert done.code == 0 and done.json["result"] == "came", done


def test_a_run_is_cancelled_from_outside(tmp_path: Path) -> None:
    project = Project(tmp_path)
    driving = project.start("run", "flows.py:waiting", "-p", "file=go")
    until((tmp_path / "go.waiting").exists, "the body did not start")
    cancelled = project.run("runs", "cancel", "last", "--reason", "not needed")
    assert cancelled.code == 0 and "run " in cancelled.out
    done = project.finish(driving)
    assert done.code == 3 and "was cancelled: not needed" in done.err, done


def test_a_run_whose_process_was_killed_is_taken_up_or_cancelled(tmp_path: Path) -> None:
    project = Project(tmp_path)
    runs: list[str] = []
    for name in ("one", "two"):
        driving = project.start("run", "flows.py:waiting", "-p", f"file={name}")
        until((tmp_path / f"{name}.waiting").exists, "the body did not start")
        driving.kill()
        project.finish(driving)
        runs.append(project.run("runs", "ls", "--limit", "1", "--json").json[0]["id"])
    (tmp_path / "one").touch()
    taken, cancelled = project.run_all(
        [["runs", "resume", runs[0], "--here", "--json"], ["runs", "cancel", runs[1], "--json"]]
    )
    assert taken.code == 0 and taken.json["result"] == "came", taken
    assert cancelled.code == 0 and cancelled.json["state"] == "cancelled", cancelled


def test_runs_paused_and_resumed_without_a_process_stay_so(tmp_path: Path) -> None:
    project = Project(tmp_path)
    stored, paused, resumed, shown = project.run_all(
        [
            ["run", "flows.py:doubling", "--no-wait"],
            ["runs", "pause", "last", "--json"],
            ["runs", "resume", "last", "--json"],
            ["runs", "show", "last", "--json"],
        ]
    )
    assert {done.code for done in (stored, paused, resumed, shown)} == {0}
    assert (paused.json["state"], resumed.json["state"]) == ("paused", "running")
    assert {task["attempt"] for task in shown.json["tasks"]} == {0}, "whoever only gives commands starts nothing"


def test_on_postgresql_it_is_the_same(tmp_path: Path, postgres_url: str) -> None:
    project = Project(tmp_path)
    there = ["--database", postgres_url]
    ran, listed, stored, cancelled, checked = project.run_all(
        [
            ["run", "flows.py:doubling", "--json", *there],
            ["runs", "show", "last", "--json", *there],
            ["run", "flows.py:doubling", "--no-wait", *there],
            ["runs", "cancel", "last", "--json", *there],
            ["doctor", "--json", *there],
        ]
    )
    assert ran.code == 0 and listed.json["id"] == ran.json["run_id"]
    assert stored.code == 0 and cancelled.json["state"] == "cancelled"
    assert checked.code == 0 and checked.json["ok"]
    assert not (tmp_path / ".turnout").exists()
