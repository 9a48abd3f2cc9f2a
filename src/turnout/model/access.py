"""Defines roles, tokens and audit entries of the server, and how tokens are made and recognised."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from enum import StrEnum

import msgspec

TOKEN_PREFIX = "to_"
"""The beginning of every token, by which secret scanners and log filters recognise one."""
SESSION_PREFIX = "ts_"
"""The beginning of the secret in a browser's cookie."""
WEBHOOK_PREFIX = "th_"
"""The beginning of the secret part of a webhook's address."""
TOKEN_BYTES = 32
TOKEN_PATTERN = re.compile(r"\bt[os]_[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])|\bth_[A-Za-z0-9_-]{8,}")
"""Tokens. Those of webhooks are in paths, so a part of one is recognised too: a path may be cut off or mistyped."""


class Role(StrEnum):
    """The rights of a token; each role includes those before it."""

    VIEWER = "viewer"
    """Reads workflows, runs, logs and health."""
    OPERATOR = "operator"
    """Starts, cancels, pauses and reruns runs; drains workers."""
    AUTHOR = "author"
    """Changes workflow definitions and routing rules."""
    ADMIN = "admin"
    """Manages tokens and reads the audit."""

    def includes(self, other: Role) -> bool:
        """True if this role may do what the other may.

        >>> Role.OPERATOR.includes(Role.VIEWER), Role.OPERATOR.includes(Role.AUTHOR)
        (True, False)
        """
        return ROLES.index(self) >= ROLES.index(other)


ROLES = tuple(Role)


class TokenState(StrEnum):
    USABLE = "usable"
    REVOKED = "revoked"
    EXPIRED = "expired"


class NewToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token that is to be stored, with the digest of its secret."""

    id: str
    name: str
    role: Role
    digest: str
    created_by: str = ""
    lifetime: float | None = None
    """Seconds; None: until it is revoked."""
    parent: str | None = None
    """The token that a browser signed in with; None for tokens themselves."""


class TokenRow(msgspec.Struct, frozen=True, kw_only=True):
    """A stored token. The store keeps the digest of its secret only."""

    id: str
    name: str
    role: Role
    state: TokenState
    created_at: float
    created_by: str
    expires_at: float | None
    last_used_at: float | None
    revoked_at: float | None
    parent: str | None


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """One request that changed something, or tried to."""

    at: float
    actor: str
    """The id of the token; ``-`` if the request had none that is known."""
    actor_name: str
    method: str
    target: str
    status: int
    code: str = ""
    """The stable code of the problem, if it was refused."""
    request_id: str = ""
    address: str = ""
    id: int = 0


def new_secret(prefix: str = TOKEN_PREFIX) -> str:
    """Returns a new secret with 256 random bits."""
    return prefix + base64.urlsafe_b64encode(secrets.token_bytes(TOKEN_BYTES)).rstrip(b"=").decode()


def new_token_id() -> str:
    """Returns the public name of a new token."""
    return secrets.token_hex(6)


def digest_of(secret: str) -> str:
    """Returns what the store keeps of a secret. A secret has 256 random bits, so one round without salt is enough.

    >>> digest_of("to_x")[:12]
    '0096b0129515'
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def masked(text: str) -> str:
    """Returns the text with every token in it masked.

    >>> masked("Authorization: Bearer to_" + 43 * "x")
    'Authorization: Bearer to_***'
    """
    return TOKEN_PATTERN.sub(lambda found: f"{found[0][:3]}***", text)
