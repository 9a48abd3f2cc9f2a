"""Wrong input of each kind: one clear message with a code, the right exit code, and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.command import Done, Project

pytestmark = pytest.mark.timeout(900)

USAGE, STORE = 2, 5


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("wrong"))
    (made.folder / "broken.py").write_text("1 / 0\n")
    (made.folder / "syntax.py").write_text("def (\n")
    (made.folder / "cycle.py").write_text(
        "from turnout import Workflow, task\n"
        "@task(depends_on=['b'])\ndef a(): ...\n@task(depends_on=['a'])\ndef b(): ...\n"
        "flow = Workflow('c', tasks=[a, b])\n"
    )
    (made.folder / "list.json").write_text("[1]")
    (made.folder / "noise.db").write_bytes(b"this is no database, but long enough to be taken for one" * 40)
    return made


CASES = [
    ("run nowhere:x", USAGE, "no_such_module", "there is no module 'nowhere'"),
    ("run nowhere.py", USAGE, "no_such_file", "there is no file 'nowhere.py'"),
    ("run broken.py", USAGE, "import_failed", "ZeroDivisionError: division by zero"),
    ("run syntax.py", USAGE, "import_failed", "syntax.py is not Python"),
    ("run cycle.py", USAGE, "cycle", "cycle"),
    ("run flows.py", USAGE, "several_workflows", "name one, as in flows.py:doubling"),
    ("run flows.py:dubling", USAGE, "no_such_workflow", "did you mean 'doubling'?"),
    ("run deaf.py", USAGE, "no_workflow", "deaf.py defines no workflow"),
    ("run flows.py:doubling -p number", USAGE, "bad_parameter", "number"),
    ("run flows.py:doubling -p nummer=1", USAGE, "unknown_parameter", "did you mean 'number'?"),
    ("run flows.py:waiting", USAGE, "missing_parameter", "needs the parameter 'file'"),
    ("run flows.py:doubling --input list.json", USAGE, "bad_input_file", "holds no object"),
    ("run flows.py:doubling --input no.json", USAGE, "bad_input_file", "no.json cannot be read"),
    ("run flows.py:doubling --timeout soon", USAGE, "bad_duration", "--timeout is 'soon'"),
    ("run flows.py:doubling --priority high", USAGE, "usage", "--priority"),
    ("run flows.py:doubling -d mysql://x/y", USAGE, "bad_database_url", "not a database that Turnout knows"),
    ("run flows.py:doubling -d sqlite:///noise.db", STORE, "store", "noise.db"),
    ("run flows.py:doubling -d sqlite:///shpo/runs.db", STORE, "database_not_found", "there is no folder "),
    ("orchestrate flows.py -d sqlite:///shpo/runs.db", STORE, "database_not_found", "for the database runs.db"),
    ("run", USAGE, "usage", "TARGET"),
    ("rum", USAGE, "usage", "rum"),
    ("runs show 0199", USAGE, "run_not_found", "there is no run 0199"),
    ("runs show nonsense", USAGE, "run_not_found", "'nonsense' is no run"),
    ("runs ls --state gone", USAGE, "usage", "gone"),
    ("runs rerun last --from nowhere", USAGE, "unknown_task", "has no task 'nowhere'"),
    ("runs rerun last", USAGE, "nothing_to_rerun", "name the task to start from"),
    ("runs cancel last", USAGE, "run_ended", "completed already"),
    ("runs resume last --here", USAGE, "run_ended", "completed already"),
    ("logs last --attempt 99", USAGE, "no_such_attempt", "has no attempt 99: there are 1"),
    ("logs last check --attempt 99", USAGE, "no_such_attempt", "task 'check' of run "),
    ("runs pause 0199", USAGE, "run_not_found", "there is no run 0199"),
    ("graph flows.py:doubling --format png", USAGE, "usage", "png"),
    ("worker --import flows.py", USAGE, "invalid_setting", "connect is empty"),
    ("worker -c tcp://localhost -i flows.py", USAGE, "invalid_setting", "connect has 'tcp://localhost'"),
    ("worker -c tcp://localhost:99999 -i flows.py", USAGE, "invalid_setting", "write tcp://host:port"),
    ("worker -c tcp://h:1 -i nowhere", USAGE, "no_such_module", "there is no module 'nowhere'"),
    ("worker -c tcp://h:1 -i broken.py", USAGE, "import_failed", "ZeroDivisionError: division by zero"),
    ("worker -c tcp://h:1 -i flows.py -l gpu", USAGE, "invalid_setting", "--label has 'gpu': write NAME=VALUE"),
    ("worker -c tcp://h:1 -i flows.py --concurrency 0", USAGE, "invalid_setting", "concurrency is 0"),
    ("worker -c tcp://h:1 -i flows.py --grace soon", USAGE, "bad_duration", "--grace is 'soon'"),
    ("worker -c tcp://h:1 -i flows.py --health-port 65536", USAGE, "bad_health_port", "from 0 to 65535"),
    ("worker -c tcp://h:1 -i flows.py --log-level loud", USAGE, "invalid_setting", "--log-level is 'loud'"),
    ("worker -c tcp://h:1 -i flows.py --key-file no.key", USAGE, "bad_key_file", "'no.key' cannot be read"),
    ("worker -c tcp://h:1 -i flows.py --server-key abc", USAGE, "bad_key", "a key has 40 of Z85"),
    ("workers show nobody", USAGE, "worker_not_found", "no worker 'nobody' is alive"),
    ("explain flows.py:doubling nowhere", USAGE, "no_such_task", "has no task 'nowhere'"),
    ("runs ls -d postgresql://ada:s3cret@127.0.0.1:1/x", STORE, "store_unreachable", "cannot be reached"),
    ("runs ls -d postgresql://ada:s3cret@[bad/x", USAGE, "bad_database_url", "cannot be read"),
]  # fmt: skip


@pytest.fixture(scope="module")
def answers(project: Project) -> dict[str, Done]:
    """Each wrong command's end; before them, a run that went well."""
    assert project.run("run", "flows.py:doubling").code == 0
    commands = [arguments for arguments, *_ in CASES]
    return dict(zip(commands, project.run_all([each.split() for each in commands]), strict=True))


@pytest.mark.parametrize(("arguments", "exit_code", "code", "said"), CASES)
def test_it_is_explained(answers: dict[str, Done], arguments: str, exit_code: int, code: str, said: str) -> None:
    done = answers[arguments]
    assert done.code == exit_code, done
    first, *rest = done.err.strip().splitlines()
    assert first.startswith(f"error[{code}") and said in first, done
    assert "from_task" not in done.err, "options are named as on the command line"
    assert len(rest) <= 1 and all(line.startswith("hint: ") for line in rest), done
    assert "s3" not in done.err and done.out == ""


def test_with_json_the_error_is_json(project: Project) -> None:
    done = project.run("runs", "show", "0199", "--json")
    assert done.code == USAGE and done.out == ""
    assert done.error["code"] in ("run_not_found",) and set(done.error) == {"code", "message", "hint"}


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("database = ", "malformed_toml", "is not TOML"),
        ("databse = 'x'", "unknown_setting", "did you mean 'database' or 'direct_database'?"),
        ("[executors.a]\nuse = 'thred'", "bad_executor", "did you mean 'thread'?"),
        (
            "[[routing.rules]]\npattern = '**'\nexecutor = 'nowhere'",
            "unknown_executor",
            'turnout.toml: routing.rules, rule 1 "**" names executor "nowhere"',
        ),
    ],
)
def test_a_wrong_configuration_is_explained(tmp_path: Path, text: str, code: str, said: str) -> None:
    project = Project(tmp_path)
    (tmp_path / "turnout.toml").write_text(text)
    done = project.run("run", "flows.py:doubling")
    assert done.code == USAGE and not (tmp_path / ".turnout").exists()
    assert done.err.startswith(f"error[{code}]") and said in done.err.splitlines()[0], done


CLAIMER = "orchestration.executor_pools.task_claimer"
WRONG_YAML = [
    ("tenant: a\ntenant: b\n", "duplicate_key", "turnout.yaml: line 2, column 1: the key 'tenant' is here again"),
    ("orchestration: {executor_pools: {task_claimer: {min_executors: 9, max_executors: 4}}}", "bad_setting",
     f"turnout.yaml: {CLAIMER}.min_executors is 9, more than max_executors, 4"),
    ("orchestration: {coordinator: {target_utilization: 1}}", "bad_setting",
     "turnout.yaml: orchestration.coordinator.target_utilization is 1; it must be a number above 0 and below 1"),
    ("orchestration: {executor_pools: {task_clamer: {}}}", "unknown_setting", "did you mean 'task_claimer'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "said"), WRONG_YAML)
def test_a_wrong_configuration_in_yaml_is_explained(tmp_path: Path, text: str, code: str, said: str) -> None:
    project = Project(tmp_path)
    (tmp_path / "turnout.toml").unlink()
    (tmp_path / "turnout.yaml").write_text(text)
    checked, ran = project.run_all([["config", "check"], ["run", "flows.py:doubling"]])
    for done in (checked, ran):
        assert done.code == USAGE and done.out == "" and not (tmp_path / ".turnout").exists()
        assert done.err.startswith(f"error[{code}]") and said in done.err.splitlines()[0], done


def test_two_configurations_in_one_folder_are_refused(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (tmp_path / "turnout.yaml").write_text("tenant: acme\n")
    done = project.run("config", "check")
    assert done.code == USAGE and done.err.startswith("error[several_config_files]")
    assert "holds both turnout.toml and turnout.yaml" in done.err
