"""Reads and writes event triggers: their polls are claimed and ended by compare-and-swap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from turnout.model.triggers import ClaimedPoll, TriggerRow
from turnout.store.database import Database, json_list, json_text


class Triggers:
    """Event triggers by full name."""

    _database: Database

    def put_trigger(self, name: str, workflow: str, every: float) -> None:
        self._database.write("put_trigger", name=name, workflow=workflow, every=float(every))

    def put_unknown_trigger(self, name: str, workflow: str, every: float, error: str) -> None:
        self._database.write("put_unknown_trigger", name=name, workflow=workflow, every=float(every), error=error)

    def trigger_delays(self, names: Sequence[str]) -> dict[str, float]:
        rows = self._database.read("trigger_delays", names=json_list(names)) if names else []
        return {name: float(delay) for name, delay in rows}

    def claim_poll(self, name: str, holder: str, lease: float) -> ClaimedPoll | None:
        rows = self._database.write("claim_poll", name=name, holder=holder, lease=float(lease))
        if not rows:
            return None
        [(state, revision, failures)] = rows
        return ClaimedPoll(None if state is None else msgspec.json.decode(state), revision, failures)

    def finish_poll(self, name: str, revision: int, delay: float, state: Any, runs: int) -> bool:
        text = None if state is None else json_text(state)
        given: dict[str, Any] = {"name": name, "revision": revision, "delay": float(delay), "runs": runs}
        return bool(self._database.write("finish_poll", state=text, **given))

    def fail_poll(self, name: str, revision: int, delay: float, error: str, runs: int) -> bool:
        given: dict[str, Any] = {"name": name, "revision": revision, "delay": float(delay), "runs": runs}
        return bool(self._database.write("fail_poll", error=error, **given))

    def release_polls(self, holder: str) -> None:
        self._database.write("release_polls", holder=holder)

    def triggers(self) -> list[TriggerRow]:
        return [_trigger(row) for row in self._database.read("triggers")]

    def pause_trigger(self, name: str, actor: str) -> bool:
        return bool(self._database.write("pause_trigger", name=name, actor=actor))

    def resume_trigger(self, name: str) -> bool:
        return bool(self._database.write("resume_trigger", name=name))

    def poll_trigger(self, name: str) -> bool:
        return bool(self._database.write("poll_trigger", name=name))


def _trigger(row: tuple[Any, ...]) -> TriggerRow:
    name, workflow, every, next_poll, polling, paused_by, state, polled_at, polls, runs, failures, error = row
    return TriggerRow(
        name=name,
        workflow=workflow,
        every=every,
        next_poll=next_poll,
        polling=bool(polling),
        paused_by=paused_by,
        state=None if state is None else msgspec.json.decode(state),
        polled_at=polled_at,
        polls=polls,
        runs=runs,
        failures=failures,
        error=error,
    )
