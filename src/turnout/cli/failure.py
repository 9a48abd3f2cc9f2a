"""Errors on the command line: the messages on stderr, and the one mapping from errors to exit codes."""

from __future__ import annotations

import sys
from enum import IntEnum

from turnout.errors import (
    DefinitionError,
    DispatchError,
    HubUnavailable,
    InputError,
    RequestError,
    RunCancelled,
    RunError,
    RunFailed,
    RunNotFinished,
    RunNotFound,
    RunTimedOut,
    ScheduleError,
    ServerUnavailable,
    StoredDefinitionError,
    StoreError,
    TokenNotFound,
    TriggerError,
    TurnoutError,
    WaitTimedOut,
    WebhookError,
)
from turnout.model.texts import json_text, printable


class Exit(IntEnum):
    """The exit codes of ``turnout``."""

    OK = 0
    FAILED = 1
    USAGE = 2
    CANCELLED = 3
    TIMED_OUT = 4
    UNAVAILABLE = 5
    INTERRUPTED = 130


_CODES: tuple[tuple[type[TurnoutError], Exit], ...] = (
    (RunTimedOut, Exit.TIMED_OUT),
    (WaitTimedOut, Exit.TIMED_OUT),
    (RunCancelled, Exit.CANCELLED),
    (RunFailed, Exit.FAILED),
    (RunNotFound, Exit.USAGE),
    (RunNotFinished, Exit.USAGE),
    (StoreError, Exit.UNAVAILABLE),
    (HubUnavailable, Exit.UNAVAILABLE),
    (ServerUnavailable, Exit.UNAVAILABLE),
    (RequestError, Exit.USAGE),
    (TokenNotFound, Exit.USAGE),
    (ScheduleError, Exit.USAGE),
    (WebhookError, Exit.USAGE),
    (TriggerError, Exit.USAGE),
    (StoredDefinitionError, Exit.USAGE),
    (DefinitionError, Exit.USAGE),
    (InputError, Exit.USAGE),
    (DispatchError, Exit.USAGE),
    (RunError, Exit.FAILED),
)

_HINTS = {
    "no_such_module": "run it where the module can be imported, or name its file: path/to/file.py",
    "no_such_file": "the path is relative to the working directory",
    "no_workflow": "see `turnout init` for a file to start from",
    "missing_parameter": "give it with -p NAME=VALUE, or all of them as JSON with --input FILE",
    "unknown_parameter": "`turnout validate TARGET` lists the parameters",
    "unknown_setting": "`turnout config show` lists every setting",
    "run_not_found": "`turnout runs ls` lists the runs",
    "ambiguous_run": "give more of the id",
    "worker_not_found": "`turnout workers ls` lists those that are connected",
    "limit_not_found": "`turnout limits ls` lists those that are configured, held or waited for",
    "ambiguous_worker": "give the id of the one that is meant",
    "schedule_not_found": "`turnout schedules ls` lists them",
    "ambiguous_schedule": "give the id, or WORKFLOW/NAME",
    "backfill_too_large": "several shorter backfills do the same: a due time that has fired is not started again",
    "idempotency_conflict": "use another --key, or the same input",
    "hub_unavailable": "if an orchestrator has the address, use --no-wait; else configure another `hub.address`",
    "selector_without_hub": "configure a hub and connect a worker with these labels, or leave strict_selectors out",
    "key_file_exists": "name another file, or --force to overwrite it",
    "hub_without_keys": "`turnout keys generate hub.key` makes keys and prints what to write where",
    "server_unreachable": "--server or TURNOUT_SERVER names the server; `turnout server` starts one",
    "no_token": "give the server's token with --token-file FILE, TURNOUT_TOKEN_FILE or TURNOUT_TOKEN",
    "store_unreachable": "`turnout doctor` checks the database; --database or TURNOUT_DATABASE names another",
    "database_not_found": "`turnout run` makes it; --database or TURNOUT_DATABASE names another",
    "store_read_only": "Turnout writes to its database: give it one that it may write to",
    "schema_too_new": "upgrade Turnout in this environment",
    "nothing_to_rerun": "--from TASK starts at this task; -p NAME=VALUE changes the input",
    "no_such_attempt": "`turnout runs show RUN` lists the attempts",
    "no_such_task": "`turnout runs show RUN` lists the tasks",
    "unknown_task": "`turnout runs show RUN` lists the tasks",
}


def exit_code(error: BaseException) -> Exit:
    """Returns the exit code of an error."""
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    return Exit.FAILED


def report(code: str, message: str, hint: str | None, *, as_json: bool) -> None:
    """Prints one error to stderr, as text or as JSON."""
    if as_json:
        document = {"code": code, "message": message} | ({"hint": hint} if hint else {})
        print(json_text({"error": document}), file=sys.stderr)
        return
    print(printable(f"error[{code}]: {message}"), file=sys.stderr)
    if hint:
        print(printable(f"hint: {hint}"), file=sys.stderr)


def report_error(error: TurnoutError, *, as_json: bool) -> Exit:
    """Prints the error with its hint and returns the exit code."""
    hint = error.fields.get("hint") or _HINTS.get(error.code)
    report(error.code, error.message, hint, as_json=as_json)
    return exit_code(error)
