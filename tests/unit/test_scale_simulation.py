"""The arithmetic of the plan for many cells, on cases whose answers are known."""

from __future__ import annotations

import math

import pytest

from benchmarks.scale_simulation import Costs, Machine, erlang_c, needed, plan, wait_percentile


def test_erlang_c_has_the_values_of_the_tables() -> None:
    assert erlang_c(1, 0.5) == pytest.approx(0.5), "of one server: its load"
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)
    assert erlang_c(10, 8.0) == pytest.approx(0.4092, abs=1e-4)
    assert erlang_c(2, 2.0) == 1.0


def test_the_wait_of_one_server_is_that_of_an_exponential_queue() -> None:
    # With a load of one half, P(wait > t) = 0.5 exp(-t (1 - 0.5) / 1).
    assert wait_percentile(1, 0.5, 1.0) == pytest.approx(2 * math.log(50))
    assert wait_percentile(100, 0.5, 1.0) == 0.0, "nothing waits"
    assert wait_percentile(1, 2.0, 1.0) == math.inf, "more comes than goes"


def test_machines_are_rounded_up_and_never_none() -> None:
    assert needed(0.0, 1.0, 1, 0.5) == 1
    assert needed(10.0, 1.0, 4, 0.5) == 5
    assert needed(10.1, 1.0, 4, 0.5) == 6


def test_a_load_is_divided_among_cells_by_what_runs_out_first() -> None:
    costs = Costs(orchestrator_s=1e-3, database_s=1e-3, wal_bytes=1e3, deletion_share=0.0, body_s=1.0)
    machine = Machine(database_cores=1, wal_bytes_per_s=1e6, slots_per_worker=10, most_busy=0.5)
    made = plan(86_400 * 1_000, costs, machine, peak=1.0)
    # 1,000 a second: one second of CPU and 1 MB of WAL, at half load two databases, so two cells with two orchestrators
    # each; 1,000 slots, at half load 2,000.
    assert (made.peak_per_s, made.databases, made.orchestrators, made.workers) == (1_000, 2, 4, 200)
    assert (made.wal_mb_per_s, made.lost_cell_share, made.lost_cell_tasks) == (1.0, 0.5, 30_000)
    # 30,000 waited, 1,000 a second can be done and 500 arrive.
    assert made.catch_up_s == 60.0


def test_wal_may_be_what_runs_out_first() -> None:
    machine = Machine(wal_bytes_per_s=1e3, most_busy=1.0)
    assert plan(86_400, Costs(wal_bytes=5e3), machine, peak=1.0).databases == 5


def test_more_cells_than_the_load_needs_bound_what_a_lost_one_stops() -> None:
    assert plan(1e6, least_cells=4).lost_cell_share == 0.25
    assert plan(1e6, least_cells=4).orchestrators == 8
