"""Names the keys of Dagu that a workflow cannot have here, with what to write instead."""

from __future__ import annotations

_HANDLER = "write a handler in a worker, and `handler:` with its name"
_MAIL = "send a message from a step under `handler_on:`"

UNSUPPORTED_KEYS = {
    "smtp": _MAIL,
    "mail_on": _MAIL,
    "mailOn": _MAIL,
    "error_mail": _MAIL,
    "errorMail": _MAIL,
    "info_mail": _MAIL,
    "infoMail": _MAIL,
    "log_dir": "the output of steps is kept in the database; `turnout logs` prints it",
    "logDir": "the output of steps is kept in the database; `turnout logs` prints it",
    "log_output": "both streams are kept, each line with its stream",
    "logOutput": "both streams are kept, each line with its stream",
    "container": "write `docker run …` as the command of a step",
    "ssh": "write `ssh HOST …` as the command of a step, or run a worker there",
    "delay_sec": "a first step can wait",
    "delaySec": "a first step can wait",
    "restart_wait_sec": "a first step can wait",
    "restartWaitSec": "a first step can wait",
    "otel": "tracing is a setting of the server",
    "run_config": "the interface decides by roles what may be changed",
    "runConfig": "the interface decides by roles what may be changed",
}
"""Keys of a workflow."""

UNSUPPORTED_STEP_KEYS = {
    "executor": f"write `command:`, `http:` or `call:`; for others {_HANDLER}",
    "type": f"write `command:`, `http:` or `call:`; for others {_HANDLER}",
    "config": "what a step needs is in the keys of `http:` and in `env:`",
    "container": "write `docker run …` as the command",
    "mail_on_error": "send a message from a step under `handler_on: failure:`",
    "mailOnError": "send a message from a step under `handler_on: failure:`",
    "approval": "a step that waits for a person defers itself; see the guide on deferring",
    "llm": _HANDLER,
    "agent": _HANDLER,
    "messages": _HANDLER,
    "log_output": "both streams are kept, each line with its stream",
    "logOutput": "both streams are kept, each line with its stream",
    "shell_packages": "name the packages in the shell itself",
    "shellPackages": "name the packages in the shell itself",
    "foreach": "write `parallel:`",
}
"""Keys of a step."""
