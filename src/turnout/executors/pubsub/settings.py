"""Where do publisher and subscriber meet, and what are their bounds? The keys of ``step_execution``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from turnout.errors import InvalidSetting
from turnout.model.checks import at_least
from turnout.model.names import suggest

STEP_EXECUTION = "step_execution"
"""The table of these keys in a configuration."""
PUBSUB = "zmq_pubsub"
"""The key of the executor that this table makes."""
LOOPBACK = ("127.0.0.1", "localhost")
ANY_PORT = ("0", "*")


class PubSubSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Endpoints and bounds of a publisher of steps; those that begin with ``handler`` are for its subscriber."""

    rust_step_publisher: str = "inproc://steps"
    """Steps are published here: bound by the executor."""
    rust_result_subscriber: str = "inproc://results"
    """Results are heard here: bound by the handler, unless ``bind_results``."""
    handler_step_subscriber: str | None = None
    """The first endpoint once more, as handlers are told it."""
    handler_result_publisher: str | None = None
    batch_size: int = 10
    """Steps in one message at most."""
    result_timeout_ms: int = 300_000
    """A step that is not answered for so long is published again."""
    overtaken_batches: int = 5
    """A batch is published again before that if so many later ones were answered; 0: it is not."""
    overtaken_after_ms: int = 10_000
    """How long a batch is out at least before it counts as overtaken."""
    handler_poll_interval_ms: int = 1
    """How long a handler in Python waits for a message before it looks at what it has finished."""
    step_queue_hwm: int = 1000
    """Steps that are published and not answered, at most; and messages that ZeroMQ holds for the subscriber."""
    result_queue_hwm: int = 1000
    bind_results: bool = False
    """Whether the executor binds the endpoint of results, so that handlers connect to both."""

    def check(self, path: str = STEP_EXECUTION) -> None:
        """Raises InvalidSetting for what cannot work; ``path`` is what the settings are called where they were said."""
        for name in ("batch_size", "result_timeout_ms", "overtaken_after_ms", "handler_poll_interval_ms"):
            at_least(getattr(self, name), 1, f"{path}.{name}")
        at_least(self.overtaken_batches, 0, f"{path}.overtaken_batches")
        # For ZeroMQ, 0 would be no bound at all.
        for name in ("step_queue_hwm", "result_queue_hwm"):
            at_least(getattr(self, name), 1, f"{path}.{name}")
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
    def of(cls, said: Mapping[str, Any]) -> PubSubSettings:
        """The settings of these keys, as they stand in a table of an executor's options."""
        for name in said:
            if name not in cls.__struct_fields__:
                raise InvalidSetting(
                    f"there is no option {name!r}{suggest(name, cls.__struct_fields__)}",
                    code="unknown_setting",
                    field=name,
                )
        try:
            return msgspec.convert(dict(said), cls)
        except msgspec.ValidationError as error:
            raise InvalidSetting(str(error), code="bad_setting") from error


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
    """Handlers are told another endpoint than the executor's: they would never meet."""
    said, used = getattr(settings, theirs), getattr(settings, ours)
    if said is not None and said != used:
        raise InvalidSetting(
            f"{path}.{theirs} is {said!r}, but {ours} is {used!r}; both name the same endpoint",
            field=f"{path}.{theirs}",
            beside=(f"{path}.{ours}",),
        )


def _any_port(endpoint: str) -> bool:
    return endpoint.startswith("tcp:") and endpoint.rpartition(":")[2] in ANY_PORT
