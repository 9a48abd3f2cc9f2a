"""Resources of tasks, from the decision to the executor, and runs that are refused for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.kit.api import running_api
from turnout import RoutingConfig, RoutingRule, Runner, task, workflow
from turnout.contracts.executor import Loader
from turnout.errors import ResourcesUnavailable
from turnout.model.events import ExecutionResult, ExecutorMetrics, TaskReadyEvent
from turnout.model.resources import Resources, lacking


class Cluster:
    """An executor that keeps what each attempt asked for, and has one node."""

    local = False
    kinds = frozenset({"python"})
    name = "cluster"

    def __init__(self) -> None:
        self.asked: list[tuple[int, Resources | None]] = []

    def bind(self, loader: Loader) -> None:
        self._loader = loader

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        work = await self._loader.load(event)
        self.asked.append((event.attempt, work.resources))
        return await work.run()

    def has_capacity(self) -> bool:
        return True

    def metrics(self) -> ExecutorMetrics:
        return ExecutorMetrics()

    def fits(self, resources: Resources) -> str | None:
        return lacking(resources, {"cpu": 8, "gpu": 2, "memory": 2**34}, "the largest node")


failures = ["first"]


@task(resources={"gpu": 1, "cpu": 4}, retries=1)
def fit() -> int:
    if failures:
        raise ValueError(failures.pop())
    return 1


@task
def plain() -> int:
    return 2


@workflow
def train() -> list[int]:
    return [fit(), plain()]


@workflow
def train_widely() -> int:
    return fit.options(resources={"gpu": 4})()


TO_CLUSTER = RoutingConfig("default").with_rule(RoutingRule("**::fit", "cluster", resources={"memory": "8GiB"}))
REASON = 'rule 1 "**::fit" → cluster; resources cpu=4 gpu=1 of the task, memory=8GiB of rule 1'


def test_every_attempt_has_the_resources_that_were_decided(store_url: str) -> None:
    failures[:] = ["first"]
    cluster, asked = Cluster(), Resources(cpu=4, gpu=1, memory=2**33)
    with Runner(store_url, workflows=[train], executors={"cluster": cluster}, routing=TO_CLUSTER) as runner:
        run = runner.submit(train)
        assert run.result() == [1, 2]
        assert cluster.asked == [(1, asked), (2, asked)]
        shown = {each.name: (each.decision, each.resources) for each in run.tasks()}
        assert shown["fit"] == (REASON, {"cpu": 4, "gpu": 1, "memory": "8GiB"})
        assert shown["plain"] == ("default executor", None)


def test_a_run_that_can_never_start_is_refused_and_nothing_is_stored(
    store_url: str, rows_in: Callable[[str], dict[str, int]]
) -> None:
    with Runner(store_url, workflows=[train_widely], executors={"cluster": Cluster()}, routing=TO_CLUSTER) as runner:
        with pytest.raises(ResourcesUnavailable, match="asks for gpu=4; the largest node has gpu=2"):
            runner.submit(train_widely)
        assert set(rows_in(store_url).values()) == {0}


def test_the_api_refuses_such_a_run_and_shows_the_resources_of_others(tmp_path: Path) -> None:
    with running_api(f"sqlite:///{tmp_path / 'a.db'}", workflows=[train_widely, plain_flow]) as api:
        client: httpx.Client = api.client("operator")
        answer = client.post("/api/v1/runs", json={"workflow": "train_widely", "input": {}})
        problem: dict[str, Any] = answer.json()
        assert (answer.status_code, problem["code"]) == (422, "resources_unavailable")
        assert "asks for gpu=4; this machine has gpu=0" in problem["detail"]
        assert client.get("/api/v1/runs").json()["runs"] == []
        started = client.post("/api/v1/runs", params={"wait": 20}, json={"workflow": "plain_flow", "input": {}}).json()
        detail = client.get(f"/api/v1/runs/{started['run']['id']}/tasks/plain").json()
        assert detail["resources"] == {"cpu": 0.5} and detail["decision"].endswith("; resources cpu=0.5 of the task")


@workflow
def plain_flow() -> int:
    return plain.options(resources={"cpu": 0.5})()
