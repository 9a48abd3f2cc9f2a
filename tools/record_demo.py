"""Makes docs/demo.svg, the picture of ``turnout demo`` in the README: python tools/record_demo.py

The run is a real one. Two moments of its live tree are kept: the payment waits for its second attempt, and the end.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from turnout.cli.demo import conclusion, demo_runner, introduction
from turnout.cli.demo_orders import ORDER, fulfil
from turnout.cli.interrupt import Interrupt
from turnout.cli.logs import LineQueue
from turnout.cli.output import Line
from turnout.cli.watch import WatchedRun, as_text, tree_lines
from turnout.model.states import TaskState
from turnout.runner.views import task_view

TARGET = Path(__file__).parents[1] / "docs" / "demo.svg"
WIDTH = 96
THEME = TerminalTheme(
    (24, 24, 27),
    (228, 228, 231),
    [
        (24, 24, 27),
        (248, 113, 113),
        (74, 222, 128),
        (250, 204, 21),
        (96, 165, 250),
        (232, 121, 249),
        (34, 211, 238),
        (228, 228, 231),
    ],
)


def main() -> None:
    console = Console(record=True, file=io.StringIO(), width=WIDTH, force_terminal=True, color_system="truecolor")

    def show(lines: Sequence[Line]) -> None:
        console.print(as_text(lines), highlight=False)

    show([[("$ turnout demo", "bold")]])
    queue = LineQueue()
    with demo_runner(queue) as runner:
        show(introduction(runner))
        began = time.time()
        run = runner.submit(fulfil, ORDER)
        while True:
            tasks = [task_view(row) for row in runner.core.reader.look(run.id)]
            if any(task.state is TaskState.READY and task.reason == "retry_at" for task in tasks):
                break
            time.sleep(0.01)
        watched = WatchedRun(runner.core, run, fulfil.spec, queue, Interrupt())
        show([*watched.remaining_lines(), *tree_lines(fulfil.spec, run.id, tasks, time.time(), began, 100)])
        result = run.result()
        show(
            [
                [("  ⋮", "dim")],
                *watched.remaining_lines(),
                *tree_lines(fulfil.spec, run.id, run.tasks(), time.time(), began, 100),
            ]
        )
        show(conclusion(run.status(), result))
    # No fonts from elsewhere, and no ids that differ with each recording.
    svg = console.export_svg(title="turnout demo", theme=THEME, unique_id="demo")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!-- .*? -->\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code", "ui-monospace, Menlo, Consolas")
    TARGET.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n", encoding="utf-8")
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
