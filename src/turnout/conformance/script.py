"""Reads and checks the file of a session; the README beside the files describes the language."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from typing import Any, Literal

import msgspec

from turnout.conformance.forms import Form
from turnout.conformance.steps import BY_KEY, Expect, Greet, MessagePattern, Step, Welcome
from turnout.errors import InvalidTarget


class Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A session's file."""

    about: str
    """One sentence: the rule that it shows."""
    script: list[dict[str, Any]]
    environment: dict[str, str] = {}
    settings: dict[str, Any] = {}
    """Fields of ``welcome`` that differ from the usual."""
    hubs: int = 1
    connect: tuple[int, ...] = (1,)
    """The hubs whose addresses the program gets."""
    aliases: tuple[int, ...] = ()
    """The hubs that have a second address, ``${alias1}`` and so on."""
    network: Literal["ipv4", "ipv6"] = "ipv4"
    """Where the hubs listen."""
    form: Form = "hub"
    """How what the hub sends is written."""
    curve: Literal["right", "wrong_server_key"] | None = None
    seconds: float = 60
    """No session takes longer."""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    document: Document
    steps: tuple[Step, ...]


def read(name: str, text: bytes | str) -> Session:
    """A session from its file; raises ValueError if it is none."""
    document = msgspec.json.decode(text, type=Document)
    steps: list[Step] = []
    for number, each in enumerate(document.script, 1):
        keys = [key for key in BY_KEY if key in each]
        if len(keys) != 1:
            raise ValueError(f"{name}, step {number}: one of {', '.join(BY_KEY)} is needed")
        try:
            step = msgspec.convert(each, BY_KEY[keys[0]])
        except msgspec.ValidationError as error:
            raise ValueError(f"{name}, step {number} ({keys[0]}): {error}") from error
        if not 1 <= step.hub <= document.hubs:
            raise ValueError(f"{name}, step {number}: there is no hub {step.hub}")
        steps += _spelled_out(step) if isinstance(step, Greet) else [step]
    return Session(name=name, document=document, steps=tuple(steps))


def _spelled_out(step: Greet) -> Iterable[Step]:
    return (
        Expect(expect=MessagePattern("hello", step.hello), hub=step.hub),
        Welcome(welcome=step.greet, hub=step.hub),
        Expect(expect=MessagePattern("heartbeat"), hub=step.hub),
    )


def sessions(names: Iterable[str] = ()) -> list[Session]:
    """The sessions of these names, else all, in the order of their names."""
    folder = files("turnout.wire") / "vectors" / "sessions"
    found = {each.name.removesuffix(".json"): each for each in folder.iterdir() if each.name.endswith(".json")}
    wanted = list(names) or sorted(found)
    for name in wanted:
        if name not in found:
            raise InvalidTarget(
                f"there is no session {name!r}", code="unknown_session", hint="`turnout conformance --list` names them"
            )
    return [read(name, found[name].read_bytes()) for name in wanted]
