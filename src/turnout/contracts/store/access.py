"""Declares where tokens and the audit are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from turnout.model.access import AuditRow, NewToken, TokenRow


class AccessStore(Protocol):
    """Keeps the tokens of the server, and the audit of what was done with them."""

    def add_token(self, token: NewToken) -> TokenRow:
        """Stores a token. Of one with a parent, the parent has to be usable: StoreRejected otherwise."""
        ...

    def add_first_token(self, token: NewToken) -> bool:
        """Stores the token if none was ever stored. True for one of all callers, also if several call at once."""
        ...

    def token(self, digest: str) -> TokenRow | None:
        """Returns the token with this digest of its secret, whatever its state. A session of a browser is revoked and
        expires with the token that it was made with."""
        ...

    def tokens(self) -> list[TokenRow]:
        """Returns all tokens, the oldest first, without sessions of browsers."""
        ...

    def usable_tokens(self, token_ids: Sequence[str]) -> frozenset[str]:
        """Returns those of these tokens that are neither revoked nor expired."""
        ...

    def has_usable_token(self) -> bool:
        """True if any token is neither revoked nor expired."""
        ...

    def revoke_token(self, token_id: str) -> bool:
        """Revokes a token, and the sessions that were made with it. False: no such token is there, or it was revoked
        before."""
        ...

    def record_use(self, last_used: Mapping[str, float]) -> None:
        """Stores when tokens were last used; earlier times than the stored ones change nothing."""
        ...

    def add_audit(self, entries: Sequence[AuditRow]) -> None:
        """Stores entries in this order, at the database's time."""
        ...

    def audit(self, *, limit: int = 100, before: int | None = None, actor: str | None = None) -> list[AuditRow]:
        """Returns entries, the newest first; ``before`` is the id of the last entry of the previous page."""
        ...

    def prune_audit(self, older_than: float) -> int:
        """Deletes entries that are older than so many seconds; returns how many."""
        ...
