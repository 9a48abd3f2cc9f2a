"""Declares the store of runs, by role: each part of the program names the role that it uses.

SQLite and PostgreSQL implement all of them; one conformance suite holds both to it.

Every method is one transaction, blocks, and may be called from any thread (each thread uses its own connection, so
callers that must not block run it in a thread). Driver exceptions never leave: they become the StoreErrors of
``turnout.errors``. All leases, ages and waits are computed by the database's clock, never the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from turnout.model.access import AuditRow, NewToken, TokenRow
from turnout.model.definitions import DefinitionKind, DefinitionVersion, NewDefinition, RecentRun, StoredDefinition
from turnout.model.events import ExecutionResult
from turnout.model.limits import LimitSize
from turnout.model.logs import LogLine, LogRow
from turnout.model.retention import Deleted
from turnout.model.routing import StoredRouting
from turnout.model.rows import (
    Command,
    Glance,
    HeldAttempt,
    HistoryRow,
    Holder,
    InboxRow,
    Lease,
    LoadedRun,
    PolledTask,
    Renewal,
    RunWrite,
    Session,
    SessionHealth,
    StoredDecision,
    StoredMove,
    StoredRun,
    StoreFacts,
    StoreUse,
    TaskRow,
    WriteOutcome,
)
from turnout.model.run_figures import EndedRuns, EndedTasks
from turnout.model.run_filter import ALL_RUNS, ChangeSpan, RunChange, RunFilter
from turnout.model.schedule_decisions import Outcome, Turn
from turnout.model.schedule_rows import (
    DecisionKind,
    DecisionRow,
    NewFire,
    PendingDecision,
    RecordedTurns,
    ScheduleChange,
    ScheduleTurn,
    StoredSchedule,
)
from turnout.model.slots import AdmissionScope, Admitted, HeldLimit, LimitDetail, LimitView, SlotRequest
from turnout.model.states import RunState, TaskState
from turnout.model.triggers import ClaimedPoll, TriggerRow
from turnout.model.webhooks import Webhook


class LedgerStore(Protocol):
    """Takes the state changes of runs."""

    lanes: int
    """How many ``commit`` calls may usefully be in flight at once (SQLite: 1)."""

    def commit(self, writes: Sequence[RunWrite], *, wake: frozenset[str] = frozenset()) -> list[WriteOutcome]:
        """Writes all in one transaction, each row by compare-and-swap with its history row made from the rows really
        updated. Returns the outcomes in order. ``wake`` topics are notified with the commit (one NOTIFY per topic).
        Raises StoreUnreachable when the outcome is unknown or nothing was written, StoreRejected when the data was
        refused (the caller splits the batch). A child run is inserted only while its parent's attempt is running;
        otherwise its outcome is stale."""
        ...

    def put_workflow(self, version: str, full_name: str, spec: str) -> None:
        """Stores a workflow version; known ones are left alone."""
        ...

    def clock(self) -> float:
        """The time by the database's clock."""
        ...


class OwnershipStore(Protocol):
    """Knows the sessions that are alive, and which of them owns which run."""

    def start_session(self, session: Session, lease: float) -> None: ...

    def renew_session(self, session_id: str, lease: float, health: str | None = None) -> Lease:
        """Renews the session on a connection of its own. A session that was declared dead stays dead."""
        ...

    def join_worker(self, worker: Session, lease: float, about: str) -> str | None:
        """Opens the worker's session, also if it was declared dead before: what it held then is fenced by attempt.
        Returns why it is to leave, if a drain was requested. Raises WorkerInUse if the id belongs to another key, or to
        a session of another kind."""
        ...

    def renew_workers(self, about: Mapping[str, str], lease: float) -> Renewal:
        """Renews the sessions of these workers and stores the description of each."""
        ...

    def run_numbers(self, run_ids: Sequence[str]) -> dict[str, int]:
        """A number for each of these runs that exists, from 1: the same on every call and on every orchestrator, and
        never given to another run, also after the run was deleted."""
        ...

    def drain_worker(self, worker_id: str, reason: str) -> bool:
        """Requests that this worker finishes what it has and leaves: every hub learns of it with the next renewal. The
        first request stays. False: no such worker is alive."""
        ...

    def held_by(self, holder: str) -> list[HeldAttempt]:
        """Returns the running attempts that this session holds, the oldest first."""
        ...

    def release_runs(self, session_id: str, run_ids: Sequence[str]) -> None:
        """Hands over those of these runs that the session owns: they become unowned at once; wakes ``runs``."""
        ...

    def give_runs(self, session_id: str, receiver: str, run_ids: Sequence[str]) -> list[str]:
        """Makes another session, if it is alive, the owner of those of these runs that the session owns; wakes
        ``given``. Returns them. The receiver takes them up with ``claim_listed``."""
        ...

    def end_session(self, session_id: str) -> None:
        """Ends the session; its runs become unowned at once."""
        ...

    def bury_sessions(self, *, gone: Sequence[str] = (), grace: float = 0.0, spare_holders: bool = False) -> list[str]:
        """Declares dead every session whose lease is over by more than ``grace``, and those in ``gone`` (seen dead on
        this machine): their runs become unowned; attempts they hold stay as they are. Returns the buried sessions' ids.
        Gives one lease of grace after the database itself has just started. With ``spare_holders``, workers and pollers
        are not judged by their leases."""
        ...

    def live_sessions(self) -> list[Session]: ...

    def glance(self, session_id: str) -> Glance:
        """Returns whether there is anything to do for this session, and which sessions are alive, by one statement."""
        ...

    def session_health(self) -> list[SessionHealth]:
        """The live sessions in the order in which they started, each with what it last said of itself."""
        ...

    def unclaimed_versions(self, workflows: Sequence[str]) -> list[str]:
        """The versions of unowned, non-terminal runs of all workflows but these."""
        ...

    def claim_runs(
        self, session_id: str, workflows: Sequence[str], limit: int, inline: int, versions: Sequence[str] = ()
    ) -> list[LoadedRun]:
        """Takes up to ``limit`` unowned, non-terminal runs of these workflows, or of these versions (highest priority,
        then oldest).

        In one transaction: owner, epoch + 1 on the run and on all its non-terminal task rows, and pending becomes
        running with its history row; then the tasks are read in a later statement. Outputs longer than ``inline``
        stay behind."""
        ...

    def claim_listed(self, session_id: str, run_ids: Sequence[str], inline: int) -> list[LoadedRun]:
        """Takes those of these runs that are unowned, or its own already (a reload), under a new epoch, in one
        transaction. Returns them."""
        ...

    def holders(self, ids: Sequence[str]) -> dict[str, Holder]:
        """Returns what is known of these sessions, ended ones included. A session that is missing ended long ago."""
        ...

    def holders_alive(self, holders: Sequence[str]) -> frozenset[str]:
        """Returns those of these sessions (orchestrators or pollers) that are alive."""
        ...


class MessageStore(Protocol):
    """Carries commands, tasks and results between processes."""

    def add_command(self, run_id: str, kind: str, reason: str | None = None) -> int:
        """Asks the run's owner to cancel, pause or resume; wakes ``commands``. RunNotFound if there is no such run."""
        ...

    def commands_for(self, session_id: str) -> list[Command]:
        """Returns the open commands of runs that this session owns."""
        ...

    def command_done(self, command_id: int) -> bool:
        """True if it was applied or refused; one for a run that has ended counts as done."""
        ...

    def command_refusal(self, command_id: int) -> str | None:
        """Returns why it was refused; None if it was not."""
        ...

    def refuse_commands(self, command_ids: Sequence[int], why: str) -> None:
        """Closes these commands without applying them."""
        ...

    def close_commands(self) -> None:
        """Closes the commands of runs that have ended: they will never be applied."""
        ...

    def claim_ready(self, poller: str, keys: Sequence[str], limit: int, lease: float) -> list[PolledTask]:
        """Claims ready tasks with one of these poll keys, if their time has come and their run is running.

        The run's row is locked FOR SHARE. The task becomes running, attempt + 1, holder = poller, with its history row
        (part 1 of the task's newest seq)."""
        ...

    def renew_attempts(
        self, poller: str, attempts: Sequence[tuple[str, int, int]], lease: float
    ) -> list[tuple[str, int, int]]:
        """Extends the leases of these (run_id, pos, attempt); returns those that are no longer the poller's."""
        ...

    def post_results(self, poller: str, results: Sequence[ExecutionResult]) -> None:
        """Leaves results for the runs' owners; wakes ``inbox``. A second post of the same attempt changes nothing."""
        ...

    def inbox_for(self, session_id: str, limit: int) -> list[InboxRow]:
        """Results waiting for runs that this session owns, oldest first."""
        ...

    def lapsed_attempts(self, session_id: str) -> list[tuple[str, int, int, str]]:
        """(run_id, pos, attempt, holder) of attempts in this session's runs that a poller holds but no longer keeps
        alive, and that have no result in the inbox."""
        ...


class ReadStore(Protocol):
    """Reads runs, tasks, outputs and history."""

    def run(self, run_id: str) -> StoredRun | None: ...

    def runs(
        self,
        *,
        workflow: str | None = None,
        states: Sequence[RunState] = (),
        limit: int = 100,
        before: str | None = None,
    ) -> list[StoredRun]:
        """Returns runs, newest first; ``before`` is the last run id of the previous page. ``workflow`` is a full name
        or its last segment."""
        ...

    def find_runs(
        self, wanted: RunFilter = ALL_RUNS, *, limit: int = 100, before: str | None = None
    ) -> list[StoredRun]:
        """Returns the runs that the filter finds, newest first; ``before`` is the last run id of the previous page."""
        ...

    def open_runs(self, limit: int) -> list[StoredRun]:
        """Returns runs that have not ended, newest first. Its cost does not depend on how many have ended."""
        ...

    def runs_by_id(self, run_ids: Sequence[str]) -> list[StoredRun]:
        """Returns those of these runs that exist, in any order."""
        ...

    def children(self, run_id: str) -> list[StoredRun]:
        """The child runs of this run, by task and attempt."""
        ...

    def orphans(self, session_id: str) -> list[str]:
        """Returns the child runs that this session owns and that no attempt waits for, except those being cancelled."""
        ...

    def tasks(self, run_id: str, *, outputs: bool = True) -> list[TaskRow]: ...

    def task_counts(self, run_ids: Sequence[str]) -> dict[str, list[tuple[TaskState, int, str | None]]]:
        """Returns for each of these runs how many tasks are in each state, and a reason of one of those."""
        ...

    def tasks_at(self, run_id: str, positions: Sequence[int]) -> list[TaskRow]:
        """Returns these tasks of the run, without outputs."""
        ...

    def items(self, run_id: str) -> dict[int, range]:
        """Returns the positions of the items of the run's mapped tasks, by the position of the mapped task."""
        ...

    def owned_runs(self, session_id: str) -> list[str]:
        """Ids of the non-terminal runs that belong to this session."""
        ...

    def running_tasks(self, session_id: str) -> list[tuple[str, int, int]]:
        """(run_id, pos, attempt) of attempts that the database believes this session holds."""
        ...

    def outputs(self, run_id: str, positions: Sequence[int]) -> dict[int, str]: ...

    def history(self, run_id: str) -> list[tuple[float, HistoryRow]]:
        """(time by the database's clock, move), in order."""
        ...

    def moves(self, run_id: str, *, after: tuple[int, int] = (0, 0), limit: int = 1_000) -> list[StoredMove]:
        """Returns the moves of a run behind this position, which is (seq, part), in order. A run has one writer at a
        time, so a reader that continues after the last position misses none."""
        ...

    def decisions(self, limit: int) -> list[StoredDecision]:
        """Returns the latest decisions about tasks, newest runs first."""
        ...

    def workflow(self, version: str) -> str | None:
        """The spec of this version as JSON text."""
        ...

    def waiting(self) -> dict[str, Any]:
        """Returns the number of non-terminal runs by state, by whether they are owned, by owner, and of those that wait
        for limits: for start-up and health."""
        ...

    def about(self) -> StoreFacts:
        """The server's version, its clock and the schema: for health."""
        ...


class ChangeStore(Protocol):
    """Knows which runs have changed their state, whichever process has changed them."""

    def run_changes(self, after: int, limit: int) -> list[RunChange]:
        """Returns changes behind this position, in the order in which they became readable: a reader that continues
        after the last position misses none, however many processes write. All changes of one position are returned
        together. On PostgreSQL changes become readable when every older transaction that writes has ended."""
        ...

    def change_span(self) -> ChangeSpan:
        """Returns the positions from which a reader can continue."""
        ...


class LogStore(Protocol):
    """Keeps what attempts write."""

    def append_logs(self, rows: Sequence[LogRow]) -> None:
        """Stores these lines, in this order. A line that is stored already changes nothing, and lines of a run that
        does not exist (any more) are dropped."""
        ...

    def logs(
        self, run_id: str, *, task: str | None = None, attempt: int | None = None, after: int = 0, limit: int = 1_000
    ) -> list[LogLine]:
        """Returns lines of a run in the order in which they became readable; lines of one attempt in the order in which
        they were written. ``after`` is the id of the last line that the reader has: a reader that continues there
        misses no line, however many processes write. ``task`` is a task's name; the name of a mapped task stands for
        all its items."""
        ...

    def progress(self, run_id: str) -> dict[str, str]:
        """Returns the last stored progress of the running attempts of a run, by task or item."""
        ...


class RetentionStore(Protocol):
    """Deletes runs."""

    def expired_runs(
        self, before: float, states: Sequence[RunState], limit: int, *, other_than: Sequence[str] = ()
    ) -> list[str]:
        """Runs that ended in one of these states before this time, oldest first; none whose parent has not ended, and
        none of the workflows ``other_than``."""
        ...

    def surplus_runs(self, workflow: str, before: float | None, newest: int | None, limit: int) -> list[str]:
        """Runs of a workflow that ended before this time, or that are not among so many of its newest ended runs; none
        whose parent has not ended."""
        ...

    def family(self, run_id: str) -> dict[str, RunState]:
        """The run, its child runs and theirs, with their states. RunNotFound if there is no such run."""
        ...

    def delete_runs(self, run_ids: Sequence[str], limit: int) -> Deleted:
        """Deletes at most ``limit`` rows of each table that these runs have rows in, and the runs themselves once
        nothing else is left of them (``more`` is False then). Runs that have not ended are left alone."""
        ...

    def prune_rest(self, older_than: float) -> Deleted:
        """Deletes what nothing refers to and no live session can refer to: versions of workflows without runs, ended
        sessions, replaced routing rules, settled decisions about due times; each only if it has been so for this many
        seconds."""
        ...

    def take_duty(self, name: str, session_id: str, every: float) -> bool:
        """True if this session takes the duty now, which one of all sessions does every so many seconds."""
        ...


class FigureStore(Protocol):
    """Counts what has ended, for metrics. Its cost depends on what ended in the time that is asked for only."""

    def clock(self) -> float:
        """The time by the database's clock."""
        ...

    def ended_runs(self, after: float, until: float) -> list[EndedRuns]:
        """Returns the runs that ended after the first and until the second time, by workflow and state."""
        ...

    def ended_tasks(self, after: float, until: float) -> list[EndedTasks]:
        """Returns the tasks of those runs, by workflow, executor and state. Tasks that never had an attempt are left
        out."""
        ...


class AccessStore(Protocol):
    """Keeps the tokens of the server, and the audit of what was done with them."""

    def add_token(self, token: NewToken) -> TokenRow:
        """Stores a token. Of one with a parent, the parent has to be usable: StoreRejected otherwise."""
        ...

    def add_first_token(self, token: NewToken) -> bool:
        """Stores the token if none was ever stored. True for one of all callers, also if several call at once."""
        ...

    def token(self, digest: str) -> TokenRow | None:
        """Returns the token with this digest of its secret, whatever its state. A session of a browser is revoked and
        expires with the token that it was made with."""
        ...

    def tokens(self) -> list[TokenRow]:
        """Returns all tokens, the oldest first, without sessions of browsers."""
        ...

    def usable_tokens(self, token_ids: Sequence[str]) -> frozenset[str]:
        """Returns those of these tokens that are neither revoked nor expired."""
        ...

    def has_usable_token(self) -> bool:
        """True if any token is neither revoked nor expired."""
        ...

    def revoke_token(self, token_id: str) -> bool:
        """Revokes a token, and the sessions that were made with it. False: no such token is there, or it was revoked
        before."""
        ...

    def record_use(self, last_used: Mapping[str, float]) -> None:
        """Stores when tokens were last used; earlier times than the stored ones change nothing."""
        ...

    def add_audit(self, entries: Sequence[AuditRow]) -> None:
        """Stores entries in this order, at the database's time."""
        ...

    def audit(self, *, limit: int = 100, before: int | None = None, actor: str | None = None) -> list[AuditRow]:
        """Returns entries, the newest first; ``before`` is the id of the last entry of the previous page."""
        ...

    def prune_audit(self, older_than: float) -> int:
        """Deletes entries that are older than so many seconds; returns how many."""
        ...


class DefinitionStore(Protocol):
    """Keeps workflow definitions with their versions. Changes are made one after the other, whichever process makes
    them, and each wakes ``definitions``."""

    def newest_revision(self) -> int:
        """Returns the number of the newest change of a definition, or of the shared routing rules."""
        ...

    def definition(self, full_name: str) -> StoredDefinition | None:
        """Returns the definition with the text of its current version; removed ones too."""
        ...

    def definitions(self, *, since: int = 0) -> list[StoredDefinition]:
        """Returns the definitions that were changed after this revision, in the order of their revisions, removed ones
        too. A reader that continues with the highest revision that it has misses no change."""
        ...

    def definition_versions(
        self, full_name: str, *, before: int | None = None, limit: int = 100
    ) -> list[DefinitionVersion]:
        """Returns versions without their texts, newest first; ``before`` is the last number of the previous page."""
        ...

    def definition_version(self, full_name: str, version: int) -> DefinitionVersion | None: ...

    def definition_versions_in_use(self) -> list[DefinitionVersion]:
        """Returns the versions before the current ones that runs which have not ended were started by, with texts."""
        ...

    def put_definition(self, new: NewDefinition, expected: int | None) -> StoredDefinition:
        """Makes the text the newest version if the current one has the number ``expected``; 0: there is none, or it was
        removed; None: whichever it is. Raises StaleDefinition otherwise. The text that is in force already changes
        nothing. Numbers go on after a removal."""
        ...

    def put_findings(
        self, full_name: str, kind: DefinitionKind, file: str, findings: str | None, actor: str
    ) -> StoredDefinition | None:
        """Records what is wrong with the newest text of a file, or with None that nothing is. The current version stays
        in force, and a removed definition removed. One that was uploaded is left as it is."""
        ...

    def remove_definition(
        self, full_name: str, expected: int | None, actor: str, *, with_open_runs: bool = False
    ) -> StoredDefinition | None:
        """Marks the definition as removed, if it has the version that is expected; None if there is none. Raises
        DefinitionInUse while it has open runs, unless they may go on. A run that is submitted at the same moment by a
        process that does not know of the removal yet goes on as well."""
        ...

    def recent_runs(self, workflows: Sequence[str], limit: int) -> dict[str, list[RecentRun]]:
        """Returns the newest runs of each of these workflows, newest first, by one statement."""
        ...


class RoutingStore(Protocol):
    """Keeps the routing rules that all orchestrators share, and a record of every version."""

    def shared_routing(self) -> StoredRouting: ...

    def put_shared_routing(
        self, config: str | None, expected: int | None, *, actor: str, session_id: str
    ) -> StoredRouting:
        """Replaces the shared rules, with None by those of each configuration, if their version is ``expected``; None:
        whichever it is. Raises PreconditionFailed otherwise. Rules that are stored already change nothing. The change
        has the next revision, and wakes ``definitions``."""
        ...

    def record_routing(self, session_id: str, config: str) -> int:
        """Stores a version of the routing rules; returns its number."""
        ...


class ScheduleStore(Protocol):
    """Keeps schedules and the decisions about their due times. Changes by authors and operators are made one after the
    other, and each wakes ``schedules``."""

    def clock(self) -> float:
        """The time by the database's clock."""
        ...

    def schedules(self, *, since: int = 0) -> list[StoredSchedule]:
        """Returns the schedules that were changed after this revision, in the order of their revisions, removed ones
        too. A decision is no change."""
        ...

    def schedules_page(
        self, *, after: int = 0, limit: int = 100, workflow: str | None = None, name: str | None = None
    ) -> list[StoredSchedule]:
        """Returns schedules that are not removed, by id; ``after`` is the last id of the previous page. ``workflow`` is
        a full name or its last segment."""
        ...

    def schedules_by_id(self, ids: Sequence[int]) -> list[StoredSchedule]: ...

    def upcoming_schedules(self, limit: int, *, since: float = 0.0) -> list[StoredSchedule]:
        """Returns the schedules whose next due times come first, none of them before ``since``."""
        ...

    def put_schedules(self, changes: Sequence[ScheduleChange], actor: str) -> None:
        """Stores schedules. One that is stored as it is already is left alone, one with other times begins anew, and
        one with other options keeps its place. ``decided_until`` never moves back."""
        ...

    def remove_schedules(self, ids: Sequence[int], actor: str) -> None:
        """Marks schedules as removed. Their decisions stay; runs that have not begun never will."""
        ...

    def pause_schedule(self, schedule_id: int, actor: str) -> bool:
        """False: it is paused already, or removed."""
        ...

    def resume_schedule(self, schedule_id: int, expected: float, turn: Turn, actor: str) -> bool:
        """Resumes a paused schedule and records the decisions about the due times of the pause. False: it is not
        paused, or it was changed since ``expected`` was read."""
        ...

    def schedule_activity(self, ids: Sequence[int]) -> dict[int, list[tuple[str, bool]]]:
        """Returns the runs of these schedules that have not ended, oldest first, and whether each waits for others."""
        ...

    def last_success(self, workflow: str, schedule_id: int, since: float, lowest: str) -> float | None:
        """Returns when the newest completed run of the workflow that the schedule did not start was made, if that was
        after ``since``. ``lowest`` is below the id of every run that was made since then."""
        ...

    def record_turns(self, turns: Sequence[ScheduleTurn]) -> RecordedTurns:
        """Records decisions, each turn by compare-and-swap on ``decided_until``, all in one transaction. Runs that a
        decision cancels and that have not begun never will."""
        ...

    def fire_schedule(self, schedule_id: int, kind: DecisionKind, fires: Sequence[NewFire], actor: str) -> list[str]:
        """Records runs that an operator asks for. Returns those that were recorded: a due time fires once by a
        backfill."""
        ...

    def pending_decisions(self, *, after: int = 0, limit: int = 1_000) -> list[PendingDecision]:
        """Returns decisions whose effect is still to be had, by id; ``after`` is the last id of the previous page."""
        ...

    def settle_decisions(self, *, opened: Sequence[int] = (), closed: Sequence[int] = ()) -> None:
        """Marks decisions as settled. Whether the runs of opened ones have ended is of interest later."""
        ...

    def refuse_decision(self, decision_id: int, reason: str) -> None:
        """Makes a decision that cannot take effect a skip."""
        ...

    def schedule_decisions(
        self, schedule_id: int, *, before: int | None = None, limit: int = 100, outcome: Outcome | None = None
    ) -> list[DecisionRow]:
        """Returns decisions, newest first; ``before`` is the last id of the previous page."""
        ...

    def fired_due_times(self, schedule_id: int, first: float, last: float) -> frozenset[float]:
        """Returns the due times from the first to the last that have fired, by themselves or by a backfill."""
        ...


class LimitStore(Protocol):
    """Keeps the slots of limits. A slot counts only while its run, or its task in that attempt, is open. Slots are
    given by one transaction at a time, over all processes, by the decision in ``model/slots.py``; the database's clock
    measures rates and waits."""

    def put_limit_sizes(self, sizes: Mapping[str, LimitSize]) -> list[str]:
        """Replaces the sizes of the configuration, by the names as they are declared. Returns those that had another
        size before."""
        ...

    def admit_waiting(self, names: Sequence[str] | None = None, scope: AdmissionScope | None = None) -> Admitted:
        """Gives free slots of these limits, or of any, to what waits for them: each waiter gets all of its limits, or
        none. Runs outside of the scope are passed over; without one there are none. A run that got its slots can be
        claimed; wakes ``runs`` and ``limits``. Bounded: a call that has given slots may have left more to give."""
        ...

    def request_slots(self, requests: Sequence[SlotRequest], scope: AdmissionScope | None = None) -> Admitted:
        """Adds attempts of tasks to those that wait, unless they do already or hold their slots, and gives free slots
        as ``admit_waiting`` does."""
        ...

    def queued_versions(self, workflows: Sequence[str]) -> list[str]:
        """Returns the versions of runs that wait for limits, of other workflows than these."""
        ...

    def runs_without_slots(self, run_ids: Sequence[str]) -> frozenset[str]:
        """Returns those of these runs that wait for a slot themselves."""
        ...

    def granted_tasks(self, run_ids: Sequence[str]) -> dict[tuple[str, int, int], float]:
        """Returns run id, position and attempt of the tasks of these runs that have all their slots, with the seconds
        since they have them."""
        ...

    def limits(self) -> list[LimitView]:
        """Returns the limits that are configured, held or waited for, by name."""
        ...

    def limit(self, name: str) -> LimitDetail | None:
        """Returns a limit with its holders, and its waiters in their order."""
        ...

    def limits_of(self, run_id: str) -> list[HeldLimit]:
        """Returns the limits that a run and its tasks hold or wait for."""
        ...


class WebhookStore(Protocol):
    """Keeps webhooks: the digests of their tokens, never the tokens."""

    def add_webhook(self, webhook: Webhook, digest: str) -> Webhook | None:
        """Stores a webhook, at the database's time. None: another one has its name."""
        ...

    def webhook(self, digest: str) -> Webhook | None:
        """Returns the webhook with this digest of its token."""
        ...

    def webhooks(self) -> list[Webhook]:
        """Returns all webhooks, by name."""
        ...

    def rotate_webhook(self, webhook_id: str, digest: str) -> Webhook | None:
        """Replaces the digest: the token that it had is unknown from then on. None: no such webhook is there."""
        ...

    def delete_webhook(self, webhook_id: str) -> bool:
        """Deletes a webhook; runs that it has started stay. False: no such webhook is there."""
        ...


class TriggerStore(Protocol):
    """Keeps event triggers. A poll is claimed by one session at a time, whichever processes ask."""

    def put_trigger(self, name: str, workflow: str, every: float) -> None:
        """Stores a trigger, due at once; one that is stored keeps its state and gets this interval."""
        ...

    def trigger_delays(self, names: Sequence[str]) -> dict[str, float]:
        """Returns the seconds until each of these may be polled, without those that are paused. A poll that is under
        way has its lease, unless its session has ended."""
        ...

    def claim_poll(self, name: str, holder: str, lease: float) -> ClaimedPoll | None:
        """Claims the poll of a trigger that is due, for one session; None if it is not due, or claimed already."""
        ...

    def finish_poll(self, name: str, revision: int, delay: float, state: Any, runs: int) -> bool:
        """Ends a poll that succeeded, and stores what it keeps. False: it was claimed again meanwhile, so nothing is
        stored."""
        ...

    def fail_poll(self, name: str, revision: int, delay: float, error: str, runs: int) -> bool:
        """Ends a poll that failed; what the trigger keeps stays as it was. False as in ``finish_poll``."""
        ...

    def release_polls(self, holder: str) -> None:
        """Gives up the polls that this session has claimed: they are due again."""
        ...

    def triggers(self) -> list[TriggerRow]:
        """Returns all triggers, by name."""
        ...

    def pause_trigger(self, name: str, actor: str) -> bool:
        """Makes the trigger not due until it is resumed. False: no such trigger is stored."""
        ...

    def resume_trigger(self, name: str) -> bool: ...

    def poll_trigger(self, name: str) -> bool:
        """Makes the trigger due now. False: no such trigger is stored, or it is paused."""
        ...


class Store(
    LedgerStore,
    OwnershipStore,
    MessageStore,
    ReadStore,
    ChangeStore,
    LogStore,
    RetentionStore,
    AccessStore,
    DefinitionStore,
    RoutingStore,
    ScheduleStore,
    WebhookStore,
    TriggerStore,
    FigureStore,
    LimitStore,
    Protocol,
):
    """All roles of one database, and how it is opened and closed."""

    url: str

    def open(self) -> None:
        """Connects and migrates, under a lock. Raises StoreUnreachable, StoreReadOnly, SchemaTooNew, …"""
        ...

    def close(self) -> None: ...

    def listen(self, on_wake: Callable[[str], None]) -> Callable[[], None]:
        """Calls ``on_wake(topic)`` from a background thread when another process may have changed something: topic is
        ``runs``, ``commands``, ``inbox``, ``ready``, ``finished``, ``sessions``, ``definitions``, ``schedules``,
        ``queued``, ``limits`` (PostgreSQL), or ``any`` (SQLite, which only sees that the file changed; PostgreSQL after
        a reconnect). Returns the function that stops it. A call is a hint."""
        ...

    def use(self) -> StoreUse:
        """Returns the use of its connections, and the share of time that callers waited for one since the last call."""
        ...
