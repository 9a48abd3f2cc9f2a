"""Sends one HTTP request: a program of its own, so that it can be ended like any other command.

It is run by its path and imports nothing of Turnout but the module that knows private addresses.

    python http_request.py FOLDER

FOLDER has ``request.json``. The body of the response goes to standard output, its status and headers to
``response.json``; a private address that was refused goes there as well. The exit code is 0 for an expected status,
22 for another, 6 if the address is not found, 7 without a connection, 8 if it was refused, 28 if the answer was not
complete within the time of the request.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import os
import socket
import ssl
import sys
import threading
import time
from typing import Any, NoReturn
from urllib.parse import urljoin, urlsplit

MAX_REDIRECTS = 5
CONNECT_TIMEOUT = 30.0
CHUNK = 65_536
UNEXPECTED_STATUS, NOT_FOUND, NO_CONNECTION, REFUSED, TIMED_OUT = 22, 6, 7, 8, 28
REDIRECTS = (301, 302, 303, 307, 308)
_CREDENTIALS = frozenset({"authorization", "cookie", "proxy-authorization"})


class RefusedAddress(Exception):
    """Raised for an address that the request may not be sent to."""


def main(folder: str) -> int:
    with open(os.path.join(folder, "request.json"), encoding="utf-8") as file:
        request: dict[str, Any] = json.load(file)
    os.unlink(file.name)  # it may have secrets
    url, method, headers = request["url"], request["method"], dict(request["headers"])
    if request.get("timeout") is not None:
        _end_after(request["timeout"], f"{method} {_place(url)}")
    body = None if request["body"] is None else request["body"].encode()
    if request.get("sign") is not None:
        headers |= _signature(request["sign"], headers["webhook-id"], str(int(time.time())), body or b"")
    for _ in range(MAX_REDIRECTS + 1):
        try:
            response = _sent(url, method, headers, body, request)
        except RefusedAddress as refused:
            _write_response(folder, {"refused": str(refused)})
            _failed(f"{refused} is a private address", REFUSED)
        target = response.getheader("Location") if request.get("follow", True) else None
        if response.status not in REDIRECTS or target is None or response.status in request["expected"]:
            return _finished(folder, response, request, f"{method} {_place(url)}")
        response.close()
        next_url = urljoin(url, target)
        if urlsplit(next_url)[:2] != urlsplit(url)[:2]:
            headers = {name: value for name, value in headers.items() if name.lower() not in _CREDENTIALS}
        if response.status == 303 or (response.status in (301, 302) and method == "POST"):
            method, body = "GET", None
        url = next_url
    _failed(f"more than {MAX_REDIRECTS} redirections", NO_CONNECTION)


def _sent(
    url: str, method: str, headers: dict[str, str], body: bytes | None, request: dict[str, Any]
) -> http.client.HTTPResponse:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        _failed(f"{url!r} is no address of http or https", NOT_FOUND)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        public_only = request["public_only"] and parts.hostname not in request.get("private_hosts", ())
        address = _address(parts.hostname, port, public_only)
        connection = http.client.HTTPConnection(parts.hostname, port, timeout=CONNECT_TIMEOUT)
        stream = socket.create_connection(address, CONNECT_TIMEOUT)
        if parts.scheme == "https":
            stream = ssl.create_default_context().wrap_socket(stream, server_hostname=parts.hostname)
        stream.settimeout(None)  # the timeout of the step bounds the rest
        connection.sock = stream
        default = 443 if parts.scheme == "https" else 80
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        given = {"Host": host if port == default else f"{host}:{port}", "User-Agent": "turnout", **headers}
        path = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
        connection.request(method, path, body=body, headers=given)
        return connection.getresponse()
    except (OSError, http.client.HTTPException, ValueError) as error:
        _failed(f"{method} {_place(url)}: {error}", NO_CONNECTION)


def _place(url: str) -> str:
    """Returns scheme and host: without credentials, and without a path, which may be a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _end_after(seconds: float, what: str) -> None:
    """Ends the program after this time, also while it waits for the name service, which no timeout bounds."""

    def end() -> None:
        sys.stderr.write(f"{what}: no complete answer within {seconds:g} s\n")
        sys.stderr.flush()
        os._exit(TIMED_OUT)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def _address(host: str, port: int, public_only: bool) -> tuple[str, int]:
    """Returns the address that is connected to: the one that was checked, not a second answer of the name service."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        _failed(f"{host!r} is not found: {error}", NOT_FOUND)
    address = str(found[0][4][0])
    if public_only and _is_private(address):
        raise RefusedAddress(address if address == host else f"{host} ({address})")
    return address, port


def _is_private(address: str) -> bool:
    import importlib.util

    file = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "model", "addresses.py")
    spec = importlib.util.spec_from_file_location("addresses", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return bool(module.is_private_address(address))


def _signature(secret: str, message: str, timestamp: str, body: bytes) -> dict[str, str]:
    """Returns the headers of Standard Webhooks. ``turnout.model.webhook_signature`` verifies the same."""
    key = secret.encode()
    if secret.startswith("whsec_"):
        key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{message}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return {"webhook-timestamp": timestamp, "webhook-signature": "v1," + base64.b64encode(digest).decode()}


def _finished(folder: str, response: http.client.HTTPResponse, request: dict[str, Any], what: str) -> int:
    expected: list[int] = request["expected"]
    fine = response.status in expected if expected else 200 <= response.status < 300
    headers = {name.lower(): value for name, value in response.getheaders()}
    _write_response(folder, {"status": response.status, "headers": headers})
    left = request.get("max_response") or None
    while (left is None or left > 0) and (chunk := response.read(CHUNK if left is None else min(CHUNK, left))):
        sys.stdout.buffer.write(chunk)
        left = None if left is None else left - len(chunk)
    sys.stdout.buffer.flush()
    if not fine:
        sys.stderr.write(f"{what} answered with the status {response.status} {response.reason}".rstrip() + "\n")
    return 0 if fine else UNEXPECTED_STATUS


def _write_response(folder: str, document: dict[str, Any]) -> None:
    with open(os.path.join(folder, "response.json"), "w", encoding="utf-8") as file:
        json.dump(document, file)


def _failed(message: str, code: int) -> NoReturn:
    sys.stderr.write(f"{message}\n")
    sys.exit(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
