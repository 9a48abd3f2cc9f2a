"""``turnout run``: runs a workflow in this process."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from turnout.cli.options import Database, Json, NoWait, Parameters, Target
from turnout.errors import InvalidInput
from turnout.model.durations import seconds


def run(
    target: Target,
    parameters: Parameters = None,
    file: Annotated[
        str | None,
        typer.Option("--input", "-i", metavar="FILE|JSON", help="JSON object of parameters; - is standard input."),
    ] = None,
    key: Annotated[str | None, typer.Option(help="Idempotency key: the same key and input give the same run.")] = None,
    priority: Annotated[int, typer.Option(help="Higher goes first.")] = 0,
    timeout: Annotated[str | None, typer.Option(help="Fail the run after this long, as 30s, 5m or 1h30m.")] = None,
    no_wait: NoWait = False,
    as_json: Json = False,
    database: Database = None,
) -> int:
    """Run a workflow, show its tasks, and print its result.

    \b
    turnout run shop.orders:fulfil -p customer=Ada -p total=21
    turnout run fulfil --input '{"customer": "Ada"}'      # a workflow of those that are configured
    turnout run flows/etl.py --input order.json --timeout 5m
    turnout run flows/etl.py --no-wait        # for a Runner elsewhere
    """
    from turnout.authoring.parameters import parse_parameters
    from turnout.cli.foreground import (
        Hints,
        database_wait_notice,
        foreground_runner,
        notice_if_slow,
        print_existing,
        print_submitted,
    )
    from turnout.runner.settings import configuration
    from turnout.runner.targets import find_workflow

    config = configuration()
    limit = None if timeout is None else seconds(timeout, "--timeout")
    workflow = find_workflow(target, config.get("workflows") or (), (config.root,))
    input = parse_parameters(workflow, parameters or (), input_file(file))
    with foreground_runner(config, database, [workflow], as_json=as_json, drives=not no_wait) as foreground:
        runner = foreground.runner
        with notice_if_slow(database_wait_notice(config, database), quiet=as_json):
            submitted_at = time.time()
            handle = runner.submit_with(workflow, key=key, priority=priority, timeout=limit, input=input)
        existing = None if key is None or (view := handle.status()).created_at >= submitted_at else view
        if existing is not None and not as_json:
            print_existing(existing)
        if no_wait:
            return print_submitted(runner, handle.id, as_json=as_json, existing=existing)
        if key is not None:
            runner.core.admin.take(handle.id)
        spec = runner.core.submitter.graph_of(workflow).spec
        return foreground.drive(handle, spec, Hints(target, database))


INPUT_HINT = """--input FILE, --input - for standard input, or the JSON itself: --input '{"name": "Ada"}'"""


def input_file(file: str | None) -> Mapping[str, Any]:
    """Returns the parameters from a JSON file, standard input (``-``) or the option itself; empty for None."""
    if file is None:
        return {}
    is_json = file.lstrip()[:1] in ("{", "[")
    where = "standard input" if file == "-" else "--input" if is_json else file
    try:
        text = file if is_json else sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"{where} cannot be read: {error.strerror}", code="bad_input_file", hint=INPUT_HINT
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{where} is not UTF-8 text", code="bad_input_file") from error
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"{where} is not JSON: {error}", code="bad_input_file", hint=INPUT_HINT) from error
    if not isinstance(found, dict):
        raise InvalidInput(
            f"{where} holds no object with the parameters by name", code="bad_input_file", hint=INPUT_HINT
        )
    return found
