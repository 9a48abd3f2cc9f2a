"""Plays sessions against a program, several at a time, each with its own sockets and process."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from turnout.conformance.actions import Drop, Kill, Look, Post, Relaunch, Verdict
from turnout.conformance.interpreter import Player
from turnout.conformance.patterns import fill
from turnout.conformance.program import Program
from turnout.conformance.script import Session
from turnout.conformance.trace import TraceLine
from turnout.model.extras import optional_packages

if TYPE_CHECKING:
    from turnout.conformance.sockets import Sockets

POLL_MS = 10
"""How long the end of the program, a file or a time limit may stay unnoticed."""


TEXT = "0123456789abcdef"
BLOB = TEXT * 16_384
"""What ``${blob}`` stands for: 256 KiB of text."""
OVERSIZE = 16 * 1024 * 1024 + len(BLOB)
"""Characters of ``${oversize}``: more than a worker takes in one message."""
MANY = ["none.1"] * 200_001
"""What ``$get:many`` stands for: more tokens than a message may list."""


MAX_PLAYS = 5
"""How often a session is played on a machine that is too busy to measure its times."""
NO_IPV6 = "this machine has no IPv6"


class Outcome(msgspec.Struct, frozen=True):
    """The outcome of one session."""

    session: str
    about: str
    verdict: Verdict
    seconds: float
    reason: str
    trace: list[TraceLine]
    output: str
    """What the program wrote."""
    disturbance: str = ""
    """Why the verdict would say nothing about the program."""


def play_all(
    sessions: Sequence[Session], command: Sequence[str], *, jobs: int = 4, patience: float = 1.0
) -> Iterator[Outcome]:
    """Their outcomes, in the order given."""
    with ThreadPoolExecutor(jobs, "conformance") as threads:
        yield from threads.map(lambda session: play(session, command, patience), sessions)


def play(session: Session, command: Sequence[str], patience: float = 1.0) -> Outcome:
    """Plays the session, again if this machine was too busy to measure the times in it; a busy machine never passes."""
    plays: list[Outcome] = []
    for _ in range(MAX_PLAYS):
        plays.append(_play_once(session, command, patience))
        if not plays[-1].disturbance:
            break
    return _judged(plays)


def _judged(plays: Sequence[Outcome]) -> Outcome:
    """The last play counts; its trace begins with why there were others."""
    last = plays[-1]
    repeats = [TraceLine(0.0, 1, "·", f"played again: {each.disturbance}") for each in plays[:-1]]
    seconds, trace = round(sum(each.seconds for each in plays), 3), [*repeats, *last.trace]
    judged = msgspec.structs.replace(last, seconds=seconds, trace=trace)
    if not last.disturbance:
        return judged
    found = f"; {last.reason}" if last.verdict is Verdict.FAILED else ""
    reason = f"this machine was too busy: {last.disturbance}, in the last of {len(plays)} plays{found}"
    return msgspec.structs.replace(judged, verdict=Verdict.FAILED, reason=reason)


def _play_once(session: Session, command: Sequence[str], patience: float) -> Outcome:
    """Starts the program, plays the session and ends the program."""
    with optional_packages():
        from turnout.conformance.sockets import Keys, has_ipv6, new_keys, opened

    document = session.document
    if document.network == "ipv6" and not has_ipv6():
        return _skipped(session, NO_IPV6)
    server: Keys | None = None
    keys: dict[str, str] = {}
    allowed = ""
    if document.curve is not None:
        server, worker = new_keys(), new_keys()
        allowed = worker.public
        known_server = server if document.curve == "right" else new_keys()
        keys = {
            "TURNOUT_CURVE_SERVER_KEY": known_server.public,
            "TURNOUT_CURVE_PUBLIC_KEY": worker.public,
            "TURNOUT_CURVE_SECRET_KEY": worker.secret,
        }
    with (
        tempfile.TemporaryDirectory(prefix="turnout-conformance-") as folder,
        opened(document, server, allowed) as sockets,
    ):
        addresses = {number: sockets.address(number) for number in range(1, document.hubs + 1)}
        known = {
            "dir": folder,
            "blob": BLOB,
            "oversize": _oversize(),
            "many": MANY,
            **{f"hub{number}": each for number, each in addresses.items()},
            **{f"alias{number}": sockets.alias(number) for number in document.aliases},
        }
        environment = {
            "TURNOUT_CONNECT": ",".join(addresses[number] for number in document.connect),
            "TURNOUT_WORKER_NAME": f"conformance-{session.name}",
            "TURNOUT_WORKER_LABELS": "",
            "TURNOUT_WORKER_CONCURRENCY": "4",
            **keys,
            **fill(document.environment, known),
        }
        return _play(session, command, patience, sockets, known, environment)


def _play(
    session: Session,
    command: Sequence[str],
    patience: float,
    sockets: Sockets,
    known: Mapping[str, Any],
    environment: Mapping[str, str],
) -> Outcome:
    folder = Path(known["dir"])
    began = time.monotonic()
    program = Program(command, environment, folder / ".output")
    try:
        player = Player(session, known, time.monotonic(), patience)
        _act(player, sockets, program, folder)
        while player.verdict is None:
            # Asked before what came is read: its last messages count, though it has ended.
            code = program.code
            for hub, route, frames in sockets.receive(POLL_MS):
                player.receive(hub, route, frames, time.monotonic())
                _act(player, sockets, program, folder)
            if code is not None:
                player.exited(code, time.monotonic())
            player.tick(time.monotonic())
            _act(player, sockets, program, folder)
        seconds = time.monotonic() - began
    finally:
        program.end()
    return Outcome(
        session=session.name,
        about=session.document.about,
        verdict=player.verdict,
        seconds=round(seconds, 3),
        reason=player.reason,
        trace=player.trace,
        output=program.output(),
        disturbance=player.disturbance,
    )


def _skipped(session: Session, reason: str) -> Outcome:
    return Outcome(
        session=session.name,
        about=session.document.about,
        verdict=Verdict.SKIPPED,
        seconds=0.0,
        reason=reason,
        trace=[],
        output="",
    )


@cache
def _oversize() -> str:
    return TEXT * (OVERSIZE // len(TEXT))


def _act(player: Player, sockets: Sockets, program: Program, folder: Path) -> None:
    """Performs the actions of the script. Reading a file may add more."""
    player.acting(time.monotonic())
    for act in player.take_acts():
        match act:
            case Post():
                sockets.post(act.hub, act.route, act.frames)
            case Drop():
                sockets.drop(act.hub, down=act.down)
            case Kill():
                program.signal(act.signal)
            case Relaunch():
                program.start()
            case Look():
                player.looked(_lines(folder / act.file), time.monotonic())


def _lines(file: Path) -> list[str] | None:
    try:
        # What has no end yet is still being written.
        return file.read_text().split("\n")[:-1]
    except FileNotFoundError:
        return None
