"""Attempts in an emulated Kubernetes cluster: what goes wrong with the API server, with pods and with keys."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
import zmq
from hypothesis import given
from hypothesis import strategies as st

from tests import executor_flows as flows
from tests.kit.cluster_emulator import CONTAINER, PYTHON, ClusterEmulator
from tests.kit.cluster_server import ClusterServer
from tests.kit.cluster_state import ClusterState, Json
from tests.kit.kubernetes_access import runner_options, write_access
from tests.kit.waiting import until
from turnout import Runner
from turnout.cli.checks import Check, Grade
from turnout.cli.reachability import executor_checks
from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.errors import InvalidSetting
from turnout.executors.kubernetes.api import ApiError, ClusterApi
from turnout.executors.kubernetes.executor import KubernetesExecutor
from turnout.executors.kubernetes.manifest import HOLDER, KEY
from turnout.executors.kubernetes.settings import KubernetesSettings
from turnout.executors.workers.attempt_workers import AttemptWorker, AttemptWorkers
from turnout.model.rows import Session
from turnout.model.states import RunState
from turnout.runner.config import read_config
from turnout.wire.messages import Hello

WAIT = 120.0
ROOT = Path(__file__).parents[2]
EVERYTHING = RoutingConfig("default", (RoutingRule("**", "kubernetes"),))
UNSCHEDULED = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}],
}

OOM = {"name": CONTAINER, "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}


class Site:
    """A cluster, and the Runner that uses it."""

    def __init__(self, cluster: ClusterEmulator, runner: Runner) -> None:
        self.cluster = cluster
        self.server = cluster.server
        self.runner = runner

    @property
    def executor(self) -> KubernetesExecutor:
        found = self.runner._core.dispatcher.executors["kubernetes"]  # type: ignore[union-attr]
        assert isinstance(found, KubernetesExecutor)
        return found

    def pod(self) -> str:
        return until(lambda: list(self.cluster.processes), "no container was started")[-1]

    def started(self) -> int:
        return len(self.cluster.processes)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ClusterEmulator]:
    with ClusterEmulator(tmp_path, path=str(ROOT)) as emulator:
        write_access(tmp_path, emulator.server.url)
        yield emulator


@contextmanager
def site_of(cluster: ClusterEmulator, **options: Any) -> Iterator[Site]:
    given = runner_options(cluster.folder, heartbeat=0.5, lease=30.0, **options)
    url = f"sqlite:///{cluster.folder}/runs.db"
    with Runner(url, workflows=flows.FLOWS, routing=EVERYTHING, config=False, handle_sigterm=False, **given) as runner:
        yield Site(cluster, runner)


@pytest.fixture
def site(cluster: ClusterEmulator) -> Iterator[Site]:
    with site_of(cluster) as found:
        yield found


@pytest.fixture
def held(tmp_path: Path) -> dict[str, str]:
    return {"path": str(tmp_path / "notes"), "go": str(tmp_path / "go")}


def begun(held: dict[str, str]) -> int:
    path = Path(held["path"])
    return path.read_text().count("begun") if path.exists() else 0


# -- the API server --------------------------------------------------------------------------------------------------
def test_a_creation_whose_answer_is_lost_is_not_made_twice(site: Site) -> None:
    site.server.fail("POST", "jobs", 500, after=True)
    site.server.fail("POST", "secrets", 0, after=True)
    # With its Secret stored an attempt could begin, and end, before the creation of that is repeated.
    site.cluster.kubelet = lambda pod: None if site.server.count("POST", "secrets", 409) else pod["status"]
    assert site.runner.submit(flows.deferred).result(WAIT) == [0, 1]
    assert site.server.count("POST", "jobs", 409) == 1 and site.server.count("POST", "secrets", 409) == 1
    for plural in ("jobs", "secrets"):
        made = [name for kind, name in site.cluster.state.created if kind == plural]
        assert len(made) == len(set(made)) == site.started() == 3, f"one of {plural} for each of three attempts"


def test_a_busy_server_is_asked_again_when_it_says(site: Site) -> None:
    site.server.fail("POST", "jobs", 429, times=2, retry_after="1")
    site.server.fail("POST", "secrets", 503)
    run = site.runner.submit(flows.retried)
    assert run.result(WAIT) == 3
    came = [(request.at, status) for request, status in site.server.served if request.verb == "create"]
    (first, _), (second, _), (third, status), *_ = came
    assert [each for _, each in came[:3]] == [429, 429, 201] and status == 201
    assert second - first >= 1 and third - second >= 1, "it was asked again before the time that it said"


def test_a_server_that_fails_at_the_start_delays_tasks_and_says_why(
    cluster: ClusterEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnout.executors.kubernetes.executor.FIRST_LIST_TIMEOUT", 0.2)
    cluster.server.fail("GET", "jobs", 500, times=1000)
    with site_of(cluster) as site:
        run = site.runner.submit(flows.deferred)
        reason = until(lambda: run.tasks()[0].reason)
        assert reason == "cluster_unavailable: Injected (500)"
        with cluster.state.changed:
            cluster.server.faults.clear()
        assert run.result(WAIT) == [0, 1]


def test_everything_is_listed_page_by_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnout.executors.kubernetes.api.PAGE", 2)
    state = ClusterState()
    server = ClusterServer(state)
    for number in range(5):
        state.create("pods", {"metadata": {"name": f"pod{number}", "labels": {"a": "b"}}})
        state.create("pods", {"metadata": {"name": f"other{number}"}})

    async def listed() -> tuple[list[str], str]:
        api = ClusterApi.of(str(tmp_path / "kubeconfig"), None, None)
        try:
            items, version = await api.list("pods", "a=b")
            return [each["metadata"]["name"] for each in items], version
        finally:
            await api.close()

    write_access(tmp_path, server.url)
    server.start()
    try:
        assert asyncio.run(listed()) == ([f"pod{number}" for number in range(5)], str(state.version))
        assert server.count("GET", "pods", 200) == 3
        server.on_page = state.compact
        with pytest.raises(ApiError) as error:
            asyncio.run(listed())
        assert error.value.failure.status == 410, "a list that takes too long is begun anew"
    finally:
        server.stop()


def test_the_role_has_the_rights_that_the_executor_uses_and_no_more(site: Site, held: dict[str, str]) -> None:
    site.server.fail("POST", "jobs", 500, after=True)
    assert site.runner.submit(flows.deferred).result(WAIT) == [0, 1]
    run = site.runner.submit(flows.holding, **held)
    until(lambda: begun(held) == 1)
    run.cancel("not needed")
    assert run.wait(WAIT) is RunState.CANCELLED
    until(lambda: site.server.deleted)
    used = {(request.plural, request.verb) for request, _ in site.server.served}
    documents = yaml.safe_load_all((ROOT / "deploy/kubernetes/rbac.yaml").read_text())
    (role,) = [each for each in documents if each["kind"] == "Role"]
    granted = {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    assert granted == used


@pytest.mark.parametrize("fault", ["dropped", "compacted", "error event", "500", "429"])
def test_a_watch_that_breaks_misses_nothing(site: Site, held: dict[str, str], fault: str) -> None:
    run = site.runner.submit(flows.holding, **held)
    pod = site.pod()
    until(lambda: begun(held) == 1)
    match fault:
        case "compacted":
            site.cluster.state.compact()
        case "error event":
            site.server.fail("WATCH", "pods", 410, in_stream=True)
        case "500" | "429":
            site.server.fail("WATCH", "pods", int(fault), times=2)
        case _:
            pass
    site.server.drop_watches()
    site.cluster.lose_node(pod)
    until(lambda: begun(held) == 2, "the loss of the node was not noticed")
    Path(held["go"]).touch()
    assert run.wait(WAIT) is RunState.COMPLETED
    assert [each.outcome for each in run.attempts()] == ["lost", "completed"]
    assert "its node" in (run.attempts()[0].error or "")


@pytest.mark.parametrize("status", [401, 403, 404, 408])
def test_a_server_that_does_not_let_jobs_be_created_makes_tasks_wait_with_its_words(
    cluster: ClusterEmulator, status: int
) -> None:
    with site_of(cluster, start_timeout=1.0) as site:
        site.server.fail("POST", "jobs", status, times=1000)
        run = site.runner.submit(flows.deferred)
        until(lambda: f"({status})" in (run.tasks()[0].reason or "") or "breaker" in (run.tasks()[0].reason or ""))
    with cluster.state.changed:
        cluster.server.faults.clear()
    with site_of(cluster) as site:
        assert site.runner.get(run.id).wait(WAIT) is RunState.COMPLETED


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_job_that_the_server_finds_invalid_fails_its_task(site: Site, status: int) -> None:
    site.server.fail("POST", "jobs", status)
    run = site.runner.submit(flows.deferred)
    assert run.wait(WAIT) is RunState.FAILED
    assert "its Job was not created" in str(run.tasks()[0].error)
    until(lambda: not len(site.executor._table), "a Job that was never created is still known")


# -- pods ------------------------------------------------------------------------------------------------------------
def waiting(reason: str, message: str) -> Json:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"phase": "Pending", "containerStatuses": [{"name": CONTAINER, "state": state}]}


def test_a_pod_that_no_node_takes_shows_why_and_its_task_runs_when_there_is_one(cluster: ClusterEmulator) -> None:
    cluster.kubelet = lambda pod: UNSCHEDULED
    with site_of(cluster, start_timeout=1.0) as site:
        run = site.runner.submit(flows.success, "Ada")
        reason = until(lambda: run.tasks()[0].reason)
        assert reason == "pod_unschedulable: 0/3 nodes are available"
        assert any("0/3 nodes" in line.text for line in run.logs()), "the log has it while the pod waits"
    cluster.kubelet = lambda pod: None
    with site_of(cluster) as site:
        run = site.runner.get(run.id)
        assert run.wait(WAIT) is RunState.COMPLETED
        assert not [each for each in run.attempts() if each.outcome not in ("returned", "completed")]


def test_a_job_that_gets_no_pod_is_forgotten_with_its_deletion(cluster: ClusterEmulator) -> None:
    cluster.creates_pods = False
    with site_of(cluster, start_timeout=1.0) as site:
        run = site.runner.submit(flows.success, "Ada")
        until(lambda: "its Job has no pod" in (run.tasks()[0].reason or ""))
        run.cancel("not needed")
        assert run.wait(WAIT) is RunState.CANCELLED
        until(lambda: not cluster.jobs() and not len(site.executor._table), "a Job that is deleted is still known")


def test_a_job_is_deleted_although_the_credentials_run_out_for_a_while(cluster: ClusterEmulator) -> None:
    cluster.kubelet = lambda pod: UNSCHEDULED
    with site_of(cluster) as site:
        run = site.runner.submit(flows.success, "Ada")
        until(cluster.pods)
        cluster.server.fail("DELETE", "jobs", 401, times=2)
        run.cancel("not needed")
        assert run.wait(WAIT) is RunState.CANCELLED
        until(lambda: not cluster.jobs() and not len(site.executor._table))


def test_an_image_that_cannot_be_pulled_fails_the_attempt(cluster: ClusterEmulator) -> None:
    cluster.kubelet = lambda pod: waiting("ErrImagePull", "shop:2 not found")
    with site_of(cluster, image_pull_timeout=0.5) as site:
        run = site.runner.submit(flows.success, "Ada")
        assert run.wait(WAIT) is RunState.FAILED
        assert "ErrImagePull: shop:2 not found" in str(run.tasks()[0].error)
        until(lambda: not cluster.jobs(), "its Job is not removed")


def failing(**status: Any) -> Callable[[Json], Json | None]:
    """The first pod has this status, and later ones run."""
    seen: list[str] = []

    def kubelet(pod: Json) -> Json | None:
        seen.append(pod["metadata"]["name"])
        return {"phase": "Failed", **status} if pod["metadata"]["name"] == seen[0] else None

    return kubelet


def test_a_pod_that_runs_and_never_reaches_the_hub_is_answered_in_time(cluster: ClusterEmulator) -> None:
    running = {"name": CONTAINER, "state": {"running": {"startedAt": "now"}}}
    cluster.kubelet = lambda pod: {"phase": "Running", "containerStatuses": [running]}
    with site_of(cluster, start_timeout=0.5) as site:
        run = site.runner.submit(flows.success, "Ada")
        until(lambda: "pod_not_connected" in (run.tasks()[0].reason or ""))
    cluster.kubelet = lambda pod: None
    with site_of(cluster) as site:
        assert site.runner.get(run.id).wait(WAIT) is RunState.COMPLETED


def test_a_pod_that_is_evicted_before_it_starts_costs_no_attempt(cluster: ClusterEmulator) -> None:
    cluster.kubelet = failing(reason="Evicted", message="low on memory")
    with site_of(cluster) as site:
        run = site.runner.submit(flows.success, "Ada")
        assert run.wait(WAIT) is RunState.COMPLETED
        assert "evicted" in (run.attempts()[0].error or run.attempts()[0].reason or "")


@pytest.mark.parametrize(
    ("status", "outcome", "words"),
    [
        ({"reason": "DeadlineExceeded"}, "timed_out", "the deadline of its pod has passed"),
        (
            {
                "containerStatuses": [OOM],
            },
            "crashed",
            "out of memory",
        ),
        ({"reason": "Evicted", "message": "low on disk"}, "lost", "low on disk"),
    ],
)
def test_the_end_of_a_running_pod_is_the_end_of_its_attempt(
    site: Site, held: dict[str, str], status: Json, outcome: str, words: str
) -> None:
    run = site.runner.submit(flows.holding, **held)
    pod = site.pod()
    until(lambda: begun(held) == 1)
    site.cluster.processes[pod].kill()
    site.cluster.set_status(pod, {"phase": "Failed", **status})
    Path(held["go"]).touch()
    run.wait(WAIT)
    first = run.attempts()[0]
    assert (first.outcome, words in (first.error or "")) == (outcome, True)


@pytest.mark.parametrize(
    ("pod_status", "outcome", "words"),
    [
        ({"containerStatuses": [OOM]}, "crashed", "out of memory"),
        ({"reason": "DeadlineExceeded"}, "timed_out", "the deadline of its pod"),
    ],
)
def test_a_list_of_failed_jobs_takes_the_reason_from_their_pods(
    site: Site, held: dict[str, str], pod_status: Json, outcome: str, words: str
) -> None:
    run = site.runner.submit(flows.holding, **held)
    pod = site.pod()
    until(lambda: begun(held) == 1)
    # The watch is away until the Job has failed too, and then everything is listed.
    site.server.fail("WATCH", "pods", 500, times=1000)
    site.server.drop_watches()
    site.cluster.processes[pod].kill()
    site.cluster.set_status(pod, {"phase": "Failed", **pod_status})
    until(lambda: site.cluster.jobs()[0].get("status"), "the Job controller has not written the failure")
    site.cluster.state.compact()
    with site.cluster.state.changed:
        site.server.faults.clear()
    Path(held["go"]).touch()
    run.wait(WAIT)
    first = run.attempts()[0]
    assert (first.outcome, words in (first.error or "")) == (outcome, True), first.error


@pytest.mark.parametrize("disruption", ["EvictionByEvictionAPI", ""])
def test_a_body_that_ends_within_the_grace_of_its_deleted_pod_keeps_its_result(
    cluster: ClusterEmulator, held: dict[str, str], disruption: str
) -> None:
    with site_of(cluster, grace=WAIT) as site:
        run = site.runner.submit(flows.holding, **held)
        pod = site.pod()
        until(lambda: begun(held) == 1)
        cluster.delete_pod(pod, disruption)
        until(lambda: "stopping: 1 step runs" in cluster.log_of(pod))
        assert site.started() == 1, "a second body was started beside the first"
        Path(held["go"]).touch()
        assert run.wait(WAIT) is RunState.COMPLETED
        assert [each.outcome for each in run.attempts()] == ["completed"]
        assert begun(held) == site.started() == 1


@pytest.mark.parametrize(
    ("disruption", "words"), [("EvictionByEvictionAPI", "its node is drained"), ("", "its worker was stopped")]
)
def test_a_body_that_outlasts_the_grace_of_its_deleted_pod_is_lost_with_the_reason(
    site: Site, held: dict[str, str], disruption: str, words: str
) -> None:
    run = site.runner.submit(flows.holding, **held)
    pod = site.pod()
    until(lambda: begun(held) == 1)
    site.cluster.delete_pod(pod, disruption)
    until(lambda: begun(held) == 2, "no other attempt followed")
    until(lambda: site.cluster.processes[pod].poll() is not None, "the first container goes on beside the second")
    Path(held["go"]).touch()
    assert run.wait(WAIT) is RunState.COMPLETED
    assert [each.outcome for each in run.attempts()] == ["lost", "completed"]
    assert words in (run.attempts()[0].error or "")


def test_a_pod_that_is_deleted_before_it_starts_costs_no_attempt(cluster: ClusterEmulator) -> None:
    cluster.kubelet = lambda pod: UNSCHEDULED
    with site_of(cluster) as site:
        run = site.runner.submit(flows.success, "Ada")
        (pod,) = until(cluster.pods)
        cluster.kubelet = lambda pod: None
        cluster.delete_pod(pod["metadata"]["name"])
        assert run.wait(WAIT) is RunState.COMPLETED
        assert not [each for each in run.attempts() if each.outcome not in ("returned", "completed")]


def test_a_job_that_has_ended_is_removed_after_its_time_and_forgotten(cluster: ClusterEmulator) -> None:
    with site_of(cluster, ttl=1) as site:
        run = site.runner.submit(flows.deferred)
        assert run.result(WAIT) == [0, 1]
        until(lambda: not cluster.jobs() and not cluster.pods() and not cluster.state.all("secrets"))
        until(lambda: not len(site.executor._table), "Jobs that the cluster has removed are still known")
        assert not site.server.deleted, "Jobs that have ended are left to the cluster"
        assert {each.outcome for each in run.attempts()} <= {"deferred", "completed"}


def test_a_job_whose_sidecar_goes_on_is_removed_after_the_grace(cluster: ClusterEmulator) -> None:
    template = {"spec": {"containers": [{"name": "proxy", "image": "proxy:1"}]}}
    with site_of(cluster, pod_template=template, grace=0.5) as site:
        run = site.runner.submit(flows.deferred)
        assert run.result(WAIT) == [0, 1]
        assert {each.outcome for each in run.attempts()} <= {"deferred", "completed"}
        until(lambda: not cluster.jobs() and not cluster.pods(), "the sidecar keeps the Job")
        until(lambda: not len(site.executor._table), "the Job is gone and still known")


def test_a_run_that_is_cancelled_while_its_pod_waits_leaves_no_job(cluster: ClusterEmulator) -> None:
    cluster.kubelet = lambda pod: UNSCHEDULED
    with site_of(cluster) as site:
        run = site.runner.submit(flows.success, "Ada")
        until(cluster.pods)
        run.cancel("not needed")
        assert run.wait(WAIT) is RunState.CANCELLED
        until(lambda: not cluster.jobs() and not cluster.pods() and not cluster.state.all("secrets"))


def test_a_job_that_no_run_waits_for_is_removed(cluster: ClusterEmulator, held: dict[str, str]) -> None:
    cluster.kubelet = lambda pod: UNSCHEDULED
    with site_of(cluster) as site:
        site.runner.submit(flows.holding, **held)
        until(cluster.pods)
    (cluster.folder / "runs.db").unlink()
    for more in cluster.folder.glob("runs.db-*"):
        more.unlink()
    with site_of(cluster, start_timeout=0.5):
        until(lambda: not cluster.jobs(), "the Job of a database that is gone stays")


# -- the page --------------------------------------------------------------------------------------------------------
def test_the_configuration_of_the_page_runs_its_tasks_in_the_cluster(cluster: ClusterEmulator) -> None:
    text = (ROOT / "docs/how-to/kubernetes.md").read_text()
    block = re.search(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    template = ROOT / "deploy/kubernetes/pod-template.yaml"
    here = {
        "tcp://0.0.0.0:5890": "tcp://127.0.0.1:0",
        'advertise = "tcp://turnout-hub.turnout.svc:5890"': "",
        'namespace = "turnout"': f'kubeconfig = "{cluster.folder}/kubeconfig"\ncommand = {list(PYTHON)!r}',
        '"pod-template.yaml"': f'"{template}"',
        "*::ml::**": "**",
        "*::ml::*::train*": "**::greet",
    }
    toml = block[1]
    for theirs, mine in here.items():
        assert theirs in toml, theirs
        toml = toml.replace(theirs, mine)
    file = cluster.folder / "turnout.toml"
    file.write_text(toml)
    url = f"sqlite:///{cluster.folder}/page.db"
    with Runner(url, workflows=[flows.success], config=str(file), handle_sigterm=False) as runner:
        assert runner.submit(flows.success, "Ada").result(WAIT) == 6.0
    images = {pod["metadata"]["name"].split("-")[1]: pod["spec"]["containers"][0]["image"] for pod in cluster.pods()}
    assert images == {"greet": "registry.example.com/shop-gpu:1", "count": "registry.example.com/shop:1"}


# -- turnout doctor --------------------------------------------------------------------------------------------------
def doctor(folder: Path) -> list[Check]:
    (folder / "turnout.toml").write_text(
        f'[executors.cluster]\nuse = "kubernetes"\nimage = "shop:1"\nkubeconfig = "{folder}/kubeconfig"\n'
    )
    return list(executor_checks(read_config(folder, {})))


def test_the_doctor_says_whether_the_cluster_can_be_reached(cluster: ClusterEmulator) -> None:
    (check,) = doctor(cluster.folder)
    assert (check.name, check.grade, check.text) == ("executor cluster", Grade.GOOD, "reachable")
    assert [request.query for request, _ in cluster.server.served] == [{"limit": "1"}]
    cluster.server.fail("GET", "jobs", 403)
    (check,) = doctor(cluster.folder)
    assert check.grade is Grade.BAD and "namespace default" in check.text and "(403)" in check.text


def test_the_doctor_says_that_nothing_answers_at_the_address_of_the_cluster(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        write_access(tmp_path, url)
        (check,) = doctor(tmp_path)
    assert check.grade is Grade.BAD and f"at {url}: no answer" in check.text
    (tmp_path / "kubeconfig").unlink()
    (check,) = doctor(tmp_path)
    assert check.grade is Grade.BAD and "the cluster cannot be found" in check.text


# -- keys ------------------------------------------------------------------------------------------------------------
def test_the_key_of_an_attempt_is_forgotten_with_it_and_its_secret_is_nowhere_else(site: Site) -> None:
    secrets: list[str] = []
    create = site.cluster.state.create

    def spy(plural: str, item: Json) -> Json:
        if plural == "secrets":
            secrets.extend(item["stringData"].values())
        return create(plural, item)

    site.cluster.state.create = spy  # type: ignore[method-assign]
    run = site.runner.submit(flows.deferred)
    assert run.result(WAIT) == [0, 1]
    until(lambda: not site.executor._hub.attempt_workers, "keys of attempts that have ended are admitted")
    assert len(secrets) == 3
    seen = [str(site.cluster.jobs()), str(site.cluster.pods()), *(line.text for line in run.logs())]
    seen += [site.cluster.log_of(pod) for pod in site.cluster.processes]
    assert not [secret for secret in secrets for text in seen if secret in text]


def forged(name: str, job: Json, *, holder: str, key: str) -> Json:
    """A Pod that has failed, and says that it belongs to a Job of this worker."""
    metadata = job["metadata"]
    return {
        "metadata": {
            "name": name,
            "labels": metadata["labels"] | {HOLDER: holder},
            "annotations": metadata["annotations"] | {KEY: key},
            "ownerReferences": [{"kind": "Job", "name": name, "uid": name}],
        },
        "spec": {"containers": [{"name": CONTAINER}]},
        "status": {"phase": "Failed", "reason": "Evicted"},
    }


def test_only_jobs_that_the_database_confirms_are_known(
    site: Site, held: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    stranger, worker = (zmq.curve_keypair()[0].decode() for _ in range(2))
    run = site.runner.submit(flows.holding, **held)
    until(lambda: begun(held) == 1)
    (job,) = site.cluster.jobs()
    own, holder = job["metadata"]["annotations"][KEY], job["metadata"]["labels"][HOLDER]
    hub, core = site.executor._hub, site.runner._core
    assert core is not None and hub.authenticator is not None
    core.store.join_worker(Session(id="ordinary", kind="worker", key=worker), 600.0, "{}")
    (site.cluster.folder / "workers.toml").write_text(f'[[worker]]\nname = "one"\nkey = "{worker}"\n')
    until(lambda: worker in hub.authenticator.allowed.list)  # type: ignore[union-attr]
    announced = [("unknown", stranger), ("ordinary", stranger), ("ordinary", worker), (holder, stranger)]
    for number, (claimed, key) in enumerate(announced):
        site.cluster.state.create("pods", forged(f"forged-{number}", job, holder=claimed, key=key))
    until(lambda: all(f"Job forged-{number} is ignored" in caplog.text for number in range(3)))
    keys = hub.attempt_workers
    assert keys.admits(own) and not keys.admits(stranger) and not keys.admits(worker)
    assert not site.executor.has_holder("ordinary") and not site.executor.has_holder("unknown")
    Path(held["go"]).touch()
    assert run.wait(WAIT) is RunState.COMPLETED
    assert [each.outcome for each in run.attempts()] == ["completed"], "a Pod that was forged ended the attempt"


def hello(worker_id: str) -> Hello:
    return Hello(versions=("1.0",), worker_id=worker_id, seq=1, codecs=("json",), credits=1, handlers=())


@given(st.sampled_from("ab"), st.sampled_from("ABC"))
def test_a_key_admits_its_own_worker_and_no_other(worker: str, key: str) -> None:
    workers = AttemptWorkers()
    workers.expect(AttemptWorker("a", "A"))
    workers.expect(AttemptWorker("b", "B"))
    assert workers.concerns(key, hello(worker))
    assert (workers.refusal(key, hello(worker)) is None) == (worker.upper() == key)
    workers.forget("a")
    assert not workers.admits("A") and workers.admits("B")


def test_keys_that_may_still_become_known_are_told_from_strangers() -> None:
    workers = AttemptWorkers()
    assert workers.complete
    workers.await_list("kubernetes")
    assert not workers.complete
    workers.listed("kubernetes")
    assert workers.complete


def test_an_executor_without_a_hub_with_keys_is_refused(tmp_path: Path) -> None:
    executor = KubernetesExecutor(KubernetesSettings(image="x"))
    options: dict[str, Any] = {"config": False, "workflows": [], "handle_sigterm": False}
    for hub in (None, "tcp://127.0.0.1:0"):
        with pytest.raises(InvalidSetting, match="need a hub with keys"):
            Runner(f"sqlite:///{tmp_path}/x.db", executors={"kubernetes": executor}, hub=hub, **options)
