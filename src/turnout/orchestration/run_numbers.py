"""The numbers of runs, kept in the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turnout.orchestration.engine import Engine


class StoredRunNumbers:
    """Fills in the contract ``RunNumbers``."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def numbers_of(self, run_ids: Sequence[str]) -> Mapping[str, int]:
        return await self._engine.in_thread(self._engine.store.run_numbers, run_ids)
