"""Coordinator and pools: every form says the same, and what cannot work is refused with its path and who said it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from turnout.errors import InvalidSetting
from turnout.model.setting_types import Count, Ratio, Seconds
from turnout.model.verdict import Limits
from turnout.runner import (
    CoordinatorSettings,
    EngineSettings,
    LogSettings,
    PoolSettings,
    PoolsSettings,
    Retention,
)
from turnout.runner.config import Config, read_config
from turnout.runner.config_schema import FIELDS, ORCHESTRATION, Key

COORDINATOR: Key = ("orchestration", "coordinator")
CLAIMER: Key = ("orchestration", "executor_pools", "task_claimer")


def engine_settings(config: Config) -> EngineSettings:
    settings = config.orchestration
    assert settings is not None
    return settings


def from_yaml(folder: Path, text: str, environment: Mapping[str, str] | None = None) -> EngineSettings:
    (folder / "turnout.yaml").write_text(text)
    return engine_settings(read_config(folder, environment or {}))


def test_what_is_not_named_keeps_the_defaults_of_its_own_pool(tmp_path: Path) -> None:
    text = "orchestration:\n  executor_pools:\n    task_claimer:\n      batch_size: 7\n"
    pools = from_yaml(tmp_path, text).executor_pools
    assert pools.task_claimer == msgspec.structs.replace(PoolsSettings().task_claimer, batch_size=7)
    assert msgspec.structs.replace(pools, task_claimer=PoolsSettings().task_claimer) == PoolsSettings()


def test_the_fifth_pool_may_be_given(tmp_path: Path) -> None:
    text = "orchestration: {executor_pools: {task_finalizer: {min_executors: 2, max_executors: 3}}}"
    pool = from_yaml(tmp_path, text).executor_pools.task_finalizer
    assert (pool.min_executors, pool.max_executors) == (2, 3)


def test_the_environment_goes_over_the_file_key_by_key(tmp_path: Path) -> None:
    text = "orchestration:\n  coordinator: {target_utilization: 0.8, max_db_pool_usage: 0.5}\n"
    environment = {
        "TURNOUT_ORCHESTRATION__COORDINATOR__TARGET_UTILIZATION": "0.6",
        "TURNOUT_ORCHESTRATION__COORDINATOR__STUCK_AFTER_SECONDS": "2m",
        "TURNOUT_ORCHESTRATION__COORDINATOR__AUTO_SCALING_ENABLED": "false",
        "TURNOUT_ORCHESTRATION__EXECUTOR_POOLS__TASK_CLAIMER__MAX_EXECUTORS": "4",
    }
    settings = from_yaml(tmp_path, text, environment)
    coordinator = settings.coordinator
    assert (coordinator.target_utilization, coordinator.max_db_pool_usage) == (0.6, 0.5)
    assert (coordinator.stuck_after_seconds, coordinator.auto_scaling_enabled) == (120.0, False)
    assert settings.executor_pools.task_claimer.max_executors == 4


def test_camel_case_is_understood_in_every_part(tmp_path: Path) -> None:
    text = "orchestration: {executorPools: {taskClaimer: {maxExecutors: 3}}, coordinator: {maxDbPoolUsage: 0.7}}"
    settings = from_yaml(tmp_path, text)
    assert settings.executor_pools.task_claimer.max_executors == 3
    assert settings.coordinator.max_db_pool_usage == 0.7


def test_shares_are_numbers_and_only_what_is_a_time_is_a_duration() -> None:
    kinds = {key[-1]: field.type for key, field in FIELDS.items() if key[:2] == COORDINATOR}
    shares = {name for name, kind in kinds.items() if kind == Ratio}
    assert shares == {
        "target_utilization",
        "max_db_pool_usage",
        "scale_up_error_rate",
        "scale_up_saturation",
        "degraded_error_rate",
        "unhealthy_error_rate",
    }
    times = {name for name, kind in kinds.items() if kind == Seconds}
    assert times == {name for name in kinds if name.endswith("_seconds")}
    assert FIELDS[*CLAIMER, "polling_interval_ms"].type == Count
    assert FIELDS[*CLAIMER, "circuit_breaker_enabled"].type is bool


WRONG_VALUES: list[tuple[Key, Any, str]] = [
    (COORDINATOR, {"target_utilization": 1.0}, "target_utilization is 1.0; it must be a number above 0 and below 1"),
    (COORDINATOR, {"target_utilization": "30s"}, "target_utilization is '30s'; write a number above 0 and below 1"),
    (COORDINATOR, {"target_utilization": True}, "target_utilization is True; write a number above 0 and below 1"),
    (COORDINATOR, {"max_db_pool_usage": -0.5}, "max_db_pool_usage is -0.5; it must be a number above 0 and below 1"),
    (COORDINATOR, {"scale_up_saturation": 0}, "scale_up_saturation is 0; it must be a number above 0 and below 1"),
    (COORDINATOR, {"scaling_interval_seconds": -1}, "scaling_interval_seconds is -1; write a number of seconds, or"),
    (COORDINATOR, {"scaling_interval_seconds": "soon"}, "scaling_interval_seconds is 'soon'; write a number of sec"),
    (COORDINATOR, {"scaling_cooldown_seconds": 0}, "scaling_cooldown_seconds is 0; it must be a positive number"),
    (COORDINATOR, {"error_window": 0}, "error_window is 0; it must be at least 1"),
    (COORDINATOR, {"auto_scaling_enabled": "maybe"}, "auto_scaling_enabled is 'maybe'; write true or false"),
    (COORDINATOR, {"degraded_error_rate": 0.9}, "degraded_error_rate is 0.9, more than unhealthy_error_rate, 0.5 "
                                                "(unhealthy_error_rate by default)"),
    (CLAIMER, {"min_executors": 9, "max_executors": 4}, "min_executors is 9, more than max_executors, 4"),
    (CLAIMER, {"min_executors": 9}, "min_executors is 9, more than max_executors, 1 (max_executors by default)"),
    (CLAIMER, {"min_executors": 0}, "min_executors is 0; it must be at least 1"),
    (CLAIMER, {"max_executors": -2}, "max_executors is -2; it must be at least 1"),
    (CLAIMER, {"batch_size": 0}, "batch_size is 0; it must be at least 1"),
    (CLAIMER, {"batch_size": 2.5}, "batch_size is 2.5; write a whole number"),
    (CLAIMER, {"polling_interval_ms": "50ms"}, "polling_interval_ms is '50ms'; write a whole number"),
    (CLAIMER, {"circuit_breaker_threshold": 0}, "circuit_breaker_threshold is 0; it must be at least 1"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "values", "said"), WRONG_VALUES, ids=lambda each: None)
@pytest.mark.parametrize("form", ["turnout.yaml", "turnout.toml"])
def test_an_impossible_value_is_refused_with_its_path_and_its_file(
    tmp_path: Path, table: Key, values: dict[str, Any], said: str, form: str
) -> None:
    nested = as_tables({(*table, name): value for name, value in values.items()})
    (tmp_path / form).write_text(yaml.safe_dump(nested) if form.endswith("yaml") else as_toml(nested))
    with pytest.raises(InvalidSetting) as raised:
        _ = read_config(tmp_path, {}).orchestration
    assert raised.value.message.startswith(f"{form}: {'.'.join(table)}.{said}"), raised.value.message
    assert raised.value.message.count("orchestration") == 1
    assert raised.value.code == "bad_setting" and raised.value.fields["where"] == form
    assert raised.value.fields["key"] == ".".join((*table, next(iter(values))))


def test_an_impossible_value_of_a_variable_names_the_variable(tmp_path: Path) -> None:
    name = "TURNOUT_ORCHESTRATION__COORDINATOR__TARGET_UTILIZATION"
    with pytest.raises(InvalidSetting) as raised:
        read_config(tmp_path, {name: "1.5"})
    assert raised.value.message == (
        f"{name}: orchestration.coordinator.target_utilization is '1.5'; it must be a number above 0 and below 1"
    )


def test_values_that_do_not_go_together_name_all_who_said_them_and_nobody_else(tmp_path: Path) -> None:
    (tmp_path / "turnout.toml").write_text("[orchestration.executor_pools.task_claimer]\nmin_executors = 9\n")
    name = "TURNOUT_ORCHESTRATION__EXECUTOR_POOLS__TASK_CLAIMER__MAX_EXECUTORS"
    config = read_config(tmp_path, {name: "4", "TURNOUT_ORCHESTRATION__LEASE": "20s"})
    with pytest.raises(InvalidSetting) as raised:
        _ = config.orchestration
    assert raised.value.message == (
        f"turnout.toml, {name}: orchestration.executor_pools.task_claimer.min_executors is 9, "
        "more than max_executors, 4"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("orchestration: {coordinater: {}}", "'orchestration.coordinater': did you mean 'coordinator'?"),
        ("orchestration: {coordinator: {target_utilisation: 0.5}}",
         "'orchestration.coordinator.target_utilisation': did you mean 'target_utilization'?"),
        ("orchestration: {executor_pools: {task_clamer: {batch_size: 1}}}",
         "'orchestration.executor_pools.task_clamer': did you mean 'task_claimer'"),
        ("orchestration: {executor_pools: {task_claimer: {batchsize: 1}}}",
         "'orchestration.executor_pools.task_claimer.batchsize': did you mean 'batch_size'?"),
    ],
)  # fmt: skip
def test_an_unknown_key_is_refused_with_its_path(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidSetting) as raised:
        from_yaml(tmp_path, text)
    assert raised.value.code == "unknown_setting"
    assert f"turnout.yaml: there is no setting {said}" in raised.value.message


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("EXECUTOR_POOLS__TASK_CLAMER__BATCH_SIZE",
         "no setting 'orchestration.executor_pools.task_clamer.batch_size': did you mean 'task_claimer'"),
        ("COORDINATOR__TARGET_UTILISATION",
         "'orchestration.coordinator.target_utilisation': did you mean 'target_utilization'"),
        ("COORDINATOR", "is a table; set its keys one by one, as in "
                        "TURNOUT_ORCHESTRATION__COORDINATOR__AUTO_SCALING_ENABLED"),
        ("EXECUTOR_POOLS__TASK_CLAIMER", "as in TURNOUT_ORCHESTRATION__EXECUTOR_POOLS__TASK_CLAIMER__MIN_EXECUTORS"),
    ],
)  # fmt: skip
def test_an_unknown_variable_is_refused_with_its_path(tmp_path: Path, name: str, said: str) -> None:
    variable = f"TURNOUT_ORCHESTRATION__{name}"
    with pytest.raises(InvalidSetting) as raised:
        read_config(tmp_path, {variable: "1"})
    assert said in raised.value.message and variable in raised.value.message


# -- any settings, in any form -----------------------------------------------------------------------------------------
counts = st.integers(1, 10**9)
times = st.floats(0.001, 1e6)
shares = st.floats(0, 1, exclude_min=True, exclude_max=True)
flags = st.booleans()


@st.composite
def pools(draw: st.DrawFn) -> PoolSettings:
    low, high = sorted(draw(st.tuples(counts, counts)))
    return draw(
        st.builds(
            PoolSettings,
            min_executors=st.just(low),
            max_executors=st.just(high),
            polling_interval_ms=counts,
            batch_size=counts,
            circuit_breaker_enabled=flags,
            circuit_breaker_threshold=counts,
        )
    )


ORDERED = (("degraded_error_rate", "unhealthy_error_rate"), ("degraded_after_seconds", "stuck_after_seconds"))


@st.composite
def coordinators(draw: st.DrawFn) -> CoordinatorSettings:
    by_kind = {Ratio: shares, Seconds: times, Count: counts, bool: flags}
    given_ = {name: draw(by_kind[FIELDS[*COORDINATOR, name].type]) for name in CoordinatorSettings.__struct_fields__}
    for low, high in ORDERED:
        given_[low], given_[high] = sorted((given_[low], given_[high]))
    return CoordinatorSettings(**given_)


@st.composite
def engines(draw: st.DrawFn) -> EngineSettings:
    heartbeat, self_fence, lease = sorted(draw(st.lists(times, min_size=3, max_size=3, unique=True)))
    everything = st.builds(
        EngineSettings,
        heartbeat=st.just(heartbeat),
        self_fence=st.just(self_fence),
        lease=st.just(lease),
        lanes=counts,
        submit_wait=st.none() | st.floats(0, 1e6),
        coordinator=coordinators(),
        executor_pools=st.builds(PoolsSettings, **{name: pools() for name in PoolsSettings.__struct_fields__}),
        limits=st.builds(Limits, crashes=counts, refused_delay=times),
        logs=st.builds(LogSettings, echo=flags, log_flush=times),
        retention=st.none() | st.builds(Retention, older_than=times, every=times, runs=counts),
    )
    return draw(everything)


def leaves(settings: EngineSettings) -> dict[Key, Any]:
    """Every key that has a value, with the value."""
    found: dict[Key, Any] = {}
    for key in FIELDS:
        if key[0] == ORCHESTRATION:
            value: Any = settings
            for part in key[1:]:
                value = getattr(value, part, None)
            if value is not None:
                found[key] = [str(each) for each in value] if isinstance(value, tuple) else value
    return found


def as_tables(values: Mapping[Key, Any]) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    for key, value in values.items():
        table = tables
        for part in key[:-1]:
            table = table.setdefault(part, {})
        table[key[-1]] = value
    return tables


def as_toml(tables: Mapping[str, Any], at: Key = ()) -> str:
    plain = [f"{name} = {json.dumps(value)}" for name, value in tables.items() if not isinstance(value, dict)]
    inner = [as_toml(value, (*at, name)) for name, value in tables.items() if isinstance(value, dict)]
    return "\n".join([*([f"[{'.'.join(at)}]"] if at else []), *plain, *inner])


def as_variables(values: Mapping[Key, Any]) -> dict[str, str]:
    return {f"TURNOUT_{'__'.join(key).upper()}": json.dumps(value) for key, value in values.items()}


@given(engines())
def test_any_settings_are_read_back_from_every_form(settings: EngineSettings) -> None:
    settings.check()
    said = leaves(settings)
    with TemporaryDirectory() as folder:
        yaml_file, toml_file = Path(folder, "settings.yaml"), Path(folder, "settings.toml")
        yaml_file.write_text(yaml.dump(as_tables(said), Dumper=yaml.CSafeDumper))
        toml_file.write_text(as_toml(as_tables(said)))
        for file in (yaml_file, toml_file):
            config = read_config(file.parent, {"TURNOUT_CONFIG": str(file)})
            assert engine_settings(config) == settings
            assert {entry.origin for entry in config.entries.values()} == {file.name}
        variables = as_variables(said)
        assert engine_settings(read_config(yaml_file.parent, variables)) == settings
        over = read_config(yaml_file.parent, {"TURNOUT_CONFIG": str(yaml_file), **variables})
        assert engine_settings(over) == settings
        assert {entry.origin for entry in over.entries.values()} == set(variables)
