"""A real API server for tests, from the binaries that ``KUBEBUILDER_ASSETS`` names: etcd and kube-apiserver.

It has no controllers, no scheduler and no nodes: the Job controller of the emulator works on its objects.
"""

from __future__ import annotations

import base64
import os
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx2

from tests.kit.cluster_state import Conflict, Json
from tests.kit.waiting import until

PROGRAMS = ("etcd", "kube-apiserver")
TOKEN = "a-token"
PATHS = {"jobs": "apis/batch/v1", "pods": "api/v1", "secrets": "api/v1"}


def missing() -> str | None:
    """Why there is no real API server here."""
    folder = os.environ.get("KUBEBUILDER_ASSETS", "")
    if folder and all((Path(folder) / name).is_file() for name in PROGRAMS):
        return None
    return "KUBEBUILDER_ASSETS names no folder with etcd and kube-apiserver: NOT tested against a real API server"


class RealApiServer:
    """Both programs, with their data in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.url = ""
        self.certificate = folder / "certificates" / "apiserver.crt"

    def start(self) -> None:
        etcd, peer, port = _ports(3)
        client = f"http://127.0.0.1:{etcd}"
        self._run(
            "etcd",
            *(f"--data-dir={self._folder}/etcd", f"--listen-client-urls={client}", f"--advertise-client-urls={client}"),
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
        )
        key, tokens = self._folder / "accounts.key", self._folder / "tokens.csv"
        subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
        tokens.write_text(f'{TOKEN},admin,admin,"system:masters"\n')
        self._run(
            "kube-apiserver",
            *(f"--etcd-servers={client}", "--bind-address=127.0.0.1", f"--secure-port={port}"),
            *(f"--cert-dir={self.certificate.parent}", f"--token-auth-file={tokens}", "--authorization-mode=RBAC"),
            *("--service-account-issuer=https://localhost", f"--service-account-key-file={key}"),
            *(f"--service-account-signing-key-file={key}", "--service-cluster-ip-range=10.0.0.0/24"),
            "--disable-admission-plugins=ServiceAccount",
        )
        self.url = f"https://127.0.0.1:{port}"
        until(self._is_ready, "the API server does not become ready")

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
            process.wait(30)

    def client(self) -> httpx2.Client:
        context = ssl.create_default_context(cafile=str(self.certificate))
        return httpx2.Client(base_url=self.url, headers={"Authorization": f"Bearer {TOKEN}"}, verify=context)

    def _is_ready(self) -> bool:
        assert all(each.poll() is None for each in self._processes), "a program has ended; its log is in the folder"
        try:
            with self.client() as client:
                namespace = client.get("api/v1/namespaces/default")
                return client.get("readyz").is_success and namespace.is_success
        except (OSError, httpx2.HTTPError):
            return False

    def _run(self, program: str, *arguments: str) -> None:
        with (self._folder / f"{program}.log").open("wb") as log:
            command = [str(Path(os.environ["KUBEBUILDER_ASSETS"]) / program), *arguments]
            self._processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log))


class RealState:
    """The objects of a real API server, as the Job controller of the emulator uses them."""

    interval = 0.2

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client
        self.changed = threading.Condition()
        self.version = 0

    def get(self, plural: str, name: str) -> Json | None:
        answer = self._client.get(_path(plural, name))
        return None if answer.status_code == httpx2.codes.NOT_FOUND else _read(answer)

    def all(self, plural: str, selector: Mapping[str, str] | None = None) -> list[Json]:
        text = ",".join(f"{name}={value}" for name, value in (selector or {}).items())
        return [
            _plain(each) for each in _read(self._client.get(_path(plural), params={"labelSelector": text}))["items"]
        ]

    def create(self, plural: str, item: Json) -> Json:
        answer = self._client.post(_path(plural), json=item)
        if answer.status_code == httpx2.codes.CONFLICT:
            raise Conflict(item["metadata"]["name"])
        return _read(answer)

    def update(self, plural: str, name: str, change: Callable[[Json], None]) -> Json | None:
        """Changes the status: the controller changes nothing else."""
        while (item := self.get(plural, name)) is not None:
            change(item)
            answer = self._client.put(f"{_path(plural, name)}/status", json=item)
            if answer.status_code != httpx2.codes.CONFLICT:
                return None if answer.status_code == httpx2.codes.NOT_FOUND else _read(answer)
        return None

    def remove(self, plural: str, name: str) -> Json | None:
        self._client.delete(_path(plural, name), params={"gracePeriodSeconds": "0"})
        return None


def _path(plural: str, name: str = "") -> str:
    return f"{PATHS[plural]}/namespaces/default/{plural}{'/' if name else ''}{name}"


def _read(answer: httpx2.Response) -> Any:
    assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
    return _plain(answer.json())


def _plain(item: Json) -> Json:
    """A Secret as it was written: the server gives its data encoded."""
    if item.get("data") and "stringData" not in item:
        item["stringData"] = {name: base64.b64decode(value).decode() for name, value in item["data"].items()}
    return item


def _ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
