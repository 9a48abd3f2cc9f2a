"""Computes the databases, orchestrators and workers that a load needs, from measured costs, by queueing arithmetic.

    python benchmarks/scale_simulation.py [TASKS_PER_DAY …]
    python benchmarks/scale_simulation.py --table

Prints one JSON line per load and number of cells, or the table of ``docs/explanation/scale.md``, which has where each
cost was measured. A station is a queue with several servers whose arrivals and service times are random (M/M/c,
Erlang C); that overstates the wait of commits, which are gathered, and understates that of bursts.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict, dataclass

DAY = 86_400.0
GIB = 2**30
TABLE = ((1e6, 1), (1e8, 1), (1e8, 4), (1e8, 16), (1e9, 1), (1e9, 16))
"""Tasks a day and least cells of the rows of the table."""


@dataclass(frozen=True)
class Costs:
    """Costs of one step, on one core of the machine that benchmarks/README.md describes."""

    orchestrator_s: float = 79e-6
    """CPU of the orchestrator, W1x1000."""
    database_s: float = 44e-6
    """CPU of PostgreSQL, W1x1000."""
    wal_bytes: float = 1_129.0
    """Of runs with ten steps (``stored_bytes.py``)."""
    disk_bytes: float = 748.0
    rows: float = 2.2
    deletion_share: float = 0.08
    """CPU of retention that keeps up, as a share of the CPU of the load."""
    unloaded_s: float = 4.3e-3
    """From the submission of a run of one task to its result on an idle machine, with both commits (W3, p50)."""
    body_s: float = 0.2
    """The time that a body holds a slot: an assumption about the load, no measurement."""


@dataclass(frozen=True)
class Machine:
    """One machine of each kind, and how far it is loaded."""

    database_cores: int = 8
    wal_bytes_per_s: float = 50e6
    """WAL that one database writes, replicates and archives: an assumption."""
    orchestrator_cores: int = 1
    """One interpreter: an orchestrator uses about one core."""
    slots_per_worker: int = 32
    most_busy: float = 0.6
    """The share of a machine that the busiest hour may use: the rest absorbs bursts and the loss of a neighbour."""


@dataclass(frozen=True)
class Plan:
    """The answer for one load."""

    tasks_per_day: float
    peak_per_s: float
    databases: int
    orchestrators: int
    workers: int
    dispatch_p99_ms: float
    wal_mb_per_s: float
    disk_gib_per_day: float
    rows_per_day: float
    lost_cell_share: float
    """The share of runs that waits while one cell is away."""
    lost_cell_tasks: float
    """Tasks that arrive for it in that time."""
    catch_up_s: float
    """Seconds until the cell has done what waited, with the capacity that the plan leaves free."""


def erlang_c(servers: int, offered: float) -> float:
    """Returns the share of arrivals that wait, with this many servers and this offered load in servers."""
    if offered >= servers:
        return 1.0
    blocked = 1.0
    for number in range(1, servers + 1):
        blocked = offered * blocked / (number + offered * blocked)
    return blocked / (1 - (offered / servers) * (1 - blocked))


def wait_percentile(servers: int, rate: float, service_s: float, share: float = 0.99) -> float:
    """Returns the wait in seconds that this share of arrivals does not exceed; infinite for a load that never ends."""
    offered = rate * service_s
    if offered >= servers:
        return math.inf
    waiting = erlang_c(servers, offered)
    if waiting <= 1 - share:
        return 0.0
    return math.log(waiting / (1 - share)) * service_s / (servers - offered)


def needed(rate: float, service_s: float, servers_each: int, most_busy: float) -> int:
    """Returns the number of machines that keeps each at most this busy; at least one."""
    return max(1, math.ceil(rate * service_s / (servers_each * most_busy)))


def plan(
    tasks_per_day: float,
    costs: Costs | None = None,
    machine: Machine | None = None,
    peak: float = 3.0,
    outage_s: float = 60.0,
    least_cells: int = 1,
) -> Plan:
    """Returns the plan for a load. ``peak`` is the busiest hour as a multiple of the mean; ``outage_s`` how long a lost
    cell is away; ``least_cells`` bounds what one lost cell stops."""
    costs, machine = costs or Costs(), machine or Machine()
    rate = tasks_per_day / DAY * peak
    with_deletion = 1 + costs.deletion_share
    by_cpu = needed(rate, costs.database_s * with_deletion, machine.database_cores, machine.most_busy)
    by_wal = max(1, math.ceil(rate * costs.wal_bytes / (machine.wal_bytes_per_s * machine.most_busy)))
    databases = cells = max(by_cpu, by_wal, least_cells)
    # Two in each cell, so that the loss of one leaves an owner for its runs.
    per_cell = max(2, needed(rate / cells, costs.orchestrator_s, machine.orchestrator_cores, machine.most_busy))
    in_cell = rate / cells
    workers = needed(in_cell, costs.body_s, machine.slots_per_worker, machine.most_busy)
    orchestration = wait_percentile(per_cell, in_cell, costs.orchestrator_s)
    database = wait_percentile(machine.database_cores, in_cell, costs.database_s * with_deletion)
    slots = wait_percentile(workers * machine.slots_per_worker, in_cell, costs.body_s)
    missed = in_cell * outage_s
    spare = min(
        per_cell * machine.orchestrator_cores / costs.orchestrator_s,
        machine.database_cores / (costs.database_s * with_deletion),
        machine.wal_bytes_per_s / costs.wal_bytes,
        workers * machine.slots_per_worker / costs.body_s,
    )
    return Plan(
        tasks_per_day=tasks_per_day,
        peak_per_s=round(rate, 1),
        databases=databases,
        orchestrators=cells * per_cell,
        workers=cells * workers,
        dispatch_p99_ms=round(1000 * (costs.unloaded_s + orchestration + database + slots), 2),
        wal_mb_per_s=round(rate * costs.wal_bytes / 1e6, 2),
        disk_gib_per_day=round(tasks_per_day * costs.disk_bytes / GIB, 2),
        rows_per_day=tasks_per_day * costs.rows,
        lost_cell_share=1 / cells,
        lost_cell_tasks=round(missed, 1),
        catch_up_s=round(missed / (spare - in_cell), 1) if spare > in_cell else math.inf,
    )


def table() -> list[str]:
    """Returns the rows of the page, in Markdown."""
    return [_row(plan(load, least_cells=cells)) for load, cells in TABLE]


def _row(made: Plan) -> str:
    share = "all" if made.databases == 1 else f"{made.lost_cell_share:.0%}".replace("%", " %")
    columns = (
        f"10{str(round(math.log10(made.tasks_per_day))).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}",
        f"{made.databases}",
        f"{made.orchestrators}",
        f"{made.workers}",
        f"{made.dispatch_p99_ms:.2f} ms",
        f"{made.wal_mb_per_s:.2g} MB/s",
        f"{made.disk_gib_per_day:.1f} GiB",
        f"{share}, {made.lost_cell_tasks:,.0f}, {made.catch_up_s:.0f} s",
    )
    return f"| {' | '.join(columns)} |"


def main() -> None:
    if sys.argv[1:] == ["--table"]:
        print("\n".join(table()))
        return
    for load in [float(text) for text in sys.argv[1:]] or [1e6, 1e8, 1e9]:
        for cells in (1, 4, 16):
            print(json.dumps({"least_cells": cells, **asdict(plan(load, least_cells=cells))}))


if __name__ == "__main__":
    main()
