"""Runners that take their parts from a configuration, that take over nothing, or that start nothing."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from turnout import AsyncRunner, Runner, task, workflow
from turnout.errors import RunNotFound
from turnout.model.states import RunState, TaskState
from turnout.runner.run_reader import find_run
from turnout.store import connect

pytestmark = pytest.mark.timeout(120)

CONFIG = """
database = "sqlite:///configured.db"
tenant = "acme"

[executors.small]
use = "thread"
threads = 1

[[routing.rules]]
pattern = "**::configured_doubling::*"
executor = "small"

[orchestration]
stop_grace = "1s"
"""


@task
def configured_double(number: int) -> int:
    return 2 * number


@workflow
def configured_doubling(number: int) -> int:
    return configured_double(number)


FULL_NAME = "public::embedded::configured_doubling"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TURNOUT_DATABASE", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turnout.toml").write_text(CONFIG)
    return tmp_path


def test_a_runner_without_arguments_is_what_the_file_says(folder: Path) -> None:
    with Runner(workflows=(), handle_sigterm=False) as runner:
        run = runner.submit(configured_doubling, 21)
        assert run.result(timeout=30) == 42
        assert run.status().workflow == "acme::embedded::configured_doubling"
        assert run.tasks()[0].executor == "small"
    assert (folder / "configured.db").exists()


def test_the_environment_and_the_arguments_go_over_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNOUT_DATABASE", f"sqlite:///{folder}/environment.db")
    with Runner(workflows=(), tenant="mine", handle_sigterm=False) as runner:
        assert runner.url.endswith("/environment.db")
        run = runner.submit(configured_doubling, 1)
        run.result(timeout=30)
        assert run.status().workflow.startswith("mine::")


def test_a_runner_can_be_told_to_look_at_nothing(folder: Path) -> None:
    with Runner("sqlite:///:memory:", config=False, workflows=(), handle_sigterm=False) as runner:
        run = runner.submit(configured_doubling, 1)
        run.result(timeout=30)
        assert (run.status().workflow, run.tasks()[0].executor) == (FULL_NAME, "default")


async def async_tenant() -> str:
    async with AsyncRunner(workflows=()) as runner:
        run = await runner.submit(configured_doubling, 1)
        await run.result(30)
        return (await run.status()).workflow.partition("::")[0]


def test_an_async_runner_is_configured_alike(folder: Path) -> None:
    import asyncio

    assert asyncio.run(async_tenant()) == "acme"


def test_a_runner_that_drives_nothing_stores_runs_for_others(store_url: str) -> None:
    with Runner(store_url, workflows=(), drives=False, handle_sigterm=False) as bystander:
        run = bystander.submit(configured_doubling, 4)
        assert (run.status().state, run.status().owner) == (RunState.PENDING, None)
        run.pause()
        assert run.status().state is RunState.PAUSED
        run.resume()
        assert run.status().state is RunState.RUNNING
        assert [each.state for each in run.tasks()] != [TaskState.RUNNING]
        assert [each.attempt for each in run.tasks()] == [0]
        run_id = run.id
    with Runner(store_url, workflows=(configured_doubling,), handle_sigterm=False) as runner:
        assert runner.get(run_id).result(timeout=30) == 8


def test_a_runner_takes_over_only_what_it_claims_and_what_it_is_asked_to(store_url: str) -> None:
    with Runner(store_url, workflows=(), drives=False, handle_sigterm=False) as bystander:
        first, second = (bystander.submit(configured_doubling, number).id for number in (1, 2))
    with Runner(store_url, workflows=(configured_doubling,), claims=(), handle_sigterm=False) as runner:
        assert runner.run(configured_doubling, 3) == 6
        runner.core.admin.take(first)
        assert runner.get(first).result(timeout=30) == 2
        assert runner.get(second).status().state is RunState.PENDING
        runner.core.admin.take(first)  # it has ended: nothing to do
        with pytest.raises(RunNotFound):
            runner.core.admin.take("00000000-0000-7000-8000-000000000000")


def test_a_run_is_found_by_the_beginning_of_its_id_and_as_the_last(store_url: str) -> None:
    store = connect(store_url)
    store.open()
    try:
        with pytest.raises(RunNotFound, match="no run yet"):
            find_run(store, "last")
        with Runner(store_url, workflows=(), drives=False, handle_sigterm=False) as runner:
            ids = [runner.submit(configured_doubling, number).id for number in range(3)]
        assert find_run(store, "last").new.run_id == ids[-1]
        for run_id in ids:
            assert find_run(store, run_id).new.run_id == run_id
            assert find_run(store, run_id.upper()).new.run_id == run_id
            assert find_run(store, run_id[:-1]).new.run_id == run_id, "also where the rest is f, the highest digit"
            assert find_run(store, run_id.replace("-", "")[:-1]).new.run_id == run_id
        with pytest.raises(RunNotFound) as raised:
            find_run(store, ids[0][:2])
        assert raised.value.code == "ambiguous_run"
        for wrong in ("ffff", "nonsense", ""):
            with pytest.raises(RunNotFound):
                find_run(store, wrong)
    finally:
        store.close()


def test_a_password_does_not_reach_the_log(postgres_url: str, caplog: pytest.LogCaptureFixture) -> None:
    scheme, rest = postgres_url.split("://", 1)
    user, at, place = rest.partition("@")
    secret = f"{scheme}://{user.partition(':')[0]}:s3cret@{place}" if at else f"{scheme}://turnout:s3cret@{rest}"
    with Runner(postgres_url, workflows=(), drives=False, handle_sigterm=False) as bystander:
        bystander.submit(configured_doubling, 1)
    with caplog.at_level(logging.DEBUG):
        try:
            Runner(secret, workflows=(), handle_sigterm=False).close()
        except Exception as error:
            assert "s3cret" not in str(error)
    assert "s3cret" not in caplog.text
