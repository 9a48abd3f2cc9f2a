"""Rows of the settings reference: every key is described, with the bounds of its type and its variable."""

from __future__ import annotations

import pytest

from turnout.model.setting_types import Settings, types_of
from turnout.runner.config_reference import SettingRow, descriptions, setting_rows
from turnout.runner.config_schema import FIELDS
from turnout.store.postgres.settings import PostgresSettings
from turnout.worker import WorkerSettings

ROWS = {(*filter(None, row.table.split(".")), row.name): row for row in setting_rows()}


def test_every_key_has_a_row() -> None:
    assert list(ROWS) == list(FIELDS)


def test_every_row_has_a_description_of_one_or_two_sentences() -> None:
    for key, row in ROWS.items():
        assert row.description.endswith(".") and row.description[0].isupper(), key
        assert row.type and row.variable.startswith("TURNOUT_"), key


@pytest.mark.parametrize(
    "settings", [*dict.fromkeys(field.owner for field in FIELDS.values()), WorkerSettings, PostgresSettings]
)
def test_every_field_of_settings_is_described(settings: type[Settings]) -> None:
    assert set(types_of(settings)) <= set(descriptions(settings))


def test_a_row_has_all_that_the_type_says() -> None:
    assert ROWS["orchestration", "executor_pools", "task_claimer", "polling_interval_ms"] == SettingRow(
        table="orchestration.executor_pools.task_claimer",
        name="polling_interval_ms",
        type="a whole number",
        default=2000,
        bounds="at least 1",
        description="Milliseconds between two heartbeats of an idle stage executor, which also polls then; "
        "work wakes it at once.",
        variable="TURNOUT_ORCHESTRATION__EXECUTOR_POOLS__TASK_CLAIMER__POLLING_INTERVAL_MS",
    )
    assert ROWS["worker", "concurrency"].bounds == "a number from 1 to 10000"
    assert ROWS["orchestration", "retention", "every"].default == "1h"
    assert ROWS["hub", "port"].default == 5890 and ROWS["hub", "address"].description
    assert ROWS["default_execution_mode",].type == '"local" or "distributed"'
