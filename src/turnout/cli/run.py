"""``turnout run``: runs a workflow in this process."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from turnout.cli.options import (
    Arguments,
    Database,
    Json,
    Key,
    NoWait,
    Parameters,
    ParametersFile,
    Priority,
    Target,
    Timeout,
)
from turnout.errors import InvalidInput
from turnout.model.durations import seconds


def run(
    target: Target,
    arguments: Arguments = None,
    parameters: Parameters = None,
    file: ParametersFile = None,
    key: Key = None,
    priority: Priority = 0,
    timeout: Timeout = None,
    no_wait: NoWait = False,
    as_json: Json = False,
    database: Database = None,
) -> int:
    """Run a workflow, show its tasks, and print its result.

    \b
    turnout run shop.orders:fulfil -p customer=Ada -p total=21
    turnout run fulfil --input '{"customer": "Ada"}'      # a workflow of those that are configured
    turnout run flows/etl.py --input order.json --timeout 5m
    turnout run nightly.yaml -- monday LIMIT=10
    turnout run flows/etl.py --no-wait        # for a Runner elsewhere, as turnout enqueue
    """
    given = Start(target, parameters or (), file, key, priority, timeout, arguments or ())
    return start(given, database, drives=not no_wait, as_json=as_json)


class Start(msgspec.Struct, frozen=True):
    """A run as the command line asks for it."""

    target: str
    parameters: Sequence[str] = ()
    file: str | None = None
    key: str | None = None
    priority: int = 0
    timeout: str | None = None
    arguments: Sequence[str] = ()
    """Values of parameters in their order, or ``NAME=value``."""

    @property
    def seconds(self) -> float | None:
        return None if self.timeout is None else seconds(self.timeout, "--timeout")


def start(given: Start, database: str | None, *, drives: bool, as_json: bool, quiet: bool = False) -> int:
    """Drives the run in this process until it ends, or only stores it; returns the exit code."""
    from turnout.authoring.parameters import named_arguments, parse_parameters
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

    config, limit = configuration(), given.seconds
    workflow = find_workflow(given.target, config.get("workflows") or (), (config.root,))
    pairs = [*named_arguments(workflow, given.arguments), *given.parameters]
    input = parse_parameters(workflow, pairs, input_file(given.file))
    with foreground_runner(config, database, [workflow], as_json=as_json, drives=drives) as foreground:
        runner = foreground.runner
        with notice_if_slow(database_wait_notice(config, database), quiet=as_json):
            submitted_at = time.time()
            handle = runner.submit_with(workflow, key=given.key, priority=given.priority, timeout=limit, input=input)
        existing = None if given.key is None or (view := handle.status()).created_at >= submitted_at else view
        if existing is not None and not as_json:
            print_existing(existing)
        if not drives:
            return print_submitted(runner, handle, as_json=as_json, existing=existing, quiet=quiet)
        if given.key is not None:
            runner.core.admin.take(handle.id)
        spec = runner.core.submitter.graph_of(workflow).spec
        return foreground.drive(handle, spec, Hints(given.target, database))


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
