"""The token of a developer's server: it ends with the process, or is revoked by the next one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from turnout.contracts.store import Store
from turnout.model.access import Role, TokenRow, TokenState
from turnout.server.access import create_token

NAME = "dev"
BY = "turnout dev, orchestrator "
"""What the maker of such a token is called, before the id of its session."""


@contextmanager
def dev_token(store: Store, session_id: str, lifetime: float) -> Iterator[TokenRow]:
    """Yields an admin token that is revoked when the block ends. Those of sessions that are gone are revoked first."""
    revoke_orphaned(store)
    made = create_token(store, NAME, Role.ADMIN, by=f"{BY}{session_id}", lifetime=lifetime)
    try:
        yield made.row
    finally:
        store.revoke_token(made.row.id)


def revoke_orphaned(store: Store) -> None:
    """Revokes the tokens of developers' servers whose sessions are not alive."""
    makers = {
        row.id: row.created_by.removeprefix(BY)
        for row in store.tokens()
        if row.state is TokenState.USABLE and row.created_by.startswith(BY)
    }
    alive = store.holders_alive(sorted(set(makers.values()))) if makers else frozenset()
    for token_id, session_id in makers.items():
        if session_id not in alive:
            store.revoke_token(token_id)
