"""Bad input gets a clear error with a stable code, and nothing half-written."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from turnout import Context, RoutingConfig, RoutingRule, Runner, Workflow, task, workflow
from turnout.dispatcher import ExecutionResult, ExecutorMetrics, Loader, TaskReadyEvent
from turnout.errors import (
    InvalidInput,
    InvalidRouting,
    InvalidSetting,
    InvalidWorkflow,
    MigrationMismatch,
    NotJson,
    RunFailed,
    SchemaTooNew,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
    StoreUnusable,
    TooLarge,
    TurnoutError,
)
from turnout.model.states import RunState, TaskState
from turnout.runner import EngineSettings
from turnout.store.sqlite.connection import SqliteDatabase

pytestmark = pytest.mark.timeout(60)

NOTHING = {"run": 0, "task": 0, "history": 0, "command": 0, "inbox": 0}


@task
def echo(value: Any) -> Any:
    return value


@task
def step(context: Context) -> None: ...


@workflow
def echoed(value: Any, times: int = 1) -> Any:
    return echo(value)


def refused(kind: type[TurnoutError], code: str, *named: str, by: Callable[[], Any]) -> TurnoutError:
    """The call raises exactly this, and its message names what is wrong."""
    with pytest.raises(kind) as caught:
        by()
    assert type(caught.value) is kind
    assert caught.value.code == code
    for name in named:
        assert name in str(caught.value)
    return caught.value


# -- workflows ------------------------------------------------------------------------------------------------------


def test_a_cycle_is_named_by_its_path(runner, rows_in, store_url):
    circle = Workflow(
        "circle",
        tasks=[
            task(name="a", depends_on=["c"])(step.function),
            task(name="b", depends_on=["a"])(step.function),
            task(name="c", depends_on=["b"])(step.function),
        ],
    )
    error = refused(InvalidWorkflow, "cycle", "'circle'", "a", "b", "c", "→", by=lambda: runner.submit(circle))
    assert sorted(set(error.fields["path"])) == ["a", "b", "c"]
    assert rows_in(store_url) == NOTHING


def test_an_unknown_dependency_is_named_and_another_suggested(runner, rows_in, store_url):
    broken = Workflow("broken", tasks=[task(name="extract")(step.function), task(depends_on=["extrct"])(step.function)])
    refused(
        InvalidWorkflow,
        "unknown_dependency",
        "'extrct'",
        "did you mean 'extract'",
        by=lambda: runner.submit(broken),
    )
    assert rows_in(store_url) == NOTHING


def test_two_tasks_of_one_name_are_refused(runner, rows_in, store_url):
    @workflow
    def twice() -> Any:
        return [echo.named("same")(1), echo.named("same")(2)]

    refused(InvalidWorkflow, "duplicate_task", "'same'", "'twice'", by=lambda: runner.submit(twice))
    again = Workflow("again", tasks=[step, step])
    refused(InvalidWorkflow, "duplicate_task", "'step'", by=lambda: runner.submit(again))
    assert rows_in(store_url) == NOTHING


def test_other_workflows_that_cannot_work_are_refused(make_sqlite_runner, rows_in, sqlite_url):
    runner = make_sqlite_runner()

    @workflow
    def empty() -> None: ...

    @workflow(name="no good")
    def badly_named() -> Any:
        return echo(1)

    @workflow
    def branching(value: Any) -> Any:
        return echo(1) if value else echo(2)

    refused(InvalidWorkflow, "empty_workflow", "'empty'", by=lambda: runner.submit(empty))
    refused(InvalidWorkflow, "bad_identifier", "'no good'", by=lambda: runner.submit(badly_named))
    with pytest.raises(TurnoutError, match="parameter 'value'") as caught:
        runner.submit(branching, 1)
    assert caught.value.code == "not_yet_a_value"
    refused(InvalidWorkflow, "not_a_workflow", "echo", by=lambda: runner.submit(echo, 1))
    assert rows_in(sqlite_url) == NOTHING


# -- rules ----------------------------------------------------------------------------------------------------------


def test_an_unknown_executor_in_a_rule_is_refused_before_the_database_is_touched(tmp_path):
    url = f"sqlite:///{tmp_path}/untouched.db"
    routing = RoutingConfig("default").with_rule(RoutingRule("**::ml::*", "gpu"))
    error = refused(
        InvalidRouting,
        "unknown_executor",
        '"gpu"',
        "rule 1",
        "default",
        by=lambda: Runner(url, routing=routing, workflows=()),
    )
    assert error.fields["executor"] == "gpu" and error.fields["pattern"] == "**::ml::*"
    refused(
        InvalidRouting,
        "unknown_executor",
        '"none"',
        by=lambda: Runner(url, routing=RoutingConfig("none"), workflows=()),
    )
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_executor_in_a_tasks_hint_is_refused(runner, rows_in, store_url):
    @workflow
    def hinted() -> Any:
        return echo.options(executor="gpu")(1)

    refused(InvalidRouting, "unknown_executor", '"gpu"', "::hinted::echo", by=lambda: runner.submit(hinted))
    assert rows_in(store_url) == NOTHING


@pytest.mark.parametrize("pattern", ["", "a::", "::a", "a:b", "a::b**", "a::***", "a b", "a::[x]", "ä"])
def test_a_malformed_pattern_is_refused(pattern):
    error = refused(InvalidRouting, "malformed_pattern", f'"{pattern}"', by=lambda: RoutingRule(pattern, "default"))
    assert error.fields["pattern"] == pattern


# -- parameters -----------------------------------------------------------------------------------------------------


def test_a_missing_or_misspelled_parameter_is_named(runner, rows_in, store_url):
    refused(InvalidInput, "missing_parameter", "'value'", "'echoed'", by=lambda: runner.submit(echoed))
    refused(
        InvalidInput,
        "unknown_parameter",
        "'tims'",
        "did you mean 'times'",
        by=lambda: runner.submit(echoed, 1, tims=2),
    )
    refused(InvalidInput, "unknown_parameter", "3 were given", by=lambda: runner.submit(echoed, 1, 2, 3))
    refused(InvalidInput, "duplicate_parameter", "'value'", by=lambda: runner.submit(echoed, 1, value=2))
    assert rows_in(store_url) == NOTHING


def test_one_bad_input_among_many_refuses_all_of_them(runner, rows_in, store_url):
    inputs = [{"value": 1}, {"value": 2}, {"value": 3, "valeu": 3}]
    refused(InvalidInput, "unknown_parameter", "'valeu'", by=lambda: runner.submit_many(echoed, inputs))
    assert rows_in(store_url) == NOTHING


# -- values ---------------------------------------------------------------------------------------------------------


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


BAD_VALUES = [
    (object, NotJson, "not_json", "object"),
    (lambda: {1: "key"}, NotJson, "not_json", "1"),
    (lambda: [float("nan")], NotJson, "not_json", "nan"),
    (lambda: float("inf"), NotJson, "not_json", "inf"),
    (lambda: {"deep": 1j}, NotJson, "not_json", "complex"),
    (lambda: "a\x00b", NotJson, "json_nul", "NUL"),
    (lambda: {"\x00": 1}, NotJson, "json_nul", "NUL"),
    (lambda: ["\ud800"], NotJson, "json_surrogate", "surrogate"),
    (lambda: deep(200), NotJson, "json_depth", "100"),
]
IDS = ["object", "key", "nan", "infinity", "complex", "nul", "nul in a key", "surrogate", "depth"]


@pytest.mark.parametrize(("make", "kind", "code", "named"), BAD_VALUES, ids=IDS)
def test_an_output_that_cannot_be_kept_fails_its_task_for_good(runner, make, kind, code, named, query, store_url):
    calls: list[int] = []

    @task(retries=3)
    def bad() -> Any:
        calls.append(1)
        return make()

    @workflow
    def outputs() -> Any:
        return echo(bad())

    run = runner.submit(outputs)
    with pytest.raises(RunFailed) as caught:
        run.result(20)
    [failure] = caught.value.fields["failures"]
    assert (failure.task, failure.type, failure.code) == ("bad", kind.__name__, code)
    assert "::outputs::bad" in failure.message and named in failure.message
    assert calls == [1], "the same code would return the same again"
    assert [each.state for each in run.tasks()] == [TaskState.FAILED, TaskState.SKIPPED]
    assert query(store_url, "select count(*) from task where output is not null") == [(0,)]


@pytest.mark.parametrize(("make", "kind", "code", "named"), BAD_VALUES, ids=IDS)
def test_an_input_that_cannot_be_kept_is_refused(make_sqlite_runner, make, kind, code, named, rows_in, sqlite_url):
    runner = make_sqlite_runner()
    refused(kind, code, named, by=lambda: runner.submit(echoed, make()))
    assert rows_in(sqlite_url) == NOTHING


def test_every_other_value_comes_back_as_it_was(runner):
    value = {
        "numbers": [0, -1, 2**53 + 1, 2**70, -(2**70), 0.1, 1e300, -2.5e-10],
        "text": ["", " ", "é", "😀", "\\u0000", "\\", '"', "\x7f", "line\nline", "\u2028"],
        "nothing": [None, True, False, {}, []],
        "z": {"b": 1, "a": {"": deep(90)}},
    }
    assert runner.run(echoed, value) == value


def test_an_output_above_the_limit_fails_its_task_and_says_what_to_do(runner):
    @task
    def large() -> str:
        return "x" * (1024 * 1024 - 1)

    @workflow
    def outputs() -> Any:
        return large()

    with pytest.raises(RunFailed) as caught:
        runner.run(outputs)
    [failure] = caught.value.fields["failures"]
    assert (failure.type, failure.code) == ("TooLarge", "output_too_large")
    assert "1,048,577" in failure.message and "1,048,576" in failure.message
    assert "path or URI" in failure.message


def test_the_largest_output_that_is_allowed_is_kept(runner):
    @task
    def large() -> str:
        return "x" * (1024 * 1024 - 2)

    @workflow
    def outputs() -> Any:
        return large()

    assert len(runner.run(outputs)) == 1024 * 1024 - 2


def test_the_limit_is_a_setting_and_holds_for_inputs_too(make_sqlite_runner, rows_in, sqlite_url):
    runner = make_sqlite_runner(max_output_bytes=100)
    refused(TooLarge, "input_too_large", "100", by=lambda: runner.submit(echoed, "x" * 200))
    assert rows_in(sqlite_url) == NOTHING

    @task
    def large() -> str:
        return "x" * 200

    @workflow
    def outputs() -> Any:
        return large()

    with pytest.raises(RunFailed, match="the limit is 100"):
        runner.run(outputs)


class Careless:
    """A custom executor that reports whatever text it is given as an output."""

    local = True
    kinds = frozenset({"python"})
    name = "careless"

    def __init__(self, output: Any) -> None:
        self.output = output

    def bind(self, loader: Loader) -> None: ...

    def has_capacity(self) -> bool:
        return True

    def metrics(self) -> ExecutorMetrics:
        return ExecutorMetrics()

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        await asyncio.sleep(0)
        return ExecutionResult(
            run_id=event.run_id, task_id=event.task_id, attempt=event.attempt, status="completed", output=self.output
        )


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ("{not json", "not_json"),
        ('"\\u0000"', "json_nul"),
        ('"\\ud800"', "not_json"),
        ("\ud800", "json_surrogate"),
        (f'"{"x" * 2_000_000}"', "output_too_large"),
        (17, "not_json"),
    ],
    ids=["text", "nul", "escaped surrogate", "surrogate", "large", "no text"],
)
def test_what_a_careless_executor_reports_is_checked_as_well(make_runner, output, code):
    runner = make_runner(executors={"default": Careless(output)})
    with pytest.raises(RunFailed) as caught:
        runner.run(echoed, 1)
    [failure] = caught.value.fields["failures"]
    assert failure.code == code


def test_a_bad_value_in_one_run_does_not_disturb_the_others(runner):
    @task
    def sometimes(number: int) -> Any:
        return "\x00" if number % 5 == 0 else number

    @workflow
    def mixed(number: int) -> Any:
        return sometimes(number)

    handles = runner.submit_many(mixed, [{"number": number} for number in range(50)])
    states = [handle.wait(20) for handle in handles]
    assert states == [RunState.FAILED if number % 5 == 0 else RunState.COMPLETED for number in range(50)]


# -- databases ------------------------------------------------------------------------------------------------------


def test_an_unreachable_database_is_an_error_at_once(tmp_path):
    began = time.monotonic()
    refused(
        StoreUnreachable,
        "store_unreachable",
        "refused",
        by=lambda: Runner("postgresql://postgres:secret@127.0.0.1:1/turnout", workflows=()),
    )
    (tmp_path / "file").write_text("")
    refused(
        StoreUnreachable,
        "store_unreachable",
        "file/turnout.db",
        by=lambda: Runner(f"sqlite:///{tmp_path}/file/turnout.db", workflows=()),
    )
    (tmp_path / "noise.db").write_bytes(b"this is not a database" * 100)
    refused(
        StoreUnusable,
        "store_damaged",
        "noise.db",
        by=lambda: Runner(f"sqlite:///{tmp_path}/noise.db", workflows=()),
    )
    assert time.monotonic() - began < 10


def test_an_error_of_the_database_never_shows_a_password():
    with pytest.raises(StoreUnreachable) as caught:
        Runner("postgresql://postgres:secret@127.0.0.1:1/turnout", workflows=())
    assert "secret" not in str(caught.value) and "secret" not in repr(caught.value.fields)


@pytest.mark.parametrize("url", ["mysql://localhost/x", "turnout.db", "sqlite://", "sqlite:///"])
def test_a_url_that_names_no_database_is_refused(url):
    refused(InvalidSetting, "bad_database_url", by=lambda: Runner(url, workflows=()))


def test_a_read_only_sqlite_file_is_refused(make_sqlite_runner, sqlite_url, rows_in):
    make_sqlite_runner().run(echoed, 1)
    before = rows_in(sqlite_url)
    refused(StoreReadOnly, "store_read_only", "turnout.db", by=lambda: Runner(f"{sqlite_url}?mode=ro", workflows=()))
    assert rows_in(sqlite_url) == before


@pytest.mark.empty_database
def test_a_read_only_postgres_is_refused(postgres_url, query):
    name = postgres_url.rpartition("/")[2]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'alter database "{name}" set default_transaction_read_only = on')
    refused(StoreReadOnly, "store_read_only", "read-only", by=lambda: Runner(postgres_url, workflows=()))
    assert query(postgres_url, "select count(*) from pg_tables where schemaname = 'public'") == [(0,)]


def execute(url: str, sql: str) -> None:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
            connection.execute(sql)
    else:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql)


def test_a_database_of_a_newer_schema_is_left_alone(make_runner, store_url, rows_in, query):
    make_runner().run(echoed, 1)
    before = rows_in(store_url)
    execute(store_url, "insert into migration values (9999, 'from the future', 0)")
    error = refused(SchemaTooNew, "schema_too_new", "9999", "upgrade", by=lambda: Runner(store_url, workflows=()))
    assert error.fields["found"] == 9999
    assert rows_in(store_url) == before
    assert query(store_url, "select count(*) from session where ended_at is null") == [(1,)], (
        "the Runner that still runs"
    )


def test_a_database_whose_migrations_were_changed_is_left_alone(make_runner, store_url):
    make_runner().close()
    execute(store_url, "update migration set checksum = 'other'")
    refused(MigrationMismatch, "migration_mismatch", "migration 1", by=lambda: Runner(store_url, workflows=()))


class Disk:
    """Lets a test say how large the SQLite file may become."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.connections: list[sqlite3.Connection] = []
        connect = SqliteDatabase.connect

        def noted(database: SqliteDatabase) -> sqlite3.Connection:
            self.connections.append(connect(database))
            return self.connections[-1]

        monkeypatch.setattr(SqliteDatabase, "connect", noted)

    def fill_up(self, path: str) -> None:
        pages = max(1, Path(path).stat().st_size // 4096)
        for connection in list(self.connections):
            self._limit(connection, pages)

    def make_room(self) -> None:
        for connection in list(self.connections):
            self._limit(connection, 1_000_000)

    def _limit(self, connection: sqlite3.Connection, pages: int) -> None:
        try:
            connection.execute(f"pragma max_page_count = {pages}")
        except sqlite3.ProgrammingError:  # closed meanwhile
            self.connections.remove(connection)


def test_a_full_disk_is_told_to_who_submits_and_runs_go_on_when_there_is_room(
    make_sqlite_runner, sqlite_url, monkeypatch, rows_in
):
    disk = Disk(monkeypatch)
    runner = make_sqlite_runner(settings=EngineSettings(stop_grace=1.0))
    assert runner.run(echoed, 1) == 1
    before = rows_in(sqlite_url)
    disk.fill_up(sqlite_url.removeprefix("sqlite:///"))
    refused(StoreFull, "store_full", "turnout.db", by=lambda: runner.submit(echoed, "x" * 500_000))
    assert rows_in(sqlite_url) == before
    disk.make_room()
    assert runner.run(echoed, "x" * 500_000) == "x" * 500_000
    after = rows_in(sqlite_url)
    assert after["run"] == before["run"] + 1 and after["task"] == before["task"] + 1
