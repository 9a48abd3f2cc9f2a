"""``turnout validate``: checks workflows and their routes."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from turnout.cli.format import format_count
from turnout.cli.options import Json


def validate(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET…", help="Modules, Python and YAML files, folders or workflows; else the configured ones."
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Check workflows and their routes without running anything.

    Nothing is stored either. Every problem of a YAML file is printed with its line and column.

    \b
    turnout validate flows/*.py
    turnout validate shop.orders:fulfil
    turnout validate nightly.yaml flows/
    """
    from turnout.cli.failure import Exit
    from turnout.cli.output import print_json, print_line
    from turnout.cli.validate_files import checked_file, expanded, finding_lines
    from turnout.errors import InvalidTarget, TurnoutError
    from turnout.runner.composition import Plan
    from turnout.runner.settings import configuration
    from turnout.runner.targets import load_workflows, module_of, task_refs, trigger_names, yaml_files
    from turnout.runner.workflow_files import is_workflow_file

    config = configuration()
    wanted = targets or config.workflow_places
    if not wanted:
        raise InvalidTarget(
            "there is nothing to validate: name a file or module, or set `workflows` in the configuration",
            code="no_target",
        )
    # What the user names here may be imported, as what is configured.
    named = tuple(dict.fromkeys((*config.workflow_places, *wanted)))
    plan, files = Plan(config), yaml_files(named, (config.root,))
    found: list[dict[str, Any]] = []
    for target, folder in expanded(list(wanted)):
        try:
            if is_workflow_file(target):
                found += checked_file(target, folder, files, partial(_checked, target, plan))
            elif workflows := load_workflows(target, (config.root,), named):
                found += [_checked(target, plan, each) for each in workflows]
            else:
                module = module_of(target, (config.root,))
                declared = {"declares": task_refs(module), "triggers": trigger_names(module)}
                found.append({"target": target, "ok": True, **declared})
        except TurnoutError as error:
            if folder is None or error.code != "no_workflow":
                found.append({"target": target, "ok": False, "error": {"code": error.code, "message": error.message}})
    found += _lost_triggers([each.get("workflow", "") for each in found], named, config.root)
    different = plan.limit_warnings()
    for each in found:
        each.get("warnings", []).extend(different.get(each.get("workflow", ""), ()))
    if as_json:
        print_json(found)
    else:
        for each in found:
            print_line(_line(each))
            for warning in each.get("warnings", ()):
                print_line([(f"  warning: {warning}", "yellow")])
            for line in finding_lines(each):
                print_line(line)
    return Exit.OK if all(each["ok"] for each in found) else Exit.USAGE


def _checked(target: str, plan: Any, workflow: Any) -> dict[str, Any]:
    from turnout.errors import TurnoutError

    try:
        spec, warnings = plan.check(workflow)
    except TurnoutError as error:
        document = {"code": error.code, "message": error.message}
        return {"target": target, "ok": False, "workflow": workflow.name, "error": document}
    return {
        "target": target,
        "ok": True,
        "workflow": spec.full_name,
        "version": spec.version(),
        "parameters": [
            {"name": each.name, "type": each.type, "required": each.required, "default": each.default, "doc": each.doc}
            for each in spec.params
        ],
        "tasks": [task.name for task in spec.tasks],
        "warnings": warnings,
    }


def _lost_triggers(names: Sequence[str], targets: Sequence[str], root: Path) -> list[dict[str, Any]]:
    """Returns an error for each trigger of the files that were loaded whose workflow neither they nor configured ones
    define."""
    from turnout.authoring.triggers import UNKNOWN_WORKFLOW, defined_triggers
    from turnout.errors import TurnoutError
    from turnout.runner.targets import load_workflows

    triggers, known = defined_triggers(), list(names)
    for target in targets:
        if all(each.missing(known) is None for each in triggers):
            return []
        with suppress(TurnoutError):  # it has a line of its own, or is not asked about
            known += [f"{each.package}::{each.name}" for each in load_workflows(target, (root,), targets)]
    return [
        {
            "target": inspect.getsourcefile(each.function) or each.function.__module__,
            "ok": False,
            "error": {"code": UNKNOWN_WORKFLOW, "message": why},
        }
        for each in triggers
        if (why := each.missing(known)) is not None
    ]


def _line(each: dict[str, Any]) -> list[tuple[str, str]]:
    if not each["ok"]:
        error = each["error"]
        name = f" {each['workflow']}" if "workflow" in each else ""
        return [(f"✗ {each['target']}{name}: error[{error['code']}]: {error['message']}", "red")]
    if "declares" in each:
        declared = {"task": each["declares"], "trigger": each["triggers"]}
        counts = ", ".join(format_count(len(names), noun) for noun, names in declared.items() if names)
        return [("✓ ", "green"), (each["target"], ""), (f"  {counts}, no workflow", "dim")]
    names = ", ".join(map(_parameter, each["parameters"]))
    count = format_count(len(each["tasks"]), "task")
    return [("✓ ", "green"), (f"{each['workflow']}({names})", ""), (f"  {count}", "dim")]


def _parameter(each: dict[str, Any]) -> str:
    """Returns the parameter as in a signature: ``number: int = 21``."""
    typed = f"{each['name']}: {each['type']}" if each["type"] else each["name"]
    return typed if each["required"] else f"{typed} = {json.dumps(each['default'], ensure_ascii=False)}"
