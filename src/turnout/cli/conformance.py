"""``turnout conformance``: does a worker program keep the protocol?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from turnout.cli.options import Json

if TYPE_CHECKING:
    from turnout.conformance.running import Outcome

SHOWN_MESSAGES = 12
"""The last messages of a session that failed."""
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
    from turnout.cli.output import say_columns, say_json
    from turnout.conformance.script import sessions

    chosen = sessions(session or ())
    if list_them:
        if as_json:
            say_json([{"session": each.name, "about": each.document.about} for each in chosen])
        else:
            say_columns([[(each.name, ""), (each.document.about, "dim")] for each in chosen])
        return Exit.OK
    command = _command(cmd)
    if isinstance(command, str):
        report("bad_command", command, 'turnout conformance --cmd "ruby conformance/worker.rb"', as_json=as_json)
        return Exit.USAGE

    from turnout.conformance.running import play_all

    outcomes: list[Outcome] = []
    width = max(len(each.name) for each in chosen)
    for outcome in play_all(chosen, command, jobs=jobs, patience=patience):
        outcomes.append(outcome)
        if not as_json:
            _say(outcome, width, trace=trace)
    counts = {verdict: sum(each.verdict == verdict for each in outcomes) for verdict in _STYLES}
    if as_json:
        say_json({**counts, "sessions": [_document(each, trace=trace) for each in outcomes]})
    else:
        _say_failures([each for each in outcomes if each.verdict == "failed"], trace=trace)
        _say_counts(counts)
    return Exit.FAILED if counts["failed"] else Exit.OK


def _command(text: str) -> list[str] | str:
    """The words of the command, or what is wrong with it."""
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


def _say(outcome: Outcome, width: int, *, trace: bool) -> None:
    from turnout.cli.output import say

    verdict = (f"{outcome.verdict:<8}", _STYLES[outcome.verdict])
    reason = outcome.reason if outcome.verdict == "skipped" else ""
    say([(f"{outcome.session:<{width}}  ", ""), verdict, (f"{outcome.seconds:6.1f} s  {reason}", "dim")])
    if trace:
        for line in outcome.trace:
            say([(f"  {line}", "dim")])


def _say_failures(failed: list[Outcome], *, trace: bool) -> None:
    from turnout.cli.output import say

    for outcome in failed:
        say()
        say([(outcome.session, "bold"), (f": {outcome.about}", "")])
        say([(f"  {outcome.reason}", "red")])
        for line in [] if trace else outcome.trace[-SHOWN_MESSAGES:]:
            say([(f"  {line}", "dim")])
        if outcome.output.strip():
            say("  what the program wrote:")
            for line in outcome.output.rstrip().splitlines():
                say([(f"  │ {line}", "dim")])


def _say_counts(counts: dict[str, int]) -> None:
    from turnout.cli.output import say

    say()
    said = [(f"{count} {verdict}", _STYLES[verdict]) for verdict, count in counts.items() if count]
    say([part for each in said for part in (each, ("  ", ""))])


def _document(outcome: Outcome, *, trace: bool) -> dict[str, object]:
    shown = outcome.trace if trace else outcome.trace[-SHOWN_MESSAGES:] if outcome.verdict == "failed" else []
    return {
        "session": outcome.session,
        "about": outcome.about,
        "verdict": outcome.verdict,
        "seconds": outcome.seconds,
        "reason": outcome.reason,
        "output": outcome.output if outcome.verdict == "failed" else "",
        "messages": [str(line) for line in shown],
    }
