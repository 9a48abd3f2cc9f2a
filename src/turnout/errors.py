"""Every exception that Turnout raises, and the stable code that each carries.

TurnoutError
├── DefinitionError            a workflow, rule or setting that cannot work
│   ├── InvalidWorkflow        cycle, unknown_dependency, duplicate_task, bad_identifier, empty_workflow, …
│   ├── InvalidRouting         unknown_executor, malformed_pattern, unsupported_body, …
│   ├── InvalidSetting         a value that a setting cannot have
│   ├── InvalidYaml            malformed_yaml, duplicate_key, yaml_too_large; with its line and column
│   ├── InvalidTarget          no_such_module, import_failed, no_such_workflow, several_workflows, …
│   ├── MissingExtra           a package is not installed that an extra brings
│   ├── NotImportable          a function that another process cannot find; unguarded_main
│   ├── NotInjected            a parameter that a run fills was used outside of one
│   └── NotYetAValue           a placeholder was used as if it were a value
├── InputError                 what was handed in for one run
│   ├── InvalidInput           missing_parameter, unknown_parameter, invalid_parameter, …
│   ├── WrongType              a value does not fit the annotation of who takes it
│   ├── NotJson                not_json, json_nul, json_surrogate, json_depth
│   ├── TooLarge               output_too_large, input_too_large
│   └── IdempotencyConflict    the key is taken by a run with another input
├── DispatchError              (alias names of seed 001 are attributes: DispatchError.NoExecutor …)
│   ├── NoExecutor
│   ├── NoCapacity
│   ├── ExecutionFailed
│   ├── ExecutorUnavailable    the executor cannot start anything at present; the attempt has not begun
│   ├── AttemptFenced          right before its body: the attempt may be somebody else's by now; it has not begun
│   └── HubUnavailable
├── StoreError
│   ├── StoreUnreachable       may be tried again
│   ├── DatabaseNotFound       asked only to look, and there is nothing of Turnout's to look into
│   ├── StoreUnusable          somebody has to mend it first: schema_missing, tables_missing, database_missing,
│   │                          access_denied, no_privilege, wrong_encoding, store_damaged
│   ├── StoreReadOnly
│   ├── StoreFull
│   ├── StoreRejected          the database refused this very data
│   ├── SchemaTooNew
│   └── MigrationMismatch
├── TooBusy                    too many submissions are under way; ``retry_after`` says when to come back
├── RunError
│   ├── RunNotFound
│   ├── RunNotFinished         what is only done to a run that has ended
│   ├── RunFailed
│   ├── RunCancelled
│   ├── RunTimedOut
│   └── WaitTimedOut
├── WorkerRefused              a hub does not want this worker, and asking again is of no use
│   └── WorkerInUse            its worker_id belongs to a session with another key, or of another kind
├── CommandFailed              a shell command that ended with a code that is not ok, or not at all as it should
│   └── CommandNotFound
└── TaskSignal                 raised by bodies, to say how an attempt ended
    ├── RetryAfter
    ├── PermanentFailure
    │   └── UndeclaredCondition  a task waits for a predicate that its code does not declare
    └── Defer                  (turnout.model.deferral) start again later: bad_defer, naive_datetime, bad_condition
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec


class TurnoutError(Exception):
    """The root of the tree: a message for people, a ``code`` and ``fields`` for programs."""

    code: str = "turnout_error"

    def __init__(self, message: str, *, code: str | None = None, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.fields = fields
        if code is not None:
            self.code = code


class DefinitionError(TurnoutError):
    code = "invalid_definition"


class InvalidWorkflow(DefinitionError):
    code = "invalid_workflow"


class InvalidRouting(DefinitionError):
    code = "invalid_routing"


class InvalidSetting(DefinitionError):
    code = "invalid_setting"


class InvalidYaml(DefinitionError):
    code = "malformed_yaml"


class InvalidTarget(DefinitionError):
    code = "invalid_target"


class NotImportable(DefinitionError):
    code = "not_importable"


class MissingExtra(DefinitionError, ImportError):
    """``fields`` has the package and the extra."""

    code = "missing_extra"


class NotInjected(DefinitionError):
    code = "not_injected"


class NotYetAValue(DefinitionError, TypeError):
    code = "not_yet_a_value"


class InputError(TurnoutError):
    code = "invalid_input"


class InvalidInput(InputError):
    pass


class WrongType(InputError):
    """An argument of a task, or a run's result, that does not fit its annotation. The same value never will."""

    code = "wrong_type"


class NotJson(InputError):
    code = "not_json"


class TooLarge(InputError):
    code = "too_large"


class IdempotencyConflict(InputError):
    code = "idempotency_conflict"


class DispatchError(TurnoutError):
    """Why a ready task could not be handed to an executor."""

    code = "dispatch_error"

    NoExecutor: ClassVar[type[DispatchError]]
    NoCapacity: ClassVar[type[DispatchError]]
    ExecutionFailed: ClassVar[type[DispatchError]]
    HubUnavailable: ClassVar[type[DispatchError]]


class NoExecutor(DispatchError):
    code = "no_executor"


class NoCapacity(DispatchError):
    code = "no_capacity"


class ExecutionFailed(DispatchError):
    code = "execution_failed"


class ExecutorUnavailable(DispatchError):
    code = "executor_unavailable"


class AttemptFenced(DispatchError):
    code = "attempt_fenced"


class HubUnavailable(DispatchError):
    code = "hub_unavailable"


DispatchError.NoExecutor = NoExecutor
DispatchError.NoCapacity = NoCapacity
DispatchError.ExecutionFailed = ExecutionFailed
DispatchError.HubUnavailable = HubUnavailable


class StoreError(TurnoutError):
    code = "store_error"


class StoreUnreachable(StoreError):
    code = "store_unreachable"


class DatabaseNotFound(StoreError):
    code = "database_not_found"


class StoreUnusable(StoreError):
    """There is a database, but not one that can be used as it is. Trying again is of no use."""

    code = "store_unusable"


class StoreReadOnly(StoreError):
    code = "store_read_only"


class StoreFull(StoreError):
    code = "store_full"


class StoreRejected(StoreError):
    code = "store_rejected"


class SchemaTooNew(StoreError):
    code = "schema_too_new"


class MigrationMismatch(StoreError):
    code = "migration_mismatch"


class TooBusy(TurnoutError):
    """Submissions come quicker than they can be made durable."""

    code = "too_busy"


class RunError(TurnoutError):
    code = "run_error"


class RunNotFound(RunError):
    code = "run_not_found"


class RunNotFinished(RunError):
    code = "run_not_finished"


class TaskFailure(msgspec.Struct, frozen=True):
    """A failed task with the exception that its last attempt raised."""

    task: str
    type: str
    message: str
    traceback: str
    attempts: int
    """The number of that attempt."""
    code: str = ""
    """Of Turnout's own exceptions: ``json_nul``, ``output_too_large``, …"""

    @property
    def attempt(self) -> int:
        """The number of the attempt that failed."""
        return self.attempts


class RunFailed(RunError):
    """A run ended in ``failed``."""

    code = "run_failed"

    @property
    def failures(self) -> tuple[TaskFailure, ...]:
        """One entry for each failed task."""
        return tuple(self.fields.get("failures", ()))


class RunCancelled(RunError):
    code = "run_cancelled"


class RunTimedOut(RunFailed):
    code = "run_timed_out"


class WaitTimedOut(RunError, TimeoutError):
    code = "wait_timed_out"


class WorkerRefused(TurnoutError):
    """``fields`` has the hub's address."""

    code = "worker_refused"


class WorkerInUse(WorkerRefused):
    code = "worker_in_use"


class CommandFailed(TurnoutError):
    """``fields`` has the exit code."""

    code = "command_failed"


class CommandNotFound(CommandFailed):
    code = "command_not_found"


class TaskSignal(TurnoutError):
    code = "task_signal"


class RetryAfter(TaskSignal):
    """Raised by a body: this attempt failed, try again in ``seconds`` if the policy has attempts left."""

    code = "retry_after"

    def __init__(self, seconds: float, message: str = "") -> None:
        super().__init__(message or f"retry after {seconds:g} s")
        self.seconds = seconds


class PermanentFailure(TaskSignal):
    """Raised by a body: no further attempt can succeed."""

    code = "permanent_failure"


class UndeclaredCondition(PermanentFailure):
    """``fields`` has the task and the condition that was named."""

    code = "undeclared_condition"
