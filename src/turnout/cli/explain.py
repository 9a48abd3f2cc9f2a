"""``turnout explain``: the executor of each task, and the reason."""

from __future__ import annotations

from typing import Annotated

import typer

from turnout.cli.format import format_count
from turnout.cli.options import Database, Json, Target


def explain(
    target: Target,
    task: Annotated[str | None, typer.Argument(metavar="TASK", help="Only this task, with the whole trace.")] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Show every step that was considered.")] = False,
    hub: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="As if this hub were configured, as with orchestrate --hub.")
    ] = None,
    as_json: Json = False,
    database: Database = None,
) -> None:
    """Say which executor each task goes to, and why.

    The rule that chose it is named; of tasks that go to workers, which connected workers could run them; and how many
    of the workflow's runs are not driven.

    \b
    turnout explain shop.orders:fulfil
    turnout explain shop.orders:fulfil charge
    turnout explain shop.orders:fulfil --hub tcp://127.0.0.1:5890
    """
    from turnout.cli.database import count_not_driven
    from turnout.cli.output import print_json, print_line, print_rows
    from turnout.cli.workers import connected_workers, hubs_at
    from turnout.dispatcher.placement import hub_warning, needs_hub_config
    from turnout.errors import InvalidInput
    from turnout.model.driver import NOT_DRIVEN
    from turnout.model.names import suggest
    from turnout.runner.composition import Plan, remote_needs
    from turnout.runner.settings import configuration
    from turnout.runner.targets import find_workflow

    config = configuration()
    workflow = find_workflow(target, config.get("workflows") or (), (config.root,))
    plan = Plan(config, hub)
    found = plan.explain(workflow)
    if task is not None:
        if task not in found:
            raise InvalidInput(f"{target} has no task {task!r}{suggest(task, found)}", code="no_such_task")
        found = {task: found[task]}
    needs = remote_needs(workflow, found, lambda: connected_workers(database))
    tasks = {each.name: each for each in workflow.spec.tasks}
    local = {name: each.decision for name, each in found.items() if needs_hub_config(each.decision)}
    warnings = {name: hub_warning(tasks[name], decision) for name, decision in local.items()}
    left = count_not_driven(database, workflow.spec.full_name)
    if as_json:
        print_json(
            [
                {
                    "task": name,
                    "full_name": each.task_name,
                    "executor": each.decision.executor_key,
                    "labels": each.decision.labels,
                    "reason": each.decision.reason,
                    "trace": each.steps,
                    "workers": needs.get(name),
                    "warning": warnings.get(name),
                    "runs_not_driven": left,
                }
                for name, each in found.items()
            ]
        )
    elif trace or task is not None:
        for name, each in found.items():
            print_line(each.text())
            if name in needs:
                print_line(f"  {needs[name].text()}")
    else:
        rows = [
            [(name, ""), (each.decision.executor_key, "cyan"), (each.decision.reason, "dim")]
            for name, each in found.items()
        ]
        print_rows(rows, ("task", "executor", "why"))
        for name, need in needs.items():
            print_line([(f"{name} ", ""), (need.text(), "dim" if need.matching else "yellow")])
        for orchestrator, address in hubs_at(database) if hub is None and config.hub is None else ():
            print_line(
                [(f"orchestrator {orchestrator} has a hub, which is not configured here: --hub {address}", "yellow")]
            )
    if left and not as_json:
        print_line([(f"{format_count(left, 'unfinished run')} of it {NOT_DRIVEN}", "yellow")])
    for warning in () if as_json else warnings.values():
        print_line([(f"warning: {warning}", "yellow")])
