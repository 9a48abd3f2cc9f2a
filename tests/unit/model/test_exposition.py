"""The metrics as Prometheus reads them, by a parser that accepts nothing else."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from kit.statuses import FULL, orchestrator

from turnout.model.exposition import FAMILIES, exposition
from turnout.model.health import Orchestrator, OrchestratorStatus
from turnout.model.texts import printable

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]

_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (NaN|[+-]Inf|[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')
_ESCAPE = re.compile(r"\\(.)")


def parse(text: str) -> tuple[dict[str, str], Samples]:
    """Types by family, and samples. Raises on whatever the format does not allow."""
    assert text.endswith("\n") and "\n\n" not in text
    types: dict[str, str] = {}
    helped: set[str] = set()
    samples: Samples = {}
    family = ""
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert name not in helped, f"{name} is explained twice"
            helped.add(name)
        elif line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
            assert family in helped and family not in types and kind in ("gauge", "counter"), line
            types[family] = kind
        else:
            found = _SAMPLE.fullmatch(line)
            assert found is not None, f"no sample: {line!r}"
            name, labels, value = found.groups()
            assert name == family, f"{name} stands among the samples of {family}"
            key = (name, frozenset(labelled(labels or "")))
            assert key not in samples, f"twice: {line}"
            samples[key] = float(value)
    return types, samples


def labelled(text: str) -> list[tuple[str, str]]:
    labels: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        found = _LABEL.match(text, at)
        assert found is not None, f"no label at {text[at:]!r}"
        labels.append((found[1], _ESCAPE.sub(lambda escape: "\n" if escape[1] == "n" else escape[1], found[2])))
        at = found.end()
    assert len({name for name, _ in labels}) == len(labels)
    return labels


def value(samples: Samples, name: str, **labels: str) -> float:
    [found] = [number for key, number in samples.items() if key[0] == name and key[1] >= frozenset(labels.items())]
    return found


def test_every_figure_is_there_under_its_labels() -> None:
    one = orchestrator(FULL, pid=7, silent=1.0)
    types, samples = parse(exposition([one, orchestrator(FULL, id="b", host="web-2")]))
    assert set(types) == set(FAMILIES), "each family has a sample here"
    assert value(samples, "turnout_orchestrators") == 2
    assert value(samples, "turnout_orchestrator_info", orchestrator="a", host="web-1", pid="7") == 1
    assert value(samples, "turnout_orchestrator_condition", orchestrator="a", condition="degraded") == 1
    assert value(samples, "turnout_status_age_seconds", orchestrator="a") == 1.5
    assert value(samples, "turnout_commits_total", orchestrator="b") == 12_345_678_901
    assert value(samples, "turnout_process_resident_memory_bytes", orchestrator="a") == 98_765_432_109
    assert value(samples, "turnout_pool_scaling_events_total", orchestrator="a", direction="up") == 2
    assert value(samples, "turnout_pool_breaker_state", orchestrator="a", state="half_open") == 1
    assert value(samples, "turnout_pool_breaker_state", orchestrator="a", state="closed") == 0
    claimer = {"orchestrator": "a", "pool": "task_claimer", "stage_executor": "task_claimer-1"}
    assert value(samples, "turnout_stage_executor_items_per_second", **claimer) == 0.5
    assert value(samples, "turnout_stage_executor_state", state="healthy", **claimer) == 1
    assert value(samples, "turnout_stage_executor_state_seconds", **claimer) == 3.0
    attempts = {"orchestrator": "a", "executor": "default"}
    assert value(samples, "turnout_task_executor_attempts_total", outcome="completed", **attempts) == 3
    assert value(samples, "turnout_task_executor_attempts_total", outcome="failed", **attempts) == 2
    assert value(samples, "turnout_task_executor_capacity_attempts", **attempts) == 8
    assert value(samples, "turnout_task_executor_running_attempts", **attempts) == 8
    assert value(samples, "turnout_task_executor_waiting_attempts", **attempts) == 9
    assert value(samples, "turnout_task_executor_async_running_attempts", **attempts) == 3
    assert value(samples, "turnout_task_executor_attempt_average_seconds", **attempts) == 0.2
    assert value(samples, "turnout_workers", orchestrator="a") == 250
    gpu = {"orchestrator": "a", "worker": "gpu"}
    assert value(samples, "turnout_worker_in_flight_attempts", **gpu) == 4, "those of one name are one"
    assert value(samples, "turnout_worker_capacity_attempts", **gpu) == 4
    assert value(samples, "turnout_worker_running_attempts", **gpu) == 3
    assert value(samples, "turnout_worker_waiting_attempts", **gpu) == 1
    assert value(samples, "turnout_worker_attempts_total", outcome="completed", **gpu) == 7
    assert value(samples, "turnout_worker_attempts_total", outcome="lost", **gpu) == 1
    assert value(samples, "turnout_worker_breaker_state", state="open", **gpu) == 1
    assert value(samples, "turnout_worker_last_contact_seconds", orchestrator="a", worker="cpu") == 2.5
    assert value(samples, "turnout_worker_draining", orchestrator="a", worker="cpu") == 1
    assert value(samples, "turnout_worker_in_flight_attempts", orchestrator="a", worker="(others)") == 200
    assert value(samples, "turnout_hub_messages_total", orchestrator="a", direction="sent") == 20
    assert value(samples, "turnout_hub_malformed_total", orchestrator="a") == 1


def test_what_an_executor_does_not_say_is_left_out() -> None:
    _, samples = parse(exposition([orchestrator(FULL)]))
    of_own = {name for name, labels in samples if ("executor", "own") in labels}
    assert "turnout_task_executor_active_attempts" in of_own
    assert not of_own & {"turnout_task_executor_capacity_attempts", "turnout_task_executor_attempt_average_seconds"}


def test_with_nobody_alive_that_is_what_it_says() -> None:
    types, samples = parse(exposition([]))
    assert (types, samples) == ({"turnout_orchestrators": "gauge"}, {("turnout_orchestrators", frozenset()): 0.0})


METRICS = {
    "turnout_": (
        "orchestrators orchestrator_info orchestrator_condition uptime_seconds status_age_seconds owned_runs "
        "given_runs_total pending_requests commits_total active_executors error_ratio workers database_connections "
        "database_saturation_ratio database_outage backpressure_factor backpressure_events_total "
        "process_resident_memory_bytes process_cpu_seconds_total"
    ),
    "turnout_stage_executor_": (
        "items_total items_per_second batch_average_seconds error_ratio state state_seconds busy_seconds_total"
    ),
    "turnout_pool_": (
        "executors executors_min executors_max items_per_second utilization_ratio queue_items items_total "
        "batches_total errors_total busy_seconds_total scaling_events_total replaced_total restarted_total "
        "breaker_state"
    ),
    "turnout_task_executor_": (
        "active_attempts running_attempts waiting_attempts capacity_attempts async_running_attempts "
        "async_capacity_attempts attempts_total attempts_per_second attempt_average_seconds breaker_state"
    ),
    "turnout_worker_": (
        "in_flight_attempts running_attempts waiting_attempts capacity_attempts attempts_total last_contact_seconds "
        "draining breaker_state"
    ),
    "turnout_hub_": "messages_total malformed_total dropped_total unmatched_waits",
}


def test_the_names_of_metrics_stay() -> None:
    assert set(FAMILIES) == {prefix + name for prefix, names in METRICS.items() for name in names.split()}
    assert all(FAMILIES.values()), "each has its meaning"


def test_counters_and_only_counters_are_totals() -> None:
    types, _ = parse(exposition([orchestrator(FULL)]))
    assert {name for name, kind in types.items() if kind == "counter"} == {
        name for name in FAMILIES if name.endswith("_total")
    }


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_can_be_a_label(host: str) -> None:
    _, samples = parse(exposition([Orchestrator(id="a", host=host)]))
    assert value(samples, "turnout_orchestrator_info", host=printable(host)) == 1


@given(st.floats())
def test_any_number_can_be_a_value(number: float) -> None:
    text = exposition([Orchestrator(id="a", status=OrchestratorStatus(uptime_seconds=number))])
    found = value(parse(text)[1], "turnout_uptime_seconds")
    assert found == number or (found != found and number != number)
