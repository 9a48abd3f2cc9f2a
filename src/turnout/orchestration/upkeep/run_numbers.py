"""The numbers of runs, kept in the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turnout.contracts.store import OwnershipStore
from turnout.orchestration.background import Background


class StoredRunNumbers:
    """Fills in the contract ``RunNumbers``."""

    def __init__(self, store: OwnershipStore, background: Background) -> None:
        self._store = store
        self._background = background

    async def numbers_of(self, run_ids: Sequence[str]) -> Mapping[str, int]:
        return await self._background.in_thread(self._store.run_numbers, run_ids)
