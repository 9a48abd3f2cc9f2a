"""Interprets the script of one session, without sockets, files or processes.

Events go in with the time at which they happened (``receive``, ``exited``, ``looked``, ``tick``); ``acts`` come out for
the owner of the sockets and the program, until there is a ``verdict``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnout.conformance.actions import Act, Actions, Look, Post, Verdict
from turnout.conformance.hub import ReceivedMessage, ScriptedHub
from turnout.conformance.patterns import Captured, Mismatch, fill, match, problem_with
from turnout.conformance.rules import Broken, Rules
from turnout.conformance.script import Session
from turnout.conformance.steps import (
    Exit,
    Expect,
    File,
    Launch,
    Lines,
    Nothing,
    Pause,
    Step,
    Stream,
    measures_time,
    seconds_for,
)
from turnout.conformance.stream import StepStream
from turnout.conformance.trace import TraceLine, brief, message_text

GRACE = 1.0
"""Seconds in which the last messages of a program that has ended may still come in."""
MAX_GAP = 0.5
"""Seconds between two events of a session, ticks among them, beyond which the machine was too busy to run the kit."""
_NOW_ONLY = frozenset({"heartbeat", "credit"})
"""These say how things are: only what comes after it is expected counts."""


class _Decided(Exception):
    """There is a verdict."""

    def __init__(self, verdict: Verdict, reason: str) -> None:
        self.verdict, self.reason = verdict, reason


class Player:
    """Plays one session."""

    def __init__(self, session: Session, known: Mapping[str, Any], now: float, patience: float = 1.0) -> None:
        self.verdict: Verdict | None = None
        self.reason = ""
        self.disturbance = ""
        """How this machine kept the kit from measuring time as the script says; the verdict says nothing then."""
        self.trace: list[TraceLine] = []
        self._session = session
        self._patience = patience
        self._captured: Captured = dict(known)
        self._rules = Rules()
        self._actions = Actions(session.name, self._captured, self._rules, self._note)
        numbers = range(1, session.document.hubs + 1)
        self._hubs = {number: self._hub(number) for number in numbers}
        self._began = self._now = self._entered = now
        self._ends = now + session.document.seconds * max(1.0, patience)
        self._at = 0
        self._count = self._mark = self._heartbeats = 0
        self._lost = 0.0
        """Seconds of the current step in which this machine did not run the kit."""
        self._pause_due: float | None = None
        """When the pause was to end that ended with the last event."""
        self._looking = False
        self._step_stream: StepStream | None = None
        self._ended: tuple[int, float] | None = None
        self._content: list[str] | None = None
        self._advance(now)

    @property
    def acts(self) -> list[Act]:
        """The actions to perform, until ``take_acts`` takes them."""
        return self._actions.acts

    def take_acts(self) -> list[Act]:
        acts, self._actions.acts = self._actions.acts, []
        return acts

    def _hub(self, number: int) -> ScriptedHub:
        document = self._session.document
        # As every hub does, it lists itself.
        itself = [self._captured[name] for name in (f"hub{number}",) if name in self._captured]
        settings = {"hubs": itself, **fill(document.settings, self._captured)}
        return ScriptedHub(number, settings, self._rules, self._post, document.form)

    # -- events -----------------------------------------------------------------------------------------------------
    def receive(self, hub: int, route: bytes, frames: Sequence[bytes], now: float) -> None:
        self._observe(now)
        if self.verdict is not None:
            return
        self._count += 1
        try:
            self._note(hub, "←", message_text(frames))
            came = self._hubs[hub].receive(self._count, route, frames)
            step = self._step
            if isinstance(step, Nothing) and step.hub == hub:
                self._forbid(step, came)
                self._heartbeats += came.kind == "heartbeat"
        except Broken as broken:
            self._decide(Verdict.FAILED, f"the program broke a rule: {broken}")
        except _Decided as decided:
            self._decide(decided.verdict, decided.reason)
        self._advance(now)

    def exited(self, code: int, now: float) -> None:
        self._observe(now)
        if self._ended is None:
            self._note(1, "·", f"the program ended with code {code}")
            self._ended = (code, now)
        self._advance(now)

    def looked(self, lines: list[str] | None, now: float) -> None:
        """Called with the lines of the file of a ``Look``; None if there is no such file."""
        self._observe(now)
        step = self._step
        self._looking = False
        if isinstance(step, File):
            self._content = lines
            if lines == step.lines:
                self._next(now)
            elif lines is not None and (step.lines is None or lines != step.lines[: len(lines)]):
                # A file only grows: it cannot become right any more.
                self._decide(Verdict.FAILED, f"expected {self._awaited()}")
        self._advance(now)

    def tick(self, now: float) -> None:
        """Called at least every ``MAX_GAP``, after everything that had come was received."""
        self._observe(now)
        if self.verdict is None and self._is_over(now):
            self._next(now)
        if self.verdict is None and now > self._ends:
            self._decide(Verdict.FAILED, f"the session took too long; it waited for: {self._awaited()}")
        self._advance(now)

    def acting(self, now: float) -> None:
        """Called right before the acts are done: writing a large message is no part of the step after it."""
        if self._entered == self._now:
            self._entered = now
            if self._pause_due is None:
                self._now = now

    def _observe(self, now: float) -> None:
        """Notices that this machine did not run the kit for a while; limits of what must come do not count it."""
        gap, self._now = now - self._now, now
        due, self._pause_due = self._pause_due, None
        if self.verdict is not None or (step := self._step) is None:
            return
        if due is not None and now - due > MAX_GAP:
            # What the script does after a pause is done between two events.
            self._disturbed(f"a pause was {now - due:.1f} s too long")
        if gap <= MAX_GAP:
            return
        self._ends += gap
        self._lost += gap
        if not measures_time(step) and not isinstance(step, Pause):
            self._entered += gap
        if not all(hub.outlasts(gap) for hub in self._hubs.values()):
            self._disturbed(f"heartbeats were answered {gap:.1f} s late")

    def _disturbed(self, how: str) -> None:
        self.disturbance = f"step {self._at + 1} of {len(self._session.steps)}: {how}"
        self._note(1, "·", f"this machine is too busy: {self.disturbance}")

    # -- the script -------------------------------------------------------------------------------------------------
    @property
    def _step(self) -> Step | None:
        return self._session.steps[self._at] if self._at < len(self._session.steps) else None

    def _advance(self, now: float) -> None:
        try:
            while self.verdict is None:
                step = self._step
                if step is None:
                    raise _Decided(Verdict.PASSED, "")
                if not self._play(step, now):
                    self._check_time(step, now)
                    return
                self._next(now)
        except _Decided as decided:
            self._decide(decided.verdict, decided.reason)

    def _next(self, now: float) -> None:
        step, waited = self._step, now - self._entered
        if isinstance(step, Pause):
            self._pause_due = self._entered + step.pause_ms / 1000
        elif step is not None and self._lost and measures_time(step):
            too_soon = isinstance(step, Expect) and waited - self._lost < step.not_before_ms / 1000
            if too_soon or waited > seconds_for(step) * self._patience:
                self._disturbed(f"this machine did not run the kit for {self._lost:.1f} s")
        self._at += 1
        self._lost = 0.0
        self._entered, self._mark, self._heartbeats, self._content = now, self._count, 0, None

    def _is_over(self, now: float) -> bool:
        """True if the step only waits, and its time is over. A tick ends it: everything that had come counts before."""
        match self._step:
            case Pause() as step:
                return now - self._entered >= step.pause_ms / 1000
            case Nothing() as step:
                heartbeats = self._hubs[step.hub].heartbeats_in(step.for_ms)
                return now - self._entered >= step.for_ms / 1000 and self._heartbeats >= heartbeats
            case _:
                return False

    def _play(self, step: Step, now: float) -> bool:
        """Performs the step. True if it is done."""
        hub = self._hubs[step.hub]
        match step:
            case Expect():
                return self._expect(hub, step)
            case Nothing() | Pause():
                return False
            case Stream():
                return self._advance_stream(hub, step)
            case Exit():
                return self._exit(step)
            case File():
                if not self._looking:
                    self._looking = True
                    self._actions.acts.append(Look(fill(step.file, self._captured)))
                return False
            case Lines():
                return self._rules.text_of(step.lines_of) == step.texts
            case Launch():
                self._ended = None
                self._rules.relaunched()
                self._actions.apply(hub, step)
            case _:
                self._actions.apply(hub, step)
        return True

    def _expect(self, hub: ScriptedHub, step: Expect) -> bool:
        only_new = step.new or step.next or step.expect.kind in _NOW_ONLY
        for came in self._candidates(hub, step, self._mark if only_new else 0):
            try:
                match(step.expect.body, came.body, self._captured)
            except Mismatch as mismatch:
                if step.next:
                    verdict = Verdict.SKIPPED if step.or_skip else Verdict.FAILED
                    raise _Decided(verdict, step.or_skip or f"{step.expect.kind}: {mismatch}") from None
                continue
            waited = self._now - self._entered
            if waited < step.not_before_ms / 1000:
                raise _Decided(
                    Verdict.FAILED,
                    f"{brief(step.expect)} came after {waited:.2f} s; not before {step.not_before_ms} ms",
                )
            hub.take(came)
            return True
        return False

    def _candidates(self, hub: ScriptedHub, step: Expect, after: int) -> list[ReceivedMessage]:
        """Returns the messages of this kind, once as many connections as the step names have sent one."""
        of_kind = [each for each in hub.mailbox if each.kind == step.expect.kind and each.number > after]
        if step.connections == 1:
            return of_kind
        enough = len({each.route for each in of_kind}) >= step.connections
        return sorted(of_kind, key=lambda each: each.body.get("seq", 0)) if enough else []

    def _forbid(self, step: Nothing, came: ReceivedMessage) -> None:
        for wanted in step.nothing:
            if came.kind == wanted.kind and problem_with(wanted.body, came.body, self._captured) is None:
                raise _Decided(Verdict.FAILED, f"{brief(wanted)} came, and should not have")

    def _advance_stream(self, hub: ScriptedHub, step: Stream) -> bool:
        if self._step_stream is None:
            self._step_stream = StepStream(step.stream, hub, lambda steps: self._actions.give(hub, steps))
        if not self._step_stream.advance():
            return False
        self._step_stream = None
        return True

    def _exit(self, step: Exit) -> bool:
        if self._ended is None:
            return False
        code = self._ended[0]
        if step.exit in ("any", code) or (step.exit == "nonzero" and code != 0):
            return True
        raise _Decided(Verdict.FAILED, f"the program ended with code {code}; expected {step.exit}")

    # -- what does not come -----------------------------------------------------------------------------------------
    def _check_time(self, step: Step, now: float) -> None:
        ended = self._ended
        if (
            isinstance(step, Expect | Lines | Nothing | Pause | Stream)
            and ended is not None
            and now - ended[1] >= GRACE
        ):
            raise _Decided(Verdict.FAILED, f"the program ended with code {ended[0]}; expected {self._awaited()}")
        within = seconds_for(step) * self._patience
        if now - self._entered >= within:
            if self._lost and measures_time(step):
                self._disturbed(f"this machine did not run the kit for {self._lost:.1f} s")
            if isinstance(step, Expect) and step.or_skip:
                raise _Decided(Verdict.SKIPPED, step.or_skip)
            raise _Decided(Verdict.FAILED, f"expected within {within:g} s: {self._awaited()}")

    def _awaited(self) -> str:
        match self._step:
            case Expect() as step:
                over = f" over {step.connections} connections" if step.connections > 1 else ""
                return f"{brief(step.expect)}{over}{self._nearest(step)}"
            case Exit() as step:
                return f"the end of the program, code {step.exit}"
            case File() as step:
                return f"the file {step.file} with {step.lines}; it has {self._content}"
            case Lines() as step:
                return f"the lines {step.texts} of {step.lines_of}; there are {self._rules.text_of(step.lines_of)}"
            case Stream() as step if self._step_stream is not None:
                return f"{step.stream.count} results; {self._step_stream.ended} came"
            case Nothing() as step:
                return f"silence for {step.for_ms} ms, and heartbeats; {self._heartbeats} heartbeats came"
            case _:
                return "the next step"

    def _nearest(self, step: Expect) -> str:
        """Returns what came in place of the expected message."""
        of_kind = [each for each in self._hubs[step.hub].mailbox if each.kind == step.expect.kind]
        if not of_kind:
            return f"; no {step.expect.kind} came"
        return f"; the last {step.expect.kind}: {problem_with(step.expect.body, of_kind[-1].body, self._captured)}"

    # -- trace and verdict ------------------------------------------------------------------------------------------
    def _post(self, hub: ScriptedHub, route: bytes, frames: list[bytes]) -> None:
        self._note(hub.number, "→", message_text(frames))
        self._actions.acts.append(Post(hub.number, route, frames))

    def _note(self, hub: int, arrow: str, text: str) -> None:
        self.trace.append(TraceLine(self._now - self._began, hub, arrow, text))

    def _decide(self, verdict: Verdict, reason: str) -> None:
        if self.verdict is None:
            number = f"step {self._at + 1} of {len(self._session.steps)}: " if verdict is Verdict.FAILED else ""
            self.verdict, self.reason = verdict, number + reason
