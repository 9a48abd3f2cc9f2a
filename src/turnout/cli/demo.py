"""``turnout demo``: an example run in a few seconds, without a project, and a page with more of them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from turnout.cli.options import Json
from turnout.cli.output import Line, is_terminal, plain, print_json, print_line, stdout_for_json, table_of_rows
from turnout.model.texts import json_text

if TYPE_CHECKING:
    from turnout.cli.logs import LineQueue
    from turnout.runner import Runner
    from turnout.runner.config import Config
    from turnout.runner.views import RunView


def demo(
    web: Annotated[bool, typer.Option("--web", help="Then serve the web interface with more runs.")] = False,
    port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Of the web interface; by default 8470, else a free one.")
    ] = None,
    stay: Annotated[
        bool | None,
        typer.Option("--stay/--no-stay", help="Serve until Ctrl-C, or until the page has answered."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Run an example order and show what Turnout does with it.

    The graph, where each task goes and why, the live tree, the result. Its database is in a temporary folder. With
    --web it goes on to the web interface, on this machine only, with runs that have ended, failed, work and wait. On a
    terminal it serves them until Ctrl-C; without one it shows that the page answers, and ends.

    \b
    turnout demo
    turnout demo --web
    """
    if not web and (port is not None or stay is not None):
        raise typer.BadParameter("--port, --stay and --no-stay are about the page: give --web as well")
    return run_demo(as_json=as_json, web=Web(port, is_terminal() if stay is None else stay) if web else None)


class Web(msgspec.Struct, frozen=True):
    """The options of the page."""

    port: int | None
    stay: bool
    """Whether it is served until a stop signal."""


def run_demo(*, as_json: bool = False, web: Web | None = None) -> int:
    from turnout.cli.logs import LineQueue

    queue = LineQueue()
    with stdout_for_json(as_json), ExitStack() as stack:
        if web is None:
            runner = stack.enter_context(demo_runner(queue))
            shown = show_order(runner, queue, quiet=as_json)
        else:
            from turnout.cli.demo_page import serve_demo

            config = stack.enter_context(demo_config())
            serve_demo(config, queue, web, as_json=as_json)
            return 0
    if as_json:
        print_json(shown)
    else:
        print_line("\nStart your own with `turnout init`.")
    return 0


@contextmanager
def demo_config() -> Iterator[Config]:
    """Yields the configuration of the demo's project in a temporary folder. That of this machine does not count."""
    from turnout.runner.config import read_config

    with tempfile.TemporaryDirectory(prefix="turnout-demo-") as folder:
        with as_file(files("turnout.cli") / "demo_project") as project:
            shutil.copytree(project, folder, dirs_exist_ok=True)
        yield read_config(Path(folder), {})


@contextmanager
def demo_runner(queue: LineQueue) -> Iterator[Runner]:
    """Yields a Runner with two executors and a rule, on a temporary database."""
    from turnout.cli.demo_orders import fulfil
    from turnout.cli.foreground import without_echo
    from turnout.runner import EngineSettings, Runner

    settings = without_echo(EngineSettings())
    with (
        demo_config() as config,
        Runner(config=config, workflows=(fulfil,), settings=settings, on_output=queue.put) as runner,
    ):
        yield runner


def show_order(runner: Runner, queue: LineQueue, *, quiet: bool) -> dict[str, Any]:
    """Runs the example order, shows it unless ``quiet``, and returns its run and its result."""
    from turnout.cli.demo_orders import ORDER, fulfil
    from turnout.cli.interrupt import Interrupt
    from turnout.cli.watch import follow
    from turnout.cli.watched_run import WatchedRun

    with Interrupt() as interrupt:
        if not quiet:
            for line in introduction(runner):
                print_line(line)
        run = runner.submit(fulfil, ORDER)
        follow(WatchedRun(runner.core, run, fulfil.spec, queue, interrupt), quiet=quiet)
        result, view = run.result(), run.status()
    if not quiet:
        for line in conclusion(view, result):
            print_line(line)
    return {"run_id": view.id, "state": str(view.state), "result": result}


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
    ]
