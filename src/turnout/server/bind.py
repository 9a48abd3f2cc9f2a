"""Decides whether the server may listen where it is told to, and opens its socket."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from turnout.errors import InvalidSetting
from turnout.runner.server_settings import DEFAULT_HOST, SERVER, ServerSettings

BAD_CERTIFICATE = "bad_certificate"


def check_bind(settings: ServerSettings, *, tokens: bool) -> None:
    """Raises InvalidSetting for an address that other machines can reach without tokens or without TLS, and for a
    server without tokens that was not asked to be one. ``tokens``: at least one token is usable."""
    where = f"{SERVER}.host is {settings.host!r}, which other machines can reach"
    if not settings.loopback and settings.insecure_local:
        raise InvalidSetting(
            f"{where}, and insecure_local lets callers in without a token: leave out --insecure-local, or listen on "
            f"{DEFAULT_HOST}",
            code="insecure_bind",
            field=f"{SERVER}.insecure_local",
        )
    if not settings.loopback and not settings.tls and not settings.behind_proxy:
        raise InvalidSetting(
            f"{where}, and tokens would cross the network in clear text: give --tls-cert and --tls-key, or "
            f"--behind-proxy if a proxy ends TLS, or listen on {DEFAULT_HOST}",
            code="bind_without_tls",
            field=f"{SERVER}.host",
        )
    if not tokens and not settings.insecure_local:
        raise InvalidSetting(
            "every token was revoked or has expired, so nothing could be done here: make one with `turnout tokens "
            "create NAME --role admin`"
            + ("; or serve this machine without tokens: --insecure-local" if settings.loopback else ""),
            code="no_tokens",
            field=SERVER,
        )


def check_certificate(settings: ServerSettings) -> None:
    """Raises InvalidSetting if the certificate or its key cannot be used for TLS."""
    if settings.tls_certificate is None or settings.tls_key is None:
        return
    for name, file in (("tls_certificate", settings.tls_certificate), ("tls_key", settings.tls_key)):
        try:
            Path(file).read_bytes()
        except OSError as error:
            raise InvalidSetting(
                f"{SERVER}.{name} is {file!r}, which cannot be read: {error.strerror or error}",
                code=BAD_CERTIFICATE,
                field=f"{SERVER}.{name}",
            ) from error
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.tls_certificate, settings.tls_key)
    except (OSError, ValueError) as error:
        raise InvalidSetting(
            f"{SERVER}.tls_certificate {settings.tls_certificate!r} and {SERVER}.tls_key {settings.tls_key!r} cannot "
            f"be used: {error}; write the files of a certificate and of its own key, both in the form PEM",
            code=BAD_CERTIFICATE,
            field=f"{SERVER}.tls_certificate",
        ) from error


def open_socket(settings: ServerSettings) -> socket.socket:
    """Returns the socket that the server listens on. Raises InvalidSetting if the address cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.set_inheritable(False)
        except BaseException:
            listener.close()
            raise
    except OSError as error:
        raise InvalidSetting(
            f"the server cannot listen on {settings.host}:{settings.port}: {error.strerror or error}; name another "
            "address with --host and --port",
            code="address_unavailable",
            field=f"{SERVER}.port",
        ) from error
    return listener


def url_of(listener: socket.socket, settings: ServerSettings) -> str:
    """Returns the URL of the server as its machine reaches it."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if settings.tls else 'http'}://{shown}:{port}"
