"""``turnout config``: shows and checks the configuration."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from turnout.cli.options import Group, Json
from turnout.cli.output import print_json, print_line, print_rows
from turnout.errors import InvalidSetting
from turnout.model.texts import json_text

if TYPE_CHECKING:
    from turnout.runner.config import Config


app = typer.Typer(cls=Group, rich_markup_mode=None, no_args_is_help=True, help="Show or check the configuration.")


@app.command()
def show(
    origin: Annotated[bool, typer.Option("--origin", help="Say where each value comes from.")] = False,
    as_json: Json = False,
) -> None:
    """Print every setting with its value, secrets left out."""
    from turnout.runner.effective_settings import effective_settings
    from turnout.runner.settings import configuration

    found = effective_settings(configuration())
    if as_json:
        print_json(found)
        return
    print_rows(
        [
            [(each.spelling, ""), (json_text(each.value), "cyan"), (each.origin if origin else "", "dim")]
            for each in found
        ]
    )


@app.command()
def check(as_json: Json = False) -> None:
    """Check that an orchestrator would start with this configuration.

    The file is right, the database URL can be read, the executors can be made, and the rules can work with the
    workflows. Nothing connects to the database.
    """
    from turnout.runner.settings import configuration

    config = configuration()
    warnings = check_config(config)
    if as_json:
        print_json({"ok": True, "file": None if config.file is None else str(config.file), "warnings": warnings})
        return
    for warning in warnings:
        print_line([(f"warning: {warning}", "yellow")])
    print_line([("✓ ", "green"), (str(config.file or "no file: defaults and the environment"), "")])


def check_config(config: Config) -> list[str]:
    """Returns warnings. Raises what would keep ``turnout orchestrate`` from starting with this configuration."""
    from turnout.model.extras import optional_packages
    from turnout.runner.composition import Plan
    from turnout.runner.targets import configured_workflows
    from turnout.runner.worker_config import check_worker

    workflows = configured_workflows(config.get("workflows") or (), (config.root,))
    warnings = Plan(config).check_all(workflows)
    if config.hub is not None and config.hub.key_file is not None:
        with optional_packages():
            from turnout.executors.workers.curve_auth import CurveAuthenticator

        CurveAuthenticator.of(config.hub)
    check_worker(config, os.environ)
    _check_database(config)
    return [*config.warnings, *warnings]


def _check_database(config: Config) -> None:
    """Raises InvalidSetting if the configured database URLs cannot be read. Does not connect."""
    from turnout.runner.settings import url_in
    from turnout.store import connect

    for key in ("database", "direct_database"):
        entry = config.entries.get((key,))
        if entry is None or not entry.value:
            continue
        try:
            connect(url_in(config), direct_url=None if key == "database" else entry.value, create=False).close()
        except InvalidSetting as error:
            raise InvalidSetting(
                f"{entry.origin}: {config.spelled(key)}: {error.message}", code=error.code, key=key
            ) from error
