"""A real Dask cluster with TLS, whose worker declares resources."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests import executor_flows as flows
from tests.kit.sites import SITES, SLOTS, DaskSite, free_port
from tests.kit.waiting import until
from turnout import Runner
from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.errors import ResourcesUnavailable
from turnout.executors.cluster.executor import ClusterExecutor
from turnout.model.reasons import CLUSTER_UNAVAILABLE

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.skipif(SITES["dask"].missing() is not None, reason="the package distributed is not installed"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates"),
]
WAIT = 120.0


class TlsDask(DaskSite):
    """A scheduler and a worker that have their certificates from the command line, as their manual shows it."""

    workers = 1
    scheme = "tls"

    def scheduler_options(self) -> tuple[str, ...]:
        return (
            "--tls-ca-file",
            str(self.certificate),
            "--tls-cert",
            str(self.certificate),
            "--tls-key",
            str(self.key_file),
        )

    def worker_options(self) -> tuple[str, ...]:
        return (*self.scheduler_options(), "--resources", "GPU=2,license=1")

    def start(self) -> None:
        self.certificate, self.key_file = self.folder / "cluster.pem", self.folder / "cluster.key"
        what = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        where = ["-keyout", str(self.key_file), "-out", str(self.certificate), "-days", "2", "-subj", "/CN=dask"]
        subprocess.run([*what, *where], check=True, capture_output=True)
        super().start()

    def executor(self, namespace: str = "default", address: str = "", **options: Any) -> ClusterExecutor:
        from turnout.executors.dask.executor import DaskExecutor

        files = {"tls_ca_file": self.certificate, "tls_cert": self.certificate, "tls_key": self.key_file}
        given = {**{name: str(path) for name, path in files.items()}, "heartbeat": 1.0, "lease": 30.0, **options}
        return DaskExecutor(address or self.address, namespace=namespace, **given)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsDask]:
    site = TlsDask(tmp_path_factory.mktemp("dask"))
    try:
        site.start()
        yield site
    finally:
        site.close()


def runner_on(executor: ClusterExecutor, url: str, *rules: RoutingRule) -> Runner:
    routing = RoutingConfig("default", rules=(*rules, RoutingRule("**", "dask")))
    given: dict[str, Any] = {"executors": {"dask": executor}, "routing": routing}
    return Runner(url, workflows=flows.FLOWS, config=False, handle_sigterm=False, **given)


def test_a_run_completes_on_postgresql_and_a_cluster_whose_certificates_are_on_its_command_line(
    site: TlsDask, postgres_url: str
) -> None:
    with runner_on(site.executor("postgres"), postgres_url) as runner:
        run = runner.submit(flows.success, "Ada")
        assert run.result(WAIT) == 6.0
        assert next(line.text for line in run.logs("greet") if line.stream == "stdout") == "hello Ada 0"


def test_resources_of_a_task_and_of_a_rule_are_taken_at_the_worker_and_progress_arrives(
    site: TlsDask, sqlite_url: str, tmp_path: Path
) -> None:
    executor = site.executor("resources")
    rule = RoutingRule("**::held_with", "dask", resources={"gpu": 2})
    notes, go = tmp_path / "notes", tmp_path / "go"
    with runner_on(executor, sqlite_url, rule) as runner:
        run = runner.submit(flows.equipped, path=str(notes), go=str(go))
        until(notes.exists, "the body has not begun")
        until(lambda: executor.figures.get("free") == {"GPU": 0.0, "license": 0.0}, "the resources are not taken")
        assert executor.figures["total"] == {"GPU": 2.0, "license": 1.0}
        until(lambda: [line for line in run.logs() if line.stream == "progress"], "its progress has not come")
        (line, *_) = (line for line in run.logs() if line.stream == "progress")
        assert msgspec.json.decode(line.text) == {"done": 1, "total": 2, "message": "held"}
        go.touch()
        run.result(WAIT)
        until(lambda: executor.figures["free"] == executor.figures["total"], "the resources are not given back")


def test_what_no_worker_has_is_refused_at_submission_with_the_nearest_fit(
    site: TlsDask, sqlite_url: str, tmp_path: Path
) -> None:
    executor = site.executor("refusal")
    with runner_on(executor, sqlite_url) as runner:
        until(lambda: executor.figures.get("nodes"), "the cluster is not known")
        with pytest.raises(ResourcesUnavailable, match="asks for gpu=4; the nearest node has gpu=2"):
            runner.submit(flows.greedy, path=str(tmp_path / "notes"), go="")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda site: site.executor(), None),
        (lambda site: site.executor(address=f"tls://127.0.0.1:{free_port()}"), "Connection refused"),
        (lambda site: type(site.executor())(site.address), "check your TLS configuration"),
    ],
    ids=["reached", "nothing listens", "no certificate"],
)
def test_a_check_says_whether_the_cluster_can_be_reached(
    site: TlsDask, made: Callable[[TlsDask], ClusterExecutor], said: str | None
) -> None:
    found = asyncio.run(made(site).check())
    assert found is None if said is None else said in (found or ""), found


class GrowingDask(DaskSite):
    """A scheduler that takes no plugins from clients, and workers that come one by one."""

    workers = 0
    resources = ""

    def scheduler_options(self) -> tuple[str, ...]:
        return ("--preload", "turnout.executors.dask.plugin")

    def worker_options(self) -> tuple[str, ...]:
        return ("--resources", self.resources) if self.resources else ()

    def add(self, resources: str = "") -> None:
        self.resources = resources
        self._add()

    def executor(self) -> ClusterExecutor:
        return self.options(self.address, "default")["executors"]["dask"]


@pytest.fixture
def growing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GrowingDask]:
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__BLOCKED_HANDLERS", '["register_scheduler_plugin"]')
    site = GrowingDask(tmp_path)
    try:
        yield site
    finally:
        site.close()


def test_capacity_follows_a_cluster_that_grows_and_what_others_use_of_it(
    growing: GrowingDask, sqlite_url: str, tmp_path: Path
) -> None:
    from distributed import Client

    notes, go = tmp_path / "notes", tmp_path / "go"
    with runner_on(
        DaskSite.options(f"tcp://127.0.0.1:{free_port()}", "default")["executors"]["dask"], sqlite_url
    ) as runner:
        run_id = runner.submit(flows.equipped, path=str(notes), go=str(go)).id
        until(lambda: runner.get(run_id).tasks()[0].reason == CLUSTER_UNAVAILABLE, "the cluster is not missed")
    growing.start()
    growing.add()
    with Client(growing.address) as client:
        client.wait_for_workers(1)
        executor = growing.executor()
        with runner_on(executor, sqlite_url) as runner:
            run = runner.get(run_id)
            said = "no_node_fits: asks for gpu=1 license=1; the nearest node has gpu=0 license=0"
            until(lambda: run.tasks()[0].reason == said, f"the reason is another: {run.tasks()[0].reason}")
            assert executor.metrics().capacity == SLOTS
            growing.add("GPU=1,license=1")
            until(notes.exists, "the body has not begun on the new worker")
            until(lambda: executor.metrics().capacity == 2 * SLOTS, "the capacity does not follow the new worker")
            others = client.submit(flows.hold, str(tmp_path / "others"), str(go), pure=False)
            until(lambda: executor.metrics().capacity == 2 * SLOTS - 1, "what others use is offered")
            go.touch()
            run.result(WAIT)
            others.result(WAIT)
