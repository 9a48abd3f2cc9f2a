"""The command line ``turnout``: one module per command. Heavy imports are made inside the commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point ``turnout``."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(_run(given))


def _run(given: list[str]) -> int:
    import logging

    import typer

    from turnout.cli.app import application, names_of
    from turnout.cli.failure import Exit, report, report_error
    from turnout.cli.output import PrintableFormatter
    from turnout.errors import TurnoutError

    # A project's rules speak of all its workflows, a command loads one: `turnout config check` warns of idle rules.
    logging.getLogger("turnout.dispatcher").setLevel(logging.ERROR)
    if logging.lastResort is not None:  # what writes warnings where no handler is set up
        logging.lastResort.setFormatter(PrintableFormatter())
    options = given[: given.index("--")] if "--" in given else given
    as_json = "--json" in options
    try:
        code = application(names_of(given))(given, standalone_mode=False, prog_name="turnout")
    except TurnoutError as error:
        return report_error(error, as_json=as_json)
    except typer.Exit as stop:
        return stop.exit_code
    except (typer.Abort, KeyboardInterrupt):
        if sys.stderr is not None and sys.stderr.isatty():
            print(file=sys.stderr)  # what comes next does not stand behind "^C"
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader of the output is gone; nothing may be written while Python shuts down.
        sys.stdout = None
        return Exit.OK
    except Exception as error:
        # Typer's own complaints about the command line have no public class in common.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        report("usage", message(), f"`{_path(error)} --help` shows how it is used", as_json=as_json)
        return Exit.USAGE
    return code if isinstance(code, int) else Exit.OK


def _path(error: BaseException) -> str:
    context = getattr(error, "ctx", None)
    return str(getattr(context, "command_path", "turnout"))
