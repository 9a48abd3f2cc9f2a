"""Sends and receives frames: a publisher and a subscriber on the event loop of the engine."""

from __future__ import annotations

import asyncio
import errno
import socket as sockets
import time
from collections.abc import Callable, Iterable
from typing import Any

import zmq

from turnout.errors import ExecutionFailed
from turnout.executors.ipc import make_private
from turnout.executors.pubsub.contexts import Contexts
from turnout.executors.pubsub.settings import PubSubSettings
from turnout.wire.topics import RESULTS, channel_of

AT_ONCE = 500
"""Messages taken from one socket in one turn of the loop, so that other callbacks run in between."""
TURN_SECONDS = 0.02
"""Seconds for which one turn takes messages from one socket."""
LINGER_MS = 200
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
MAX_TOPIC_LENGTH = 1024
"""Bytes of a subscription, the only kind of message that the publishing socket receives."""

Heard = Callable[[list[bytes]], None]
Subscription = Callable[[bytes], None]


class Sockets:
    """Two sockets, used only on the loop that opened them; libzmq has a thread of its own for the network."""

    def __init__(
        self,
        settings: PubSubSettings,
        context: zmq.Context[Any] | None,
        *,
        came: Subscription,
        left: Subscription,
        heard: Heard,
        after: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._given = context
        self._contexts: Contexts | None = None
        self._came, self._left, self._heard = came, left, heard
        self._after = after
        """Called when everything that had come was received, and when there may be room for more."""
        self._steps: zmq.Socket[bytes] | None = None
        self._results: zmq.Socket[bytes] | None = None
        self._loop: asyncio.AbstractEventLoop
        self._looking = False
        self.step_endpoint = settings.rust_step_publisher
        self.result_endpoint = settings.rust_result_subscriber

    def open(self) -> None:
        """Binds and connects; raises ExecutionFailed if an endpoint is taken."""
        self._loop = asyncio.get_running_loop()
        self._contexts = Contexts(self._settings, self._given)
        context = self._contexts.context
        try:
            self._steps = self._publisher(context)
            self._results = self._subscriber(context)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._contexts is None:
            return
        sockets = [each for each in (self._steps, self._results) if each is not None]
        for socket in sockets:
            self._loop.remove_reader(socket.fileno())
        self._steps = self._results = None
        self._contexts.end(*sockets)
        self._contexts = None

    def _publisher(self, context: zmq.Context[Any]) -> zmq.Socket[bytes]:
        socket = context.socket(zmq.XPUB)
        socket.setsockopt(zmq.LINGER, LINGER_MS)
        socket.setsockopt(zmq.SNDHWM, self._settings.step_queue_hwm)
        # Each subscription is reported and answered by hand; sending to a full queue fails instead of dropping.
        socket.setsockopt(zmq.XPUB_MANUAL, 1)
        socket.setsockopt(zmq.XPUB_NODROP, 1)
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_TOPIC_LENGTH)
        self.step_endpoint = self._bind(socket, self._settings.rust_step_publisher, "rust_step_publisher")
        self._loop.add_reader(socket.fileno(), self.look)
        return socket

    def _subscriber(self, context: zmq.Context[Any]) -> zmq.Socket[bytes]:
        socket = context.socket(zmq.SUB)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.RCVHWM, self._settings.result_queue_hwm)
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        socket.setsockopt(zmq.SUBSCRIBE, RESULTS)
        if self._settings.bind_results:
            self.result_endpoint = self._bind(socket, self.result_endpoint, "rust_result_subscriber")
        else:
            socket.connect(self.result_endpoint)
        self._loop.add_reader(socket.fileno(), self.look)
        return socket

    def _bind(self, socket: zmq.Socket[bytes], endpoint: str, name: str) -> str:
        try:
            if _is_taken(endpoint):
                raise zmq.ZMQError(errno.EADDRINUSE)
            socket.bind(endpoint)
        except zmq.ZMQError as error:
            socket.close(0)
            raise ExecutionFailed(
                f"steps cannot be published: {name} {endpoint} cannot be bound: {error.strerror}", endpoint=endpoint
            ) from error
        bound = socket.getsockopt_string(zmq.LAST_ENDPOINT)
        make_private(bound)
        return bound

    # -- the subscriber that has just come ----------------------------------------------------------------------
    def grant(self, channel: int) -> None:
        """Subscribes the latest subscriber to this channel."""
        if self._steps is not None:
            self._steps.setsockopt(zmq.SUBSCRIBE, channel_of(channel))

    def revoke(self, channels: Iterable[int]) -> None:
        """Unsubscribes the subscriber that left last from these channels."""
        if self._steps is not None:
            for channel in channels:
                self._steps.setsockopt(zmq.UNSUBSCRIBE, channel_of(channel))

    def listen_again(self) -> None:
        """Opens the subscriber of results anew. Within one process ZeroMQ does not reconnect when the other side was
        closed and bound again."""
        results, contexts = self._results, self._contexts
        if results is None or contexts is None or not self.result_endpoint.startswith("inproc:"):
            return
        if not self._settings.bind_results:
            self._take(results, self._heard)
            self._loop.remove_reader(results.fileno())
            contexts.close(results)
            self._results = self._subscriber(contexts.context)

    def publish(self, frame: bytes) -> bool:
        """Sends the frame; False if the subscriber's queue is full."""
        if self._steps is None:
            return False
        try:
            self._steps.send(frame, zmq.NOBLOCK)
        except zmq.Again:
            return False
        finally:
            # The descriptor signals changes only, and sending may have consumed a signal.
            self._look_soon()
        return True

    # -- receiving ----------------------------------------------------------------------------------------------
    def _look_soon(self) -> None:
        if not self._looking:
            self._looking = True
            self._loop.call_soon(self.look)

    def look(self) -> None:
        """Receives everything that has come, up to the limits of one turn."""
        self._looking = False
        # Results first: an answer that came before its sender left is still an answer.
        drained = self._take(self._results, self._heard)
        drained = self._take(self._steps, self._subscription) and drained
        if not drained:
            self._look_soon()
        self._after()

    def _take(self, socket: zmq.Socket[bytes] | None, take: Heard) -> bool:
        """Takes messages from the socket; False if there are more."""
        ends = time.monotonic() + TURN_SECONDS
        for _ in range(AT_ONCE):
            if time.monotonic() >= ends:
                return False
            if socket is None or socket.closed or not int(socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN:
                return True
            take(socket.recv_multipart(zmq.NOBLOCK))
        return False

    def _subscription(self, frames: list[bytes]) -> None:
        frame = frames[0]
        if frame[:1] == b"\x01":
            self._came(frame[1:])
        elif frame[:1] == b"\x00":
            self._left(frame[1:])


def _is_taken(endpoint: str) -> bool:
    """True if a process listens at this path: ZeroMQ would take it over silently."""
    path = endpoint.removeprefix("ipc://")
    if path == endpoint or path.startswith("@"):
        return False
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as client:
        client.settimeout(1.0)
        try:
            client.connect(path)
        except OSError:
            return False
    return True
