"""The newest check of moves in SQLite refuses the same moves as the checks before it."""

from __future__ import annotations

import sqlite3
from itertools import product

import pytest

from turnout.model.states import RunState, TaskState
from turnout.store.migrations import migrations
from turnout.store.sqlite import _statements

SHORT = 27


def checks(until: int) -> dict[str, str]:
    """Returns, by name, the statements of the checks that the migrations up to this number have left."""
    found: dict[str, str] = {}
    for migration in migrations("sqlite"):
        for statement in _statements(migration.text) if migration.number <= until else []:
            for name in ("task_move", "run_move"):
                if f"create trigger {name} " in statement:
                    found[name] = statement
    return found


def refused(check: str, table: str, columns: tuple[str, str, int, int]) -> bool:
    """True if the check refuses a row that goes from one state and attempt to another."""
    old, new, before, after = columns
    with sqlite3.connect(":memory:") as connection:
        connection.execute(f"create table {table} (state text not null, attempt integer not null) strict")
        connection.execute(check)
        connection.execute(f"insert into {table} values (?, ?)", (old, before))
        try:
            connection.execute(f"update {table} set state = ?, attempt = ?", (new, after))
        except sqlite3.IntegrityError as error:
            assert "illegal move" in str(error)
            return True
    return False


@pytest.mark.parametrize(("table", "states"), [("task", TaskState), ("run", RunState)], ids=["task", "run"])
def test_the_short_checks_refuse_exactly_the_moves_that_the_long_ones_refuse(
    table: str, states: type[TaskState] | type[RunState]
) -> None:
    long, short = (checks(until)[f"{table}_move"] for until in (SHORT - 1, SHORT))
    assert long != short
    names = [*map(str, states), "other"]
    cases = [(old, new, 1, after) for old, new, after in product(names, names, (0, 1, 2))]
    assert [refused(short, table, case) for case in cases] == [refused(long, table, case) for case in cases]
