"""Reads and writes tokens of the server and the audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from turnout.errors import StoreRejected
from turnout.model.access import AuditRow, NewToken, Role, TokenRow, TokenState
from turnout.store.database import Database, Execute, json_list

NEWEST = 2**62
"""Above the id of every entry."""
NEW_TOKEN_COLUMNS = ("id", "name", "role", "digest", "created_by", "lifetime", "parent")


class AccessTables:
    """Tokens by the digest of their secret, and the audit."""

    _database: Database

    def add_token(self, token: NewToken) -> TokenRow:
        with self._database.transaction() as execute:
            execute("begin_access")
            execute("forget_browsers")
            if not _insert(execute, token):
                raise StoreRejected(f"the token {token.parent} cannot be used any more")
            row = execute("token", digest=token.digest)[0]
        return _token(row)

    def add_first_token(self, token: NewToken) -> bool:
        with self._database.transaction() as execute:
            first = bool(execute("begin_access"))
            if first:
                _insert(execute, token)
        return first

    def token(self, digest: str) -> TokenRow | None:
        rows = self._database.read("token", digest=digest)
        return _token(rows[0]) if rows else None

    def tokens(self) -> list[TokenRow]:
        return [_token(row) for row in self._database.read("tokens")]

    def usable_tokens(self, token_ids: Sequence[str]) -> frozenset[str]:
        return frozenset(row[0] for row in self._database.read("usable_tokens", ids=json_list(list(token_ids))))

    def has_usable_token(self) -> bool:
        return bool(self._database.read("any_usable_token"))

    def revoke_token(self, token_id: str) -> bool:
        return (token_id,) in {tuple(row) for row in self._database.write("revoke_token", id=token_id)}

    def record_use(self, last_used: Mapping[str, float]) -> None:
        with self._database.transaction() as execute:
            for token_id, at in sorted(last_used.items()):
                execute("record_use", id=token_id, at=float(at))

    def add_audit(self, entries: Sequence[AuditRow]) -> None:
        with self._database.transaction() as execute:
            for entry in entries:
                values = msgspec.structs.asdict(entry)
                del values["id"], values["at"]
                execute("add_audit", **values)

    def audit(self, *, limit: int = 100, before: int | None = None, actor: str | None = None) -> list[AuditRow]:
        rows = self._database.read("audit", limit=limit, before=NEWEST if before is None else before, actor=actor or "")
        names = ("at", "actor", "actor_name", "method", "target", "status", "code", "request_id", "address", "id")
        return [AuditRow(**dict(zip(names, row, strict=True))) for row in rows]

    def prune_audit(self, older_than: float) -> int:
        return len(self._database.write("prune_audit", age=float(older_than)))


def _insert(execute: Execute, token: NewToken) -> bool:
    values = {name: getattr(token, name) for name in NEW_TOKEN_COLUMNS}
    return bool(execute("add_token", **values | {"role": str(token.role)}))


def _token(row: tuple[Any, ...]) -> TokenRow:
    id, name, role, state, created_at, created_by, expires_at, last_used_at, revoked_at, parent = row
    return TokenRow(
        id=id,
        name=name,
        role=Role(role),
        state=TokenState(state),
        created_at=created_at,
        created_by=created_by,
        expires_at=expires_at,
        last_used_at=last_used_at,
        revoked_at=revoked_at,
        parent=parent,
    )
