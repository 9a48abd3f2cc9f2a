"""Few runs among many are found by an index, also if the statistics make a scan of all runs look cheaper."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from turnout.store import connect
from turnout.store.postgres import PostgresStore

MANY = 5_000
FILTER = {"created_from": 4_990.0, "created_before": 1e12, "top_level": 0, "states": '["completed"]', "limit": 20}
PAGE = {**FILTER, "before": "f" * 32, "first": "fe" + 30 * "0", "workflows": "[]", "any_workflow": 1}


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    """A store with many completed runs of one workflow, and statistics of them."""
    opened = connect(postgres_url)
    assert isinstance(opened, PostgresStore)
    opened.open()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "insert into run (id, workflow, version, state, epoch, seq, input, input_digest, priority, created_at,"
            " submitted_at, finished_at) select gen_random_uuid(), 'public::embedded::often', 'v', 'completed', 1, 1,"
            f" '{{}}', '', 0, n, n, n from generate_series(1, {MANY}) n"
        )
        connection.execute("vacuum analyze run")
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("block", "indexes"),
    [
        ("runs", ["Index Scan Backward using run_pkey"]),
        ("runs_in_state", ["Index Scan Backward using run_in_state"]),
        ("runs_in_states", ["Index Scan Backward using run_pkey", "Index Cond: ((id <", "AND (id >="]),
        ("late_runs", ["using run_ended", "Index Cond: ((finished_at >=", "using run_pkey"]),
        ("runs_of_workflow", ["Index Only Scan Backward using run_of_workflow"]),
        ("running_runs", ["using run_owner", "using run_unowned", "Index Scan using run_pkey"]),
        ("delete_from_command", ["using command_of_run"]),
        ("open_runs", ["using run_owner", "using run_unowned", "Index Scan using run_pkey"]),
    ],
)
def test_few_runs_are_found_by_the_index_that_has_them(store: PostgresStore, block: str, indexes: list[str]) -> None:
    database = store._postgres  # pyright: ignore[reportPrivateUsage]
    statement = database.statements[block]
    cursor = psycopg.RawCursor(database.own("ledger"))
    cursor.execute(
        b"explain " + statement.text,
        statement.values({**PAGE, "state": "failed", "workflow": "public::embedded::rare", "ids": "[]"}),
    )
    plan = "\n".join(row[0] for row in cursor.fetchall())
    assert all(index in plan for index in indexes), plan
    assert "Seq Scan on run" not in plan, plan


@pytest.mark.parametrize("block", ["record_start", "take_runs", "fence_tasks", "claimed_tasks"])
def test_a_claim_reads_no_run_but_those_that_it_takes(store: PostgresStore, block: str) -> None:
    database = store._postgres  # pyright: ignore[reportPrivateUsage]
    statement = database.statements[block]
    cursor = psycopg.RawCursor(database.own("ledger"))
    values = {"ids": "[]", "session": "s", "seq": 1, "moves": "[]", "inline": 1}
    cursor.execute(b"explain " + statement.text, statement.values(values))
    plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "run_in_state" not in plan and "Seq Scan on run" not in plan, plan
