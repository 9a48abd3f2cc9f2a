"""Authenticates connections to a hub with keys: each is encrypted, and its key is checked before any message.

ZeroMQ asks over ZAP, a socket inside of the hub's own context. One context has one authenticator, and each hub has its
own context, so several hubs in one process are independent.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zmq
from zmq.utils import z85
from zmq.utils.monitor import parse_monitor_message

from turnout.executors.workers.allow_list_file import AllowedWorkers
from turnout.executors.workers.attempt_workers import AttemptWorkers
from turnout.executors.workers.settings import HubSettings
from turnout.rate_limited_log import DistinctLog
from turnout.wire.keys import own_pair, shortened
from turnout.wire.messages import Error, Hello

log = logging.getLogger("turnout.hub")

_ZAP = "inproc://zeromq.zap.01"
_DOMAIN = b"turnout"
_FAILURES = "inproc://failures"
_FAILED = zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
_WHY = {int(zmq.PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC): "it does not know this hub's public key"}
_NO_KEY = "it gave no key, and this hub takes encrypted connections only"
"""Of the two ends of an unencrypted connection, the one that notices first ends it; a mere port scan ends the same."""


def refusal_log(clock: Callable[[], float] = time.monotonic) -> DistinctLog:
    """Logs peers that were refused, once for each peer and reason."""
    more = "more were refused; the next lines about that come in %.0f s"
    return DistinctLog(log, "%s was refused: %s", more, clock=clock)


class CurveAuthenticator:
    """Checks keys by the list of the hub's workers, and by the workers that were made for one attempt each, on the
    event loop that opened it."""

    def __init__(self, key_file: str, workers_file: str, attempt_workers: AttemptWorkers | None = None) -> None:
        self._pair = own_pair(Path(key_file), log)
        self._attempt_workers = AttemptWorkers() if attempt_workers is None else attempt_workers
        self.allowed = AllowedWorkers(Path(workers_file))
        self.refusals = refusal_log()
        self._loop: asyncio.AbstractEventLoop
        self._zap: zmq.Socket[bytes] | None = None
        self._authenticated: zmq.Socket[bytes] | None = None
        self._monitor: zmq.Socket[bytes] | None = None

    @classmethod
    def of(cls, settings: HubSettings, attempt_workers: AttemptWorkers | None = None) -> CurveAuthenticator | None:
        """Returns the authenticator of a hub with keys; None if it has none."""
        if settings.key_file is None or settings.workers_file is None:
            return None
        return cls(settings.key_file, settings.workers_file, attempt_workers)

    @property
    def public_key(self) -> str:
        return self._pair.public

    def permission(self, key: str | None, hello: Hello) -> Error | None:
        """Returns the error for a worker that is not admitted, or may not claim what it claims; None if it may."""
        attempts = self._attempt_workers
        error = (attempts if attempts.concerns(key, hello) else self.allowed.list).refusal(key, hello)
        if error is not None:
            self.refusals.note(f"worker {hello.name or hello.worker_id}", f"{error.code}: {error.message}")
        return error

    def open(self, context: zmq.Context[Any], socket: zmq.Socket[bytes]) -> None:
        """Authenticates the connections of this socket, which is not bound yet."""
        self._loop = asyncio.get_running_loop()
        zap = self._zap = context.socket(zmq.REP)
        zap.setsockopt(zmq.LINGER, 0)
        zap.bind(_ZAP)
        socket.curve_server = True
        socket.curve_secretkey = self._pair.secret.encode()
        socket.setsockopt(zmq.ZAP_DOMAIN, _DOMAIN)
        # While nothing answers, as when the hub closes, every connection is refused.
        socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
        self._authenticated, self._monitor = socket, _monitor(context, socket)
        self._loop.add_reader(zap.fileno(), self._asked)
        self._loop.add_reader(self._monitor.fileno(), self._heard_of_failures)
        # Descriptors signal changes only: requests that came before must be looked for.
        self._asked()
        self._heard_of_failures()

    def close(self) -> None:
        """Ends the authentication. Called before the authenticated socket is closed."""
        if self._monitor is not None and self._authenticated is not None:
            self._loop.remove_reader(self._monitor.fileno())
            self._authenticated.disable_monitor()
            self._monitor.close(linger=0)
        if self._zap is not None:
            self._loop.remove_reader(self._zap.fileno())
            self._zap.close()
        self._zap = self._authenticated = self._monitor = None

    def _asked(self) -> None:
        """Answers the requests of connections, by ZeroMQ RFC 27."""
        while self._zap is not None and int(self._zap.getsockopt(zmq.EVENTS)) & zmq.POLLIN:
            version, request, _, address, _, mechanism, *credentials = self._zap.recv_multipart(zmq.NOBLOCK)
            key = z85.encode(credentials[0]).decode() if mechanism == b"CURVE" and credentials else ""
            if key in self.allowed.list or self._attempt_workers.admits(key):
                answer = (b"200", b"OK", key.encode())
            elif not self._attempt_workers.complete:
                # ZeroMQ closes the connection without an error, and the worker connects again.
                answer = (b"300", b"come again soon", b"")
            else:
                answer = (b"400", b"this key may not be here", b"")
                self.refusals.note(
                    f"a connection from {address.decode(errors='replace')}", f"its key {shortened(key)} is not listed"
                )
            self._zap.send_multipart([version, request, *answer, b""], zmq.NOBLOCK)

    def _heard_of_failures(self) -> None:
        while self._monitor is not None and int(self._monitor.getsockopt(zmq.EVENTS)) & zmq.POLLIN:
            event = parse_monitor_message(self._monitor.recv_multipart(zmq.NOBLOCK))
            failed = event["event"] == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
            self.refusals.note("a connection", _WHY.get(int(event["value"]), _NO_KEY) if failed else _NO_KEY)


def _monitor(context: zmq.Context[Any], socket: zmq.Socket[bytes]) -> zmq.Socket[bytes]:
    """Returns a socket that receives failed handshakes. Its queue has no limit: at a full queue ZeroMQ would wait for
    the reader, for ever if the hub is closing."""
    listening = context.socket(zmq.PAIR)
    listening.setsockopt(zmq.RCVHWM, 0)
    socket.monitor(_FAILURES, _FAILED)
    listening.connect(_FAILURES)
    return listening
