"""``turnout conformance``: checks a worker program against the worker protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from turnout.cli.options import Json

if TYPE_CHECKING:
    from turnout.conformance.session_runner import Outcome

MAX_MESSAGES = 12
"""Messages, from the last, that are shown of a failed session."""
_STYLES = {"passed": "green", "failed": "red", "skipped": "yellow"}


def conformance(
    cmd: Annotated[
        str, typer.Option("--cmd", metavar="COMMAND", help="How the worker program is started; no shell is used.")
    ] = "",
    session: Annotated[
        list[str] | None, typer.Option("--session", "-s", metavar="NAME", help="Only this one; may be repeated.")
    ] = None,
    list_them: Annotated[bool, typer.Option("--list", help="List the sessions and what each shows.")] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Print every message of every session.")] = False,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="How many sessions are played side by side.")] = 4,
    patience: Annotated[
        float, typer.Option(min=0.1, max=100, help="Wait so many times as long: more on a slow machine.")
    ] = 1.0,
    as_json: Json = False,
) -> int:
    """Check that a worker program keeps the worker protocol.

    Every session of the protocol is played against it. Exit code 0 if none failed, else 1.

    A scripted hub is set up on loopback. For each session the program is started with TURNOUT_CONNECT and its fellows
    in its environment, taken through the script, and ended. It must have the handlers conformance.echo, fail,
    fail_permanently, retry_after, sleep, say, progress, append and large: see the page "Adding a language".

    \b
    turnout conformance --list
    turnout conformance --cmd "ruby conformance/worker.rb"
    turnout conformance --cmd ./worker -s drain -s duplicates --trace
    """
    from turnout.cli.failure import Exit, report
    from turnout.cli.output import print_json, print_rows
    from turnout.conformance.script import sessions

    chosen = sessions(session or ())
    if list_them:
        if as_json:
            print_json([{"session": each.name, "about": each.document.about} for each in chosen])
        else:
            print_rows([[(each.name, ""), (each.document.about, "dim")] for each in chosen])
        return Exit.OK
    command = _command(cmd)
    if isinstance(command, str):
        report("bad_command", command, 'turnout conformance --cmd "ruby conformance/worker.rb"', as_json=as_json)
        return Exit.USAGE

    from turnout.conformance.session_runner import play_all

    outcomes: list[Outcome] = []
    width = max(len(each.name) for each in chosen)
    for outcome in play_all(chosen, command, jobs=jobs, patience=patience):
        outcomes.append(outcome)
        if not as_json:
            _print_outcome(outcome, width, trace=trace)
    counts = {verdict: sum(each.verdict == verdict for each in outcomes) for verdict in _STYLES}
    if as_json:
        print_json({**counts, "sessions": [_document(each, trace=trace) for each in outcomes]})
    else:
        _print_failures([each for each in outcomes if each.verdict == "failed"], trace=trace)
        _print_counts(counts)
    return Exit.FAILED if counts["failed"] else Exit.OK


def _command(text: str) -> list[str] | str:
    """Returns the words of the command, or the error in it."""
    import shlex
    import shutil

    try:
        words = shlex.split(text)
    except ValueError as error:
        return f"--cmd {text!r}: {error}"
    if not words:
        return "--cmd is needed: how is the worker program started?"
    if shutil.which(words[0]) is None:
        return f"--cmd {text!r}: there is no program {words[0]!r}"
    return words


def _print_outcome(outcome: Outcome, width: int, *, trace: bool) -> None:
    from turnout.cli.output import print_line

    verdict = (f"{outcome.verdict:<8}", _STYLES[outcome.verdict])
    reason = outcome.reason if outcome.verdict == "skipped" else ""
    print_line([(f"{outcome.session:<{width}}  ", ""), verdict, (f"{outcome.seconds:6.1f} s  {reason}", "dim")])
    if trace:
        for line in outcome.trace:
            print_line([(f"  {line}", "dim")])


def _print_failures(failed: list[Outcome], *, trace: bool) -> None:
    from turnout.cli.output import print_line

    for outcome in failed:
        print_line()
        print_line([(outcome.session, "bold"), (f": {outcome.about}", "")])
        print_line([(f"  {outcome.reason}", "red")])
        for line in [] if trace else outcome.trace[-MAX_MESSAGES:]:
            print_line([(f"  {line}", "dim")])
        if outcome.output.strip():
            print_line("  what the program wrote:")
            for line in outcome.output.rstrip().splitlines():
                print_line([(f"  │ {line}", "dim")])


def _print_counts(counts: dict[str, int]) -> None:
    from turnout.cli.output import print_line

    print_line()
    parts = [(f"{count} {verdict}", _STYLES[verdict]) for verdict, count in counts.items() if count]
    print_line([part for each in parts for part in (each, ("  ", ""))])


def _document(outcome: Outcome, *, trace: bool) -> dict[str, object]:
    messages = outcome.trace if trace else outcome.trace[-MAX_MESSAGES:] if outcome.verdict == "failed" else []
    return {
        "session": outcome.session,
        "about": outcome.about,
        "verdict": outcome.verdict,
        "seconds": outcome.seconds,
        "reason": outcome.reason,
        "output": outcome.output if outcome.verdict == "failed" else "",
        "messages": [str(line) for line in messages],
    }
