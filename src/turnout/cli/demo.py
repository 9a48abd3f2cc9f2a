"""``turnout demo``: an example run in a few seconds, without a project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from turnout.cli.options import Json
from turnout.cli.output import Line, plain, print_json, print_line, stdout_for_json, table_of_rows
from turnout.model.texts import json_text

if TYPE_CHECKING:
    from turnout.cli.logs import LineQueue
    from turnout.runner import Runner
    from turnout.runner.views import RunView


def demo(as_json: Json = False) -> int:
    """Run an example order and show what Turnout does with it.

    The graph, where each task goes and why, the live tree, the result. Its database is in a temporary folder.
    """
    return run_demo(as_json=as_json)


@contextmanager
def demo_runner(queue: LineQueue) -> Iterator[Runner]:
    """Yields a Runner with two executors and a rule, on a temporary database."""
    import tempfile

    from turnout.cli.demo_orders import fulfil
    from turnout.cli.foreground import without_echo
    from turnout.dispatcher import RoutingConfig, RoutingRule
    from turnout.executors.thread import ThreadExecutor
    from turnout.runner import EngineSettings, Runner

    with (
        tempfile.TemporaryDirectory(prefix="turnout-demo-") as folder,
        Runner(
            f"sqlite:///{folder}/turnout.db",
            config=False,
            workflows=(fulfil,),
            routing=RoutingConfig("default").with_rule(RoutingRule("**::fulfil::label", "printers")),
            settings=without_echo(EngineSettings()),
            on_output=queue.put,
            executors={"printers": ThreadExecutor(threads=1, name="printers")},
        ) as runner,
    ):
        yield runner


def run_demo(*, as_json: bool = False) -> int:
    from turnout.cli.demo_orders import ORDER, fulfil
    from turnout.cli.interrupt import Interrupt
    from turnout.cli.logs import LineQueue
    from turnout.cli.watch import follow
    from turnout.cli.watched_run import WatchedRun

    queue = LineQueue()
    with stdout_for_json(as_json), Interrupt() as interrupt, demo_runner(queue) as runner:
        if not as_json:
            for line in introduction(runner):
                print_line(line)
        run = runner.submit(fulfil, ORDER)
        follow(WatchedRun(runner.core, run, fulfil.spec, queue, interrupt), quiet=as_json)
        result, view = run.result(), run.status()
    if as_json:
        print_json({"run_id": view.id, "state": str(view.state), "result": result})
    else:
        for line in conclusion(view, result):
            print_line(line)
    return 0


def introduction(runner: Runner) -> list[Line]:
    """Returns the lines before the run: the graph, and the executor of each task."""
    from turnout.cli.demo_orders import fulfil
    from turnout.rendering.text import text_diagram

    places = [
        [(f"  {name}", ""), (each.decision.executor_key, "cyan"), (each.decision.reason, "dim")]
        for name, each in runner.explain(fulfil).items()
    ]
    return [
        [("An order as a workflow (turnout graph)", "bold")],
        *([(f"  {line}", "")] for line in text_diagram(fulfil.spec).splitlines()),
        [],
        [("Where each task goes, and why (turnout explain)", "bold")],
        *table_of_rows(places),
        [],
        [("The run (turnout run)", "bold")],
    ]


def conclusion(view: RunView, result: Any) -> list[Line]:
    from turnout.cli.watch import summary

    took = (view.finished_at or view.created_at) - view.created_at
    return [
        summary(view.id, view.workflow, view.state, took),
        [(json_text(plain(result)), "")],
        [],
        [("Start your own with `turnout init`.", "")],
    ]
