"""Declares the timeouts and sizes of connections to PostgreSQL, and the plans that they may make."""

from __future__ import annotations

from turnout.model.setting_types import Count, Natural, Seconds, Settings

PLAN_CACHE_MODE, GENERIC_PLANS = "plan_cache_mode", "force_generic_plan"
"""A parameter whose value shows whether the server got those of Turnout."""


class PostgresSettings(Settings, frozen=True, kw_only=True):
    """Timeouts and numbers of connections."""

    connect_timeout: Natural = 5
    """Seconds that a new connection may take."""
    statement_timeout_ms: Natural = 30_000
    """Milliseconds after which the server ends a statement."""
    lock_timeout_ms: Natural = 10_000
    """Milliseconds that a statement waits for a lock."""
    idle_in_transaction_ms: Natural = 30_000
    """Milliseconds after which the server ends an idle transaction."""
    tcp_user_timeout_ms: Natural = 10_000
    """Milliseconds that sent data may stay without an acknowledgement of TCP."""
    migration_lock_timeout_ms: Natural = 60_000
    """Milliseconds that a migration waits for its lock."""
    lanes: Count = 8
    """Commits in flight at once, at most; each on a connection of its own, made when it is needed."""
    pool_size: Count = 10
    """Connections for everything else."""
    pool_patience: Seconds = 30.0
    """Seconds that a caller waits for one of them."""

    def connection(self) -> dict[str, object]:
        """Returns the options of libpq: a dead connection is noticed within about ten seconds."""
        return {
            "connect_timeout": self.connect_timeout,
            "tcp_user_timeout": self.tcp_user_timeout_ms,
            "keepalives": 1,
            "keepalives_idle": 5,
            "keepalives_interval": 2,
            "keepalives_count": 3,
            "application_name": "turnout",
            "client_encoding": "utf8",
        }

    def parameters(self) -> dict[str, object]:
        """Returns the parameters of the server under which every statement runs.

        The planner knows nothing of the rows inside a JSON parameter, and on a young table without statistics it would
        cache a plan that scans it whole. Every join here goes from a small set to a key, so only that is allowed.
        The penalties on the other plans look like high costs, which would make the server compile each plan: no jit.
        A statement of a commit has one plan whatever its arrays hold: to make it anew each time took twice as long as
        to execute it for one run.
        """
        return {
            "statement_timeout": self.statement_timeout_ms,
            "lock_timeout": self.lock_timeout_ms,
            "idle_in_transaction_session_timeout": self.idle_in_transaction_ms,
            "enable_seqscan": "off",
            "enable_bitmapscan": "off",
            "enable_hashjoin": "off",
            "enable_mergejoin": "off",
            "max_parallel_workers_per_gather": 0,
            "jit": "off",
            PLAN_CACHE_MODE: GENERIC_PLANS,
            "work_mem": "16MB",
        }

    def options(self) -> str:
        """Returns the parameters as options at the start of a connection."""
        return " ".join(f"-c {name}={value}" for name, value in self.parameters().items())

    def for_transaction(self) -> bytes:
        """Returns the statement that sets the parameters until the end of its transaction, and for no other client of
        a pooler."""
        calls = (f"set_config('{name}', '{value}', true)" for name, value in self.parameters().items())
        return f"select {', '.join(calls)}".encode()
