"""Names the keys of Dagu that a workflow cannot have here, with what to write instead."""

from __future__ import annotations

_HANDLER = "write a handler in a worker, and `handler:` with its name"
_MAIL = "write `notify:` with `url: mailto:…`; the server for mail is `[notifications.smtp]` of the configuration"
_CLEAN_UP = "`grace` of `[executors.shell]` in the configuration is the time that a step gets before it is killed"

UNSUPPORTED_KEYS = {
    "smtp": _MAIL,
    "mail_on": _MAIL,
    "mailOn": _MAIL,
    "error_mail": _MAIL,
    "errorMail": _MAIL,
    "info_mail": _MAIL,
    "infoMail": _MAIL,
    "wait_mail": _MAIL,
    "waitMail": _MAIL,
    "max_clean_up_time_sec": _CLEAN_UP,
    "maxCleanUpTimeSec": _CLEAN_UP,
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
    "mail_on_error": _MAIL,
    "mailOnError": _MAIL,
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
