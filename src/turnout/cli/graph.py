"""``turnout graph``: draws a workflow, or a run with the states of its tasks."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from turnout.cli.format import MARKS
from turnout.cli.options import Database, Json
from turnout.cli.output import Line, plain_text, print_json, print_line

if TYPE_CHECKING:
    from turnout.model.spec import WorkflowSpec
    from turnout.rendering.diagrams import States


class Format(StrEnum):
    ascii = "ascii"
    mermaid = "mermaid"
    dot = "dot"
    svg = "svg"


def graph(
    subject: Annotated[
        str, typer.Argument(metavar="TARGET|RUN", help="A workflow, or a run to see it with its states.")
    ],
    format: Annotated[Format, typer.Option("--format", "-f", help="How to draw it.")] = Format.ascii,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to a file.")] = None,
    as_json: Json = False,
    database: Database = None,
) -> None:
    """Draw a workflow's graph; of a run, with its states.

    \b
    turnout graph flows.py
    turnout graph last --format svg --output run.svg
    """
    from turnout.rendering.diagrams import edges

    spec, states = load_graph(subject, database)
    if as_json:
        tasks = [{"name": task.name, "state": (states or {}).get(task.name)} for task in spec.tasks]
        print_json({"workflow": spec.full_name, "tasks": tasks, "edges": edges(spec)})
        return
    lines = render(spec, states, format.value)
    if output is None:
        for line in lines:
            print_line(line)
    else:
        output.write_text("".join(f"{plain_text(line)}\n" for line in lines), encoding="utf-8")
        print_line(f"wrote {output}")


def load_graph(subject: str, database: str | None) -> tuple[WorkflowSpec, States | None]:
    """Returns the workflow of a target, or that of a run and the states of its tasks."""
    from turnout.authoring.yaml.run_retries import steps_of
    from turnout.cli.database import open_store
    from turnout.runner.run_reader import LAST, find_run, spec_of_version
    from turnout.runner.settings import configuration
    from turnout.runner.targets import find_workflow

    if subject == LAST or _is_run_id(subject):
        with open_store(database) as store:
            run = find_run(store, subject)
            states = {row.name: row.state for row in store.tasks(run.new.run_id, outputs=False)}
            return spec_of_version(store, run.new.version), states
    config = configuration()
    return steps_of(find_workflow(subject, config.workflow_places, (config.root,))).spec, None


def _is_run_id(text: str) -> bool:
    """Returns True for a text that can be a run's id: ids begin with digits, module names do not."""
    return text[:1].isdigit() and not text.endswith(".py") and ":" not in text and "/" not in text


def render(spec: WorkflowSpec, states: States | None, format: str) -> list[Line]:
    from turnout.rendering.diagrams import dot, mermaid
    from turnout.rendering.svg import svg
    from turnout.rendering.text import text_diagram

    match format:
        case "mermaid":
            return _plain(mermaid(spec, states))
        case "dot":
            return _plain(dot(spec, states))
        case "svg":
            return _plain(svg(spec, states))
        case _:
            return _with_marks(text_diagram(spec), states)


def _plain(text: str) -> list[Line]:
    return [[(line, "")] for line in text.rstrip("\n").split("\n")]


def _with_marks(text: str, states: States | None) -> list[Line]:
    """Puts the mark of its state before each task. A line begins with the task's name and, if mapped, ``[…]``."""
    if states is None:
        return _plain(text)
    return [_marked(line, states) if line else [] for line in text.splitlines()]


def _marked(line: str, states: States) -> Line:
    mark, style = MARKS[states[line.split(maxsplit=1)[0].partition("[")[0]]]
    return [(mark, style), (f" {line}", "")]
