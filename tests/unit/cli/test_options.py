"""Groups of commands that do something without one."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import typer
from typer.main import get_group_from_info
from typer.models import TyperInfo
from typer.testing import CliRunner

from turnout.cli import runs, workers
from turnout.cli.options import Group, default_command


@pytest.mark.parametrize("module", [runs, workers])
def test_the_bare_group_takes_the_options_of_its_list(module) -> None:
    group = get_group_from_info(
        TyperInfo(module.app), pretty_exceptions_short=True, rich_markup_mode=None, suggest_commands=True
    )
    bare, listing = (
        [(one.name, one.opts, one.default) for one in each.params] for each in (group, group.commands["ls"])
    )
    assert bare == listing
    assert "as_json" not in inspect.getsource(module).partition("def ls")[0], "they are declared once"


def test_its_options_reach_the_command_and_stand_in_no_other_ones_way() -> None:
    app = typer.Typer(cls=Group, rich_markup_mode=None, invoke_without_command=True)

    @app.command()
    def ls(limit: int = 20) -> None:
        typer.echo(f"listed {limit}")

    @app.command()
    def show() -> None:
        typer.echo("shown")

    default_command(app, ls, "Look. Without a command, list.")

    def said(*words: str) -> str:
        result = CliRunner().invoke(app, words)
        return result.output if result.exit_code == 0 else f"exit {result.exit_code}"

    assert (said(), said("--limit", "3"), said("ls", "--limit", "4")) == ("listed 20\n", "listed 3\n", "listed 4\n")
    assert said("show") == "shown\n"
    assert said("--limit", "3", "show") == "exit 2"


def test_every_command_and_every_group_with_a_default_has_the_option_config() -> None:
    from turnout.cli.app import application

    def check(command: Any, path: str) -> None:
        for name, each in getattr(command, "commands", {}).items():
            inner = getattr(each, "commands", None)
            if inner is None or each.invoke_without_command:
                assert any("--config" in option.opts for option in each.params), f"{path} {name}"
            check(each, f"{path} {name}")

    check(typer.main.get_command(application()), "turnout")
