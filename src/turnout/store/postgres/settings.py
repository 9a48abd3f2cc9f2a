"""How patient is a connection to PostgreSQL, and which plans may it make?"""

from __future__ import annotations

import msgspec


class PostgresSettings(msgspec.Struct, frozen=True, kw_only=True):
    connect_timeout: int = 5
    statement_timeout_ms: int = 30_000
    lock_timeout_ms: int = 10_000
    idle_in_transaction_ms: int = 30_000
    tcp_user_timeout_ms: int = 10_000
    migration_lock_timeout_ms: int = 60_000
    lanes: int = 8
    """Commits in flight at once, at most; each on a connection of its own, made when it is needed."""
    pool_size: int = 10
    """Connections for everything else."""
    pool_patience: float = 30.0
    """Seconds that a caller waits for one of them."""

    def connection(self) -> dict[str, object]:
        """What libpq is told: a link that went dead is noticed within about ten seconds."""
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

    def options(self) -> str:
        """What the server is told at the start of each connection.

        The planner knows nothing of the rows inside a JSON parameter, and on a young table without statistics it would
        cache a plan that scans it whole. Every join of ours goes from a small set to a key, so only that is allowed.
        The penalties on the other plans look like high costs, which would make the server compile each plan: no jit.
        """
        values = {
            "statement_timeout": self.statement_timeout_ms,
            "lock_timeout": self.lock_timeout_ms,
            "idle_in_transaction_session_timeout": self.idle_in_transaction_ms,
            "enable_seqscan": "off",
            "enable_bitmapscan": "off",
            "enable_hashjoin": "off",
            "enable_mergejoin": "off",
            "max_parallel_workers_per_gather": 0,
            "jit": "off",
            "work_mem": "16MB",
        }
        return " ".join(f"-c {name}={value}" for name, value in values.items())
