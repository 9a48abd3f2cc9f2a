"""What a task asks for, in the names of each cluster, and what no node of it can give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from turnout.executors.cluster.executor import ClusterExecutor
from turnout.executors.dask.executor import DaskBackend
from turnout.model.resources import Resources
from turnout.model.spec import Body, TaskSpec

BACKEND = DaskBackend("tcp://127.0.0.1:8786", "default", {}, None)


class RayNames:
    """The names of Ray without a driver, which needs the package."""

    address = "ray"

    def named(self, amounts: Mapping[str, float]) -> dict[str, float]:
        from turnout.executors.ray.executor import RayBackend

        return RayBackend.named(self, amounts)  # type: ignore[arg-type]

    def amounts(self, node: Mapping[str, float]) -> dict[str, float]:
        from turnout.executors.ray.executor import RayBackend

        return RayBackend.amounts(self, node)  # type: ignore[arg-type]

    async def open(self) -> None: ...

    async def exchange(
        self, hub: str, connection: int, frames: Sequence[Sequence[bytes]], wait: float
    ) -> dict[str, Any]:
        return {}

    async def close(self) -> None: ...


def executor(backend: Any, nodes: Sequence[Mapping[str, float]], *, scales: bool = False) -> ClusterExecutor:
    made = ClusterExecutor(backend, name="cluster", heartbeat=1, lease=3, scales=scales)
    made.figures = {"nodes": nodes}
    return made


def test_resources_have_the_names_of_dask_and_one_core_is_a_thread() -> None:
    assert BACKEND.named({"cpu": 1, "gpu": 2, "license": 1}) == {"GPU": 2, "license": 1}
    assert BACKEND.named({"cpu": 4, "memory": 2**30}) == {"CPU": 4, "MEMORY": 2**30}


def test_resources_have_the_names_of_ray() -> None:
    assert RayNames().named({"cpu": 0.5, "gpu": 1, "license": 1}) == {"CPU": 0.5, "GPU": 1, "license": 1}


def test_what_no_node_has_is_refused_with_what_the_nearest_has() -> None:
    made = executor(RayNames(), [{"CPU": 64.0}, {"CPU": 4.0, "GPU": 2.0}])
    assert made.fits(Resources(cpu=8)) is None
    assert made.fits(Resources(gpu=2, cpu=4)) is None
    assert made.fits(Resources(gpu=4)) == "asks for gpu=4; the nearest node has gpu=2"


class OpenRouter:
    address, dropped, is_open = "", 0, True

    def open(self) -> None: ...

    def close(self) -> None: ...

    def send(self, route: bytes, frames: Sequence[bytes]) -> None: ...


def test_a_task_that_no_node_fits_waits_with_the_nearest_fit_until_a_node_comes() -> None:
    made = executor(RayNames(), [{"CPU": 4.0, "GPU": 2.0}])
    made.router = OpenRouter()
    looks: list[bool] = []
    made.on_capacity(lambda: looks.append(True))
    task = TaskSpec(name="train", body=Body("python", "tasks:train"))
    selector = made.selector(task, None, resources=Resources(gpu=4))
    assert made.wait_reason(selector) == "no_node_fits: asks for gpu=4; the nearest node has gpu=2"
    assert made.assign(selector) is None
    made._keep_figures({"nodes": [{"CPU": 4.0, "GPU": 2.0}]})
    assert not looks
    made._keep_figures({"nodes": [{"CPU": 4.0, "GPU": 4.0}]})
    assert looks, "the tasks that wait are not looked at again"
    assert made.wait_reason(selector).startswith("no_worker_matches"), "a supervisor would take it"


def test_a_task_of_a_cluster_that_grows_waits_inside_of_it() -> None:
    made = executor(RayNames(), [{"CPU": 4.0}], scales=True)
    task = TaskSpec(name="train", body=Body("python", "tasks:train"))
    assert made.selector(task, None, resources=Resources(gpu=4)) == made.selector(task, None)


@pytest.mark.parametrize("nodes", [[], [{"GPU": 1.0}]])
def test_a_cluster_that_grows_or_was_not_reached_refuses_nothing(nodes: list[dict[str, float]]) -> None:
    assert executor(BACKEND, nodes, scales=bool(nodes)).fits(Resources(gpu=8)) is None
