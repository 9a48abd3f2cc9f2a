"""A cluster for tests: an API server, and a Job controller that starts containers as processes of this machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tests.kit.cluster_jobs import is_outdated, job_status, stamp
from tests.kit.cluster_server import ClusterServer
from tests.kit.cluster_state import ClusterState, Conflict, Json
from tests.kit.forked import Forked

SOURCES = Path(__file__).parents[2] / "src"
CONTAINER = "turnout"
PYTHON = ("python", "-m", "turnout")
"""The command of images that have nothing but Turnout."""

Kubelet = Callable[[Json], Json | None]
"""What becomes of a pod: its status, or None: its container is started."""


class ClusterEmulator:
    """Runs pods whose command begins with ``python`` as real processes, with the environment and Secret of the pod.
    ``state``: the objects of a real API server, in place of an emulated one."""

    def __init__(self, folder: Path, *, path: str = "", kubelet: Kubelet = lambda pod: None, state: Any = None) -> None:
        emulated = ClusterState()
        self.state: ClusterState = state or emulated
        self.server = ClusterServer(emulated)
        self.kubelet = kubelet
        self.folder = folder
        self.path = path
        """What pods may import from, besides Turnout."""
        self.creates_pods = True
        """False: the namespace has no quota for Pods."""
        self.processes: dict[str, Forked] = {}
        """By pod."""
        self._leaving: set[str] = set()
        """Pods that are being deleted."""
        self._kills: dict[str, float] = {}
        """When their containers are killed, by the monotonic clock."""
        self._handled: set[str] = set()
        """Jobs that have had their pod."""
        self._stopped = threading.Event()
        self._controller = threading.Thread(target=self._control, daemon=True)

    def __enter__(self) -> ClusterEmulator:
        self.server.start()
        self._controller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        with self.state.changed:
            self.state.changed.notify_all()
        self._controller.join(10)
        for process in self.processes.values():
            process.kill()
            process.wait(10)
        self.server.stop()

    # -- for tests --------------------------------------------------------------------------------------------------
    def pods(self) -> list[Json]:
        return self.state.all("pods")

    def jobs(self) -> list[Json]:
        return self.state.all("jobs")

    def running(self) -> list[Forked]:
        return [process for process in self.processes.values() if process.poll() is None]

    def set_status(self, pod: str, status: Json) -> None:
        self.state.update("pods", pod, partial(_set_status, status))

    def delete_pod(self, pod: str, disruption: str = "") -> None:
        """Deletes a Pod alone: its container gets SIGTERM, and SIGKILL after the grace. ``disruption``: why the cluster
        does so, as ``EvictionByEvictionAPI``."""
        if pod not in self._leaving:
            self._leaving.add(pod)
            self.state.update("pods", pod, partial(_set_deleted, disruption))

    def lose_node(self, pod: str) -> None:
        """The node is gone, with the process: the cluster says so, and nothing of how the container ended."""
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}
        self.set_status(pod, {"phase": "Failed", "reason": "NodeLost", "conditions": [condition]})
        self.processes[pod].kill()

    def log_of(self, pod: str) -> str:
        return (self.folder / f"{pod}.log").read_text(errors="replace")

    # -- the controller ---------------------------------------------------------------------------------------------
    def _control(self) -> None:
        while not self._stopped.is_set():
            with self.state.changed:
                before = self.state.version
            self._create_pods()
            self._collect_garbage()
            self._start_containers()
            self._look_at_processes()
            self._finish_jobs()
            with self.state.changed:
                if self.state.version == before:
                    self.state.changed.wait(self.state.interval)

    def _create_pods(self) -> None:
        for job in self.jobs():
            name = job["metadata"]["name"]
            if name in self._handled or not self.creates_pods:
                continue
            self._handled.add(name)
            template = job["spec"]["template"]
            assert template["spec"]["restartPolicy"] == "Never" and job["spec"]["backoffLimit"] == 0
            owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": job["metadata"]["uid"]}
            metadata = {**template["metadata"], "name": f"{name}-x", "ownerReferences": [owner]}
            with contextlib.suppress(Conflict):
                self.state.create("pods", {"metadata": metadata, "spec": template["spec"], "status": _pending()})

    def _finish_jobs(self) -> None:
        """Writes how Jobs have ended, and removes those whose time is over."""
        pods = {_owner(pod): pod for pod in self.pods()}
        for job in self.jobs():
            name, uid = job["metadata"]["name"], job["metadata"]["uid"]
            if name not in self._handled:
                continue
            status = job_status(job, pods.get(uid))
            if status is not None:
                self.state.update("jobs", name, partial(_set_status, status))
            elif is_outdated(job):
                self.state.remove("jobs", name)

    def _collect_garbage(self) -> None:
        jobs = {job["metadata"]["uid"] for job in self.jobs()}
        for pod in self.pods():
            if _owner(pod) not in jobs:
                self.delete_pod(pod["metadata"]["name"])
            self._end_container(pod)
        for secret in self.state.all("secrets"):
            if _owner(secret) not in jobs:
                self.state.remove("secrets", secret["metadata"]["name"])

    def _end_container(self, pod: Json) -> None:
        """Ends the container of a Pod that is being deleted, and removes the Pod when that has ended."""
        name, process = pod["metadata"]["name"], self.processes.get(pod["metadata"]["name"])
        if name not in self._leaving:
            return
        if process is None or (process.poll() is not None and not _runs(pod)):
            self.state.remove("pods", name)
        elif name not in self._kills:
            self._kills[name] = time.monotonic() + pod["spec"]["terminationGracePeriodSeconds"]
            process.terminate()
        elif time.monotonic() >= self._kills[name]:
            process.kill()

    def _start_containers(self) -> None:
        for pod in self.pods():
            name = pod["metadata"]["name"]
            if pod["status"].get("phase") != "Pending" or name in self.processes or name in self._leaving:
                continue
            status = self.kubelet(pod)
            if status is not None:
                if pod["status"] != status:
                    self.set_status(name, status)
                continue
            environment = self._environment(pod)
            if environment is None:
                waiting = {"reason": "CreateContainerConfigError", "message": "secret not found"}
                if not pod["status"].get("containerStatuses"):
                    self.set_status(name, {"phase": "Pending", "containerStatuses": [_status(waiting=waiting)]})
                continue
            command = _container(pod)["command"]
            assert tuple(command[: len(PYTHON)]) == PYTHON, command
            with (self.folder / f"{name}.log").open("wb") as log:
                self.processes[name] = Forked(
                    command[1:], cwd=self.folder, env=environment, stdout=log, stderr=subprocess.STDOUT
                )
            self.set_status(name, {"phase": "Running", "containerStatuses": [_status(running={"startedAt": stamp()})]})

    def _environment(self, pod: Json) -> dict[str, str] | None:
        """The variables of the container; None while its Secret is not there."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TURNOUT_")}
        found = {**inherited, "PYTHONPATH": os.pathsep.join(filter(None, [str(SOURCES), self.path]))}
        for variable in _container(pod).get("env", []):
            if "valueFrom" not in variable:
                found[variable["name"]] = variable["value"]
                continue
            reference = variable["valueFrom"]["secretKeyRef"]
            secret = self.state.get("secrets", reference["name"])
            if secret is None:
                return None
            found[variable["name"]] = secret["stringData"][reference["key"]]
        return found

    def _look_at_processes(self) -> None:
        for name, process in list(self.processes.items()):
            pod = self.state.get("pods", name)
            code = process.poll()
            if pod is None or code is None or not _runs(pod):
                continue
            code = 128 - code if code < 0 else code
            ended = {"exitCode": code, "reason": "Completed" if code == 0 else "Error"}
            phase = "Succeeded" if code == 0 else "Failed"
            if len(pod["spec"]["containers"]) > 1 and name not in self._leaving:
                phase = "Running"  # the other containers go on
            status = {**pod["status"], "phase": phase, "containerStatuses": [_status(terminated=ended)]}
            self.set_status(name, status)


def _set_status(status: Json, item: Json) -> None:
    item["status"] = status


def _set_deleted(disruption: str, pod: Json) -> None:
    pod["metadata"]["deletionTimestamp"] = stamp()
    if disruption:
        condition = {"type": "DisruptionTarget", "status": "True", "reason": disruption}
        pod["status"] = {**pod["status"], "conditions": [*pod["status"].get("conditions", ()), condition]}


def _runs(pod: Json) -> bool:
    """True if the container of the attempt has not ended, as far as the cluster knows."""
    states = pod["status"].get("containerStatuses") or [{}]
    return pod["status"].get("phase") == "Running" and "terminated" not in states[0].get("state", {})


def _pending() -> Json:
    return {"phase": "Pending"}


def _status(**state: Json) -> Json:
    """All that a real API server asks for in the status of a container."""
    return {
        "name": CONTAINER,
        "image": "turnout:test",
        "imageID": "",
        "ready": "running" in state,
        "restartCount": 0,
        "state": state,
    }


def _owner(item: Mapping[str, Any]) -> str:
    return item["metadata"]["ownerReferences"][0]["uid"]


def _container(pod: Json) -> Json:
    return next(each for each in pod["spec"]["containers"] if each["name"] == CONTAINER)


@contextlib.contextmanager
def frozen(process: Forked) -> Iterator[None]:
    """A process that does not run for a while."""
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process.pid, signal.SIGCONT)
