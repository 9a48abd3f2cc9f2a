"""Opens and closes the connection of this process to Ray: a process has one, whatever uses it."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

from turnout.errors import InvalidSetting
from turnout.executors.cluster.reach import why_not_listening

T = TypeVar("T")

ANY, LOCAL, CLIENT = "auto", "local", "ray://"
"""Addresses that name no host: whatever cluster there is, and one that ends with this process. The third is the prefix
of those of Ray's client."""
MODE, TOKEN_PATH = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH"


class Driver:
    """The connection. One that the program, or another executor, has opened is used if it is to the same cluster, and
    left open. All calls block, and are made in one thread."""

    def __init__(self, address: str, namespace: str, token_file: str | None, runtime_env: Mapping[str, Any]) -> None:
        self._address = address
        self._namespace = namespace
        self._token_file = token_file
        self._runtime_env = runtime_env
        self._own = False

    def open(self) -> None:
        """Connects, unless the process is connected. Raises InvalidSetting if that is a connection that does not have
        these settings, and ConnectionError if the cluster cannot be reached."""
        import ray

        if self._own and not _answers():
            self.close()
        if ray.is_initialized():
            if not self._own:
                self._check_shared()
            return
        if self._token_file is not None:
            _authenticate(self._token_file)
        try:
            ray.init(
                address=self._address,
                namespace=self._namespace,
                runtime_env=dict(self._runtime_env) or None,
                log_to_driver=False,
                configure_logging=False,
                logging_level=logging.WARNING,
            )
        except ConnectionError as error:
            raise ConnectionError(self._explained(error)) from error
        self._own = True

    def close(self) -> None:
        import ray

        if self._own:
            self._own = False
            ray.shutdown()

    def not_let_in(self) -> str:
        """Returns what may be wrong at an address that listens."""
        token = "it needs a token (token_file)" if self._token_file is None else f"{self._token_file} has another token"
        return f"it listens, and does not let this process in: {token}, or its version of Ray is another"

    def _explained(self, error: ConnectionError) -> str:
        """Returns more than Ray, which says of every failure that it could not connect."""
        if self._address in (ANY, LOCAL):
            return str(error)
        return why_not_listening(self._address) or self.not_let_in()

    def _check_shared(self) -> None:
        there = _connected_to()
        if self._address != ANY and _canonical(self._address) != there:
            raise InvalidSetting(
                f"address is {self._address!r}, and this process is connected to the Ray cluster at {there}: "
                "a process has one connection to Ray"
            )
        if self._runtime_env:
            raise InvalidSetting(
                "runtime_env belongs to the connection to Ray, which this process has already: "
                "give it where that is opened"
            )
        if self._token_file is not None and os.environ.get(TOKEN_PATH) != self._token_file:
            raise InvalidSetting(
                "token_file belongs to the connection to Ray, which this process has already: "
                "give it where that is opened"
            )


def _authenticate(token_file: str) -> None:
    """Sets the token of this process and of those that it starts."""
    from ray import _raylet

    raylet: Any = _raylet
    if not hasattr(raylet, "AuthenticationTokenLoader"):
        raise InvalidSetting("token_file: this version of Ray has no token authentication")
    os.environ[MODE], os.environ[TOKEN_PATH] = "token", token_file
    # Ray has read its settings when it was imported, and a token when it was last needed.
    raylet.Config.initialize("")
    raylet.AuthenticationTokenLoader.instance().reset_cache()


def _connected_to() -> str:
    import ray
    from ray.util.client import ray as client

    if client.is_connected():
        worker: Any = client.get_context().client_worker
        return f"{CLIENT}{worker._conn_str}"
    return str(ray.get_runtime_context().gcs_address)


def _canonical(address: str) -> str:
    """Returns the address as a connection to it has it: Ray replaces names of this machine."""
    from ray._private.services import canonicalize_bootstrap_address

    if address == LOCAL or address.startswith(CLIENT):
        return address
    return canonicalize_bootstrap_address(address) or address


def _answers() -> bool:
    import ray

    try:
        return bool(ray.nodes())
    except Exception:
        return False


class CallThread:
    """Makes calls that block, one after another, in a thread that no exit of the process waits for."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, call: Callable[[], T]) -> Future[T]:
        done: Future[T] = Future()

        def make() -> None:
            if done.set_running_or_notify_cancel():
                try:
                    done.set_result(call())
                except BaseException as error:
                    done.set_exception(error)

        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._calls.put(make)
        return done

    def end(self) -> None:
        """Ends the thread after the calls that were submitted. Another call starts another."""
        if self._thread is not None:
            self._thread = None
            self._calls.put(None)

    def _run(self) -> None:
        while (make := self._calls.get()) is not None:
            make()
