"""Prints the table of what ``make bench`` printed, once or several times, and draws its picture.

python benchmarks/run.py --repeat 5 > bench.jsonl
python benchmarks/report.py bench.jsonl [--plot benchmarks/peers.svg]

Each figure is the median of the runs in the file, with the lowest and the highest; a ratio is that of two medians.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

Key = tuple[str, str, str]
"""Engine and store, workload, field."""
TURNOUT, SQLITE, FLOOR, FLOOR_SQLITE = "turnout postgres", "turnout sqlite", "floor postgres", "floor sqlite"
PYTHON = "turnout postgres python"
DBOS, QUEUE = "dbos/postgres", "pgqueuer"
WIDTH, LEFT, BAR = 800, 210, 22
TITLE = "Throughput of Turnout on PostgreSQL, as a multiple of its peers"


class Figures:
    """The figures of a file, by engine, workload and field."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._found: defaultdict[Key, list[float]] = defaultdict(list)
        for line in lines:
            if not line.startswith("{"):
                continue
            entry: dict[str, Any] = json.loads(line)
            engine = " ".join(filter(None, (entry["engine"], entry.get("store"), entry.get("language"))))
            for field, value in entry.items():
                if isinstance(value, int | float):
                    self._found[engine, entry["workload"], field].append(value)

    def median(self, engine: str, workload: str, field: str) -> float | None:
        found = self._found.get((engine, workload, field))
        return statistics.median(found) if found else None

    def text(self, engine: str, workload: str, field: str, unit: str) -> str:
        found = self._found.get((engine, workload, field))
        if not found:
            return ""
        return f"{_number(statistics.median(found))} {unit} ({_number(min(found))}–{_number(max(found))})"


class Comparison(NamedTuple):
    """A row of the table: a figure of Turnout, what it is compared with, and the ratio that is wanted."""

    label: str
    ours: tuple[str, str, str]
    other: tuple[str, str, str] | None
    unit: str
    wanted: str

    def ratio(self, figures: Figures) -> float | None:
        ours = figures.median(*self.ours)
        other = figures.median(*self.other) if self.other is not None else None
        return None if ours is None or not other else ours / other


ROWS = (
    Comparison("W1", (TURNOUT, "W1", "steps_per_s"), (DBOS, "W1", "steps_per_s"), "steps/s", "≥ 40"),
    Comparison("W2", (TURNOUT, "W2", "steps_per_s"), (DBOS, "W2", "steps_per_s"), "steps/s", "≥ 55"),
    Comparison("W4", (TURNOUT, "W4", "runs_per_s"), (DBOS, "W4", "workflows_per_s"), "runs/s", "≥ 55"),
    Comparison("W3, p50", (TURNOUT, "W3", "p50_ms"), (DBOS, "W3", "p50_ms"), "ms", "≤ 0.4"),
    Comparison("W3, p99", (TURNOUT, "W3", "p99_ms"), None, "ms", ""),
    Comparison("W5x2, by 10", (TURNOUT, "W5x2", "runs_per_s"), (QUEUE, "W5x2", "jobs_per_s"), "runs/s", "≥ 2"),
    Comparison("W5x2, by 100", (TURNOUT, "W5x2", "runs_per_s"), (QUEUE, "W5x2b100", "jobs_per_s"), "runs/s", "≥ 0.7"),
    Comparison(
        "W1x1000 ÷ floor", (TURNOUT, "W1x1000", "steps_per_s"), (FLOOR, "W1", "steps_per_s"), "steps/s", "≥ 0.65"
    ),
    Comparison(
        "the same on SQLite",
        (SQLITE, "W1x1000", "steps_per_s"),
        (FLOOR_SQLITE, "W1", "steps_per_s"),
        "steps/s",
        "≥ 0.5",
    ),
    Comparison("CPU of a step, orchestrator", (TURNOUT, "W1x1000", "cpu_us_per_step"), None, "µs", "≤ 45"),
    Comparison("CPU of a step, PostgreSQL", (TURNOUT, "W1x1000", "postgres_cpu_us_per_step"), None, "µs", "≤ 40"),
    Comparison("CPU of a step, SQLite in all", (SQLITE, "W1x1000", "cpu_us_per_step"), None, "µs", "≤ 60"),
    Comparison("on workers: orchestrator", (PYTHON, "W1x1000", "cpu_us_per_step"), None, "µs", "≤ 130 in all"),
    Comparison("on workers: PostgreSQL", (PYTHON, "W1x1000", "postgres_cpu_us_per_step"), None, "µs", ""),
    Comparison("on workers: both workers", (PYTHON, "W1x1000", "workers_cpu_us_per_step"), None, "µs", ""),
    *(
        Comparison(
            f"{language} ÷ Python workers",
            (f"turnout postgres {language.lower()}", "W1x1000", "steps_per_s"),
            (PYTHON, "W1x1000", "steps_per_s"),
            "steps/s",
            "≥ 0.7",
        )
        for language in ("Ruby", "Go", "Node")
    ),
)
PLOTTED = ("W1", "W2", "W4", "W5x2, by 10", "W5x2, by 100")


def table(figures: Figures) -> str:
    """Returns the comparisons as Markdown."""
    lines = ["| workload | Turnout | compared with | ratio | wanted |", "|---|---|---|--:|---|"]
    for row in ROWS:
        ours = figures.text(*row.ours, row.unit)
        if not ours:
            continue
        other = "" if row.other is None else f"{row.other[0]}: {figures.text(*row.other, row.unit)}"
        ratio = row.ratio(figures)
        lines.append(f"| {row.label} | {ours} | {other} | {'' if ratio is None else f'{ratio:.2f}'} | {row.wanted} |")
    return "\n".join(lines)


def picture(figures: Figures) -> str:
    """Draws how many times as fast as its peers Turnout is, as bars on a logarithmic axis."""
    bars = [(row, ratio) for row in ROWS if row.label in PLOTTED and (ratio := row.ratio(figures)) is not None]
    height = 60 + len(bars) * (BAR + 12) + 30

    def scale(ratio: float) -> float:
        return LEFT + (WIDTH - LEFT - 70) * math.log10(max(ratio, 0.1) * 10) / 3

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        ' font-family="system-ui, Helvetica, Arial, sans-serif" font-size="12" fill="#333">',
        f"<title>{TITLE}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="16" y="24" font-size="15" font-weight="bold">{TITLE}</text>',
    ]
    for mark in (0.1, 1, 10, 100):
        x = scale(mark)
        parts.append(f'<path d="M{x:.1f} 40V{height - 30}" stroke="{"#333" if mark == 1 else "#ddd"}"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 12}" text-anchor="middle">{mark:g} ×</text>')
    for number, (row, ratio) in enumerate(bars):
        y = 50 + number * (BAR + 12)
        peer = row.other[0].partition("/")[0] if row.other is not None else ""
        low, high = sorted((scale(1), scale(ratio)))
        colour = "#0072b2" if ratio >= 1 else "#d55e00"
        label = escape(f"{row.label} ÷ {peer}")
        parts.append(f'<text x="{LEFT - 10}" y="{y + 15}" text-anchor="end">{label}</text>')
        parts.append(f'<rect x="{low:.1f}" y="{y}" width="{high - low:.1f}" height="{BAR}" fill="{colour}"/>')
        parts.append(f'<text x="{high + 6:.1f}" y="{y + 15}">{ratio:.3g} ×</text>')
    return "\n".join([*parts, "</svg>", ""])


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="what one or more runs of `make bench` printed")
    parser.add_argument("--plot", type=Path, help="where the picture is written")
    options = parser.parse_args()
    figures = Figures(options.file.read_text().splitlines())
    print(table(figures))
    if options.plot is not None:
        options.plot.write_text(picture(figures))


if __name__ == "__main__":
    main()
