"""Holds the rows that the store keeps of runs, tasks and sessions, and the writes that the ledger makes.

A ``RunWrite`` is everything that one commit changes in one run. Task and run rows are written as whole images of
their changing columns, each with the state and attempt that it was made from (``was``): the compare-and-swap. An
attempt that completes keeps its executor, decision, labels, resources, holder, ``dispatched_at`` and counts: stores
rely on it.

The values of the hot path are made with ``gc=False``: they are in no reference cycles, and tens of thousands of
them a second would otherwise keep the garbage collector busy.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from turnout.model.events import ErrorInfo
from turnout.model.limits import LimitUse
from turnout.model.reasons import LIMIT
from turnout.model.resources import Resources
from turnout.model.states import RunState, TaskState


class TaskRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The image of a task's row. In memory it is the committed state; in a RunWrite, the new one."""

    pos: int
    """The task's position in its run: with the run's id, its key."""
    state: TaskState
    was: TaskState | None = None
    """The state that the write was made from; None in an inserted row."""
    was_attempt: int = 0
    name: str = ""
    """Only written when inserted, as is ``priority``."""
    priority: int = 0
    attempt: int = 0
    """The ordinal of the newest attempt; never decreases."""
    failures: int = 0
    crashes: int = 0
    losses: int = 0
    reason: str | None = None
    """The reason for which a task waits, failed, or was skipped or cancelled."""
    retry_in: float | None = None
    """Seconds from the commit until the task may start; stored as a time by the database's clock."""
    executor: str | None = None
    decision: str | None = None
    labels: dict[str, str] | None = None
    poll_key: str | None = None
    """Set while a ready task may be claimed by pollers of that key."""
    holder: str | None = None
    """The holder of the running attempt: an owner's session id, or a poller's id."""
    output: str | None = None
    """JSON text."""
    error: ErrorInfo | None = None
    dispatched_at: float | None = None
    """When the newest attempt was dispatched, by the owner's clock; None while no attempt runs or ended the task."""
    started_at: float | None = None
    """When the body of that attempt began, by the clock of the executor or worker."""
    finished_at: float | None = None
    """When the task ended, by the owner's clock."""
    seq: int = 0
    """The sequence number of the task's newest history row."""
    memo: str | None = None
    """JSON text of a ``Memo``: values kept between attempts, and the choice of a branch."""
    group: int | None = None
    """The position of the mapped task whose item this is; only written when inserted, as is ``index``."""
    index: int | None = None
    """The index of the item in the mapped task's lists, from 0."""
    resources: Resources | None = None
    """What the newest attempt asks of its executor, as it was decided."""

    @property
    def task_pos(self) -> int:
        """The position of the task in the graph; for an item, that of its mapped task."""
        return self.pos if self.group is None else self.group


class RunRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The image of a run's changing columns."""

    state: RunState
    was: RunState | None = None
    reason: str | None = None
    error: ErrorInfo | None = None
    started_at: float | None = None
    finished_at: float | None = None


class NewRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The columns of a run that never change once it is submitted."""

    run_id: str
    workflow: str
    """Full name, ``tenant::package::workflow``."""
    version: str
    input: str
    """JSON text of the parameters, by name."""
    created_at: float
    key: str | None = None
    """The idempotency key; unique per workflow full name."""
    input_digest: str = ""
    priority: int = 0
    timeout: float | None = None
    rerun_of: str | None = None
    parent_run: str | None = None
    """Of a child run: the run of the task that started it; then that task's position, and the attempt."""
    parent_pos: int | None = None
    parent_attempt: int = 0
    depth: int = 0
    """The number of its ancestors."""
    origin: str | None = None
    """How it was handed in, as ``model/run_triggers.py`` writes it; None where other columns or the decision of a
    schedule say it, and for programs."""


class HistoryRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One move. ``pos`` -1 is the run itself. Stored only if its row's compare-and-swap applied.

    The moves of a commit are stored together, as one JSON array of these."""

    seq: int
    pos: int
    old: str | None
    new: str
    attempt: int = 0
    detail: str | None = None
    """JSON text: the decision, the reason or the error."""


class StoredMove(msgspec.Struct, frozen=True, gc=False):
    """A move as it is read back; (``move.seq``, ``part``) is its position in the history of its run."""

    at: float
    """When it was committed, by the database's clock."""
    part: int
    """1 for the claim of a poller, which shares its seq with the move before it, else 0."""
    move: HistoryRow


class StoredVersion(msgspec.Struct, frozen=True):
    """A version of the spec of a workflow, without its text."""

    version: str
    number: int
    created_at: float
    used_at: float | None
    """When a run of it was submitted last, to within the time that submissions are gathered."""


class StoredDecision(msgspec.Struct, frozen=True, gc=False):
    """The stored decision about a task of a run."""

    run_id: str
    version: str
    pos: int
    """The position of the task in the graph; for an item, that of its mapped task."""
    executor: str
    reason: str | None
    labels: dict[str, str] | None
    resources: Resources | None = None


class ParentAnswer(msgspec.Struct, frozen=True, gc=False):
    """The row that the end of a child run adds to its parent's inbox."""

    run_id: str
    pos: int
    attempt: int
    holder: str
    result: str
    """JSON text of an ExecutionResult."""


class RunWrite(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """Everything that one commit changes in one run."""

    run_id: str
    epoch: int
    insert: NewRun | None = None
    owner: str | None = None
    """With ``insert``: the session that owns the new run from the start, or None: it waits to be claimed."""
    run: RunRow | None = None
    """With ``insert``: the first image. Otherwise a compare-and-swap on (epoch, was). An end sets owner to null."""
    tasks: list[TaskRow] = []
    """With ``insert``: the rows to insert. Otherwise compare-and-swaps on (epoch, was, was_attempt)."""
    items: list[TaskRow] = []
    """Without ``insert``: rows to add to the run, items of mapped tasks that ``tasks`` moves to running. They are added
    with those, under the run's lock, or not at all."""
    history: list[HistoryRow] = []
    """In the order of their seq."""
    inbox_done: Sequence[int] = ()
    """Inbox rows that this write answers; removed in the same transaction."""
    answer: ParentAnswer | None = None
    """With the end of a child run: added to the inbox in the same transaction, if the parent's attempt still waits."""
    commands_done: Sequence[int] = ()
    """Command rows that this write applies; marked done in the same transaction."""
    limits: Sequence[LimitUse] = ()
    """With ``insert``, of a run that is pending with the reason ``limit``: the limits that it waits for."""

    @property
    def task_epoch(self) -> int:
        """With ``insert``: the epoch of the tasks. Those of a run that waits for its first owner have the epoch that
        the first claim, which adds one, gives to the run: so it need not rewrite them."""
        return self.epoch if self.owner is not None else self.epoch + 1


class WriteOutcome(msgspec.Struct, frozen=True, gc=False):
    """The outcome of a RunWrite. ``stale`` lists the positions that did not match (-1: the run row; with the insert
    of a child run: its parent's attempt is over)."""

    run_id: str
    stale: tuple[int, ...] = ()
    existing: str | None = None
    """With ``insert``: the id of the run that already has this idempotency key; nothing was written."""
    existing_digest: str = ""
    rejected: str | None = None
    """The reason for which the database refused this run's data; nothing of it was written."""

    @property
    def applied(self) -> bool:
        return not self.stale and self.existing is None and self.rejected is None


class StoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run as it is read back."""

    new: NewRun
    row: RunRow
    owner: str | None
    epoch: int
    seq: int
    """The highest history sequence number in use."""
    age: float = 0.0
    """Seconds since it was submitted, by the database's clock."""

    @property
    def queued(self) -> bool:
        """True if it waits for its limits, and is not to be claimed."""
        return self.row.state is RunState.PENDING and self.row.reason == LIMIT


class UnownedRun(msgspec.Struct, frozen=True, gc=False):
    """A run that no session drives."""

    run_id: str
    version: str
    age: float
    """Seconds since it was submitted, by the database's clock."""


class LoadedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that has just been claimed, with all that its owner needs."""

    run: StoredRun
    spec: str
    """The workflow version's spec as JSON text."""
    tasks: list[TaskRow]
    """``retry_in`` is the rest of the delay; outputs above the inline limit are absent (see ``large``)."""
    large: frozenset[int] = frozenset()
    """Positions whose output exists but was left in the store."""
    active: float = 0.0
    """Seconds since it was first claimed, by the database's clock: the time for which it has not waited for limits."""


class Command(msgspec.Struct, frozen=True):
    """A request to a run's owner: cancel, pause or resume."""

    id: int
    run_id: str
    kind: str
    reason: str | None = None


class InboxRow(msgspec.Struct, frozen=True):
    """A result that a poller left for the run's owner."""

    id: int
    run_id: str
    pos: int
    attempt: int
    holder: str
    result: str
    """JSON text of an ExecutionResult."""


class PolledTask(msgspec.Struct, frozen=True):
    """An attempt that a poller has claimed."""

    run_id: str
    pos: int
    attempt: int
    workflow: str
    version: str
    group: int | None = None
    failures: int = 0
    """Earlier attempts that failed, as the retry policy counts them."""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """The row of an orchestrator, a bystander (it only submits and controls runs), a poller or a worker."""

    id: str
    kind: str = "orchestrator"
    host: str = ""
    boot_id: str = ""
    pid_namespace: str = ""
    pid: int = 0
    process_started: str = ""
    workflows: tuple[str, ...] = ()
    """Full names of the workflows that it has the code for."""
    key: str = ""
    """Of a worker: the public key of its connection; empty where the hub has no keys."""


class Glance(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the store that an idle session needs, read with one query."""

    sessions: tuple[Session, ...] = ()
    """The sessions that are alive."""
    owns: bool = True
    """True if the session owns a run that has not ended."""
    unowned: bool = True
    """True if a run waits for an owner."""
    overdue: bool = True
    """True if a lease has expired, or a session that has ended still owns a run."""
    unheard: bool = True
    """True if a command is open although its run has ended."""
    definitions: int = 0
    """The number of the newest change of a workflow definition, or of the shared routing rules."""
    schedules: int = 0
    """The number of the newest change of a schedule."""
    undone: bool = True
    """True if a schedule has fired and its run is still to be started."""
    now: float = 0.0
    """The time by the database's clock."""
    limited: bool = True
    """True if a run or a task waits for a slot of a limit."""


class SessionHealth(msgspec.Struct, frozen=True, kw_only=True):
    """A live session and its last reported status."""

    session: Session
    health: str | None
    """Its status as JSON text; None before its first report."""
    drain: str | None = None
    """Of a worker: the reason for which it is drained."""
    age: float
    """Seconds since it was started, by the database's clock."""
    silent: float
    """Seconds since its last renewal, by the clock of leases."""


class LostSession(msgspec.Struct, frozen=True):
    """A session that was declared dead, and its last reported status."""

    id: str
    host: str
    health: str | None
    at: float
    """When it was declared dead, by the database's clock."""


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A session that holds or held attempts."""

    session: Session
    alive: bool
    """True if it has not ended and its lease has not expired."""
    lease: float
    """Seconds that one renewal lasts."""


class Lease(msgspec.Struct, frozen=True):
    """The answer to a renewal."""

    held: bool
    """False: the session was declared dead; other sessions may own its runs now."""
    peers: int
    """The number of other sessions that are alive. A NOTIFY is sent only if there are some."""


class Renewal(msgspec.Struct, frozen=True):
    """The answer to the renewal of workers."""

    dead: frozenset[str]
    """Workers whose sessions have ended."""
    draining: dict[str, str]
    """Workers that are to be drained, with the reason."""


class HeldAttempt(msgspec.Struct, frozen=True):
    """A running attempt that a worker or poller holds."""

    run_id: str
    workflow: str
    task: str
    attempt: int
    since: float | None
    """The time at which its start was committed."""


class StoreFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Version, clock and schema of a database."""

    version: str
    now: float
    """Its clock, in seconds since 1970."""
    schema: int
    """The number of its newest migration."""


class StoreUse(msgspec.Struct, frozen=True, kw_only=True):
    """Connections (SQLite: the one writer), without those of the ledger and of lease renewal."""

    size: int
    active: int
    waiting: int
    saturation: float
    """The share of callers' time since the last report that was spent waiting for a connection; never more than the
    share of the time in which a caller waited."""
