"""Holds the ZeroMQ context of sockets, and closes it when their endpoints are to be free again."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import zmq

from turnout.executors.pubsub.settings import PubSubSettings


class Contexts:
    """The context of two sockets. Endpoints within one process need a shared one. Other endpoints get a context of
    their own, which can be ended: only then is it certain that the endpoints can be bound again."""

    def __init__(self, settings: PubSubSettings, given: zmq.Context[Any] | None) -> None:
        endpoints = (settings.rust_step_publisher, settings.rust_result_subscriber)
        shared = given is not None or any(each.startswith("inproc:") for each in endpoints)
        self._own = not shared
        self.context: zmq.Context[Any] = given or (zmq.Context.instance() if shared else zmq.Context())

    def end(self, *sockets: zmq.Socket[bytes]) -> None:
        """Closes these sockets, and the context if no other socket uses it. What was sent has its linger to go out."""
        for socket in sockets:
            if not socket.closed:
                self.close(socket)
        if self._own:
            self.context.term()

    def close(self, socket: zmq.Socket[bytes]) -> None:
        endpoint = socket.getsockopt_string(zmq.LAST_ENDPOINT)
        if endpoint.startswith("inproc:"):
            # Closing frees an endpoint later; unbinding frees it at once.
            with suppress(zmq.ZMQError):
                socket.unbind(endpoint)
        socket.close()
