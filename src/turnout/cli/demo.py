"""``turnout demo``: see it work, in a few seconds and without a project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from turnout.cli.options import Json
from turnout.cli.output import Line, columns, plain, say, say_json, stdout_for_json
from turnout.model.printable import json_text

if TYPE_CHECKING:
    from turnout.cli.log_lines import Heard
    from turnout.runner import Runner
    from turnout.runner.views import RunView


def demo(as_json: Json = False) -> int:
    """Run an example order and show what Turnout does with it.

    The graph, where each task goes and why, the live tree, the result. Its database is in a temporary folder.
    """
    return demonstrate(as_json=as_json)


@contextmanager
def demo_runner(heard: Heard) -> Iterator[Runner]:
    """A Runner with two executors and a rule, on a database that is gone afterwards."""
    import tempfile

    from turnout.cli.demo_orders import fulfil
    from turnout.cli.log_lines import heard_only
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
            settings=heard_only(EngineSettings()),
            on_output=heard.put,
            executors={"printers": ThreadExecutor(threads=1, name="printers")},
        ) as runner,
    ):
        yield runner


def demonstrate(*, as_json: bool = False) -> int:
    from turnout.cli.demo_orders import ORDER, fulfil
    from turnout.cli.interrupt import Interrupt
    from turnout.cli.log_lines import Heard
    from turnout.cli.watch import Watched, follow

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
        *columns(places),
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
