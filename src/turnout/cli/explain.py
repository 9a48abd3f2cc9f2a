"""``turnout explain``: the executor of each task, and the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from turnout.cli.format import format_count
from turnout.cli.options import Json, Target
from turnout.cli.place import HERE, Place, placed

if TYPE_CHECKING:
    from turnout.cli.service import ExplainedTask


@placed
def explain(
    target: Target,
    task: Annotated[str | None, typer.Argument(metavar="TASK", help="Only this task, with the whole trace.")] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Show every step that was considered.")] = False,
    hub: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="As if this hub were configured, as with orchestrate --hub.")
    ] = None,
    as_json: Json = False,
    place: Place = HERE,
) -> None:
    """Say which executor each task goes to, and why.

    The rule that chose it is named; of tasks that go to workers, which connected workers could run them; and how many
    of the workflow's runs are not driven.

    \b
    turnout explain shop.orders:fulfil
    turnout explain shop.orders:fulfil charge
    turnout explain shop.orders:fulfil --hub tcp://127.0.0.1:5890
    turnout explain fulfil --server https://turnout.example.org
    """
    from turnout.cli.output import print_json, print_line
    from turnout.cli.service import service_at
    from turnout.errors import InvalidInput
    from turnout.model.driver import NOT_DRIVEN
    from turnout.model.names import suggest

    with service_at(place) as service:
        explained = service.workflows.explain(target, hub)
    found = explained.tasks
    if task is not None:
        found = [each for each in found if each.name == task]
        if not found:
            names = [each.name for each in explained.tasks]
            raise InvalidInput(f"{target} has no task {task!r}{suggest(task, names)}", code="no_such_task")
    if as_json:
        print_json([_document(each, explained.not_driven) for each in found])
        return
    if trace or task is not None:
        for each in found:
            print_line(each.explanation.text())
            if each.need is not None:
                print_line(f"  {each.need.text()}")
    else:
        _print_table(found)
        for note in explained.notes:
            print_line([(note, "yellow")])
    if explained.not_driven:
        print_line([(f"{format_count(explained.not_driven, 'unfinished run')} of it {NOT_DRIVEN}", "yellow")])
    for each in found:
        if each.warning is not None:
            print_line([(f"warning: {each.warning}", "yellow")])


def _print_table(found: Sequence[ExplainedTask]) -> None:
    from turnout.cli.output import print_line, print_rows

    rows = [
        [(each.name, ""), (decision.executor_key, "cyan"), (decision.reason, "dim")]
        for each in found
        for decision in (each.explanation.decision,)
    ]
    print_rows(rows, ("task", "executor", "why"))
    for each in found:
        if each.need is not None:
            print_line([(f"{each.name} ", ""), (each.need.text(), "dim" if each.need.matching else "yellow")])


def _document(each: ExplainedTask, not_driven: int) -> dict[str, Any]:
    explanation = each.explanation
    asked = explanation.decision.resources
    return {
        "task": each.name,
        "full_name": explanation.task_name,
        "executor": explanation.decision.executor_key,
        "labels": explanation.decision.labels,
        "resources": None if asked is None else asked.document(),
        "reason": explanation.decision.reason,
        "trace": explanation.steps,
        "workers": each.need,
        "warning": each.warning,
        "runs_not_driven": not_driven,
    }
