"""Signs and verifies the bodies of webhooks with a shared secret: as GitHub does, and by Standard Webhooks (pure)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence

from turnout.errors import AccessDenied
from turnout.model.webhooks import Scheme

GITHUB_HEADER = "x-hub-signature-256"
ID_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER = "webhook-id", "webhook-timestamp", "webhook-signature"
TOLERANCE = 300.0
"""Seconds that the time of a signed delivery may differ from the server's."""
SECRET_PREFIX = "whsec_"
"""The beginning of a secret that is written in base64."""


def verify(scheme: Scheme, secret: str, headers: Mapping[str, str], body: bytes, now: float) -> None:
    """Raises AccessDenied unless the body was signed with the secret. ``headers`` has lower-case names."""
    if scheme == "github":
        _compare([headers.get(GITHUB_HEADER, "")], github_signature(secret, body), GITHUB_HEADER)
        return
    message, timestamp = headers.get(ID_HEADER, ""), headers.get(TIMESTAMP_HEADER, "")
    # A sender that changes its secret signs with the old one and the new one for a time.
    given = headers.get(SIGNATURE_HEADER, "").split(" ")
    _compare(given, standard_signature(secret, message, timestamp, body), SIGNATURE_HEADER)
    # Compared after the signature: what is not signed by the sender says nothing.
    if not timestamp.isascii() or not timestamp.isdigit():
        raise AccessDenied(
            f"{TIMESTAMP_HEADER} is {timestamp[:20]!r}: send whole seconds since 1970", code="bad_signature"
        )
    if abs(now - int(timestamp)) > TOLERANCE:
        raise AccessDenied(
            f"{TIMESTAMP_HEADER} is {timestamp[:20]!r}, more than {TOLERANCE:g} s from the time here: it is a replay, "
            "or a clock is wrong",
            code="stale_signature",
        )


def github_signature(secret: str, body: bytes) -> str:
    """Returns the value of ``X-Hub-Signature-256``."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def standard_signature(secret: str, message: str, timestamp: str, body: bytes) -> str:
    """Returns a value of ``webhook-signature``: over the id, the time and the body.

    >>> standard_signature("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330",
    ...     b'{"test": 2432232314}')
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    content = f"{message}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(secret_bytes(secret), content, hashlib.sha256).digest()).decode()


def secret_bytes(secret: str) -> bytes:
    """Returns the key: what follows ``whsec_`` is base64, any other secret is text."""
    if secret.startswith(SECRET_PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
        except binascii.Error:
            return secret.encode()
    return secret.encode()


def _compare(given: Sequence[str], expected: str, header: str) -> None:
    if any(hmac.compare_digest(each.encode("utf-8", "surrogatepass"), expected.encode()) for each in given):
        return
    why = "does not match the body" if any(given) else "is missing"
    raise AccessDenied(
        f"the header {header} {why}: sign the body as it is sent, with the secret that this server has",
        code="bad_signature",
    )
