"""Tables of orchestrators, pools, task executors, workers and database for ``health`` and ``top``. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turnout.cli.format import BREAKER_STYLES, MARKS, format_duration, format_size, format_time_of_day, one_line
from turnout.cli.output import Line, Span
from turnout.cli.tables import Column, cut, table
from turnout.model.health import CONDITIONS, ExecutorStatus, Orchestrator, OrchestratorStatus, PoolStatus
from turnout.model.health_summary import executors_together, pools_together, workers_together
from turnout.runner.live_sessions import POOLS

BAR_WIDTH = 10
MAX_WORKERS = 10
"""Workers that are listed."""
HIGH_SHARE = 0.8
"""The share from which a bar is yellow."""


def worst_condition(found: Sequence[Orchestrator]) -> str:
    return max((one.status.condition for one in found), key=CONDITIONS.index, default="down")


def orchestrator_lines(found: Sequence[Orchestrator], width: int) -> list[Line]:
    """Returns a row for each orchestrator."""
    statuses = [one.status for one in found]
    return table(
        [
            Column("orchestrator", [(one_line(one.name, 30), "") for one in found]),
            Column("up", [(format_duration(one.uptime_seconds), "") for one in statuses], right=True),
            Column("runs", [(f"{one.owned_runs:,}", "") for one in statuses], right=True),
            Column("cpu", [(_percent(one.cpu_ratio), "") for one in statuses], right=True),
            Column("memory", [(format_size(one.memory_bytes), "") for one in statuses], right=True),
            Column("seen", [(_ago(one), "dim") for one in found], rank=1, right=True),
            Column("", [_condition(one) for one in statuses]),
        ],
        width,
    )


def _ago(one: Orchestrator) -> str:
    return f"{format_duration(one.status.age_seconds + one.silent_seconds)} ago"


def _condition(status: OrchestratorStatus) -> Span:
    if status.stopping:
        return "■ stopping", "magenta"
    mark, style = MARKS[status.condition]
    return f"{mark} {status.condition}", style


def pool_lines(found: Sequence[Orchestrator], width: int) -> list[Line]:
    """Returns the five pools, each summed up over all orchestrators."""
    statuses = [one.status for one in found]
    pools = {name: pools_together(statuses, name) for name in POOLS}
    every = pools.values()
    return table(
        [
            Column("pool", [(name, "") for name in pools]),
            Column("exec", [(str(pool.executors), "") for pool in every], right=True),
            Column("of", [(f"{pool.min_executors}–{pool.max_executors}", "dim") for pool in every], rank=2),
            Column("health", [_health(pool) for pool in every]),
            Column("", [_bar(pool.utilisation) for pool in every], rank=3),
            Column("busy", [(_percent(pool.utilisation), "") for pool in every], right=True),
            Column("queue", [(f"{pool.queued:,}", "") for pool in every], right=True),
            Column("items/s", [(_rate(pool.throughput), "") for pool in every], right=True),
            Column("breaker", [_breaker(pool.breaker) for pool in every], rank=1),
        ],
        width,
    )


def _health(pool: PoolStatus) -> Span:
    counts = {"healthy": pool.healthy, "degraded": pool.degraded, "unhealthy": pool.unhealthy}
    text = " ".join(f"{MARKS[state][0]}{count}" for state, count in counts.items() if count)
    present = [state for state, count in counts.items() if count]
    return text or "–", MARKS[present[-1]][1] if present else "dim"


def executor_lines(found: Sequence[Orchestrator], width: int) -> list[Line]:
    """Returns the task executors, each summed up over all orchestrators."""
    statuses = [one.status for one in found]
    names = dict.fromkeys(name for one in statuses for name in one.executors)
    executors = {name: executors_together(statuses, name) for name in names}
    every = executors.values()
    if not executors:
        return []
    return table(
        [
            Column("executor", [(one_line(name, 22), "") for name in executors]),
            Column("running", [(_of(one.running, one.capacity), "") for one in every], right=True),
            *_async_column(every),
            Column("waiting", [(f"{one.waiting:,}", "") for one in every], right=True),
            Column("attempts/s", [(_rate(one.attempts_per_second), "") for one in every], right=True),
            Column("failed", [(f"{one.failed:,}", "red" if one.failed else "") for one in every], right=True),
            Column("average", [(_average(one), "") for one in every], rank=2, right=True),
            Column("breaker", [_breaker(one.breaker) for one in every], rank=1),
        ],
        width,
    )


def worker_lines(found: Sequence[Orchestrator], width: int, most: int = MAX_WORKERS) -> list[Line]:
    """Returns the workers of all hubs; those with an open breaker and the busiest first."""
    every = workers_together([one.status for one in found])
    if not every:
        return []
    ranked = sorted(every, key=lambda one: (one.breaker == "closed", -one.in_flight, one.name))
    listed = ranked[:most]
    lines = table(
        [
            Column("worker", [(one_line(one.name, 30), "") for one in listed]),
            Column("running", [(_of(one.running, one.capacity), "") for one in listed], right=True),
            Column("waiting", [(f"{one.waiting:,}", "") for one in listed], right=True),
            Column("executed", [(f"{one.executed:,}", "") for one in listed], right=True),
            Column("failed", [(f"{one.failed:,}", "red" if one.failed else "") for one in listed], right=True),
            Column("lost", [(f"{one.lost:,}", "red" if one.lost else "") for one in listed], rank=2, right=True),
            Column(
                "heard", [(f"{format_duration(one.silent_seconds)} ago", "dim") for one in listed], rank=3, right=True
            ),
            Column("breaker", [_breaker(one.breaker) for one in listed], rank=1),
            Column("", [("draining", "magenta") if one.draining else ("", "") for one in listed]),
        ],
        width,
    )
    if len(ranked) > most:
        lines.append(cut([(f"… and {len(ranked) - most:,} more workers", "dim")], width))
    return lines


def _of(running: int, capacity: int | None) -> str:
    return f"{running:,}" if capacity is None else f"{running:,}/{capacity:,}"


def _async_column(executors: Iterable[ExecutorStatus]) -> list[Column]:
    """Returns a column for async bodies, which need no thread, while some run."""
    some = list(executors)
    if not any(one.async_running for one in some):
        return []
    cells = [(_of(one.async_running, one.async_capacity) if one.async_capacity else "–", "") for one in some]
    return [Column("async", cells, rank=2, right=True)]


def _average(one: ExecutorStatus) -> str:
    seconds = one.average_seconds
    if seconds is None:
        return "–"
    return format_duration(seconds) if seconds >= 0.0005 else "<1 ms"


def database_lines(found: Sequence[Orchestrator], width: int) -> list[Line]:
    statuses = [one.status for one in found]
    active, size = sum(one.active_connections for one in statuses), sum(one.pool_size for one in statuses)
    waiting = sum(one.waiting_for_connections for one in statuses)
    saturation = max((one.saturation for one in statuses), default=0.0)
    factor = min((one.backpressure for one in statuses), default=1.0)
    pressure = ("no backpressure", "dim") if factor == 1.0 else (f"backpressure, factor {factor:g}", "yellow")
    lines: list[Line] = [
        [("database    ", "dim"), (f"{active} of {size} connections in use, {waiting} waiting", "")],
        [("saturation  ", "dim"), _bar(saturation), (f"  {_percent(saturation)}  ", ""), pressure],
    ]
    return [cut(line, width) for line in lines]


def trouble_lines(found: Sequence[Orchestrator], width: int) -> list[Line]:
    """Returns the troubles with place and cause, the worst first."""
    troubles = [(one.name, trouble) for one in found for trouble in one.status.troubles]
    troubles.sort(key=lambda each: -CONDITIONS.index(each[1].condition))
    lines: list[Line] = []
    for name, trouble in troubles:
        mark, style = MARKS[trouble.condition]
        where = trouble.where if len(found) == 1 else f"{name} {trouble.where}"
        lines.append([(f"{mark} {where}: ", style), (one_line(trouble.why, 400), "")])
    return [cut(line, width) for line in lines]


def event_lines(found: Sequence[Orchestrator], width: int, most: int) -> list[Line]:
    """Returns the latest events of the coordinators, newest first."""
    events = [(event, one.name) for one in found for event in one.status.events]
    events.sort(key=lambda each: each[0].at, reverse=True)
    lines: list[Line] = []
    for event, name in events[:most]:
        left = f" ({event.executors} now)" if event.kind == "scaled" else ""
        orchestrator = f"  {name}" if len(found) > 1 else ""
        text = f"{event.pool or 'all pools'} {event.detail}{left}"
        lines.append(
            [
                (f"{format_time_of_day(event.at)}  ", "dim"),
                (f"{event.kind}  ", "cyan"),
                (text, ""),
                (orchestrator, "dim"),
            ]
        )
    return [cut(line, width) for line in lines]


def _breaker(state: str) -> Span:
    return state.replace("_", " "), BREAKER_STYLES.get(state, "yellow")


def _bar(share: float) -> Span:
    filled = round(min(max(share, 0.0), 1.0) * BAR_WIDTH)
    return "█" * filled + "░" * (BAR_WIDTH - filled), "green" if share < HIGH_SHARE else "yellow"


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
