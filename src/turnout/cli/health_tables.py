"""Tables of orchestrators, pools, task executors, workers and database for ``health`` and ``top``. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from turnout.cli.format import (
    BREAKER_STYLES,
    MARKS,
    format_count,
    format_duration,
    format_size,
    format_time_of_day,
    one_line,
)
from turnout.cli.output import Column, Line, Span, cut, table
from turnout.model.executor_status import ExecutorStatus, PoolStatus
from turnout.model.figures import TableColumn, Unit, table_columns
from turnout.model.health import CONDITIONS, Orchestrator, OrchestratorStatus, combined, combined_workers
from turnout.runner.live_sessions import POOLS

BAR_WIDTH = 10
MAX_WORKERS = 10
"""Workers that are listed."""
HIGH_SHARE = 0.8
"""The share from which a bar is yellow."""


def figure_columns(rows: Sequence[msgspec.Struct]) -> list[Column]:
    """Returns the columns that the figures of these statuses declare."""
    return [
        Column(
            column.title,
            [_cell(row, name, column) for row in rows],
            rank=column.rank,
            right=column.unit is not Unit.BREAKER,
        )
        for name, column in table_columns(type(rows[0])).items()
    ]


def _cell(row: msgspec.Struct, name: str, column: TableColumn) -> Span:
    value: Any = getattr(row, name)
    match column.unit:
        case Unit.COUNT:
            return _of(value, getattr(row, column.of) if column.of else None), ""
        case Unit.FAILURES:
            return f"{value:,}", "red" if value else ""
        case Unit.RATE:
            return f"{value:,.0f}" if value >= 100 else f"{value:.1f}", ""
        case Unit.SHARE:
            return _percent(value), ""
        case Unit.SIZE:
            return format_size(value), ""
        case Unit.DURATION:
            return format_duration(value), ""
        case Unit.AVERAGE:
            return "–" if value is None else format_duration(value) if value >= 0.0005 else "<1 ms", ""
        case Unit.AGE:
            return f"{format_duration(value)} ago", "dim"
        case Unit.BREAKER:
            return value.replace("_", " "), BREAKER_STYLES.get(value, "yellow")


def _of(count: int, limit: int | None) -> str:
    return f"{count:,}" if limit is None else f"{count:,}/{limit:,}"


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _bar(share: float) -> Span:
    filled = round(min(max(share, 0.0), 1.0) * BAR_WIDTH)
    return "█" * filled + "░" * (BAR_WIDTH - filled), "green" if share < HIGH_SHARE else "yellow"


def worst_condition(found: Sequence[Orchestrator]) -> str:
    return max((one.status.condition for one in found), key=CONDITIONS.index, default="down")


def orchestrator_lines(found: Sequence[Orchestrator], width: int) -> list[Line]:
    """Returns a row for each orchestrator."""
    return table(
        [
            Column("orchestrator", [(one_line(one.name, 30), "") for one in found]),
            *figure_columns([one.status for one in found]),
            *figure_columns(found),
            Column("", [_condition(one.status) for one in found]),
        ],
        width,
    )


def _condition(status: OrchestratorStatus) -> Span:
    if status.stopping:
        return "■ stopping", "magenta"
    mark, style = MARKS[status.condition]
    return f"{mark} {status.condition}", style


def pool_lines(found: Sequence[Orchestrator], width: int) -> list[Line]:
    """Returns the five pools, each summed up over all orchestrators."""
    known = combined([one.status for one in found]).pools
    pools = [known.get(name, PoolStatus()) for name in POOLS]
    executors, *others = figure_columns(pools)
    return table(
        [
            Column("pool", [(name, "") for name in POOLS]),
            executors,
            Column("of", [(f"{pool.min_executors}–{pool.max_executors}", "dim") for pool in pools], rank=2),
            Column("health", [_health(pool) for pool in pools]),
            Column("", [_bar(pool.utilisation) for pool in pools], rank=3),
            *others,
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
    executors = combined([one.status for one in found]).executors
    if not executors:
        return []
    names = Column("executor", [(one_line(name, 22), "") for name in executors])
    running, *others = figure_columns(list(executors.values()))
    return table([names, running, *_async_column(list(executors.values())), *others], width)


def _async_column(executors: Sequence[ExecutorStatus]) -> list[Column]:
    """Returns a column for async bodies, which need no thread, while some run."""
    if not any(one.async_running for one in executors):
        return []
    cells = [(_of(one.async_running, one.async_capacity) if one.async_capacity else "–", "") for one in executors]
    return [Column("async", cells, rank=2, right=True)]


def worker_lines(found: Sequence[Orchestrator], width: int, most: int = MAX_WORKERS) -> list[Line]:
    """Returns the workers of all hubs; those with an open breaker and the busiest first."""
    every = combined_workers([one.status for one in found])
    if not every:
        return []
    ranked = sorted(every, key=lambda one: (one.breaker == "closed", -one.in_flight, one.name))
    listed = ranked[:most]
    lines = table(
        [
            Column("worker", [(one_line(one.name, 30), "") for one in listed]),
            *figure_columns(listed),
            Column("", [("draining", "magenta") if one.draining else ("", "") for one in listed]),
        ],
        width,
    )
    if len(ranked) > most:
        lines.append(cut([(f"… and {format_count(len(ranked) - most, 'more worker')}", "dim")], width))
    return lines


def database_lines(found: Sequence[Orchestrator], width: int) -> list[Line]:
    total = combined([one.status for one in found])
    use = f"{total.active_connections} of {total.pool_size} connections in use, {total.waiting_for_connections} waiting"
    pressure = ("no backpressure", "dim")
    if total.backpressure != 1.0:
        pressure = (f"backpressure, factor {total.backpressure:g}", "yellow")
    lines: list[Line] = [
        [("database    ", "dim"), (use, "")],
        [("saturation  ", "dim"), _bar(total.saturation), (f"  {_percent(total.saturation)}  ", ""), pressure],
    ]
    return [cut(line, width) for line in lines]


def trouble_lines(found: Sequence[Orchestrator], width: int) -> list[Line]:
    """Returns the troubles with their causes, the worst first."""
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
