"""Connects a worker to one hub: a socket around a session, opened anew after each loss."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from math import inf

import zmq
from zmq.utils.monitor import parse_monitor_message

from turnout.wire.worker_session import SessionState, WorkerSession
from turnout.worker.settings import WorkerSettings

log = logging.getLogger("turnout.worker")

INITIAL_BACKOFF, MAX_BACKOFF = 0.1, 5.0
WELCOME_TIMEOUT = 15.0
"""Seconds after which a hub that has not answered gets a new connection."""
SOON = 3.0
"""Seconds after which a hub that has not answered is logged."""
MAX_AT_ONCE = 1_000
ROUND_SECONDS = 0.1
"""Seconds after which no further message is processed in a round."""
_WATCHED = (
    zmq.EVENT_DISCONNECTED
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
)

Trace = Callable[[str, str, Sequence[bytes], str], None]
"""Gets the direction (``<-`` or ``->``), the address, the frames and the codec of every message."""


class Connection:
    """One hub by its address. To be used by one thread."""

    def __init__(
        self,
        address: str,
        session: WorkerSession,
        settings: WorkerSettings,
        *,
        discovered: bool = False,
        trace: Trace | None = None,
    ) -> None:
        self.address = address
        self.session = session
        self.discovered = discovered
        """Another hub named it; it is not configured."""
        self.socket: zmq.Socket[bytes] | None = None
        self.monitor: zmq.Socket[bytes] | None = None
        self.received = self.sent = self.dropped = self.reconnects = 0
        self._settings = settings
        self._trace = trace
        self._opens_at = -inf
        self._opened = -inf
        self._pause = INITIAL_BACKOFF
        self._welcomed = self._missed = False

    # -- the socket -------------------------------------------------------------------------------------------------
    def open_if_due(self, context: zmq.Context[zmq.Socket[bytes]], now: float) -> bool:
        """Connects and sends hello if that is due. Returns True if it was."""
        if self.socket is not None or now < self._opens_at or self.session.state is SessionState.REFUSED:
            return False
        socket = context.socket(zmq.DEALER)
        socket.linger = 0
        socket.setsockopt(zmq.MAXMSGSIZE, self._settings.max_message_bytes)
        socket.setsockopt(zmq.IPV6, "[" in self.address)
        socket.setsockopt(zmq.RECONNECT_IVL, 100)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, int(MAX_BACKOFF * 1000))
        if (keys := self._settings.keys) is not None:
            socket.curve_serverkey = keys.server.encode()
            socket.curve_publickey = keys.public.encode()
            socket.curve_secretkey = keys.secret.encode()
        self.monitor = socket.get_monitor_socket(_WATCHED)
        self.socket, self._opened = socket, now
        try:
            socket.connect(self.address)
        except zmq.ZMQError as error:
            self.come_back(now, f"it cannot be connected to: {zmq.strerror(error.errno or 0)}")
            return False
        self.session.open(now)
        return True

    def close(self, linger: float = 0.0) -> None:
        """Closes the socket; messages in its queue have ``linger`` seconds to go out."""
        if self.socket is not None and self.monitor is not None:
            self.socket.disable_monitor()
            self.monitor.close(linger=0)
            self.socket.close(linger=int(linger * 1000))
            self.socket = self.monitor = None

    def come_back(self, now: float, reason: str) -> None:
        """Closes the connection and schedules another after a backoff that grows."""
        pause = self._pause * random.uniform(0.5, 1.0)
        log.info("hub %s: %s; the next try is in %.1f s", self.address, reason, pause)
        self._welcomed = False
        self.close()
        self.reconnects += 1
        self._opens_at = now + pause
        self._pause = min(2 * self._pause, MAX_BACKOFF)

    def welcomed(self) -> None:
        """Resets the backoff, unless the hub has sent a message over the limit."""
        if not self.session.over_limit:
            self._pause = INITIAL_BACKOFF
        if not self._welcomed:
            self._welcomed, self._missed = True, False
            log.info("hub %s is there", self.address)

    def unanswered(self, now: float) -> bool:
        """True if the hub has not answered hello within ``WELCOME_TIMEOUT``. A warning is logged long before."""
        if self.socket is None or self.session.state is not SessionState.GREETING:
            return False
        if now - self._opened > SOON and not self._missed:
            self._missed = True
            log.warning("hub %s has not answered yet; this worker waits for it", self.address)
        return now - self._opened > WELCOME_TIMEOUT

    # -- messages ---------------------------------------------------------------------------------------------------
    def receive(self, now: float) -> None:
        """Processes messages up to a bound, so that other hubs are not delayed."""
        ends = time.monotonic() + ROUND_SECONDS
        for _ in range(MAX_AT_ONCE):
            if self.socket is None or self.session.state is SessionState.REFUSED or time.monotonic() >= ends:
                return
            try:
                frames = self.socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            self.received += 1
            if self._trace is not None:
                self._trace("<-", self.address, frames, self.session.codec)
            self.session.receive(frames, now)

    def flush(self) -> None:
        """Sends the outbox of the session. Messages that do not fit are dropped: the session repeats them in time."""
        outbox = self.session.outbox
        if not outbox:
            return
        for frames in outbox:
            if self.socket is None:
                break
            if self._trace is not None:
                self._trace("->", self.address, frames, self.session.codec)
            try:
                self.socket.send_multipart(frames, zmq.NOBLOCK)
                self.sent += 1
            except zmq.Again:
                self.dropped += 1
        outbox.clear()

    def watch(self) -> None:
        """Processes the events of the socket monitor."""
        while self.monitor is not None:
            try:
                event = parse_monitor_message(self.monitor.recv_multipart(zmq.NOBLOCK))["event"]
            except zmq.Again:
                return
            if event == zmq.EVENT_DISCONNECTED:
                # The hub knows a connection, not a socket: over the next one it would not know the session.
                self.session.connection_lost("the connection is gone")
            elif event == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                self.session.refuse("key_refused: the hub does not know this worker's key")
            elif self._settings.keys is None:
                log.warning("hub %s takes encrypted connections only: give --server-key and --key-file", self.address)
            else:
                log.warning("hub %s: the encrypted connection fails; is --server-key the hub's?", self.address)
