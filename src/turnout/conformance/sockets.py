"""Holds the ROUTER sockets of the scripted hubs on loopback, and admits the key of the program."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from socket import AF_INET6, create_server

import msgspec
import zmq
from zmq.utils import z85

from turnout.conformance.script import Document

LOWEST_PORT, HIGHEST_PORT = 16_000, 32_000
"""Below the ports that systems give to outgoing connections: one that is let go for a moment is still free then."""
MAX_MESSAGE = 64 * 1024 * 1024
LOOPBACK = {"ipv4": "tcp://127.0.0.1", "ipv6": "tcp://[::1]"}
_ZAP = "inproc://zeromq.zap.01"


class Keys(msgspec.Struct, frozen=True):
    """A pair of CURVE keys, as Z85 text."""

    public: str
    secret: str


def new_keys() -> Keys:
    public, secret = zmq.curve_keypair()
    return Keys(public.decode(), secret.decode())


class Sockets:
    """The sockets of one session; one thread uses them."""

    def __init__(
        self,
        hubs: int,
        server: Keys | None = None,
        allowed: str = "",
        *,
        aliases: Sequence[int] = (),
        network: str = "ipv4",
    ) -> None:
        self._context = zmq.Context()
        self._network = network
        self._server = server
        self._allowed = allowed
        self._open: dict[int, zmq.Socket[bytes]] = {}
        self._addresses: dict[int, list[str]] = {}
        """Of each hub the address, and its alias if it has one."""
        self._zap: zmq.Socket[bytes] | None = None
        if server is not None:
            self._zap = self._context.socket(zmq.REP)
            self._zap.bind(_ZAP)
        for number in range(1, hubs + 1):
            router = self._router(number)
            names = 2 if number in aliases else 1
            self._addresses[number] = [self._bound(router) for _ in range(names)]

    def address(self, hub: int) -> str:
        return self._addresses[hub][0]

    def alias(self, hub: int) -> str:
        return self._addresses[hub][1]

    def _bound(self, router: zmq.Socket[bytes]) -> str:
        host = LOOPBACK[self._network]
        return f"{host}:{router.bind_to_random_port(host, LOWEST_PORT, HIGHEST_PORT, 1_000)}"

    def receive(self, wait_ms: int) -> Iterator[tuple[int, bytes, list[bytes]]]:
        """Yields the messages that have arrived: hub, route, frames."""
        poller = zmq.Poller()
        for socket in (*self._open.values(), *([self._zap] if self._zap is not None else [])):
            poller.register(socket, zmq.POLLIN)
        ready = dict(poller.poll(wait_ms))
        if self._zap in ready:
            self._admit()
        for number, socket in list(self._open.items()):
            while socket in ready:
                try:
                    route, *frames = socket.recv_multipart(zmq.NOBLOCK)
                except zmq.Again:
                    break
                yield number, route, frames
                if self._open.get(number) is not socket:
                    break

    def post(self, hub: int, route: bytes, frames: list[bytes]) -> None:
        if hub in self._open:
            self._open[hub].send_multipart([route, *frames], zmq.NOBLOCK)

    def drop(self, hub: int, *, down: bool) -> None:
        """Break every connection; unless it is to stay down, listen again at the same address."""
        if (before := self._open.pop(hub, None)) is not None:
            before.close(linger=0)
        if not down:
            router = self._router(hub)
            for address in self._addresses[hub]:
                _patiently_bind(router, address)

    def close(self) -> None:
        self._context.destroy(linger=0)

    def _router(self, hub: int) -> zmq.Socket[bytes]:
        socket = self._context.socket(zmq.ROUTER)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE)
        socket.setsockopt(zmq.IPV6, self._network == "ipv6")
        if self._server is not None:
            socket.curve_server = True
            socket.curve_secretkey = self._server.secret.encode()
            socket.curve_publickey = self._server.public.encode()
            socket.setsockopt(zmq.ZAP_DOMAIN, b"conformance")
        self._open[hub] = socket
        return socket

    def _admit(self) -> None:
        """Only the key that the program was given is accepted (ZeroMQ RFC 27)."""
        assert self._zap is not None
        version, request, _, _, _, mechanism, *credentials = self._zap.recv_multipart()
        key = z85.encode(credentials[0]).decode() if mechanism == b"CURVE" and credentials else ""
        status = (b"200", b"OK") if key == self._allowed else (b"400", b"not this key")
        self._zap.send_multipart([version, request, *status, b"", b""])


def _patiently_bind(socket: zmq.Socket[bytes], address: str) -> None:
    """ZeroMQ lets go of an address a moment after its socket was closed."""
    until = time.monotonic() + 10
    while True:
        try:
            socket.bind(address)
            return
        except zmq.ZMQError as error:
            if error.errno != zmq.EADDRINUSE or time.monotonic() > until:
                raise
        time.sleep(0.005)


def has_ipv6() -> bool:
    """True if this machine can listen on its IPv6 loopback."""
    try:
        create_server(("::1", 0), family=AF_INET6).close()
    except OSError:
        return False
    return True


@contextmanager
def opened(document: Document, server: Keys | None, allowed: str) -> Iterator[Sockets]:
    sockets = Sockets(document.hubs, server, allowed, aliases=document.aliases, network=document.network)
    try:
        yield sockets
    finally:
        sockets.close()
