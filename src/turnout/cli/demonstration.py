"""What does the demo show? The graph, the placement with its reasons, the run, the result."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from turnout.cli.demo_orders import ORDER, fulfil
from turnout.cli.interrupt import Interrupt
from turnout.cli.output import Line, columns, plain, say, say_json, stdout_for_json
from turnout.cli.saying import Heard, heard_only
from turnout.cli.watch import Watched, follow, summary
from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.executors.thread import ThreadExecutor
from turnout.model.printable import json_text
from turnout.rendering.text import text_diagram
from turnout.runner import EngineSettings, Runner
from turnout.runner.views import RunView

RULE = RoutingRule("**::fulfil::label", "printers")


@contextmanager
def demo_runner(heard: Heard) -> Iterator[Runner]:
    """A Runner with two executors and a rule, on a database that is gone afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="turnout-demo-") as folder,
        Runner(
            f"sqlite:///{folder}/turnout.db",
            config=False,
            workflows=(fulfil,),
            routing=RoutingConfig("default").with_rule(RULE),
            settings=heard_only(EngineSettings()),
            on_output=heard.put,
            executors={"printers": ThreadExecutor(threads=1, name="printers")},
        ) as runner,
    ):
        yield runner


def demonstrate(*, as_json: bool = False) -> int:
    heard = Heard()
    with stdout_for_json(as_json), Interrupt() as interrupt, demo_runner(heard) as runner:
        if not as_json:
            for line in introduction(runner):
                say(line)
        run = runner.submit(fulfil, ORDER)
        follow(Watched(runner.core, run, fulfil.spec, heard, interrupt), quiet=as_json)
        result, view = run.result(), run.status()
    if as_json:
        say_json({"run_id": view.id, "state": str(view.state), "result": result})
    else:
        for line in conclusion(view, result):
            say(line)
    return 0


def introduction(runner: Runner) -> list[Line]:
    """What is known before the run: the graph, and where each task will go."""
    places = [
        [(f"  {name}", ""), (each.decision.executor_key, "cyan"), (each.decision.reason, "dim")]
        for name, each in runner.explain(fulfil).items()
    ]
    return [
        [("An order as a workflow (turnout graph)", "bold")],
        *([(f"  {line}", "")] for line in text_diagram(fulfil.spec).splitlines()),
        [],
        [("Where each task goes, and why (turnout explain)", "bold")],
        *columns(places),
        [],
        [("The run (turnout run)", "bold")],
    ]


def conclusion(view: RunView, result: Any) -> list[Line]:
    took = (view.finished_at or view.created_at) - view.created_at
    return [
        summary(view.id, view.workflow, view.state, took),
        [(json_text(plain(result)), "")],
        [],
        [("Start your own with `turnout init`.", "")],
    ]
