"""Schedules through the API of a server."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

from turnout.cli.api_client import ApiClient
from turnout.errors import ScheduleNotFound
from turnout.model.schedule_rows import DecisionRow
from turnout.runner.schedule_commands import Backfilled, Fired
from turnout.runner.schedule_views import NextFire, ScheduleView
from turnout.server.api.types.schedules import BackfillRequest, DecisionPage, FireRequest, NextFires, SchedulePage

PAGE = 1_000


class ServerSchedules:
    """Schedules of a server."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    def list(self, workflow: str | None) -> builtins.list[ScheduleView]:
        found: list[ScheduleView] = []
        cursor: str | None = None
        while True:
            query = {"workflow": workflow, "limit": PAGE, "cursor": cursor}
            page = self._client.get("/schedules", SchedulePage, query)
            found += page.schedules
            cursor = page.next
            if cursor is None:
                return found

    def next(self, wanted: str | None, limit: int) -> builtins.list[NextFire]:
        path = "/schedules/next" if wanted is None else f"{self._path(wanted)}/next"
        return self._client.get(path, NextFires, {"limit": limit}).fires

    def decisions(self, wanted: str, limit: int, outcome: str | None) -> builtins.list[DecisionRow]:
        query = {"limit": limit, "outcome": outcome}
        return self._client.get(f"{self._path(wanted)}/decisions", DecisionPage, query).decisions

    def pause(self, wanted: str) -> ScheduleView:
        return self._client.post(f"{self._path(wanted)}/pause", ScheduleView)

    def resume(self, wanted: str) -> ScheduleView:
        return self._client.post(f"{self._path(wanted)}/resume", ScheduleView)

    def fire(self, wanted: str, params: Mapping[str, Any]) -> Fired:
        return self._client.post(f"{self._path(wanted)}/fire", Fired, FireRequest(params=dict(params)))

    def backfill(self, wanted: str, first: float | str, last: float | str | None, *, dry_run: bool) -> Backfilled:
        body = BackfillRequest(first=first, last=last, dry_run=dry_run)
        return self._client.post(f"{self._path(wanted)}/backfill", Backfilled, body)

    def _path(self, wanted: str) -> str:
        """Returns the path of the schedule with this id, this ``workflow/name``, or the only one of this workflow."""
        if wanted.isascii() and wanted.isdigit():
            return f"/schedules/{wanted}"
        workflow, _, name = wanted.partition("/")
        query = {"workflow": workflow, "name": name or None, "limit": 10}
        found = self._client.get("/schedules", SchedulePage, query).schedules
        if len(found) > 1:
            names = ", ".join(f"{each.workflow}/{each.name}" for each in found)
            raise ScheduleNotFound(f"several schedules are {wanted!r}: give one of {names}", code="ambiguous_schedule")
        if not found:
            raise ScheduleNotFound(f"there is no schedule {wanted[:200]!r}")
        return f"/schedules/{found[0].id}"
