"""Prints the measures of the workloads on one store as tables: all measures, statements, functions, the way of W3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MEASURES = (
    ("per_second", "steps per second"),
    ("p50_ms", "submit to done, p50, ms"),
    ("p99_ms", "submit to done, p99, ms"),
    ("cpu_us", "CPU of the orchestrator, µs"),
    ("cpu_us_loop", "– event loop"),
    ("cpu_us_lanes", "– lanes"),
    ("cpu_us_bodies", "– body threads"),
    ("cpu_us_caller", "– caller"),
    ("cpu_us_others", "– other threads"),
    ("no_core_us", "ready to run, but without a core, µs"),
    ("switches", "voluntary switches of threads"),
    ("gil_percent", "GIL held, % of samples"),
    ("gil_percent_loop", "– by the event loop"),
    ("gil_percent_lanes", "– by lanes"),
    ("gil_percent_bodies", "– by body threads"),
    ("gil_percent_caller", "– by the caller"),
    ("gil_percent_others", "– by other threads"),
    ("commits", "commits of the ledger"),
    ("transitions", "transitions"),
    ("bytes_carried", "bytes of text that commits carry"),
    ("bound_values", "bound values"),
    ("bytes_written", "bytes written to files and pipes"),
    ("server_cpu_us", "CPU of PostgreSQL, µs"),
    ("transactions", "transactions of the database"),
    ("rows_inserted", "rows inserted"),
    ("rows_inserted_run", "– run"),
    ("rows_inserted_task", "– task"),
    ("rows_inserted_history_commit", "– history"),
    ("rows_updated", "rows updated"),
    ("rows_updated_run", "– run"),
    ("rows_updated_task", "– task"),
    ("hot_percent", "HOT updates, % of updates"),
    ("hot_percent_run", "– run"),
    ("hot_percent_task", "– task"),
    ("wal_bytes", "bytes of WAL"),
    ("wal_syncs", "syncs of WAL"),
    ("sync_us", "µs of one sync"),
    ("peak_blocks", "memory blocks at the peak"),
    ("peak_bytes", "bytes of memory at the peak"),
    ("blocks_kept", "memory blocks kept"),
    ("collections_young", "collections, young"),
    ("collections_middle", "collections, middle"),
    ("collections_old", "collections, old"),
    ("collector_us", "garbage collector, CPU µs"),
)
"""Measures in the order of the table, per step unless their name says otherwise."""
STATEMENT = {
    "calls": "calls",
    "rows": "rows",
    "us": "µs",
    "planning_us": "of it planning, µs",
    "wal_bytes": "bytes of WAL",
    "full_page_images": "full-page images",
}
KINDS = {
    "loop": "event loop",
    "lanes": "lanes",
    "bodies": "body threads",
    "caller": "caller",
    "others": "other threads",
}


def print_tables(store: str, found: Sequence[dict[str, Any]]) -> None:
    """Prints everything that was found out about workloads on this store."""
    names = [each["workload"] for each in found]
    print(f"\n## {store}, per step (W3, W5: a step is a run)\n")
    rows = [
        [label, *(_number(each["measures"].get(key)) for each in found)]
        for key, label in MEASURES
        if any(each["measures"].get(key) for each in found)
    ]
    rows.append(["load average before", *(str(each["load_average"]) for each in found)])
    rows.append(["steps counted", *(str(each["steps"]) for each in found)])
    print_table(["", *names], rows)
    for note in sorted({note for each in found for note in each["notes"]}):
        print(f"\n{note}")
    for each in found:
        _print_workload(store, each)


def _print_workload(store: str, found: dict[str, Any]) -> None:
    title = f"{found['workload']} on {store}"
    if found["statements"]:
        print(f"\n### {title}: statements, per step, by elapsed time\n")
        columns = [key for key in STATEMENT if any(key in row for row in found["statements"])]
        rows = [[row["name"], *(_number(row.get(key)) for key in columns)] for row in found["statements"]]
        print_table(["statement", *(STATEMENT[key] for key in columns)], rows)
    for kind, label in KINDS.items():
        for key, how in (("own", "by own time"), ("inclusive", "with all that they call")):
            if functions := found.get("functions", {}).get(kind, {}).get(key):
                print(f"\n### {title}: {label}, functions {how}\n")
                rows = [[row["function"], _number(row["us"]), _number(row["gil_percent"])] for row in functions]
                print_table(["function", "µs per step", "holds the GIL, % of all samples"], rows)
    if found.get("timeline"):
        print(f"\n### {title}: from submit to done, ms\n")
        rows = [
            [name, KINDS[kind], *(f"{value:.2f}" for value in (gap, p50, p99))]
            for name, kind, p50, p99, gap in found["timeline"]
        ]
        print_table(["point", "thread", "since the point before, p50", "since submit, p50", "p99"], rows)


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for number, row in enumerate((head, *rows)):
        cells = [
            cell.ljust(width) if not at else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print(f"| {' | '.join(cells)} |")
        if not number:
            print(f"|{'|'.join('-' * (width + 1) + ('-' if not at else ':') for at, width in enumerate(widths))}|")


def _number(value: float | None) -> str:
    """Returns three digits of the value, or all before the point if there are more."""
    if value is None:
        return ""
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 4
    return f"{value:,.{digits}f}"
