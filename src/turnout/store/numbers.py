"""Runs by number, for handlers that know them by integers."""

from __future__ import annotations

from collections.abc import Sequence

from turnout.store.database import Database, json_list


class Numbers:
    """Each run has at most one number, and no number is ever given twice."""

    _database: Database

    def run_numbers(self, run_ids: Sequence[str]) -> dict[str, int]:
        wanted = json_list(sorted(run_ids))
        found = self._numbers(wanted)
        if len(found) < len(set(run_ids)):
            self._database.write("number_runs", ids=wanted)
            found = self._numbers(wanted)
        return found

    def _numbers(self, wanted: str) -> dict[str, int]:
        return {str(run_id): number for run_id, number in self._database.read("numbers_of", ids=wanted)}
