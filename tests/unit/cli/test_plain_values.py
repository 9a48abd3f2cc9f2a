"""Values of the command line are taken as Typer takes them, also those that it does not convert."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from turnout.cli.app import COMMANDS, GROUPS, NAMES, application, names_of
from turnout.cli.options import Group
from turnout.cli.plain_values import use_plain_commands


def command(
    names: Annotated[list[str] | None, typer.Argument()] = None,
    text: str | None = None,
    port: int | None = None,
    limit: Annotated[int, typer.Option(min=1, max=9)] = 3,
    factor: float = 1.5,
    tag: Annotated[list[str] | None, typer.Option()] = None,
    numbers: Annotated[list[int] | None, typer.Option()] = None,
    quiet: bool = False,
) -> None:
    typer.echo(json.dumps([names, text, port, limit, factor, tag, numbers, quiet]))


def needs(name: Annotated[str, typer.Argument()], count: Annotated[int, typer.Option()]) -> None:
    typer.echo(json.dumps([name, count]))


def app(*, plain: bool) -> typer.Typer:
    made = typer.Typer(cls=Group if plain else None, rich_markup_mode=None)
    made.command()(command)
    made.command()(needs)
    if plain:
        use_plain_commands(made)
    return made


@pytest.mark.parametrize(
    "line",
    [
        "command",
        "command a b --text x --port 8470 --limit 9 --factor 2 --tag one --tag two --numbers 3 --quiet",
        "command a --text 1 --port -5",
        "command --port x",
        "command --port １２",
        "command --limit 0",
        "command --limit 10",
        "command --numbers x",
        "command --nothing",
        "needs",
        "needs a",
        "needs a --count 4",
        "needs a --count many",
    ],
)
def test_a_command_line_gives_what_it_gives_without_it(line: str) -> None:
    plain, converted = (CliRunner().invoke(app(plain=each), line.split()) for each in (True, False))
    assert (plain.exit_code, plain.stdout) == (converted.exit_code, converted.stdout)
    assert plain.stderr == converted.stderr


def test_a_command_line_needs_the_modules_of_its_command_only() -> None:
    assert names_of(["server", "flows.py"]) == ("server",)
    assert names_of(["--version"]) == names_of([]) == names_of(["sevrer"]) == NAMES
    found = typer.main.get_command(application(["runs", "metrics"]))
    assert set(getattr(found, "commands", ())) == {"runs", "metrics"}


def test_every_module_of_a_command_is_in_the_help() -> None:
    found = typer.main.get_command(application())
    assert list(getattr(found, "commands", ())) == [*COMMANDS, *GROUPS]


def test_a_command_with_options_imports_no_pydantic(tmp_path: Path) -> None:
    program = """
import sys
from turnout.cli import main
try:
    main(["runs", "ls", "--workflow", "none", "--limit", "20", "--json"])
except SystemExit as stop:
    print(stop.code, "pydantic" in sys.modules, "turnout.cli.run" in sys.modules)
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TURNOUT_")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "0 False False", done
