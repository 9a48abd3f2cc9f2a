"""What orchestrators need to use an emulated cluster, in a folder: a kubeconfig, the hub's keys and its address."""

from __future__ import annotations

import random
import socket
from pathlib import Path
from typing import Any

from tests.curve_keys import HubKeys
from tests.kit.cluster_emulator import PYTHON
from turnout.executors.kubernetes.executor import KubernetesExecutor
from turnout.executors.kubernetes.settings import KubernetesSettings
from turnout.executors.workers.settings import HubSettings

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: test
clusters: [{{name: test, cluster: {{server: "{url}"{authority}}}}}]
users: [{{name: test, user: {{token: a-token}}}}]
contexts: [{{name: test, context: {{cluster: test, user: test, namespace: default}}}}]
"""


def write_access(folder: Path, url: str, certificate: Path | None = None) -> str:
    """Writes the files; returns the folder. ``certificate``: of a server with TLS."""
    authority = "" if certificate is None else f', certificate-authority: "{certificate}"'
    (folder / "kubeconfig").write_text(KUBECONFIG.format(url=url, authority=authority))
    (folder / "hub").write_text(f"tcp://127.0.0.1:{_port()}")
    HubKeys(folder)
    return str(folder)


def runner_options(folder: Path, *, heartbeat: float, lease: float, **options: Any) -> dict[str, Any]:
    """The options of a Runner that uses the cluster; ``options`` are those of the executor."""
    hub = HubSettings(
        address=(folder / "hub").read_text(),
        key_file=str(folder / "hub.key"),
        workers_file=str(folder / "workers.toml"),
        heartbeat=heartbeat,
        lease=lease,
        resend=0.2,
    )
    given = {"image": "turnout:test", "command": PYTHON, "grace": 3.0, **options}
    settings = KubernetesSettings(kubeconfig=str(folder / "kubeconfig"), **given)
    return {"hub": hub, "executors": {"kubernetes": KubernetesExecutor(settings)}}


def _port() -> int:
    """A port for a hub that is started again: none that the system gives to whoever asks for any."""
    while True:
        port = random.SystemRandom().randint(20_000, 30_000)
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)):
                return port
