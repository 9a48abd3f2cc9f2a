"""``turnout run``: results, exit codes, the live tree, Ctrl-C."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from kit.waiting import until

from tests.acceptance.command import Project
from tests.acceptance.terminal import CTRL_C, Terminal

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals and signals"),
]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_in_a_pipe_it_prints_a_line_for_each_task_and_the_result(project: Project) -> None:
    done = project.run("run", "flows.py:doubling", "-p", "number=4")
    assert done.code == 0, done
    said = [line for line in done.out.splitlines() if " │ " in line]
    assert said == ["double │ doubling 4"]
    lines = [line for line in done.out.splitlines() if line not in said]
    assert lines[0].startswith("run ") and lines[0].endswith(" of doubling")
    assert [line.split()[:3] for line in lines[1:4]] == [
        ["✓", "double", "default"],
        ["✓", "check", "small"],
        ["✓", "tell", "default"],
    ]
    assert lines[4].startswith("✓ doubling completed in ")
    assert lines[5:] == ["it is 8"]
    assert "\x1b" not in done.out


def test_with_json_there_is_one_document(project: Project) -> None:
    (project.folder / "input.json").write_text('{"number": 1}')
    good, bad, late = project.run_all(
        [
            [
                "run",
                "flows:doubling",
                "--input",
                "input.json",
                "-p",
                "number=3",
                "--json",
                "--key",
                "k",
                "--priority",
                "2",
            ],
            ["run", "flows:doubling", "-p", "limit=1", "--json"],
            ["run", "flows:waiting", "-p", "file=never", "--timeout", "100ms", "--json"],
        ]
    )
    assert good.code == 0 and good.err == "", good
    document = good.json
    assert document == {
        "run_id": document["run_id"],
        "workflow": "public::embedded::doubling",
        "state": "completed",
        "reason": None,
        "result": "it is 6",
        "failures": [],
        "warnings": [],
        "error": None,
    }
    assert bad.code == 1 and bad.json["state"] == "failed" and bad.json["result"] is None
    assert bad.error["code"] == bad.json["error"]["code"] == "run_failed"
    (failure,) = bad.json["failures"]
    assert set(failure) == {"task", "type", "message", "traceback", "attempts", "code"}
    assert (failure["task"], failure["type"], failure["attempts"]) == ("check", "ValueError", 2)
    assert late.code == 4 and late.json["error"]["code"] == "run_timed_out"


def test_a_failure_shows_the_exception_and_hints_that_work(project: Project) -> None:
    done = project.run("run", "flows.py:doubling", "-p", "limit=1")
    assert done.code == 1, done
    assert "✗ check after 2 attempts: ValueError: 42 is more than 1" in done.err
    assert 'raise ValueError(f"{number} is more than {limit}")' in done.err
    assert "error[run_failed]: run " in done.err
    hints = [line.removeprefix("hint: turnout ").split() for line in done.err.splitlines() if line.startswith("hint: ")]
    assert [hint[0] for hint in hints] == ["logs", "runs"]
    again = project.run(*hints[1], "-p", "limit=100")
    assert again.code == 0 and "it is 42" in again.out, again
    assert "reused:" in again.out, "what was finished is not done again"


def test_a_mapped_task_is_one_line_however_many_items_fail(project: Project) -> None:
    ran, shown, text, drawn = project.run_all(
        [
            ["run", "flows.py:halving", "-p", "count=60"],
            ["runs", "show", "last"],
            ["graph", "last"],
            ["graph", "last", "--format", "svg"],
        ]
    )
    assert ran.code == 1 and (shown.code, text.code, drawn.code) == (0, 0, 0)
    for out in (ran.out, shown.out):
        assert "60/60 · 30 failed" in out
        assert sum("halve" in line.partition("✗")[2][:8] for line in out.splitlines() if line[:1] == "✗") <= 12
    assert (
        ran.err.count("Traceback") <= 10
        and "more tasks that failed" in ran.err
        and "more tasks that failed" in shown.out
    )
    assert [line.split()[:2] for line in text.out.splitlines()] == [["✓", "numbers"], ["✗", "halve[…]"]]
    assert "halve: failed" in drawn.out


def test_standard_input_is_an_input_file(project: Project) -> None:
    done = project.run("run", "flows.py:doubling", "--input", "-", "--json", stdin='{"number": 5}')
    assert done.code == 0 and done.json["result"] == "it is 10", done


def test_the_same_key_gives_the_same_run(project: Project) -> None:
    once, twice = project.run_all([["run", "flows.py:doubling", "--key", "k", "--json"]] * 2)
    assert once.code == twice.code == 0
    assert once.json["run_id"] == twice.json["run_id"]


def test_a_key_that_is_used_again_names_the_run_and_its_state(project: Project) -> None:
    command = ["run", "flows.py:doubling", "--key", "again"]
    once, twice, stored, as_json = project.run_all(
        [command, command, [*command, "--no-wait"], [*command, "--no-wait", "--json"]]
    )
    assert {once.code, twice.code, stored.code, as_json.code} == {0} and "exists already" not in once.err
    run_id = stored.out.strip()
    for done in (twice, stored):
        assert f"run {run_id} exists already with key 'again': ✓ completed" in done.err, done
    assert "stored; it starts" not in stored.err
    assert as_json.json == {"run_id": run_id, "state": "completed", "warnings": []}


def test_a_run_that_is_not_waited_for_is_driven_by_another(project: Project) -> None:
    stored = project.run("run", "flows.py:waiting", "-p", "file=go", "--no-wait")
    assert stored.code == 0 and "a Runner with this workflow" in stored.err
    run_id = stored.out.strip()
    (seen, other, still) = project.run_all(
        [["runs", "show", run_id, "--json"], ["run", "flows.py:doubling", "--json"], ["runs", "show", run_id, "--json"]]
    )
    assert seen.json["state"] == still.json["state"] == "pending" and not seen.json["driven"]
    assert other.code == 0, "a command drives its own run only"
    (project.folder / "go").touch()
    resumed = project.run("runs", "resume", run_id, "--here", "--json")
    assert resumed.code == 0 and resumed.json["result"] == "came", resumed


@pytest.mark.parametrize("colours", [True, False])
def test_at_a_terminal_the_tree_is_live(project: Project, colours: bool) -> None:
    environment = project.environment() | ({} if colours else {"NO_COLOR": "1"})
    terminal = Terminal(["run", "flows.py:waiting", "-p", "file=go"], project.folder, environment)
    terminal.until("▶ wait_for")
    terminal.until("waits for wait_for")
    (project.folder / "go").touch()
    assert terminal.end() == 0
    assert "after │ came" in terminal.text
    assert "✓ wait_for" in terminal.text and "✓ after" in terminal.text
    assert "✓ waiting completed in " in terminal.text
    assert terminal.text.rstrip().endswith("came")
    assert ("\x1b[32m" in terminal.raw) is colours


def test_ctrl_c_cancels_and_waits(project: Project) -> None:
    terminal = Terminal(["run", "flows.py:waiting", "-p", "file=go"], project.folder, project.environment())
    terminal.until("▶ wait_for")
    until((project.folder / "go.waiting").exists, "the body did not start")
    terminal.press(CTRL_C)
    assert terminal.end() == 3
    assert "cancelling; press Ctrl-C once more" in terminal.text
    assert "error[run_cancelled]" in terminal.text
    shown = project.run("runs", "show", "last", "--json")
    assert shown.json["state"] == "cancelled" and shown.json["reason"] == "interrupted at the terminal"


def test_ctrl_c_twice_does_not_wait(project: Project) -> None:
    terminal = Terminal(["run", "flows.py:stubborn"], project.folder, project.environment())
    terminal.until("▶ endless")
    terminal.press(CTRL_C)
    terminal.until("cancelling; press Ctrl-C once more")
    terminal.press(CTRL_C)
    assert terminal.end() == 130
    # The executor never answers, so the run may be open still: its process is gone, and others may end it.
    assert project.run("runs", "show", "last", "--json").json["state"] in ("running", "cancelling", "cancelled")
    ended = project.run("runs", "cancel", "last", "--json")
    assert ended.code == 0 or ended.error["code"] == "run_ended", ended
    assert project.run("runs", "show", "last", "--json").json["state"] == "cancelled"


def test_an_interrupt_signal_without_a_terminal_cancels_too(project: Project) -> None:
    process = project.start("run", "flows.py:waiting", "-p", "file=go", "--json")
    until((project.folder / "go.waiting").exists, "the body did not start")
    process.send_signal(2)
    done = project.finish(process)
    assert done.code == 3 and done.json["state"] == "cancelled", done
    assert json.loads(done.err.splitlines()[-1])["error"]["code"] == "run_cancelled"


def test_an_enqueued_run_waits_for_an_orchestrator_and_prints_its_id_alone_if_quiet(project: Project) -> None:
    stored, quiet, as_json = project.run_all(
        [["enqueue", "doubling", "-p", "number=4"], ["enqueue", "doubling", "-q"], ["enqueue", "doubling", "--json"]]
    )
    assert stored.code == quiet.code == 0 and "stored; it starts when a Runner" in stored.err and quiet.err == ""
    assert as_json.json["state"] == "pending" and as_json.json["warnings"] == []
    shown = project.run("runs", "show", stored.out.strip(), "--json").json
    assert shown["state"] == "pending" and shown["input"] == {"number": 4, "limit": 100}


def test_every_command_takes_a_configuration_file(project: Project, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "main.toml").write_text(f'database = "sqlite:///{other}/runs.db"\nworkflows = ["{tmp_path}/flows.py"]\n')
    config = ["--config", "other/main.toml"]
    ran, listed, explained = project.run_all(
        [["run", "doubling", *config, "--json"], ["runs", *config, "--json"], ["explain", "doubling", *config]]
    )
    assert (ran.code, ran.json["result"]) == (0, "it is 42") and explained.code == 0
    assert [run["id"] for run in listed.json] == [ran.json["run_id"]] and (other / "runs.db").exists()
    missing = project.run("runs", "ls", "--config", "nope.toml", "--json")
    assert (missing.code, missing.error["code"]) == (2, "no_config_file") and "--config names" in missing.error[
        "message"
    ]
