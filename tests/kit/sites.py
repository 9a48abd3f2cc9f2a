"""The places where executors run bodies: each can be started, gives executors and a rule to a Runner, and loses a node.

A new executor is one more entry of ``SITES``: its conformance suite is tests/conformance/test_cluster_executors.py.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.executor_flows import FLOWS
from tests.kit.waiting import until
from turnout import Runner
from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.executors.process import ProcessExecutor
from turnout.executors.thread import ThreadExecutor
from turnout.executors.workers.settings import HubSettings

ROOT = Path(__file__).parents[2]
SLOTS = 2
"""Bodies at once on each of the two nodes of a site that has nodes."""
HEARTBEAT, LEASE = 1.0, 5.0
CLUSTER_LEASE = 15.0
"""A body begins within it, after the start of two processes; a cluster tells of lost nodes, so it need not be short."""
ATTEMPT_TITLE = re.compile(r"ray::\S+:\d+")
"""The title of a process of Ray that runs an attempt: its token."""


class Site:
    """A place where bodies run, at an address that orchestrators can be given."""

    key = ""
    kills = True
    """A body has a process of its own, which a timeout or a cancellation ends."""
    outlives = True
    """Bodies go on when the orchestrator dies."""
    nodes = True
    """Bodies run on nodes that can be lost."""
    supervised = False
    """A supervisor in the cluster has the attempts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = ""
        self.processes: list[subprocess.Popen[bytes]] = []

    @staticmethod
    def missing() -> str | None:
        """Returns why there is no such site here."""
        return None

    def start(self) -> None: ...

    def close(self) -> None:
        for process in reversed(self.processes):
            end(process)

    @staticmethod
    def options(address: str, namespace: str) -> dict[str, Any]:
        """Returns the options of a Runner that sends tasks there."""
        raise NotImplementedError

    def address_for(self, namespace: str) -> str:
        """Returns the address for another database."""
        return self.address

    def lose_node(self, pid: int) -> None:
        """Kills the node on which the body with this process id runs, and starts another."""
        raise NotImplementedError

    def lose_any_node(self, number: int) -> bool:
        """Kills the node with this number, counted around, and starts another. False if there was none."""
        raise NotImplementedError

    def lose_supervisor(self) -> bool:
        """Kills what holds the attempts in the cluster; it comes back without its memory. False if there was none."""
        raise NotImplementedError

    def spawn(self, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TURNOUT_")}
        paths = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src"), kept.get("PYTHONPATH", "")])}
        log = (self.folder / f"{self.key}{len(self.processes)}.log").open("wb")
        with log:
            process = subprocess.Popen(
                command,
                env={**kept, **paths, **environment},
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def _kill_above(self, pid: int) -> subprocess.Popen[bytes]:
        """Kills that of the processes started here below which the body runs."""
        above = ancestors(pid)
        process = next(each for each in self.processes if each.pid in above)
        kill_at_once((process.pid, *reversed(above[: above.index(process.pid)])))
        process.wait()
        return process


class ThreadSite(Site):
    key = "default"
    kills = outlives = nodes = False

    @staticmethod
    def options(address: str, namespace: str) -> dict[str, Any]:
        return {"executors": {"default": ThreadExecutor(SLOTS)}}


class ProcessSite(Site):
    key = "process"
    outlives = nodes = False

    @staticmethod
    def options(address: str, namespace: str) -> dict[str, Any]:
        return {"executors": {"process": ProcessExecutor(SLOTS, grace=0.5)}}


class WorkersSite(Site):
    key = "workers"

    def start(self) -> None:
        self.address = self.address_for("default")

    def address_for(self, namespace: str) -> str:
        """Starts two workers for another hub: every hub belongs to one database."""
        address = f"tcp://127.0.0.1:{free_port()}"
        for _ in range(2):
            self._add(address)
        return address

    def _add(self, address: str) -> None:
        options = ("--connect", address, "--import", "tests.executor_flows", "--processes")
        self.spawn(sys.executable, "-m", "turnout", "worker", *options, "--concurrency", str(SLOTS))

    @staticmethod
    def options(address: str, namespace: str) -> dict[str, Any]:
        return {"hub": HubSettings(address=address, heartbeat=HEARTBEAT, lease=LEASE)}

    def lose_node(self, pid: int) -> None:
        self._kill_above(pid)
        self._add(self.address)


class DaskSite(Site):
    key = "dask"
    supervised = True
    workers = 2
    scheme = "tcp"

    def scheduler_options(self) -> tuple[str, ...]:
        return ()

    def worker_options(self) -> tuple[str, ...]:
        return ()

    @staticmethod
    def missing() -> str | None:
        return None if importlib.util.find_spec("distributed") else "the package distributed is not installed"

    def start(self) -> None:
        self._port = free_port()
        self.address = f"{self.scheme}://127.0.0.1:{self._port}"
        self._start_scheduler()
        for _ in range(self.workers):
            self._add()

    def _start_scheduler(self) -> None:
        here = ("--host", "127.0.0.1", "--port", str(self._port), "--no-dashboard", "--no-jupyter")
        self.scheduler = self.spawn(
            sys.executable, "-m", "distributed.cli.dask_scheduler", *here, *self.scheduler_options()
        )
        until(lambda: listens(self._port), "the Dask scheduler does not listen")

    def lose_any_node(self, number: int) -> bool:
        alive = [each for each in self.processes if each is not self.scheduler and each.poll() is None]
        if not alive:
            return False
        end(alive[number % len(alive)], signal.SIGKILL)
        self._add()
        return True

    def lose_supervisor(self) -> bool:
        """Kills the scheduler. Its workers end by themselves, so there are others afterwards."""
        if self.scheduler.poll() is not None:
            return False
        end(self.scheduler, signal.SIGKILL)
        self._start_scheduler()
        for _ in range(2):
            self._add()
        return True

    def _add(self) -> None:
        options = ("--no-nanny", "--no-dashboard", "--nthreads", str(SLOTS), "--local-directory", str(self.folder))
        options = (*options, *self.worker_options())
        self.spawn(sys.executable, "-m", "distributed.cli.dask_worker", self.address, *options)

    @staticmethod
    def options(address: str, namespace: str) -> dict[str, Any]:
        from turnout.executors.dask.executor import DaskExecutor

        return {
            "executors": {"dask": DaskExecutor(address, namespace=namespace, heartbeat=HEARTBEAT, lease=CLUSTER_LEASE)}
        }

    def lose_node(self, pid: int) -> None:
        self._kill_above(pid)
        self._add()


class RaySite(Site):
    key = "ray"
    supervised = True
    workers = 2
    head_options: tuple[str, ...] = ("--num-cpus", "0")

    def environment(self) -> dict[str, str]:
        return {}

    @staticmethod
    def missing() -> str | None:
        return None if importlib.util.find_spec("ray") else "the package ray is not installed"

    def start(self) -> None:
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        # The path is short enough for the sockets that Ray keeps in it.
        self._temporary = tempfile.TemporaryDirectory(prefix="r", dir="/tmp", ignore_cleanup_errors=True)
        head = ("--head", "--node-ip-address", "127.0.0.1", "--port", str(port), *self.head_options)
        self._ray("start", *head, "--include-dashboard=false", "--temp-dir", self._temporary.name)
        for _ in range(self.workers):
            self._add()

    def _add(self) -> None:
        self._ray("start", "--address", self.address, "--node-ip-address", "127.0.0.1", "--num-cpus", str(SLOTS))

    def _ray(self, *arguments: str) -> None:
        shared = ("--block", "--disable-usage-stats", "--object-store-memory", "80000000")
        for name in ("dashboard-agent-listen-port", "dashboard-agent-grpc-port", "metrics-export-port"):
            shared = (*shared, f"--{name}", str(free_port()))
        off = {"RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1"}
        # A node on a busy machine is slow, not lost: one that is killed refuses the connection at once.
        slow = {"RAY_health_check_timeout_ms": "60000", **self.environment()}
        process = self.spawn(sys.executable, "-m", "ray.scripts.scripts", *arguments, *shared, **off, **slow)
        # Nodes that start at the same time choose the same names for their sockets, and one of them ends.
        until(lambda: self._is_up(process), "a node of the Ray cluster does not start")

    def _is_up(self, process: subprocess.Popen[bytes]) -> bool:
        said = (self.folder / f"{self.key}{self.processes.index(process)}.log").read_text(errors="replace")
        assert process.poll() is None, f"a node of the Ray cluster has ended:\n{said}"
        return "This command will now block" in said

    @staticmethod
    def options(address: str, namespace: str) -> dict[str, Any]:
        from turnout.executors.ray.executor import RayExecutor

        return {
            "executors": {"ray": RayExecutor(address, namespace=namespace, heartbeat=HEARTBEAT, lease=CLUSTER_LEASE)}
        }

    def lose_node(self, pid: int) -> None:
        # The process of the node that owns its workers is the raylet, a child of ``ray start --block``.
        raylet = next(each for each in ancestors(pid) if "raylet" in command_of(each))
        started = next(each for each in self.processes if each.pid in ancestors(raylet))
        kill(raylet)
        end(started, signal.SIGKILL)
        self._add()

    def lose_any_node(self, number: int) -> bool:
        """Kills a process of Ray that runs an attempt, or one that could."""
        titles = {pid: line_of(pid).strip() for pid in self._below()}
        runs = [pid for pid, title in titles.items() if ATTEMPT_TITLE.fullmatch(title)]
        found = runs or [pid for pid, title in titles.items() if title == "ray::IDLE"]
        return bool(found) and kill(found[number % len(found)])

    def lose_supervisor(self) -> bool:
        found = [pid for pid in self._below() if line_of(pid).strip().startswith("ray::SupervisorActor")]
        killed = [kill(pid) for pid in found]
        return any(killed)

    def _below(self) -> list[int]:
        mine = {each.pid for each in self.processes}
        pids = sorted(int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit())
        return [pid for pid in pids if mine & set(ancestors(pid))]

    def close(self) -> None:
        # Ray would drain its nodes first.
        for pid in (*self._below(), *(each.pid for each in self.processes)):
            kill(pid)
        super().close()
        self._temporary.cleanup()


class KubernetesSite(Site):
    """The emulated cluster of tests/kit/cluster_emulator.py. Its address is the folder with all that clients need."""

    key = "kubernetes"

    def start(self) -> None:
        from tests.kit.cluster_emulator import ClusterEmulator

        self.cluster = ClusterEmulator(self.folder, path=str(ROOT))
        self.cluster.__enter__()
        self.address = self.address_for("default")

    def address_for(self, namespace: str) -> str:
        """Returns a folder for another hub: every hub belongs to one database."""
        return self._access(namespace, self.cluster.server.url)

    def _access(self, namespace: str, url: str, certificate: Path | None = None) -> str:
        from tests.kit.kubernetes_access import write_access

        folder = self.folder / f"access-{namespace}"
        folder.mkdir()
        return write_access(folder, url, certificate)

    def close(self) -> None:
        self.cluster.__exit__()

    @staticmethod
    def options(address: str, namespace: str) -> dict[str, Any]:
        from tests.kit.kubernetes_access import runner_options

        # The cluster tells of lost pods, so the lease need not be short; a body begins within it.
        return runner_options(Path(address), heartbeat=HEARTBEAT, lease=10.0)

    def lose_node(self, pid: int) -> None:
        above = ancestors(pid)
        pod = next(name for name, process in self.cluster.processes.items() if process.pid in above)
        pids = tuple(reversed(above[: above.index(self.cluster.processes[pod].pid) + 1]))
        freeze(pids)
        self.cluster.lose_node(pod)
        kill_at_once(pids)


class RealKubernetesSite(KubernetesSite):
    """A real API server, with the Job controller of the emulator."""

    @staticmethod
    def missing() -> str | None:
        from tests.kit.real_api_server import missing

        return missing()

    def start(self) -> None:
        from tests.kit.cluster_emulator import ClusterEmulator
        from tests.kit.real_api_server import RealApiServer, RealState

        self.server = RealApiServer(self.folder)
        self.server.start()
        self.cluster = ClusterEmulator(self.folder, path=str(ROOT), state=RealState(self.server.client()))
        self.cluster.__enter__()
        self.address = self.address_for("default")

    def address_for(self, namespace: str) -> str:
        return self._access(namespace, self.server.url, self.server.certificate)

    def close(self) -> None:
        super().close()
        self.server.stop()


SITES: Mapping[str, type[Site]] = {
    "thread": ThreadSite,
    "process": ProcessSite,
    "workers": WorkersSite,
    "dask": DaskSite,
    "ray": RaySite,
    "kubernetes": KubernetesSite,
    "kubernetes_api_server": RealKubernetesSite,
}


def runner_at(site: str, url: str, address: str, namespace: str = "default") -> Runner:
    """Returns a Runner that sends every task there, by a rule. Databases that share a cluster have namespaces."""
    return runner_of(site, url, SITES[site].options(address, namespace))


def runner_of(site: str, url: str, options: Mapping[str, Any]) -> Runner:
    """Returns a Runner with these options that sends every task to the executor of the site."""
    rules = RoutingConfig("default", rules=(RoutingRule("**", SITES[site].key),))
    return Runner(url, workflows=FLOWS, routing=rules, config=False, handle_sigterm=False, **options)


# -- processes -------------------------------------------------------------------------------------------------------
def end(process: subprocess.Popen[bytes], number: signal.Signals = signal.SIGTERM) -> None:
    """Ends a process with all that it has started, which are in its session."""
    if process.poll() is None:
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def kill_at_once(pids: Sequence[int]) -> None:
    """Kills processes as when a machine loses its power: none of them sees another one end. Parents come first."""
    freeze(pids)
    for pid in pids:
        kill(pid)


def freeze(pids: Sequence[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)


def kill(pid: int) -> bool:
    """True if there was such a process, and it had not ended."""
    if is_gone(pid):
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def ancestors(pid: int) -> list[int]:
    """Returns the process and those above it."""
    found = [pid]
    while (parent := _parent(found[-1])) > 1:
        found.append(parent)
    return found


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def line_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return trial.getsockname()[1]


def listens(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0
