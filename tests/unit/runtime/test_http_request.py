"""A request that may reach public addresses only: the address is checked where the connection is made."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from turnout.runtime import http_request

PUBLIC, PRIVATE = "1.1.1.1", "10.0.0.1"


class Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None: ...

    def do_GET(self) -> None:
        target = {"/inside": "http://inside.example/", "/number": f"http://{PRIVATE}/"}.get(self.path)
        self.send_response(302 if target else 200)
        if target:
            self.send_header("Location", target)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")


class Network:
    """A name service with an answer for each look-up, and one server behind every address."""

    def __init__(self, port: int) -> None:
        self.answers: dict[str, list[str]] = {}
        self.connected: list[str] = []
        self._port = port
        self._connect = socket.create_connection

    def look_up(self, host: str, port: int, *args: Any, **more: Any) -> list[Any]:
        found = self.answers.get(host, [host])
        address = found.pop(0) if len(found) > 1 else found[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, port))]

    def connect(self, address: tuple[str, int], timeout: float) -> socket.socket:
        self.connected.append(address[0])
        return self._connect(("127.0.0.1", self._port), timeout)


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Iterator[Network]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    made = Network(server.server_port)
    monkeypatch.setattr(http_request.socket, "getaddrinfo", made.look_up)
    monkeypatch.setattr(http_request.socket, "create_connection", made.connect)
    yield made
    server.shutdown()
    server.server_close()


def sent(folder: Path, url: str, *, public_only: bool = True) -> tuple[Any, dict[str, Any]]:
    request = {"url": url, "method": "GET", "headers": {}, "body": None, "expected": [], "public_only": public_only}
    (folder / "request.json").write_text(json.dumps(request))
    try:
        code: Any = http_request.main(str(folder))
    except SystemExit as end:
        code = end.code
    written = folder / "response.json"
    return code, json.loads(written.read_text()) if written.exists() else {}


PRIVATE_V4 = ["10.0.0.1", "127.0.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "224.0.0.1"]
PRIVATE_V6 = ["::1", "fe80::1", "fd00::1", "::ffff:10.0.0.1", "2002:0a00:0001::", "64:ff9b::10.0.0.1"]


@pytest.mark.parametrize("address", [*PRIVATE_V4, *PRIVATE_V6])
def test_a_name_that_leads_to_a_private_address_is_refused(network: Network, tmp_path: Path, address: str) -> None:
    network.answers["shop.example"] = [address]
    code, response = sent(tmp_path, "http://shop.example/")
    assert (code, response) == (8, {"refused": f"shop.example ({address})"})
    assert network.connected == [], "nothing was connected to"


def test_a_public_address_is_reached_by_the_address_that_was_checked(network: Network, tmp_path: Path) -> None:
    network.answers["shop.example"] = [PUBLIC, PRIVATE]
    code, response = sent(tmp_path, "http://shop.example/")
    assert (code, response["status"]) == (0, 200)
    assert network.connected == [PUBLIC], "a second answer of the name service is not asked for"


@pytest.mark.parametrize("path", ["inside", "number"])
def test_a_redirection_to_a_private_address_is_refused(network: Network, tmp_path: Path, path: str) -> None:
    network.answers |= {"shop.example": [PUBLIC], "inside.example": [PRIVATE]}
    code, response = sent(tmp_path, f"http://shop.example/{path}")
    assert code == 8 and PRIVATE in response["refused"]
    assert network.connected == [PUBLIC]


def test_other_requests_reach_every_address(network: Network, tmp_path: Path) -> None:
    code, _ = sent(tmp_path, f"http://{PRIVATE}/", public_only=False)
    assert code == 0 and network.connected == [PRIVATE]


def test_a_failed_connection_names_host_and_port_without_credentials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        code, _ = sent(tmp_path, f"http://me:secret@127.0.0.1:{port}/", public_only=False)
    said = capsys.readouterr().err
    assert code == 7 and f"GET http://127.0.0.1:{port}: " in said and "secret" not in said
