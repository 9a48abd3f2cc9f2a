"""Reads and writes sessions, their leases, the runs that they own, and the numbers of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from turnout.errors import WorkerInUse
from turnout.model.rows import (
    Glance,
    HeldAttempt,
    HistoryRow,
    Holder,
    Lease,
    LoadedRun,
    LostSession,
    Renewal,
    Session,
    SessionHealth,
    StoredRun,
    TaskRow,
)
from turnout.store.database import Database, Execute, Rows, json_list, json_text
from turnout.store.row_codec import RUN_COLUMNS, TASK_COLUMNS, canonical, stored_run, task_row

FIRST_EPOCH = 1
"""The epoch that the first claim gives to a run which was stored without an owner."""
NO_POSITIONS: frozenset[int] = frozenset()
_STARTED = ("pending", "running", 0, None)
"""The move of a pending run that gets its first owner."""


class Ownership:
    """Sessions, their leases, and the runs that they claim."""

    _database: Database

    def start_session(self, session: Session, lease: float) -> None:
        columns = msgspec.structs.asdict(session) | {"workflows": json_list(session.workflows)}
        self._database.write("start_session", wake="sessions", lease=float(lease), **columns)

    def renew_session(self, session_id: str, lease: float, health: str | None = None) -> Lease:
        asked = {"id": session_id, "lease": float(lease), "health": health}
        if self._database.dialect == "postgres":
            held, count = self._database.write_apart("renew_and_count", **asked)[0]
            return Lease(held=bool(held), peers=int(count))
        with self._database.transaction_apart() as execute:
            renewed = execute("renew_session", **asked)
            peers = execute("count_peers", id=session_id)
        return Lease(held=bool(renewed), peers=int(peers[0][0]))

    def join_worker(self, worker: Session, lease: float, about: str) -> str | None:
        columns = msgspec.structs.asdict(worker) | {"workflows": json_list(worker.workflows)}
        rows = self._database.write("join_worker", wake="sessions", lease=float(lease), health=about, **columns)
        if not rows:
            raise WorkerInUse(f"worker {worker.id} belongs to another key", worker_id=worker.id)
        return rows[0][0]

    def renew_workers(self, about: Mapping[str, str], lease: float) -> Renewal:
        dead: set[str] = set()
        draining: dict[str, str] = {}
        with self._database.transaction() as execute:
            for worker_id, text in sorted(about.items()):
                rows = execute("renew_worker", id=worker_id, lease=float(lease), health=text)
                if not rows:
                    dead.add(worker_id)
                elif rows[0][0] is not None:
                    draining[worker_id] = rows[0][0]
        return Renewal(frozenset(dead), draining)

    def drain_worker(self, worker_id: str, reason: str) -> bool:
        return bool(self._database.write("drain_worker", id=worker_id, reason=reason))

    def held_by(self, holder: str) -> list[HeldAttempt]:
        return [HeldAttempt(*row) for row in self._database.read("held_by", holder=holder)]

    def release_runs(self, session_id: str, run_ids: Sequence[str]) -> None:
        self._database.write("release_my_runs", wake="runs", session=session_id, ids=json_list(sorted(run_ids)))

    def give_runs(self, session_id: str, receiver: str, run_ids: Sequence[str]) -> list[str]:
        ids = json_list(sorted(run_ids))
        given = self._database.write("give_runs", wake="given", session=session_id, receiver=receiver, ids=ids)
        return [row[0] for row in given]

    def end_session(self, session_id: str) -> None:
        with self._database.transaction() as execute:
            execute("end_session", id=session_id)
            _release(execute)

    def bury_sessions(self, *, gone: Sequence[str] = (), grace: float = 0.0, spare_holders: bool = False) -> list[str]:
        spared = json_list(["worker", "poller"] if spare_holders else [])
        with self._database.transaction() as execute:
            rows = execute("bury_sessions", gone=json_list(gone), grace=float(grace), spared=spared)
            buried = [row[0] for row in rows]
            _release(execute)
            if buried:
                execute("forget_sessions")
        return buried

    def lost_workers(self, since: float, limit: int) -> list[LostSession]:
        return [LostSession(*row) for row in self._database.read("lost_workers", since=float(since), limit=limit)]

    def live_sessions(self) -> list[Session]:
        return [_session(row) for row in self._database.read("live_sessions")]

    def glance(self, session_id: str) -> Glance:
        row = self._database.read("glance", session=session_id)[0]
        found, owns, unowned, overdue, unheard, definitions, schedules, undone, now, limited = row
        sessions = tuple(_session(tuple(row)) for row in msgspec.json.decode(found or "[]", type=list[list[Any]]))
        return Glance(
            sessions=sessions,
            owns=bool(owns),
            unowned=bool(unowned),
            overdue=bool(overdue),
            unheard=bool(unheard),
            definitions=int(definitions),
            schedules=int(schedules),
            undone=bool(undone),
            now=float(now),
            limited=bool(limited),
        )

    def session_health(self) -> list[SessionHealth]:
        return [
            SessionHealth(
                session=_session(row[:8]), health=row[8], drain=row[9], age=max(row[10], 0.0), silent=max(row[11], 0.0)
            )
            for row in self._database.read("session_health")
        ]

    def holders(self, ids: Sequence[str]) -> dict[str, Holder]:
        rows = self._database.read("holders", ids=json_list(ids))
        return {row[0]: Holder(session=_session(row[:9]), lease=row[9], alive=bool(row[10])) for row in rows}

    def holders_alive(self, holders: Sequence[str]) -> frozenset[str]:
        return frozenset(row[0] for row in self._database.read("holders_alive", holders=json_list(holders)))

    def claim_runs(
        self, session_id: str, workflows: Sequence[str], limit: int, inline: int, versions: Sequence[str] = ()
    ) -> list[LoadedRun]:
        names = json_list(workflows)
        # Most claims find nothing, and must not queue for the writer's lock.
        if not versions and not self._database.read("any_claimable", workflows=names):
            return []
        with self._database.transaction() as execute:
            if versions:
                wanted = json_list(versions)
                found = execute("claimable_runs_or_versions", workflows=names, versions=wanted, limit=limit)
            else:
                found = execute("claimable_runs", workflows=names, limit=limit)
            return _take(execute, session_id, found, inline)

    def unclaimed_versions(self, workflows: Sequence[str]) -> list[str]:
        return sorted(row[0] for row in self._database.read("unclaimed_versions", workflows=json_list(workflows)))

    def claim_listed(self, session_id: str, run_ids: Sequence[str], inline: int) -> list[LoadedRun]:
        known = [found for run_id in run_ids if (found := canonical(run_id)) is not None]
        if not known:
            return []
        with self._database.transaction() as execute:
            found = execute("claimable_listed", ids=json_list(known), session=session_id)
            return _take(execute, session_id, found, inline)

    def run_numbers(self, run_ids: Sequence[str]) -> dict[str, int]:
        wanted = json_list(sorted(run_ids))
        found = self._numbers(wanted)
        if len(found) < len(set(run_ids)):
            self._database.write("number_runs", ids=wanted)
            found = self._numbers(wanted)
        return found

    def _numbers(self, wanted: str) -> dict[str, int]:
        return {str(run_id): number for run_id, number in self._database.read("numbers_of", ids=wanted)}


def _session(row: tuple[Any, ...]) -> Session:
    id, kind, host, boot_id, pid_namespace, pid, process_started, workflows, *key = row
    return Session(
        id=id,
        kind=kind,
        host=host,
        boot_id=boot_id,
        pid_namespace=pid_namespace,
        pid=pid,
        process_started=process_started,
        workflows=tuple(msgspec.json.decode(workflows, type=list[str])),
        key=key[0] if key else "",
    )


def _release(execute: Execute) -> None:
    freed = [row[0] for row in execute("lock_runs_of_the_dead")]
    if freed:
        execute("release_runs", ids=json_list(freed))


def _take(execute: Execute, session_id: str, found: Rows, inline: int) -> list[LoadedRun]:
    """Claims these locked runs under a new epoch; each has its seq if it is pending.

    Tasks that an earlier owner may still change are fenced before they are read. Those of a run that had no owner
    before have the epoch of its first owner already."""
    if not found or not execute("session_stands", id=session_id):
        return []
    for seq, pending in _by_seq(found).items():
        execute("record_start", ids=json_list(pending), seq=seq, moves=json_text([HistoryRow(seq, -1, *_STARTED)]))
    ids = json_list(sorted(row[0] for row in found))
    rows = execute("take_runs", ids=ids, session=session_id)
    taken = [(stored_run(row), row[RUN_COLUMNS]) for row in rows]
    active = {str(row[0]): max(row[RUN_COLUMNS + 1], 0.0) for row in rows}
    taken.sort(key=lambda each: (-each[0].new.priority, each[1], each[0].new.run_id))
    owned_before = [run.new.run_id for run, _ in taken if run.epoch > FIRST_EPOCH]
    if owned_before:
        execute("fence_tasks", ids=json_list(sorted(owned_before)))
    specs = dict(execute("specs", versions=json_list(sorted({run.new.version for run, _ in taken}))))
    tasks: dict[str, list[TaskRow]] = {row[0]: [] for row in found}
    large: dict[str, set[int]] = {}
    # Tasks that wait are equal in all runs of a version, and one row stands for them.
    known: dict[tuple[Any, ...], TaskRow] = {}
    epochs = {run.new.run_id: run.epoch for run, _ in taken}
    unfenced: set[str] = set()
    for row in execute("claimed_tasks", ids=ids, inline=inline):
        image = row[1:TASK_COLUMNS]
        task = known.get(image)
        if task is None:
            task = known[image] = task_row(row)
        tasks[row[0]].append(task)
        if row[TASK_COLUMNS]:
            large.setdefault(row[0], set()).add(row[1])
        if row[TASK_COLUMNS + 1] != epochs[row[0]]:
            unfenced.add(row[0])
    if unfenced:  # stored by a version that left it to the first claim; no earlier owner can have changed them
        execute("fence_tasks", ids=json_list(sorted(unfenced)))
    return [
        LoadedRun(
            run=run,
            spec=specs.get(run.new.version, ""),
            tasks=tasks[run.new.run_id],
            large=frozenset(large[run.new.run_id]) if run.new.run_id in large else NO_POSITIONS,
            active=active[run.new.run_id],
        )
        for run in _with_last_seqs(execute, [run for run, _ in taken], owned_before)
    ]


def _by_seq(found: Rows) -> dict[int, list[str]]:
    """Returns the ids of pending runs by the seq of their next move, which is the same for nearly all of them."""
    pending: dict[int, list[str]] = {}
    for run_id, seq in found:
        if seq is not None:
            pending.setdefault(seq + 1, []).append(run_id)
    return pending


def _with_last_seqs(execute: Execute, runs: list[StoredRun], owned_before: list[str]) -> list[StoredRun]:
    """Returns the runs with the highest sequence number of each. The row of one that had no owner before has it."""
    if not owned_before:
        return runs
    last: dict[str, int] = dict(execute("last_seqs", ids=json_list(owned_before)))
    return [msgspec.structs.replace(run, seq=max(run.seq, last.get(run.new.run_id, 0))) for run in runs]
