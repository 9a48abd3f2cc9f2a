"""The commands that look and explain: graph, explain, validate, doctor, config, init, demo, help."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import uuid
import xml.etree.ElementTree as ElementTree
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.command import CONFIG, PATIENCE, ROOT, Done, Project
from turnout.runner import PoolSettings, PoolsSettings
from turnout.store import connect

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("looking"))


def all_of(project: Project, *commands: str) -> list[Done]:
    found = project.run_all([command.split() for command in commands])
    assert not any("Traceback" in done.err for done in found)
    return found


def test_help_teaches_with_examples_and_loads_nothing_heavy(project: Project) -> None:
    program = (
        "import sys\nfrom turnout.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit as end: code = end.code\n"
        "heavy = {'psycopg', 'sqlite3', 'rich', 'turnout.runner', 'turnout.orchestration', 'turnout.dispatcher'}\n"
        "print(code, sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=project.folder,
        # A measurement of coverage would load things of its own.
        env={name: value for name, value in project.environment().items() if not name.startswith("COVERAGE")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert done.stderr == "0 []\n"
    assert "turnout run flows.py -p name=Ada" in done.stdout
    for verb in ("run", "runs", "logs", "prune", "graph", "explain", "validate", "doctor", "config", "init", "demo"):
        assert f"\n  {verb} " in done.stdout


def test_every_command_has_help(project: Project) -> None:
    verbs = ["", "run", "runs", "logs", "prune", "graph", "explain", "validate", "doctor", "config", "init", "demo"]
    verbs += ["health", "top", "metrics"]
    inner = [f"runs {verb}" for verb in ("ls", "show", "history", "cancel", "pause", "resume", "rerun", "delete")]
    for done in all_of(project, *(f"{verb} --help" for verb in [*verbs, *inner])):
        assert done.code == 0 and "Usage: turnout" in done.out and done.err == "", done


def test_the_version_and_the_completion_are_printed(project: Project) -> None:
    version, nothing = all_of(project, "--version", "")
    assert version.code == nothing.code == 0
    assert version.out.startswith("turnout ") and "Usage: turnout" in nothing.out
    # Whichever shell the tests were started from, or none.
    completion = project.run("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert completion.code == 0 and "_TURNOUT_COMPLETE" in completion.out


def test_a_workflow_is_drawn_in_every_format(project: Project) -> None:
    text, mermaid, dot, svg, file, document = all_of(
        project,
        "graph flows.py:doubling",
        "graph flows.py:doubling --format mermaid",
        "graph flows.py:doubling --format dot",
        "graph flows.py:doubling --format svg",
        "graph flows.py:doubling --format svg --output drawn.svg",
        "graph flows.py:doubling --json",
    )
    assert [line.split()[0] for line in text.out.splitlines()] == ["double", "check", "tell"]
    assert mermaid.out.startswith("flowchart LR\n") and dot.out.startswith('digraph "doubling" {')
    assert ElementTree.fromstring(svg.out).tag.endswith("svg")
    assert file.out == "wrote drawn.svg\n" and (project.folder / "drawn.svg").read_text() == svg.out
    assert document.json == {
        "workflow": "public::embedded::doubling",
        "tasks": [{"name": name, "state": None} for name in ("double", "check", "tell")],
        "edges": [["double", "check"], ["check", "tell"]],
    }


def test_each_task_s_route_is_explained(project: Project) -> None:
    table, one, trace, document = all_of(
        project,
        "explain flows.py:doubling",
        "explain flows.py:doubling check",
        "explain flows.py:doubling --trace",
        "explain flows.py:doubling --json",
    )
    rows = {line.split()[0]: line for line in table.out.splitlines()[1:]}
    assert "small" in rows["check"] and 'rule 1 "**::doubling::check" → small' in rows["check"]
    assert "default executor" in rows["double"]
    assert one.out.startswith("public::embedded::doubling::check → small") and "routing rules" in one.out
    assert trace.out.count("routing rules") == 3
    known = {"task", "full_name", "executor", "labels", "resources", "reason", "trace", "workers", "warning"}
    known |= {"runs_not_driven"}
    assert [set(each) for each in document.json] == [known for _ in range(3)]
    assert [each["executor"] for each in document.json] == ["default", "small", "default"]


def test_a_route_is_explained_by_the_rules_that_the_orchestrators_of_the_database_share(tmp_path: Path) -> None:
    project = Project(tmp_path)
    ran = project.run("run", "flows.py:doubling", "--json")
    assert ran.code == 0, ran.err

    def share(rules: list[dict[str, str]] | None) -> None:
        text = None if rules is None else json.dumps({"rules": rules})
        with closing(connect(project.database)) as store:
            store.put_shared_routing(text, None, actor="ada", session_id=str(uuid.uuid4()))

    def executors() -> list[str]:
        return [each["executor"] for each in project.run("explain", "flows.py:doubling", "--json").json]

    assert executors() == ["default", "small", "default"]
    share([{"pattern": "**::doubling::double", "executor": "small"}])
    assert executors() == ["small", "default", "default"]
    assert "by version 1 of the shared routing rules" in project.run("explain", "flows.py:doubling").out
    share([{"pattern": "**", "executor": "gpu"}])
    assert executors() == ["default", "small", "default"], (
        "rules that cannot work here leave those of the configuration"
    )
    told = project.run("explain", "flows.py:doubling")
    assert "version 2 of the shared routing rules cannot work here" in told.out and "gpu" in told.out
    share(None)
    assert executors() == ["default", "small", "default"]
    assert "shared" not in project.run("explain", "flows.py:doubling").out


def test_workflows_are_validated(project: Project) -> None:
    (project.folder / "bad_flow.py").write_text("from turnout import workflow\n@workflow\ndef empty(): ...\n")
    (project.folder / "misfit.py").write_text(
        "from turnout import Schedule, task, workflow\n@task\ndef do() -> None: ...\n"
        "@workflow(schedule=Schedule(every=5, params={'nope': 1}))\ndef flow() -> None: do()\n"
    )
    good, bad, misfit, configured = all_of(
        project,
        "validate flows.py",
        "validate flows.py:doubling bad_flow.py nowhere.py --json",
        "validate misfit.py --json",
        "validate --json",
    )
    assert misfit.code == 2 and misfit.json[0]["error"]["code"] == "bad_schedule_params"
    assert good.code == 0
    assert good.out.startswith("✓ public::embedded::doubling(number: int = 21, limit: int = 100)  3 tasks\n")
    assert bad.code == 2
    assert [each["ok"] for each in bad.json] == [True, False, False]
    assert [each.get("error", {}).get("code") for each in bad.json] == [None, "empty_workflow", "no_such_file"]
    assert configured.code == 0 and len(configured.json) == 4


def test_the_doctor_looks_at_everything(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (fresh,) = all_of(project, "doctor --json")
    assert fresh.code == 0 and not (tmp_path / ".turnout").exists(), "looking makes nothing"
    used, text, gone = all_of(
        project, "run flows.py:doubling --no-wait", "doctor", "doctor --json --database postgresql://a@127.0.0.1:1/x"
    )
    assert used.code == 0 and text.code == 0
    for name in ("versions", "configuration", "executors", "workflows", "database", "schema", "clock", "limits"):
        assert name in text.out
    assert "1 of them not driven" in text.out
    assert gone.code == 5 and not gone.json["ok"]
    assert {each["name"] for each in gone.json["checks"] if each["grade"] == "bad"} == {"database"}
    assert all(set(each) == {"name", "grade", "said"} for each in gone.json["checks"])
    assert gone.json["extras"]["postgres"]["installed"] and gone.json["extras"]["postgres"]["packages"]["psycopg"]
    assert {"otel", "server", "workers"} <= set(gone.json["extras"]) and "dev" not in gone.json["extras"]


CHECKED = """
[executors.far]
use = "far:Far"
why = "{why}"
"""
FAR = """
from turnout.executors.thread import ThreadExecutor

class Far(ThreadExecutor):
    def __init__(self, why: str, name: str = "far") -> None:
        super().__init__(threads=1, name=name)
        self._why = why

    async def check(self) -> str | None:
        if self._why == "raises":
            raise OSError("no route")
        return self._why or None
"""


@pytest.mark.parametrize(
    ("why", "code", "said"), [("", 0, "reachable"), ("it is away", 5, "it is away"), ("raises", 5, "OSError: no route")]
)
def test_the_doctor_asks_executors_whether_they_reach_their_cluster(
    tmp_path: Path, why: str, code: int, said: str
) -> None:
    project = Project(tmp_path)
    (tmp_path / "far.py").write_text(FAR)
    (tmp_path / "turnout.toml").write_text(CHECKED.format(why=why))
    found = project.run("doctor", "--json")
    checks = {each["name"]: (each["grade"], each["said"]) for each in found.json["checks"]}
    assert (found.code, checks["executor far"]) == (code, ("good" if code == 0 else "bad", said)), found.out


def test_the_doctor_says_whether_hub_and_collector_answer(tmp_path: Path) -> None:
    project = Project(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        here = f"127.0.0.1:{listening.getsockname()[1]}"
        found = project.run(
            "doctor",
            "--json",
            TURNOUT_HUB=f"tcp://{here}",
            TURNOUT_TELEMETRY__ENABLED="true",
            TURNOUT_TELEMETRY__ENDPOINT=f"http://{here}",
        )
        away = project.run("doctor", "--json", TURNOUT_HUB="tcp://127.0.0.1:1")
    checks = {each["name"]: each for each in found.json["checks"]}
    assert {name: checks[name]["grade"] for name in ("hub", "telemetry")} == {"hub": "good", "telemetry": "good"}
    hub = {each["name"]: each for each in away.json["checks"]}["hub"]
    assert (away.code, hub["grade"]) == (0, "fair") and "Connection refused" in hub["said"]
    assert "telemetry" not in {each["name"] for each in away.json["checks"]}, "it is not enabled"


def test_the_configuration_is_shown_with_its_origins_and_without_secrets(project: Project) -> None:
    shown = project.run(
        "config",
        "show",
        "--json",
        TURNOUT_DATABASE="postgresql://ada:s3cret@db/turnout",
        TURNOUT_ORCHESTRATION__LEASE="30s",
        TURNOUT_EXECUTORS__SMALL__API_KEY="s3cret",
    )
    assert shown.code == 0 and "s3cret" not in shown.out
    settings = {each["key"]: (each["value"], each["origin"]) for each in shown.json}
    assert settings["database"] == ("postgresql://ada:***@db/turnout", "TURNOUT_DATABASE")
    assert settings["orchestration.lease"] == (30.0, "TURNOUT_ORCHESTRATION__LEASE")
    assert settings["executors.small.use"] == ("thread", "turnout.toml")
    assert settings["tenant"] == ("public", "default")
    text = project.run("config", "show", "--origin")
    assert text.code == 0 and "turnout.toml" in text.out


def test_the_configuration_is_checked(project: Project) -> None:
    good, document = all_of(project, "config check", "config check --json")
    assert good.code == 0 and "turnout.toml" in good.out
    assert document.json == {"ok": True, "file": str(project.folder / "turnout.toml"), "warnings": []}


POOLS = """
workflows: [flows.py]
executors:
  deaf: {use: "deaf:Deaf"}
orchestration:
  coordinator:
    target_utilization: 0.75
    scaling_cooldown_seconds: 1m
  executor_pools:
    task_claimer: {min_executors: 2, max_executors: 10}
"""


@pytest.fixture(scope="module")
def in_yaml(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("yaml"))
    (project.folder / "turnout.toml").unlink()
    (project.folder / "turnout.yaml").write_text(POOLS)
    return project


@pytest.mark.parametrize("form", ["turnout.yaml", "turnout.toml"])
def test_coordinator_and_pools_are_shown_with_their_origins(in_yaml: Project, tmp_path: Path, form: str) -> None:
    project = in_yaml
    if form == "turnout.toml":
        project = Project(tmp_path)
        (tmp_path / form).write_text(
            "[orchestration.coordinator]\ntarget_utilization = 0.75\nscaling_cooldown_seconds = '1m'\n"
            "[orchestration.executor_pools.task_claimer]\nmin_executors = 2\nmax_executors = 10\n"
        )
    share = "TURNOUT_ORCHESTRATION__COORDINATOR__TARGET_UTILIZATION"
    most = "TURNOUT_ORCHESTRATION__EXECUTOR_POOLS__TASK_CLAIMER__MAX_EXECUTORS"
    shown = project.run("config", "show", "--origin", "--json", **{share: "0.6", most: "4"})
    assert shown.code == 0, shown
    found = {each["key"]: (each["value"], each["origin"]) for each in shown.json}
    coordinator, claimer = "orchestration.coordinator", "orchestration.executor_pools.task_claimer"
    assert found[f"{coordinator}.target_utilization"] == (0.6, share)
    assert found[f"{coordinator}.scaling_cooldown_seconds"] == (60.0, form)
    assert found[f"{coordinator}.max_db_pool_usage"] == (0.85, "default")
    assert found[f"{claimer}.min_executors"] == (2, form)
    assert found[f"{claimer}.max_executors"] == (4, most)
    assert found[f"{claimer}.polling_interval_ms"] == (2000, "default"), "a pool has defaults of its own"
    for pool in PoolsSettings.__struct_fields__:
        assert {f"orchestration.executor_pools.{pool}.{key}" for key in PoolSettings.__struct_fields__} <= set(found)


@pytest.mark.parametrize(
    ("said", "code", "why"),
    [
        ("connect = ['nonsense']", "invalid_setting", "connect has 'nonsense'"),
        ("labels = ['gpu']", "invalid_setting", "worker.labels has 'gpu': write NAME=VALUE"),
        ("import = ['nowhere']", "no_such_module", "there is no module 'nowhere'"),
        ("key_file = 'no.key'", "bad_key_file", "cannot be read"),
    ],
)
def test_the_configuration_of_a_worker_is_checked_too(tmp_path: Path, said: str, code: str, why: str) -> None:
    project = Project(tmp_path)
    (tmp_path / "turnout.toml").write_text("[worker]\nlabels = ['zone=a']\n")
    assert project.run("config", "check").code == 0
    (tmp_path / "turnout.toml").write_text(f"[worker]\n{said}\n")
    done = project.run("config", "check", "--json")
    assert (done.code, done.error["code"]) == (2, code) and why in done.error["message"]


def test_the_configuration_check_finds_executors_beside_the_file_as_a_run_does(tmp_path: Path) -> None:
    project = Project(tmp_path)
    # As with the installed script: the working directory is not on the module search path by itself.
    safe = {"PYTHONSAFEPATH": "1"}
    assert project.run("run", "flows.py:doubling", **safe).code == 0
    checked = project.run("config", "check", "--json", **safe)
    assert checked.code == 0 and checked.json["ok"], checked
    for command in ("validate", "explain flows.py:doubling", "doctor"):
        assert project.run(*command.split(), **safe).code == 0
    inner = tmp_path / "inner"
    inner.mkdir()
    away = Project(inner)
    for file in ("flows.py", "deaf.py", "turnout.toml"):
        (inner / file).unlink()
    # The file, its executors and its workflows are found upwards.
    (tmp_path / "turnout.toml").write_text(CONFIG.replace('"flows.py"', '"flows"'))
    assert away.run("config", "check", **safe).code == 0


def test_the_configuration_check_refuses_what_an_orchestrator_refuses(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (tmp_path / "turnout.toml").write_text("[[routing.rules]]\npattern = '**'\nexecutor = 'nowhere'\n")
    checked, started, doctor = project.run_all(
        [["config", "check", "--json"], ["orchestrate", "flows.py", "--json"], ["doctor", "--json"]]
    )
    assert (checked.code, checked.error) == (started.code, started.error)
    assert checked.code == 2 and checked.error["code"] == "unknown_executor"
    assert checked.error["message"].startswith('turnout.toml: routing.rules, rule 1 "**" names executor "nowhere"')
    assert doctor.code == 2 and '"nowhere"' in {each["name"]: each for each in doctor.json["checks"]}["routing"]["said"]


@pytest.mark.parametrize("url", ["mysql://x", "postgres//oops", "sqlite://runs.db", "postgresql://ada:s3cret@[bad/x"])
def test_the_configuration_check_refuses_a_database_url_that_cannot_be_read(tmp_path: Path, url: str) -> None:
    project = Project(tmp_path)
    (tmp_path / "turnout.toml").write_text(f'database = "{url}"\n')
    checked, listed = project.run_all([["config", "check", "--json"], ["runs", "ls", "--json"]])
    assert (checked.code, checked.error["code"]) == (listed.code, listed.error["code"]) == (2, "bad_database_url")
    assert checked.error["message"] == f"turnout.toml: database: {listed.error['message']}"
    assert "s3cret" not in checked.err
    by_variable = project.run("config", "check", "--json", TURNOUT_DATABASE=url)
    assert by_variable.error["message"] == f"TURNOUT_DATABASE: database: {listed.error['message']}"


def test_the_configuration_check_does_not_connect_to_the_database(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for url in ("postgresql://ada@127.0.0.1:1/x", "sqlite:///later.db"):
        assert project.run("config", "check", TURNOUT_DATABASE=url).code == 0
    assert not (tmp_path / "later.db").exists()


def test_a_configuration_in_yaml_is_checked_and_used(in_yaml: Project) -> None:
    checked, ran, text = in_yaml.run_all(
        [["config", "check", "--json"], ["run", "flows.py:doubling", "--json"], ["config", "show", "--origin"]]
    )
    assert checked.json == {"ok": True, "file": str(in_yaml.folder / "turnout.yaml"), "warnings": []}
    assert ran.code == 0 and ran.json["result"] == "it is 42", ran
    row = next(line for line in text.out.splitlines() if ".task_claimer.max_executors" in line)
    assert row.split()[1:] == ["10", "turnout.yaml"]


def test_a_new_project_keeps_the_configuration_that_is_there(tmp_path: Path) -> None:
    project = Project(tmp_path)
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "turnout.yaml").write_text("tenant: acme\n")
    made = project.run("init", "shop", "--json")
    assert made.json["written"] == [".gitignore", "README.md", "flows.py", "test_flows.py"]
    assert made.json["kept"] == ["turnout.yaml"]


def test_a_new_project_runs_and_its_files_are_never_overwritten(tmp_path: Path) -> None:
    project = Project(tmp_path)
    made = project.run("init", "shop", "--json")
    assert made.code == 0 and made.json["kept"] == []
    assert made.json["written"] == [".gitignore", "README.md", "flows.py", "test_flows.py", "turnout.toml"]
    shop = tmp_path / "shop"
    (shop / "flows.py").write_text((shop / "flows.py").read_text() + "# mine\n")
    again = project.run("init", "shop", "--json")
    assert again.json["written"] == [] and len(again.json["kept"]) == 5
    assert (shop / "flows.py").read_text().endswith("# mine\n")
    inside = Project.__new__(Project)
    inside.folder = shop
    ran, checked = inside.run_all([["run", "flows.py", "-p", "name=Ada", "--json"], ["config", "check", "--json"]])
    assert ran.code == 0 and ran.json["result"] == "Hello Ada! It is sunny.", ran
    assert checked.json["ok"]
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_flows.py"],
        cwd=shop,
        env=project.environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout


def test_the_demo_shows_the_graph_the_placement_and_the_run(project: Project) -> None:
    shown, document = all_of(project, "demo", "demo --json")
    assert shown.code == 0, shown
    assert "validate ──┐" in shown.out
    assert 'rule 1 "**::fulfil::label" → printers' in shown.out
    assert "charge │ charging 21 to Ada" in shown.out
    assert "✓ charge" in shown.out and "attempt 2" in shown.out
    assert "Thank you, Ada!" in shown.out
    assert document.code == 0 and document.json["result"]["parcel"]["paid"] == 21


def test_the_module_and_the_entry_point_are_the_same_command() -> None:
    scripts = (ROOT / "pyproject.toml").read_text()
    assert 'turnout = "turnout.cli:main"' in scripts


def test_an_error_of_ours_is_shown_whole(project: Project) -> None:
    """A fault in Turnout itself must not be dressed up as the user's."""
    program = (
        "import turnout.cli.doctor as doctor\n"
        "def broken(*_): raise RuntimeError('a fault')\n"
        "doctor.run_checks = broken\n"
        "from turnout.cli import main\nmain(['doctor'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=project.folder,
        env=project.environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 1 and "RuntimeError: a fault" in done.stderr and "Traceback" in done.stderr
    assert json.dumps(done.stdout) == '""'
