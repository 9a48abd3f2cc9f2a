"""Where the server may listen."""

from __future__ import annotations

import itertools
import socket
from contextlib import closing

import pytest

from turnout.errors import InvalidSetting
from turnout.runner.server_settings import ServerSettings
from turnout.server.bind import check_bind, open_socket, url_of

TLS = {"tls_certificate": "c.pem", "tls_key": "k.pem"}


def expected(public: bool, tls: bool, proxy: bool, insecure: bool, tokens: bool) -> str | None:
    """The rule in words: without tokens only loopback and only if asked for; beyond loopback TLS or a proxy as well."""
    if public and insecure:
        return "insecure_bind"
    if public and not (tls or proxy):
        return "bind_without_tls"
    return "no_tokens" if not tokens and not insecure else None


@pytest.mark.parametrize(
    ("public", "tls", "proxy", "insecure", "tokens"), list(itertools.product([False, True], repeat=5))
)
def test_where_the_server_may_listen(public: bool, tls: bool, proxy: bool, insecure: bool, tokens: bool) -> None:
    settings = ServerSettings(
        host="0.0.0.0" if public else "127.0.0.1",
        behind_proxy=proxy,
        insecure_local=insecure,
        **(TLS if tls else {}),
    )
    code = expected(public, tls, proxy, insecure, tokens)
    if code is None:
        check_bind(settings, tokens=tokens)
        return
    with pytest.raises(InvalidSetting) as caught:
        check_bind(settings, tokens=tokens)
    assert caught.value.code == code
    assert "--" in caught.value.message  # the remedy


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "turnout.example", ""])
def test_other_addresses_than_loopback_are_public(host: str) -> None:
    assert not ServerSettings(host=host).loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "localhost"])
def test_loopback_addresses_are_not_public(host: str) -> None:
    assert ServerSettings(host=host).loopback


def test_a_port_in_use_is_refused_with_its_address() -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidSetting, match=f"127.0.0.1:{port}") as caught:
            open_socket(ServerSettings(port=port))
    assert caught.value.code == "address_unavailable"


def test_the_url_has_the_port_that_was_found() -> None:
    settings = ServerSettings(port=0)
    with closing(open_socket(settings)) as listener:
        assert url_of(listener, settings) == f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"tls_key": "k.pem"}, "server.tls_key"),
        ({"tls_certificate": "c.pem"}, "server.tls_certificate"),
        ({"trusted_proxies": ("nginx",)}, "server.trusted_proxies"),
        ({"origins": ("ops.example",)}, "server.origins"),
        ({"origins": ("https://ops.example/",)}, "server.origins"),
        ({"port": 70_000}, "server.port"),
        ({"request_timeout": 0.0}, "server.request_timeout"),
        ({"max_body_bytes": 0}, "server.max_body_bytes"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(options: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        ServerSettings(**options).check()  # type: ignore[arg-type]
    assert caught.value.fields["field"] == field
