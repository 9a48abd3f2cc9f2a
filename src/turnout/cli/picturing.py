"""Which graph is meant, and how is it drawn?"""

from __future__ import annotations

from turnout.cli.opening import open_store
from turnout.cli.output import Line
from turnout.cli.wording import MARKS
from turnout.model.spec import WorkflowSpec
from turnout.rendering.diagrams import States, dot, mermaid
from turnout.rendering.svg import svg
from turnout.rendering.text import text_diagram
from turnout.runner.lookup import LAST, find_run
from turnout.runner.settings import configuration
from turnout.runner.stored_specs import spec_of_version
from turnout.runner.targets import find_workflow


def subject_of(subject: str, database: str | None) -> tuple[WorkflowSpec, States | None]:
    """The workflow of a target; or a run's, with the states of its tasks."""
    if subject == LAST or _looks_like_an_id(subject):
        with open_store(database) as store:
            run = find_run(store, subject)
            states = {row.name: row.state for row in store.tasks(run.new.run_id, outputs=False)}
            return spec_of_version(store, run.new.version), states
    config = configuration()
    return find_workflow(subject, config.get("workflows") or (), (config.root,)).spec, None


def _looks_like_an_id(text: str) -> bool:
    """Ids begin with the time, hence with digits, as no module does."""
    return text[:1].isdigit() and not text.endswith(".py") and ":" not in text and "/" not in text


def drawn(spec: WorkflowSpec, states: States | None, format: str) -> list[Line]:
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
    """Each line of the picture begins with a task's name, a mapped one's with ``[…]``: its state goes before it."""
    if states is None:
        return _plain(text)
    return [_marked(line, states) if line else [] for line in text.splitlines()]


def _marked(line: str, states: States) -> Line:
    mark, style = MARKS[states[line.split(maxsplit=1)[0].partition("[")[0]]]
    return [(mark, style), (f" {line}", "")]
