"""Assembles the commands of ``turnout`` and their common help."""

from __future__ import annotations

from typing import Annotated

import typer

from turnout.cli import (
    config,
    conformance,
    demo,
    dev,
    doctor,
    enqueue,
    explain,
    graph,
    health,
    hooks,
    init,
    keys,
    limits,
    logs,
    orchestrate,
    prune,
    run,
    runs,
    schedules,
    schema,
    server,
    tokens,
    top,
    triggers,
    validate,
    worker,
    workers,
)
from turnout.cli.config_option import add_config_option
from turnout.cli.options import Group

HELP = """Durable workflows for Python.

\b
turnout init                               a project to start from
turnout run flows.py -p name=Ada           run a workflow and watch it
turnout enqueue flows.py -p name=Ada       store a run for an orchestrator
turnout runs ls                            what has run
turnout runs show last                     how it went, task by task
turnout logs last                          what its tasks printed
turnout runs rerun last                    again, from what failed
turnout validate nightly.yaml              every problem of a workflow file, with its line
turnout explain flows.py                   where each task goes, and why
turnout top                                watch the orchestrators work
turnout dev flows.py                       a server for one developer
turnout server flows.py                    drive runs and serve the API
turnout schedules next                     what runs by itself, and when
turnout tokens create ci --role operator   access to the API
turnout hooks create shop fulfil           an address that starts runs
turnout orchestrate flows.py               drive runs, as a process of its own
turnout worker --connect tcp://…           run tasks for a hub elsewhere
turnout workers ls                         the connected workers and their load
turnout limits ls                          limits and queues, and what waits for them
"""

app = typer.Typer(
    cls=Group, rich_markup_mode=None, no_args_is_help=False, invoke_without_command=True, pretty_exceptions_enable=False
)


@app.callback(help=HELP)
def turnout(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"turnout {installed('turnout')}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


for command in (
    run.run,
    enqueue.enqueue,
    logs.logs,
    graph.graph,
    explain.explain,
    validate.validate,
    schema.schema,
    init.init,
    health.health,
    top.top,
    health.metrics,
    doctor.doctor,
    prune.prune,
    server.server,
    dev.dev,
    orchestrate.orchestrate,
    worker.worker,
    conformance.conformance,
    demo.demo,
):
    app.command()(command)
app.add_typer(runs.app, name="runs")
app.add_typer(workers.app, name="workers")
app.add_typer(limits.app, name="limits")
app.add_typer(schedules.app, name="schedules")
app.add_typer(tokens.app, name="tokens")
app.add_typer(hooks.app, name="hooks")
app.add_typer(triggers.app, name="triggers")
app.add_typer(config.app, name="config")
app.add_typer(keys.app, name="keys")
add_config_option(app)
