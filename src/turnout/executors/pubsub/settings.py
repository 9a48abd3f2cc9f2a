"""Declares the endpoints and bounds of a publisher of steps and its subscriber: the keys of ``step_execution``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

from turnout.errors import InvalidSetting
from turnout.model.names import suggest
from turnout.model.setting_types import Count, Natural, Settings, converted, types_of

STEP_EXECUTION = "step_execution"
"""The table of these keys in a configuration."""
PUBSUB = "zmq_pubsub"
"""The key of the executor that this table makes."""
LOOPBACK = ("127.0.0.1", "localhost")
ANY_PORT = ("0", "*")


class PubSubSettings(Settings, frozen=True, kw_only=True):
    """Endpoints and bounds of a publisher of steps; those that begin with ``handler`` are for its subscriber."""

    table: ClassVar[str] = STEP_EXECUTION

    rust_step_publisher: str = "inproc://steps"
    """The endpoint where the executor publishes steps; the executor binds it."""
    rust_result_subscriber: str = "inproc://results"
    """The endpoint where the executor receives results; the handler binds it, unless ``bind_results``."""
    handler_step_subscriber: str | None = None
    """The endpoint of steps as handlers are given it; it must be ``rust_step_publisher``."""
    handler_result_publisher: str | None = None
    """The endpoint of results as handlers are given it; it must be ``rust_result_subscriber``."""
    batch_size: Count = 10
    """Steps in one message at most."""
    result_timeout_ms: Count = 300_000
    """Milliseconds after which a step without a result is published again."""
    overtaken_batches: Natural = 5
    """Later batches with results after which a batch is published again before its timeout; 0: it is not."""
    overtaken_after_ms: Count = 10_000
    """Milliseconds that a batch is out at least before it counts as overtaken."""
    handler_poll_interval_ms: Count = 1
    """Milliseconds that a handler in Python waits for a message before it sends what it has finished."""
    step_queue_hwm: Count = 1000
    """Steps that are published and have no result, at most; and messages that ZeroMQ holds for the subscriber."""
    result_queue_hwm: Count = 1000
    """Results that ZeroMQ holds for the executor, at most."""
    bind_results: bool = False
    """Whether the executor binds the endpoint of results, so that handlers connect to both."""

    def check_rules(self, path: str) -> None:
        for name, bound in (("rust_step_publisher", True), ("rust_result_subscriber", self.bind_results)):
            _check_endpoint(getattr(self, name), f"{path}.{name}", bound)
        _check_same(self, "handler_step_subscriber", "rust_step_publisher", path)
        _check_same(self, "handler_result_publisher", "rust_result_subscriber", path)
        if self.rust_step_publisher == self.rust_result_subscriber and not _any_port(self.rust_step_publisher):
            raise InvalidSetting(
                f"{path}.rust_step_publisher and {path}.rust_result_subscriber are both "
                f"{self.rust_step_publisher!r}; steps and results need an endpoint each",
                field=f"{path}.rust_result_subscriber",
                beside=(f"{path}.rust_step_publisher",),
            )

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> PubSubSettings:
        """Returns the settings of these keys, as they stand in a table of an executor's options."""
        known = types_of(cls)
        for name in options:
            if name not in known:
                raise InvalidSetting(
                    f"there is no option {name!r}{suggest(name, known)}", code="unknown_setting", field=name
                )
        return cls(**{name: converted(value, known[name], name) for name, value in options.items()})


def _check_endpoint(endpoint: str, path: str, bound: bool) -> None:
    try:
        parts = urlsplit(endpoint)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("inproc", "ipc", "tcp") or not (parts.netloc or parts.path):
        raise InvalidSetting(
            f"{path} is {endpoint!r}; write inproc://name, ipc:///path/to/socket or tcp://127.0.0.1:5555", field=path
        )
    if parts.scheme != "tcp":
        return
    host, _, port = parts.netloc.rpartition(":")
    if host and host not in LOOPBACK:
        raise InvalidSetting(
            f"{path} is {endpoint!r}, which is not this machine alone, and this pattern knows neither keys nor "
            "encryption; write tcp://127.0.0.1:5555, and for handlers on other machines use workers and a hub",
            field=path,
        )
    number = port.isdecimal() and int(port) <= 65535
    if not host or not (number or port == "*") or (port in ANY_PORT and not bound):
        raise InvalidSetting(f"{path} is {endpoint!r}; it needs the number of a port", field=path)


def _check_same(settings: PubSubSettings, theirs: str, ours: str, path: str) -> None:
    """Raises InvalidSetting if handlers are given another endpoint than the executor's: they would never connect."""
    given, used = getattr(settings, theirs), getattr(settings, ours)
    if given is not None and given != used:
        raise InvalidSetting(
            f"{path}.{theirs} is {given!r}, but {ours} is {used!r}; both name the same endpoint",
            field=f"{path}.{theirs}",
            beside=(f"{path}.{ours}",),
        )


def _any_port(endpoint: str) -> bool:
    return endpoint.startswith("tcp:") and endpoint.rpartition(":")[2] in ANY_PORT
