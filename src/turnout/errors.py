"""Holds every exception that Turnout raises, with its stable code.

The docstring of each class says when it is raised and what the remedy is. The error reference of the documentation is
generated from these docstrings.

TurnoutError
├── DefinitionError            a workflow, rule or setting that cannot work
│   ├── InvalidWorkflow        cycle, unknown_dependency, duplicate_task, bad_identifier, empty_workflow, …
│   ├── InvalidRouting         unknown_executor, malformed_pattern, unsupported_body, …
│   ├── InvalidSetting         a value that a setting cannot have
│   ├── InvalidYaml            malformed_yaml, duplicate_key, yaml_too_large; with its line and column
│   ├── InvalidTarget          no_such_module, import_failed, no_such_workflow, several_workflows, …
│   ├── MissingExtra           a package of an optional extra is not installed
│   ├── NotImportable          a function that another process cannot import; unguarded_main
│   ├── NotInjected            a parameter that a run fills was used outside of a run
│   └── NotYetAValue           a placeholder was used as a value
├── InputError                 an input or a value of one run
│   ├── InvalidInput           missing_parameter, unknown_parameter, invalid_parameter, …
│   ├── WrongType              a value does not fit the annotation of its parameter or result
│   ├── NotJson                not_json, json_nul, json_surrogate, json_depth
│   ├── TooLarge               output_too_large, input_too_large
│   ├── InvalidLimit           no_limit_key, unknown_limit, unknown_queue
│   └── IdempotencyConflict    the key is taken by a run with another input
├── DispatchError              (alias names of seed 001 are attributes: DispatchError.NoExecutor …)
│   ├── NoExecutor
│   ├── NoCapacity
│   ├── ExecutionFailed
│   ├── ExecutorUnavailable    the executor cannot start anything at present; the attempt has not begun
│   ├── AttemptFenced          the attempt may belong to another holder by now; it has not begun
│   ├── ResourcesUnavailable   the decided executor can never give what a task asks for
│   └── HubUnavailable
├── StoreError
│   ├── StoreUnreachable       the call can be retried
│   ├── DatabaseNotFound       a database opened for reading does not exist or has no tables of Turnout
│   ├── StoreUnusable          an operator has to repair it: schema_missing, tables_missing, database_missing,
│   │                          access_denied, no_privilege, wrong_encoding, no_direct_database,
│   │                          other_direct_database, store_damaged
│   ├── StoreReadOnly
│   ├── StoreFull
│   ├── StoreRejected          the database refused the data
│   ├── SchemaTooNew
│   └── MigrationMismatch
├── TooBusy                    too many submissions are not durable yet; ``retry_after`` is the delay in seconds
├── StoredDefinitionError      an operation on a stored workflow definition: bad_definition_name, path_in_name
│   ├── WorkflowNotFound       no workflow has this name, or several have
│   ├── RefusedDefinition      invalid_definition_text, limit_conflict, local_execution_refused, name_mismatch
│   ├── StaleDefinition        it has another version than the one that a change replaces
│   ├── DefinitionFromFile     it belongs to a file in a workflow folder
│   └── DefinitionInUse        it has open runs, or other definitions call it
├── RunError
│   ├── RunNotFound
│   ├── RunNotFinished         an operation on ended runs was asked of an open one
│   ├── RunFailed
│   ├── RunCancelled
│   ├── RunTimedOut
│   └── WaitTimedOut
├── RequestError               a request to the server cannot be served as it is: malformed_request, unknown_route,
│   │                          method_not_allowed, body_too_large, unsupported_media_type, token_in_query, …
│   ├── AccessDenied           no_token, unknown_token, revoked_token, expired_token, role_too_low, csrf_missing, …
│   └── PreconditionFailed     precondition_required, stale_etag
├── ServerUnavailable          a server cannot be reached, or does not answer as one
├── TokenNotFound
├── WebhookError               an operation on a webhook: webhook_exists
│   └── WebhookNotFound
├── ScheduleError              backfill_too_large, bad_backfill_range, schedule_starts_no_runs
│   └── ScheduleNotFound       schedule_not_found, ambiguous_schedule
├── TriggerError               an operation on an event trigger: trigger_paused
│   └── TriggerNotFound
├── WorkerRefused              a hub refuses this worker for good
│   └── WorkerInUse            its worker_id belongs to a session with another key, or of another kind
├── CommandFailed              a shell command ended with a failing exit code or unusable output
│   ├── CommandNotFound
│   ├── RequestFailed          a request or a mail was not accepted
│   ├── PrivateAddress         a request of an uploaded definition may not reach a private address
│   └── SecretUnresolved       a secret of a step cannot be read on the machine that runs it
└── TaskSignal                 raised by bodies to report how an attempt ended
    ├── RetryAfter
    ├── PermanentFailure
    │   └── UndeclaredCondition  a task waits for a predicate that its code does not declare
    └── Defer                  (turnout.model.deferral) starts the body again later: bad_defer, naive_datetime, …
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec


class TurnoutError(Exception):
    """Raised when no subclass fits, for example by a closed Runner; every other error derives from it.
    Remedy: see the message.

    ``message`` is for people. ``code`` and ``fields`` are for programs and are stable.
    """

    code: str = "turnout_error"

    def __init__(self, message: str, *, code: str | None = None, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.fields = fields
        if code is not None:
            self.code = code


class DefinitionError(TurnoutError):
    """Raised when a workflow, rule or setting cannot work as it is written.
    Remedy: correct the definition named in the message."""

    code = "invalid_definition"


class InvalidWorkflow(DefinitionError):
    """Raised when a workflow is not a valid graph of tasks, or an option of a task or workflow is not valid.
    Remedy: correct the task, option or dependency named in the message."""

    code = "invalid_workflow"


class InvalidRouting(DefinitionError):
    """Raised when a routing rule is malformed, or names an executor that is not registered or cannot run the task.
    Remedy: correct the rule, or register the executor before the Runner starts."""

    code = "invalid_routing"


class InvalidSetting(DefinitionError):
    """Raised when a setting is unknown or has a value that it cannot have.
    Remedy: correct the setting in the file, environment variable or argument named in the message."""

    code = "invalid_setting"


class InvalidYaml(DefinitionError):
    """Raised when a YAML text is malformed, repeats a key, or is too large. Remedy: correct the text.

    ``fields`` has the line and the column.
    """

    code = "malformed_yaml"


class InvalidTarget(DefinitionError):
    """Raised when a target such as ``module:workflow`` cannot be found or imported, or is ambiguous.
    Remedy: give an importable module or file and the name of a workflow in it."""

    code = "invalid_target"


class NotImportable(DefinitionError):
    """Raised when a function has to run in another process and cannot be imported there by module and name.
    Remedy: define the function at the top level of a module, or run the task in a thread executor."""

    code = "not_importable"


class MissingExtra(DefinitionError, ImportError):
    """Raised when a feature needs a package that is not installed. Remedy: install the extra that the message names.

    ``fields`` has the package and the extra.
    """

    code = "missing_extra"


class NotInjected(DefinitionError):
    """Raised when a parameter that a run fills, such as ``info``, is used outside of a run.
    Remedy: run the task in a workflow, or pass the argument in the call."""

    code = "not_injected"


class NotYetAValue(DefinitionError, TypeError):
    """Raised when a workflow function uses the result of a task as a value while the graph is built.
    Remedy: pass the result to a task, and compute with it there."""

    code = "not_yet_a_value"


class InputError(TurnoutError):
    """Raised when an input or a value of one run cannot be used. Remedy: correct the value named in the message."""

    code = "invalid_input"


class InvalidInput(InputError):
    """Raised when an argument is missing, unknown or not valid for its parameter.
    Remedy: correct the argument named in the message."""


class WrongType(InputError):
    """Raised when an argument of a task, or the result of a run, does not fit its annotation.
    Remedy: return a value of the annotated type, or correct the annotation; a retry cannot help."""

    code = "wrong_type"


class NotJson(InputError):
    """Raised when a value cannot be stored as JSON.
    Remedy: return JSON values or types with a converter (``register_type``)."""

    code = "not_json"


class TooLarge(InputError):
    """Raised when an input, output or saved value exceeds its size limit.
    Remedy: store the data elsewhere and pass a reference, or raise the limit."""

    code = "too_large"


class InvalidLimit(InputError):
    """Raised when a limit of a new run has no size, or a parameter in its name has no value.
    Remedy: give the limit or queue a size in the configuration, or the parameter a value."""

    code = "unknown_limit"


class IdempotencyConflict(InputError):
    """Raised when an idempotency key belongs to a run with another input.
    Remedy: use a new key for a new input; repeat a submission with the input it had."""

    code = "idempotency_conflict"


class DispatchError(TurnoutError):
    """Raised when a ready task cannot be handed to an executor. Remedy: see the subclass."""

    code = "dispatch_error"

    NoExecutor: ClassVar[type[DispatchError]]
    NoCapacity: ClassVar[type[DispatchError]]
    ExecutionFailed: ClassVar[type[DispatchError]]
    HubUnavailable: ClassVar[type[DispatchError]]


class NoExecutor(DispatchError):
    """Raised when no registered executor can run a task.
    Remedy: register an executor for it, or change the routing rule."""

    code = "no_executor"


class NoCapacity(DispatchError):
    """Raised when an executor has no free slot for an attempt; the attempt returns to the queue.
    Remedy: none is needed; raise the executor's capacity if tasks wait too long."""

    code = "no_capacity"


class ExecutionFailed(DispatchError):
    """Raised when an executor, not the task's body, failed to run an attempt.
    Remedy: look for the cause in the executor's log; the retry policy of the task applies."""

    code = "execution_failed"


class ExecutorUnavailable(DispatchError):
    """Raised when an executor cannot start anything at present; the attempt has not begun.
    Remedy: restore what the executor needs (processes, memory, connection); the attempt is offered again."""

    code = "executor_unavailable"


class AttemptFenced(DispatchError):
    """Raised when an attempt must not begin, since another process may have it by now or its run is paused or ended.
    Remedy: none is needed; the attempt has not begun."""

    code = "attempt_fenced"


class ResourcesUnavailable(DispatchError):
    """Raised when a run is submitted and the executor of a task can never give the resources that the task asks for.
    Remedy: ask for no more than the message says is there, or route the task to an executor that has it."""

    code = "resources_unavailable"


class HubUnavailable(DispatchError):
    """Raised when a task goes to workers and the hub is not configured, not up, or its address is in use.
    Remedy: start the hub, or pin the task with ``worker_selector="local"``."""

    code = "hub_unavailable"


DispatchError.NoExecutor = NoExecutor
DispatchError.NoCapacity = NoCapacity
DispatchError.ExecutionFailed = ExecutionFailed
DispatchError.HubUnavailable = HubUnavailable


class StoreError(TurnoutError):
    """Raised when the database cannot be used as asked. Remedy: see the subclass."""

    code = "store_error"


class StoreUnreachable(StoreError):
    """Raised when the database cannot be reached, does not answer, or the store is closed.
    Remedy: restore the connection and repeat the call; with an idempotency key a submission is safe to repeat."""

    code = "store_unreachable"


class DatabaseNotFound(StoreError):
    """Raised when a database opened for reading does not exist or has no tables of Turnout.
    Remedy: check the database URL; start an orchestrator once to create the tables."""

    code = "database_not_found"


class StoreUnusable(StoreError):
    """Raised when the database answers but cannot be used as it is; the code names the cause.
    Remedy: repair what the message names (schema, tables, access, encoding, damaged file); a retry cannot help."""

    code = "store_unusable"


class StoreReadOnly(StoreError):
    """Raised when a write is attempted and the database or the connection is read-only.
    Remedy: connect to a writable database; check file permissions, or whether PostgreSQL is a standby."""

    code = "store_read_only"


class StoreFull(StoreError):
    """Raised when the database has no disk space left. Remedy: free disk space; writes then continue."""

    code = "store_full"


class StoreRejected(StoreError):
    """Raised when the database refuses the data, for example for a NUL character.
    Remedy: remove what the message names from the data; a retry cannot help."""

    code = "store_rejected"


class SchemaTooNew(StoreError):
    """Raised when the database was migrated by a newer version of Turnout. Remedy: upgrade Turnout here."""

    code = "schema_too_new"


class MigrationMismatch(StoreError):
    """Raised when a migration applied to the database differs from the one of this version.
    Remedy: use the version of Turnout that migrated the database, or restore the database from a backup."""

    code = "migration_mismatch"


class TooBusy(TurnoutError):
    """Raised when too many submissions are not durable yet and the time to wait is over.
    Remedy: submit again after ``retry_after`` seconds, or raise ``submit_wait``."""

    code = "too_busy"


class StoredDefinitionError(TurnoutError):
    """Raised when an operation on a stored workflow definition fails. Remedy: see the message and the subclass."""

    code = "definition_error"


class WorkflowNotFound(StoredDefinitionError):
    """Raised when no workflow has the given name, or its definition was removed.
    Remedy: check the name; put the file back or upload the definition again."""

    code = "workflow_not_found"


class RefusedDefinition(StoredDefinitionError):
    """Raised when the text of a definition is invalid, or asks for what an uploaded definition may not do.
    Remedy: correct every finding in ``fields``; each has its line and column."""

    code = "invalid_definition_text"


class StaleDefinition(StoredDefinitionError):
    """Raised when a definition has another version than the one that a change replaces.
    Remedy: read the definition again, and repeat the change on its current version."""

    code = "stale_etag"


class DefinitionFromFile(StoredDefinitionError):
    """Raised when a definition is changed through the API and belongs to a file in a workflow folder.
    Remedy: change or remove the file; it is imported at once."""

    code = "definition_from_file"


class DefinitionInUse(StoredDefinitionError):
    """Raised when a definition is deleted that has open runs, or that other definitions call.
    Remedy: wait for the runs or cancel them; change the definitions that call it."""

    code = "definition_in_use"


class RunError(TurnoutError):
    """Raised when an operation on a run fails. Remedy: see the subclass."""

    code = "run_error"


class RunNotFound(RunError):
    """Raised when no run has the given id, or an abbreviated id fits several runs.
    Remedy: check the id with ``turnout runs ls``; deleted runs cannot be restored."""

    code = "run_not_found"


class RunNotFinished(RunError):
    """Raised when an operation needs a run that has ended and the run is still open.
    Remedy: wait for the run, or cancel it first."""

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
    """Raised when the result of a failed run is asked for.
    Remedy: see ``failures``, or ``turnout runs show``; correct the cause, then rerun the failed tasks."""

    code = "run_failed"

    @property
    def failures(self) -> tuple[TaskFailure, ...]:
        """One entry for each failed task."""
        return tuple(self.fields.get("failures", ()))


class RunCancelled(RunError):
    """Raised when the result of a cancelled run is asked for. Remedy: submit the run again, or rerun it."""

    code = "run_cancelled"


class RunTimedOut(RunFailed):
    """Raised when the result of a run is asked for that exceeded its timeout.
    Remedy: raise the timeout of the workflow, or find out with ``turnout runs show`` what took so long."""

    code = "run_timed_out"


class WaitTimedOut(RunError, TimeoutError):
    """Raised when a run has not ended within the time that a caller waits for it; the run goes on.
    Remedy: wait again, or wait longer."""

    code = "wait_timed_out"


class RequestError(TurnoutError):
    """Raised when a request to the server cannot be served as it is; the code names the cause.
    Remedy: correct the request as the message says."""

    code = "malformed_request"


class AccessDenied(RequestError):
    """Raised when a request has no valid token, or its token's role is too low.
    Remedy: send ``Authorization: Bearer TOKEN`` with a token of the role that the message names."""

    code = "no_token"


class PreconditionFailed(RequestError):
    """Raised when a change is based on a version that is not the current one, or names none.
    Remedy: read the current version, and send its ETag as ``If-Match``."""

    code = "stale_etag"


class ServerUnavailable(TurnoutError):
    """Raised when a server cannot be reached, or does not answer as a server of Turnout does.
    Remedy: check the URL, and whether the server runs; a request that changes nothing can be repeated."""

    code = "server_unreachable"


class TokenNotFound(TurnoutError):
    """Raised when no token has the given id or name, or several have that name.
    Remedy: check the id with ``turnout tokens ls``."""

    code = "token_not_found"


class WebhookError(TurnoutError):
    """Raised when a webhook cannot be made as it is asked for: another one has its name.
    Remedy: choose another name, or rotate or delete the webhook that has it."""

    code = "webhook_exists"


class WebhookNotFound(WebhookError):
    """Raised when no webhook has the given id or name. Remedy: check it with ``turnout hooks ls``."""

    code = "webhook_not_found"


class ScheduleError(TurnoutError):
    """Raised when an operation on a schedule is not possible, for example a backfill of too many due times.
    Remedy: see the message."""

    code = "schedule_error"


class ScheduleNotFound(ScheduleError):
    """Raised when no schedule has the given id or name, or several have.
    Remedy: look for its id with ``turnout schedules ls``."""

    code = "schedule_not_found"


class TriggerError(TurnoutError):
    """Raised when an event trigger cannot be polled since it is paused. Remedy: resume it first."""

    code = "trigger_paused"


class TriggerNotFound(TriggerError):
    """Raised when no event trigger has the given name, or several have.
    Remedy: check it with ``turnout triggers ls``; a trigger is stored when a server with its code starts."""

    code = "trigger_not_found"


class WorkerRefused(TurnoutError):
    """Raised when a hub refuses this worker for good.
    Remedy: correct the worker's keys, id or claims as the message says.

    ``fields`` has the hub's address.
    """

    code = "worker_refused"


class WorkerInUse(WorkerRefused):
    """Raised when a ``worker_id`` belongs to a session with another key or of another kind.
    Remedy: give the worker another id, or use the key that the id was first used with."""

    code = "worker_in_use"


class CommandFailed(TurnoutError):
    """Raised when a shell command ends with a failing exit code, or its output is not as declared.
    Remedy: correct the command, or list the exit code as accepted.

    ``fields`` has the exit code.
    """

    code = "command_failed"


class CommandNotFound(CommandFailed):
    """Raised when the program of a shell command is not found or not executable.
    Remedy: install the program where the task runs, or give its full path."""

    code = "command_not_found"


class RequestFailed(CommandFailed):
    """Raised when a request or a mail of a step, or of a notification, is not accepted: the target is not found, does
    not answer in time, or answers with another status than expected. The message names the target without its path.
    Remedy: correct the address, or repeat it when the target is there again.

    ``fields`` has the exit code of the program that sends it.
    """

    code = "request_failed"


class PrivateAddress(CommandFailed):
    """Raised when a request of an uploaded definition would reach a private network, or the machine itself, from the
    server. Remedy: run the step on a worker, or set ``allow_local_execution`` and upload the definition again."""

    code = "private_address"


class SecretUnresolved(CommandFailed):
    """Raised when a secret of a step cannot be read on the machine that runs the step; its value is in no message.
    Remedy: provide the variable, file or command that the workflow names on that machine."""

    code = "secret_unresolved"


class TaskSignal(TurnoutError):
    """Raised when a body reports how its attempt ended. Remedy: none is needed; bodies raise the subclasses."""

    code = "task_signal"


class RetryAfter(TaskSignal):
    """Raised when a body fails and asks for a retry in ``seconds``.
    Remedy: none is needed; the task fails if its retry policy has no attempt left."""

    code = "retry_after"

    def __init__(self, seconds: float, message: str = "") -> None:
        super().__init__(message or f"retry after {seconds:g} s")
        self.seconds = seconds


class PermanentFailure(TaskSignal):
    """Raised when a body fails and no retry can succeed. Remedy: correct the cause, then rerun the run."""

    code = "permanent_failure"


class UndeclaredCondition(PermanentFailure):
    """Raised when a task waits for a predicate that its code does not declare.
    Remedy: declare the predicate: ``@task(conditions=[predicate])``.

    ``fields`` has the task and the condition.
    """

    code = "undeclared_condition"
