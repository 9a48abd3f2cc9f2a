"""A store in memory for tests of one part at a time: rows change by compare-and-swap, and every call is recorded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from kit.runs import RunTable
from turnout.errors import RunNotFound, StoreRejected
from turnout.model.events import ExecutionResult
from turnout.model.graph import Graph
from turnout.model.limit_deadlocks import Deadlocks
from turnout.model.limit_declarations import LimitDeclaration
from turnout.model.names import split_task_id
from turnout.model.retention import Deleted
from turnout.model.rows import (
    Command,
    Glance,
    Holder,
    InboxRow,
    LoadedRun,
    NewRun,
    RunWrite,
    Session,
    SessionHealth,
    StoredRun,
    TaskRow,
    WriteOutcome,
)
from turnout.model.slot_admission import Admitted
from turnout.model.slots import SlotRequest
from turnout.model.states import RunState, TaskState


class MemoryStore:
    """The methods that the parts of an orchestrator call. What a test does not set up is empty."""

    lanes = 1

    def __init__(self, journal: list[str] | None = None) -> None:
        self.journal: list[str] = [] if journal is None else journal
        self.tables: dict[str, RunTable] = {}
        self.new: dict[str, NewRun] = {}
        self.specs: dict[str, str] = {}
        self.ages: dict[str, float] = {}
        self.writes: list[RunWrite] = []
        self.woken: list[frozenset[str]] = []
        self.rejects: set[str] = set()
        """Runs whose data the database refuses."""
        self.errors: dict[str, Exception] = {}
        """What the next call of a method raises, by its name."""
        self.commands: dict[int, Command] = {}
        self.closed: dict[int, str | None] = {}
        """Commands that were carried out, or refused and why."""
        self.inbox: dict[int, InboxRow] = {}
        self.sessions: dict[str, Session] = {}
        self.alive_holders: set[str] = set()
        self.known_holders: dict[str, Holder] = {}
        self.health: list[SessionHealth] = []
        self.seen = Glance(owns=False, unowned=False, overdue=False, unheard=False, undone=False, limited=False)
        self.unslotted: set[str] = set()
        """Runs that wait for a slot of a limit."""
        self.granted: dict[tuple[str, int, int], float] = {}
        """Tasks that have the slots of their limits, by run, position and attempt."""
        self.slot_requests: list[SlotRequest] = []
        self.deadlocks = Deadlocks()
        self.declared_limits: dict[str, Sequence[LimitDeclaration]] = {}
        self.admits: list[Admitted] = []
        """What the next calls that give slots return."""
        self.overdue: list[str] = []
        """Sessions whose leases are over."""
        self.lapsed: list[tuple[str, int, int, str]] = []
        self.orphaned: list[str] = []
        self.expired: list[str] = []
        self.surplus: list[str] = []
        """Runs that the rules of their workflows do not keep."""
        self.duty = True
        self.asked: list[tuple[str, tuple[Any, ...]]] = []
        """Calls other than commits, with their arguments."""
        self.wake: Callable[[str], None] = lambda topic: None

    def _call(self, name: str, *args: Any) -> None:
        self.asked.append((name, args))
        if name in self.errors:
            raise self.errors.pop(name)

    def calls(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of all calls of this method."""
        return [args for called, args in self.asked if called == name]

    # -- for tests ----------------------------------------------------------------------------------------------
    def keep(self, graph: Graph, new: NewRun, table: RunTable) -> None:
        """Stores a run as it is."""
        self.put_workflow(graph.version, graph.spec.full_name, msgspec.json.encode(graph.spec).decode())
        self.new[new.run_id], self.tables[new.run_id] = new, table

    def leave(self, result: ExecutionResult, holder: str, text: str | None = None) -> int:
        """A poller's result, or a child's; ``text`` in place of what the result says."""
        run_id, pos = split_task_id(result.task_id)
        number = len(self.inbox) + 1
        said = msgspec.json.encode(result).decode() if text is None else text
        self.inbox[number] = InboxRow(number, run_id, pos, result.attempt, holder, said)
        return number

    # -- the ledger ---------------------------------------------------------------------------------------------
    def commit(self, writes: Sequence[RunWrite], *, wake: frozenset[str] = frozenset()) -> list[WriteOutcome]:
        self._call("commit")
        if refused := [write.run_id for write in writes if write.run_id in self.rejects]:
            raise StoreRejected(f"a value of run {refused[0]} cannot be stored")
        self.journal.append("commit")
        self.writes += writes
        self.woken.append(wake)
        return [self._insert(write) if write.insert is not None else self._update(write) for write in writes]

    def commit_channel(self) -> None: ...

    def _insert(self, write: RunWrite) -> WriteOutcome:
        new = write.insert
        assert new is not None
        for other in self.new.values():
            same_key = new.key is not None and (other.workflow, other.key) == (new.workflow, new.key)
            if other.run_id == new.run_id or same_key:
                return WriteOutcome(new.run_id, existing=other.run_id, existing_digest=other.input_digest)
        if new.parent_run is not None and not self._waits(new.parent_run, new.parent_pos, new.parent_attempt):
            return WriteOutcome(new.run_id, (-1,))
        self.new[new.run_id] = new
        self.tables[new.run_id] = table = RunTable()
        table.insert(write)
        return WriteOutcome(new.run_id)

    def _update(self, write: RunWrite) -> WriteOutcome:
        table = self.tables.get(write.run_id)
        if table is None:
            return WriteOutcome(write.run_id, (-1,))
        outcome = table.commit(write)
        if outcome.applied:
            for number in write.inbox_done:
                self.inbox.pop(number, None)
            self.closed |= dict.fromkeys(write.commands_done)
            if (answer := write.answer) is not None and self._waits(answer.run_id, answer.pos, answer.attempt):
                number = len(self.inbox) + 1
                said = (answer.run_id, answer.pos, answer.attempt, answer.holder, answer.result)
                self.inbox[number] = InboxRow(number, *said)
        return outcome

    def _waits(self, run_id: str, pos: int | None, attempt: int) -> bool:
        table = self.tables.get(run_id)
        row = None if table is None or pos is None else table.tasks.get(pos)
        return row is not None and row.state is TaskState.RUNNING and row.attempt == attempt

    def put_workflow(self, version: str, full_name: str, spec: str) -> None:
        self._call("put_workflow", version)
        self.specs.setdefault(version, spec)

    def clock(self) -> float:
        return 1_000_000.0

    # -- ownership ----------------------------------------------------------------------------------------------
    def claim_runs(
        self, session_id: str, workflows: Sequence[str], limit: int, inline: int, versions: Sequence[str] = ()
    ) -> list[LoadedRun]:
        self._call("claim_runs", session_id, tuple(workflows), limit, tuple(versions))
        free = [
            run_id
            for run_id, table in self.tables.items()
            if table.owner is None
            and not table.run.state.terminal
            and (self.new[run_id].workflow in workflows or self.new[run_id].version in versions)
        ]
        return [self._claim(session_id, run_id, inline) for run_id in free[:limit]]

    def claim_listed(self, session_id: str, run_ids: Sequence[str], inline: int) -> list[LoadedRun]:
        self._call("claim_listed", session_id, tuple(run_ids))
        tables = {run_id: self.tables[run_id] for run_id in run_ids if run_id in self.tables}
        return [
            self._claim(session_id, run_id, inline)
            for run_id, table in tables.items()
            if table.owner in (None, session_id) and not table.run.state.terminal
        ]

    def _claim(self, session_id: str, run_id: str, inline: int) -> LoadedRun:
        table = self.tables[run_id]
        table.claim(session_id)
        large = frozenset(pos for pos, row in table.tasks.items() if len(row.output or "") > inline)
        tasks = [
            msgspec.structs.replace(row, output=None) if row.pos in large else row for row in self._rows_of(run_id)
        ]
        stored = self.run(run_id)
        assert stored is not None
        return LoadedRun(run=stored, spec=self.specs[self.new[run_id].version], tasks=tasks, large=large)

    def unclaimed_versions(self, workflows: Sequence[str]) -> list[str]:
        found = [self.new[run_id] for run_id, table in self.tables.items() if table.owner is None]
        return list(dict.fromkeys(new.version for new in found if new.workflow not in workflows))

    def give_runs(self, session_id: str, receiver: str, run_ids: Sequence[str]) -> list[str]:
        self._call("give_runs", session_id, receiver, tuple(run_ids))
        given = [run_id for run_id in run_ids if self.tables[run_id].owner == session_id]
        for run_id in given:
            self.tables[run_id].owner = receiver
        return given

    def holders(self, ids: Sequence[str]) -> dict[str, Holder]:
        self._call("holders", tuple(ids))
        return {each: self.known_holders[each] for each in ids if each in self.known_holders}

    def holders_alive(self, holders: Sequence[str]) -> frozenset[str]:
        self._call("holders_alive", tuple(holders))
        return frozenset(each for each in holders if each in self.alive_holders)

    def live_sessions(self) -> list[Session]:
        self._call("live_sessions")
        return list(self.sessions.values())

    def session_health(self) -> list[SessionHealth]:
        self._call("session_health")
        return self.health

    def glance(self, session_id: str) -> Glance:
        self._call("glance", session_id)
        return self.seen

    def newest_revision(self) -> int:
        self._call("newest_revision")
        return self.seen.definitions

    def bury_sessions(self, *, gone: Sequence[str] = (), grace: float = 0.0, spare_holders: bool = False) -> list[str]:
        self._call("bury_sessions", tuple(gone), grace, spare_holders)
        dead = [*gone, *self.overdue]
        self.overdue = []
        for table in self.tables.values():
            table.owner = None if table.owner in dead else table.owner
        return dead

    # -- messages -----------------------------------------------------------------------------------------------
    def add_command(self, run_id: str, kind: str, reason: str | None = None) -> int:
        self._call("add_command", run_id, kind, reason)
        number = len(self.commands) + 1
        self.commands[number] = Command(number, run_id, kind, reason)
        return number

    def commands_for(self, session_id: str) -> list[Command]:
        self._call("commands_for", session_id)
        return [
            each
            for number, each in self.commands.items()
            if number not in self.closed and self.tables[each.run_id].owner == session_id
        ]

    def command_done(self, command_id: int) -> bool:
        return command_id in self.closed

    def command_refusal(self, command_id: int) -> str | None:
        return self.closed.get(command_id)

    def refuse_commands(self, command_ids: Sequence[int], why: str) -> None:
        self._call("refuse_commands", tuple(command_ids), why)
        self.closed |= dict.fromkeys(command_ids, why)

    # -- limits -------------------------------------------------------------------------------------------------
    def admit_waiting(self, names: Sequence[str] | None = None, scope: Any = None) -> Admitted:
        self._call("admit_waiting", names, scope)
        return self.admits.pop(0) if self.admits else Admitted()

    def request_slots(self, requests: Sequence[SlotRequest], scope: Any = None) -> Admitted:
        self._call("request_slots")
        self.slot_requests += requests
        for each in requests:
            if each.renews:
                self.granted.pop((each.run_id, each.pos, each.attempt), None)
        return self.admits.pop(0) if self.admits else Admitted()

    def put_limit_declarations(
        self, declared: Mapping[str, Sequence[LimitDeclaration]], gone: Collection[str] = ()
    ) -> list[LimitDeclaration]:
        self._call("put_limit_declarations", tuple(sorted(declared)), tuple(sorted(gone)))
        self.declared_limits = {
            name: found for name, found in (self.declared_limits | dict(declared)).items() if name not in gone
        }
        return [each for found in self.declared_limits.values() for each in found]

    def limit_deadlocks(self) -> Deadlocks:
        self._call("limit_deadlocks")
        return self.deadlocks

    def limit_declarations(self) -> list[LimitDeclaration]:
        return [each for found in self.declared_limits.values() for each in found]

    def runs_without_slots(self, run_ids: Sequence[str]) -> frozenset[str]:
        self._call("runs_without_slots", tuple(run_ids))
        return frozenset(self.unslotted.intersection(run_ids))

    def granted_tasks(self, run_ids: Sequence[str]) -> dict[tuple[str, int, int], float]:
        self._call("granted_tasks", tuple(run_ids))
        return {key: age for key, age in self.granted.items() if key[0] in run_ids}

    def close_commands(self) -> None:
        self._call("close_commands")

    def inbox_for(self, session_id: str, limit: int) -> list[InboxRow]:
        self._call("inbox_for", session_id)
        return [row for row in self.inbox.values() if self.tables[row.run_id].owner == session_id][:limit]

    def lapsed_attempts(self, session_id: str) -> list[tuple[str, int, int, str]]:
        self._call("lapsed_attempts", session_id)
        return self.lapsed

    # -- reading ------------------------------------------------------------------------------------------------
    def run(self, run_id: str) -> StoredRun | None:
        self._call("run", run_id)
        if run_id not in self.tables:
            return None
        table, age = self.tables[run_id], self.ages.get(run_id, 0.0)
        new = self.new[run_id]
        return StoredRun(new=new, row=table.run, owner=table.owner, epoch=table.epoch, seq=table.seq, age=age)

    def runs_by_id(self, run_ids: Sequence[str]) -> list[StoredRun]:
        self._call("runs_by_id", tuple(run_ids))
        return [run for run_id in run_ids if (run := self.run(run_id)) is not None]

    def orphans(self, session_id: str) -> list[str]:
        self._call("orphans", session_id)
        return self.orphaned

    def _rows_of(self, run_id: str) -> list[TaskRow]:
        return [row for _, row in sorted(self.tables[run_id].tasks.items())]

    def tasks(self, run_id: str, *, outputs: bool = True) -> list[TaskRow]:
        self._call("tasks", run_id)
        return self._rows_of(run_id) if run_id in self.tables else []

    def owned_runs(self, session_id: str) -> list[str]:
        self._call("owned_runs", session_id)
        return [
            run_id
            for run_id, table in self.tables.items()
            if table.owner == session_id and not table.run.state.terminal
        ]

    def running_tasks(self, session_id: str) -> list[tuple[str, int, int]]:
        return [
            (run_id, row.pos, row.attempt)
            for run_id, table in self.tables.items()
            for row in table.tasks.values()
            if row.state is TaskState.RUNNING and row.holder == session_id
        ]

    def outputs(self, run_id: str, positions: Sequence[int]) -> dict[int, str]:
        self._call("outputs", run_id, tuple(positions))
        rows = self.tables[run_id].tasks
        return {pos: output for pos in positions if (output := rows[pos].output) is not None}

    def workflow(self, version: str) -> str | None:
        self._call("workflow", version)
        return self.specs.get(version)

    # -- retention ----------------------------------------------------------------------------------------------
    def expired_runs(
        self, before: float, states: Sequence[RunState], limit: int, *, other_than: Sequence[str] = ()
    ) -> list[str]:
        self._call("expired_runs", before, tuple(states))
        spared = {run_id for run_id, new in self.new.items() if new.workflow in other_than}
        return [run_id for run_id in self.expired if run_id not in spared][:limit]

    def surplus_runs(self, workflow: str, before: float | None, newest: int | None, limit: int) -> list[str]:
        self._call("surplus_runs", workflow, before, newest)
        return [run_id for run_id in self.surplus if run_id in self.tables][:limit]

    def family(self, run_id: str) -> dict[str, RunState]:
        if run_id not in self.tables:
            raise RunNotFound(f"there is no run {run_id}", run_id=run_id)
        children = [new.run_id for new in self.new.values() if new.parent_run == run_id]
        return {each: self.tables[each].run.state for each in (run_id, *children)}

    def delete_runs(self, run_ids: Sequence[str], limit: int) -> Deleted:
        """At most so many task rows, then the runs."""
        self._call("delete_runs", tuple(run_ids), limit)
        rows = 0
        for run_id in [each for each in run_ids if each in self.tables and self.tables[each].run.state.terminal]:
            tasks = self.tables[run_id].tasks
            while tasks:
                if rows == limit:
                    return Deleted(rows=rows, more=True)
                tasks.popitem()
                rows += 1
        gone = [each for each in run_ids if each in self.tables and self.tables[each].run.state.terminal]
        for run_id in gone:
            del self.tables[run_id], self.new[run_id]
        self.expired = [each for each in self.expired if each not in gone]
        return Deleted(runs=len(gone), rows=rows)

    def prune_rest(self, older_than: float) -> Deleted:
        self._call("prune_rest", older_than)
        return Deleted()

    def take_duty(self, name: str, session_id: str, every: float) -> bool:
        self._call("take_duty", name, session_id, every)
        return self.duty

    def listen(self, on_wake: Callable[[str], None]) -> Callable[[], None]:
        self.wake = on_wake

        def stop() -> None:
            self.wake = lambda topic: None

        return stop
