"""Runs that need no code are driven by what is stored; and Runners that leave a hub to others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_worker import SmallWorker

from turnout import AsyncRunner, Runner, remote, shell, task, workflow
from turnout.errors import HubUnavailable
from turnout.executors.workers.settings import HubSettings
from turnout.model.states import RunState

HUB = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.2, lease=20.0, resend=0.2)
HANDLERS: dict[str, Callable[[Any], Any]] = {"Orders::Ship": lambda step: f"shipped {step.metadata.args['order']}"}

ship = remote("ship", handler="Orders::Ship")
note = shell("printf noted", name="note")


@task
def local(order: str) -> str:
    return order


@workflow
def shipping(order: str) -> Any:
    return ship.after(note())(order=order)


@workflow
def mixed(order: str) -> Any:
    return ship(order=local(order))


@workflow
def at_home(order: str) -> str:
    return local(order)


@workflow
def parent(order: str) -> Any:
    return shipping(order)


def test_what_needs_code_is_told_apart() -> None:
    assert not shipping.spec.needs_code
    assert mixed.spec.needs_code and parent.spec.needs_code


def test_an_orchestrator_with_a_hub_drives_stored_runs_of_handlers_and_commands_and_no_others(store_url: str) -> None:
    plain = {"config": False, "handle_sigterm": False}
    with (
        Runner(store_url, drives=False, workflows=[shipping, mixed, parent], **plain) as client,
        Runner(store_url, hub=HUB, workflows=(), **plain) as orchestrator,
    ):
        assert client.hub is None and orchestrator.hub is not None
        left = [client.submit_with(each, "1", priority=9) for each in (mixed, parent)]
        handle = client.submit(shipping, "42")
        with SmallWorker(orchestrator.hub, handlers=HANDLERS):
            assert handle.result() == "shipped 42"
        assert [each.status().state for each in left] == [RunState.PENDING] * 2


def test_a_run_that_was_driven_with_code_is_taken_up_without_it(store_url: str) -> None:
    plain = {"config": False, "handle_sigterm": False}
    with Runner(store_url, hub=HUB, workflows=[shipping], **plain) as first:
        handle = first.submit(shipping, "42")
        run_id = handle.id
    with Runner(store_url, hub=HUB, workflows=(), **plain) as second:
        assert second.hub is not None
        with SmallWorker(second.hub, handlers=HANDLERS):
            assert second.get(run_id).result() == "shipped 42"


def test_a_runner_that_claims_only_some_workflows_leaves_stored_ones_alone(sqlite_url: str) -> None:
    plain = {"config": False, "handle_sigterm": False}
    with (
        Runner(sqlite_url, hub=HUB, drives=False, workflows=[shipping, at_home], **plain) as client,
        Runner(sqlite_url, hub=HUB, workflows=[at_home], claims=(at_home.spec.full_name,), **plain),
    ):
        handle = client.submit_with(shipping, "42", priority=9)
        assert client.run(at_home, "1") == "1"
        assert handle.status().state is RunState.PENDING, "it was there when the other was claimed"
        with Runner(sqlite_url, hub=HUB, workflows=(), **plain) as open_to_all:
            assert open_to_all.hub is not None
            with SmallWorker(open_to_all.hub, handlers=HANDLERS):
                assert handle.result() == "shipped 42"


def test_a_runner_without_its_hub_runs_local_work_and_refuses_work_for_workers(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Runner(sqlite_url, hub=HUB, config=False, workflows=(), handle_sigterm=False) as orchestrator:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "turnout.toml").write_text(f'hub = "{orchestrator.hub}"')
        with pytest.raises(HubUnavailable, match="configure another address here, or no hub"):
            Runner(sqlite_url, workflows=(), handle_sigterm=False)
        with Runner(sqlite_url, hub=False, workflows=(), handle_sigterm=False) as other:
            assert other.hub is None
            assert other.run(at_home, "1") == "1"
            with pytest.raises(HubUnavailable, match='task "public::embedded::shipping::ship" goes to workers'):
                other.submit(shipping, "1")


def test_an_async_runner_has_a_hub_too(sqlite_url: str) -> None:
    async def main() -> None:
        async with AsyncRunner(sqlite_url, hub=HUB, config=False, workflows=[shipping]) as runner:
            assert runner.hub is not None
            with SmallWorker(runner.hub, handlers=HANDLERS):
                assert await runner.run(shipping, "7") == "shipped 7"

    asyncio.run(main())
