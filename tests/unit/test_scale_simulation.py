"""The arithmetic of the plan for many cells, on cases whose answers are known."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from benchmarks.scale_simulation import GIB, Costs, Machine, erlang_c, needed, plan, table, wait_percentile

PAGE = (Path(__file__).parents[2] / "docs/explanation/scale.md").read_text()


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


def test_a_cell_that_wal_bounds_catches_up_no_faster_than_it_writes() -> None:
    costs = Costs(orchestrator_s=1e-6, database_s=1e-6, wal_bytes=1e3, body_s=1e-3)
    machine = Machine(wal_bytes_per_s=2e6, most_busy=0.5)
    made = plan(86_400 * 1_000, costs, machine, peak=1.0)
    # 60,000 waited, 2,000 a second can be written and 1,000 arrive.
    assert (made.databases, made.catch_up_s) == (1, 60.0)


def test_the_page_has_the_rows_that_the_program_prints() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| 10")]
    assert rows == table()
    assert {row.split(" | ")[0] for row in rows} >= {"| 10⁶", "| 10⁸"}
    header = (
        "| tasks a day | cells, one database each | orchestrators | workers | p99 of dispatch | WAL, all | disk a day"
    )
    assert f"{header} | one cell lost: share of runs, tasks that wait, time to catch up |" in PAGE


def test_the_page_has_the_costs_and_the_bounds_that_the_program_computes_with() -> None:
    costs, machine = Costs(), Machine()
    for text in (
        f"{costs.orchestrator_s * 1e6:.0f} µs",
        f"{costs.database_s * 1e6:.0f} µs",
        f"{costs.unloaded_s * 1e3:.1f} ms",
        f"{costs.wal_bytes:,.0f} bytes in runs of ten steps",
        f"{costs.disk_bytes:,.0f} bytes in runs of ten steps",
        f"{costs.rows} in runs of ten steps",
        f"to {costs.deletion_share:.0%}".replace("%", " %"),
        f"{machine.slots_per_worker} slots",
        f"{costs.disk_bytes * 1e8 / GIB:.0f} GiB for each 10⁸ tasks",
    ):
        assert text in PAGE, text
    by_cpu = machine.database_cores * machine.most_busy / (costs.database_s * (1 + costs.deletion_share))
    by_wal = machine.wal_bytes_per_s * machine.most_busy / costs.wal_bytes
    assert f"about {round(by_cpu, -4):,.0f} steps a second" in PAGE
    assert f"about {round(by_wal, -3):,.0f} steps a second" in PAGE and by_wal < by_cpu, "WAL comes first"
