"""``turnout doctor``: checks what could keep workflows from running on this machine."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from turnout.cli.checks import Check, Grade
from turnout.cli.failure import Exit
from turnout.cli.format import MARKS, format_count
from turnout.cli.installed_extras import installed_extras
from turnout.cli.options import Database, Json
from turnout.cli.output import print_json, print_rows
from turnout.cli.reachability import executor_checks, hub_checks, telemetry_checks
from turnout.errors import DatabaseNotFound, TurnoutError

if TYPE_CHECKING:
    from turnout.contracts.store import Store
    from turnout.runner.config import Config


def doctor(as_json: Json = False, database: Database = None) -> int:
    """Check versions, extras, executors, hub, database and clock.

    Exit code 0 if all is well, 5 if the database or an executor cannot be reached, 2 if something else is wrong.

    \b
    turnout doctor
    turnout doctor --database postgresql://db.example/turnout
    """
    found = run_checks(database)
    bad = [each for each in found if each.grade is Grade.BAD]
    if as_json:
        checks = [{"name": each.name, "grade": str(each.grade), "said": each.text} for each in found]
        extras = {each.name: {"installed": each.installed, "packages": each.packages} for each in installed_extras()}
        print_json({"ok": not bad, "checks": checks, "extras": extras})
    else:
        print_rows([[MARKS[each.grade], (each.name, ""), (each.text, "")] for each in found])
    if not bad:
        return Exit.OK
    return Exit.UNAVAILABLE if any(each.unavailable for each in bad) else Exit.USAGE


MAX_CLOCK_SKEW = 2.0
"""Seconds by which this machine's clock may differ from the database's without a warning."""
MIN_OPEN_FILES = 1024


def run_checks(database: str | None) -> list[Check]:
    """Runs every check, in the order in which they depend on one another. No check raises."""
    from turnout.runner.settings import configuration

    found = [_versions(), *_extras()]
    try:
        config = configuration()
        text = "no file: defaults and the environment" if config.file is None else str(config.file)
        found.append(Check("configuration", Grade.GOOD, text))
    except TurnoutError as error:
        return [*found, Check("configuration", Grade.BAD, error.message)]
    found += _executors(config)
    found += executor_checks(config)
    found += _workflows(config)
    found += _routing(config)
    found += hub_checks(config)
    found += telemetry_checks(config)
    found += _database(database)
    return [*found, _limits()]


def _versions() -> Check:
    from importlib.metadata import PackageNotFoundError, version

    def version_of(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:
            return "?"

    packages = f"turnout {version_of('turnout')}, Python {platform.python_version()}, psycopg {version_of('psycopg')}"
    return Check("versions", Grade.GOOD, f"{packages}, {platform.system()}")


def _extras() -> Iterator[Check]:
    """Yields each extra; one that is not installed is no defect."""
    yield from (Check(f"extra {each.name}", Grade.GOOD, each.text) for each in installed_extras())


def _executors(config: Config) -> Iterator[Check]:
    from turnout.runner.composition import Plan

    try:
        yield Check("executors", Grade.GOOD, ", ".join(Plan(config).executors))
    except TurnoutError as error:
        yield Check("executors", Grade.BAD, error.message)


def _workflows(config: Config) -> Iterator[Check]:
    from turnout.runner.targets import load_workflows

    configured: tuple[str, ...] = tuple(config.get("workflows") or ())
    for target in configured:
        try:
            names = [workflow.name for workflow in load_workflows(target, (config.root,), configured)]
            yield Check("workflows", Grade.GOOD, f"{target}: {', '.join(names) or 'no workflow'}")
        except TurnoutError as error:
            yield Check("workflows", Grade.BAD, error.message)


def _routing(config: Config) -> Iterator[Check]:
    """Checks that an orchestrator would start with these rules; errors of earlier checks are not repeated."""
    from turnout.runner.composition import Plan
    from turnout.runner.targets import configured_workflows

    try:
        workflows = configured_workflows(config.get("workflows") or (), (config.root,))
        plan = Plan(config)
    except TurnoutError:
        return
    try:
        warnings = plan.check_all(workflows)
    except TurnoutError as error:
        yield Check("routing", Grade.BAD, error.message)
        return
    yield Check("routing", Grade.FAIR if warnings else Grade.GOOD, "; ".join(warnings) or "every task has an executor")


def _database(database: str | None) -> Iterator[Check]:
    from turnout.cli.database import FOLDER_HINT, missing_folder
    from turnout.runner.settings import configuration, database_url, direct_database_url
    from turnout.store import connect
    from turnout.store.database import shown_url

    try:
        url = database_url(database)
        store = connect(url, direct_url=direct_database_url(database), create=False)
    except TurnoutError as error:
        yield Check("database", Grade.BAD, error.message)
        return
    try:
        began = time.monotonic()
        store.open()
        took = (time.monotonic() - began) * 1000
        facts = store.about()
        yield Check("database", Grade.GOOD, f"{shown_url(url)}: version {facts.version}, opened in {took:.0f} ms")
        yield Check("schema", Grade.GOOD, f"migration {facts.schema}, up to date")
        yield _clock(facts.now)
        yield _orchestrators(store)
    except DatabaseNotFound as error:
        if database is None and configuration().get("database") is None:
            yield Check("database", Grade.GOOD, f"{shown_url(url)}: does not exist yet, the first run makes it")
        else:
            remedy = "the first run makes it" if missing_folder(url) is None else FOLDER_HINT
            yield Check("database", Grade.FAIR, f"{error.message}; {remedy}")
    except TurnoutError as error:
        yield Check("database", Grade.BAD, f"{shown_url(url)}: {error.message}")
    finally:
        store.close()


def _clock(database_time: float) -> Check:
    skew = time.time() - database_time
    if abs(skew) <= MAX_CLOCK_SKEW:
        return Check("clock", Grade.GOOD, "agrees with the database's")
    direction = "ahead of" if skew > 0 else "behind"
    return Check(
        "clock", Grade.FAIR, f"{abs(skew):.0f} s {direction} the database's; leases hold, times in tables differ"
    )


def _orchestrators(store: Store) -> Check:
    from turnout.model.driver import NOT_DRIVEN
    from turnout.runner.live_sessions import live_orchestrators
    from turnout.runner.open_runs import open_counts

    counts = open_counts(store)
    text = f"{len(live_orchestrators(store))} alive, {format_count(counts.unfinished, 'unfinished run')}"
    if not counts.not_driven:
        return Check("orchestrators", Grade.GOOD, text)
    return Check("orchestrators", Grade.FAIR, f"{text}, {counts.not_driven} of them {NOT_DRIVEN}")


def _limits() -> Check:
    try:
        import resource
    except ImportError:  # Windows
        return Check("limits", Grade.GOOD, "not known on this system")
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY and files < MIN_OPEN_FILES:
        return Check("limits", Grade.FAIR, f"{files} open files; {MIN_OPEN_FILES} or more are better (ulimit -n)")
    return Check("limits", Grade.GOOD, f"{files} open files")
