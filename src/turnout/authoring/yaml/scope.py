"""Holds the names that the texts of a step may refer to."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

RESULT_FIELDS = ("stdout", "stderr", "exit_code", "output", "status")
"""What ``${id.…}`` may name of a step's result; ``status`` is that of an HTTP response."""
BUILT_IN = frozenset(
    {
        *("TURNOUT_RUN_ID", "TURNOUT_TASK_NAME", "TURNOUT_ATTEMPT", "TURNOUT_INDEX", "TURNOUT_IDEMPOTENCY_KEY"),
        *("TURNOUT_TOKEN", "TURNOUT_WORKFLOW", "TURNOUT_STEP", "TURNOUT_PARAMS_JSON"),
        *("DAG_NAME", "DAG_RUN_ID", "DAG_RUN_STEP_NAME", "DAG_PARAMS_JSON"),
    }
)
"""Variables that every step has."""
BUILT_IN_OF_HANDLERS = frozenset({"TURNOUT_RUN_STATUS", "DAG_RUN_STATUS"})
"""Variables that steps under ``handler_on`` have as well."""
USUAL = frozenset(
    {
        *("HOME", "USER", "LOGNAME", "PATH", "PWD", "OLDPWD", "SHELL", "TMPDIR", "LANG", "TZ", "HOSTNAME", "HOST"),
        *("UID", "EUID", "PPID", "RANDOM", "SECONDS", "LINENO", "IFS", "TERM", "EDITOR", "DISPLAY", "XDG_CONFIG_HOME"),
    }
)
"""Variables that machines and shells have by themselves."""


class Scope(msgspec.Struct, frozen=True):
    """The names that the texts of one step may refer to."""

    names: frozenset[str] = frozenset()
    """Parameters, variables, outputs of the steps before, secrets and built-in variables."""
    steps: frozenset[str] = frozenset()
    """Ids and names of the steps before."""
    not_before: Mapping[str, str] = {}
    """Names that exist and have no value yet: an output, an id or a name of another step, with that step's name."""
    numbers: frozenset[str] = frozenset()
    """Those of the names whose values are numbers."""
    secrets: frozenset[str] = frozenset()
    reads_files: bool = False
    """True if dotenv files may set further names."""
