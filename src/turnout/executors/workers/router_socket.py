"""Sends and receives messages: a ROUTER socket on the event loop of the engine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

import zmq

from turnout.errors import HubUnavailable
from turnout.executors.ipc import make_private
from turnout.executors.workers.curve_auth import CurveAuthenticator
from turnout.executors.workers.hub_services import Heard
from turnout.executors.workers.settings import HubSettings

log = logging.getLogger("turnout.hub")

AT_ONCE = 500
"""Messages taken in one turn of the loop, so that other callbacks run in between."""
TURN_SECONDS = 0.02
"""Seconds for which one turn takes messages."""

MADE_UP = 5
"""Bytes of a route that libzmq chose, of which the first is 0. Workers set no route of their own."""

_HELLO = b"hello"


class RouterSocket:
    """A bound socket, used only on the loop that opened it; libzmq has a thread of its own for the network."""

    def __init__(
        self,
        settings: HubSettings,
        heard: Heard,
        after: Callable[[], None],
        authenticator: CurveAuthenticator | None = None,
    ) -> None:
        self._settings = settings
        self._authenticator = authenticator
        self._heard = heard
        self._after = after
        """Called when everything that had come was received."""
        self._context: zmq.Context[Any] | None = None
        self._socket: zmq.Socket[bytes] | None = None
        self._loop: asyncio.AbstractEventLoop
        self._looking = False
        self.address = settings.address
        self.dropped = 0
        """Number of messages to workers that were not connected, or whose queue was full."""

    @property
    def is_open(self) -> bool:
        """True if workers can connect."""
        return self._socket is not None

    def open(self) -> None:
        """Binds; raises HubUnavailable if the address is taken."""
        self._loop = asyncio.get_running_loop()
        self._context = zmq.Context()
        socket = self._socket = self._context.socket(zmq.ROUTER)
        socket.setsockopt(zmq.LINGER, 200)
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        socket.setsockopt(zmq.MAXMSGSIZE, self._settings.max_message_bytes)
        socket.setsockopt(zmq.SNDHWM, self._settings.queue)
        socket.setsockopt(zmq.RCVHWM, self._settings.queue)
        socket.setsockopt(zmq.IPV6, "[" in self._settings.address)
        if self._authenticator is not None:
            self._authenticator.open(self._context, socket)
        try:
            socket.bind(self._settings.address)
        except zmq.ZMQError as error:
            self._close()
            way_out = (
                "; if another orchestrator has it, configure another address here, or no hub (`hub=False` in Python)"
                if error.errno == zmq.EADDRINUSE
                else ""
            )
            raise HubUnavailable(
                f"the hub cannot listen on {self._settings.address}: {error.strerror}{way_out}",
                address=self._settings.address,
            ) from error
        self.address = socket.getsockopt_string(zmq.LAST_ENDPOINT)
        make_private(self.address)
        self._loop.add_reader(socket.fileno(), self._look)

    def close(self) -> None:
        if self._socket is not None:
            self._loop.remove_reader(self._socket.fileno())
        self._close()

    def _close(self) -> None:
        if self._authenticator is not None:
            self._authenticator.close()
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._context is not None:
            self._context.term()
            self._context = None

    def send(self, route: bytes, frames: Sequence[bytes]) -> None:
        if self._socket is None:
            return
        try:
            self._socket.send_multipart([route, *frames], zmq.NOBLOCK)
        except zmq.ZMQError:
            self.dropped += 1
        # The descriptor signals changes only, and sending may have consumed a signal.
        self._look_soon()

    def _look_soon(self) -> None:
        if not self._looking:
            self._looking = True
            self._loop.call_soon(self._look)

    def _look(self) -> None:
        self._looking = False
        socket = self._socket
        if socket is None:
            return
        ends = time.monotonic() + TURN_SECONDS
        for _ in range(AT_ONCE):
            if time.monotonic() >= ends:
                self._look_soon()
                break
            if not int(socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN:
                break
            if self._authenticator is None:
                route, *frames = socket.recv_multipart(zmq.NOBLOCK)
                self._heard(route, frames, None)
            else:
                self._hear_with_key(socket.recv_multipart(zmq.NOBLOCK, copy=False))
        else:
            self._look_soon()
        self._after()

    def _hear_with_key(self, message: Sequence[zmq.Frame]) -> None:
        """Reads the key of a connection from its hello; the key then holds for its route.

        That is sound: a route belongs to one connection while it lives (ROUTER_HANDOVER is off, so a second connection
        that claims it is ignored). A later connection could only guess it: a hello from a route that a worker chose is
        refused, and those that libzmq chooses begin at a random number. To send anything in the name of the first, it
        would also need the session's id, which was sent to the first connection only, encrypted.
        """
        route, *frames = [frame.bytes for frame in message]
        key = None
        if frames and frames[0] == _HELLO and len(route) == MADE_UP and not route[0]:
            with contextlib.suppress(zmq.ZMQError):  # without a key it is refused
                key = str(message[-1].get("User-Id"))
        self._heard(route, frames, key)
