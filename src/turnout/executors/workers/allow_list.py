"""Holds the keys of workers and what each may claim: the file ``workers.toml`` as a value."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from turnout.errors import InvalidSetting
from turnout.model.names import suggest
from turnout.wire.keys import LENGTH, is_key, shortened
from turnout.wire.messages import Error, Hello
from turnout.wire.step_codec import SHELL_HANDLER, STEP_HANDLER

ANY = "*"
TABLE = "worker"


class AllowedWorker(msgspec.Struct, frozen=True, kw_only=True):
    """One entry: a public key, and what a worker with its secret half may claim."""

    name: str
    """The name that logs and refusals show."""
    key: str
    labels: dict[str, tuple[str, ...]] = {}
    """The values that each label may have; ``*``: any. Labels that are not here may not be claimed."""
    handlers: tuple[str, ...] = (ANY,)
    """Patterns, in which ``*`` stands for any text, of the handlers that it may have."""
    names: tuple[str, ...] = (ANY,)
    """Patterns of the names that it may give itself."""

    def refusal(self, hello: Hello) -> Error | None:
        """Returns why this worker may not claim what it claims; None if it may."""
        for label, value in sorted(hello.labels.items()):
            may = self.labels.get(label, ())
            if value not in may and ANY not in may:
                allowed = ", ".join(f"{label}={each}" for each in may) or f"no label {label}"
                return _final("labels_refused", f"key {self.name!r} allows {allowed}, not {label}={value}")
        for handler in hello.handlers:
            # Commands and steps of workflow files are one permission: both run whatever they are given.
            asked = SHELL_HANDLER if handler == STEP_HANDLER else handler
            if not _fits(handler, self.handlers) and not _fits(asked, self.handlers):
                return _final("handlers_refused", f"key {self.name!r} does not allow the handler {handler!r}")
        if not _fits(hello.name, self.names):
            return _final("key_refused", f"key {self.name!r} does not allow the name {hello.name!r}")
        return None


class AllowList(msgspec.Struct, frozen=True):
    """Entries by key."""

    entries: Mapping[str, AllowedWorker] = {}

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def refusal(self, key: str | None, hello: Hello) -> Error | None:
        """Returns why a worker with this key is not admitted; None if it is."""
        entry = self.entries.get(key or "")
        if entry is None:
            peer = "a connection without a key" if key is None else f"the key {shortened(key)}"
            return _final("key_refused", f"{peer} may not be here")
        return entry.refusal(hello)


def parse(text: str, where: str) -> AllowList:
    """Returns the list in the file's text; raises InvalidSetting for the first mistake in it."""
    try:
        file = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(where, f"it is not TOML: {error}") from error
    for name in file:
        if name != TABLE:
            raise _wrong(where, f"there is no key {name!r}{suggest(name, [TABLE])}; write [[{TABLE}]] for each key")
    listed = file.get(TABLE, [])
    if not isinstance(listed, list):
        raise _wrong(where, f"{TABLE} is one table; write [[{TABLE}]] for each key")
    entries: dict[str, AllowedWorker] = {}
    for number, content in enumerate(listed, 1):
        entry = _entry(content, f"{where}, worker {number}")
        if entry.key in entries:
            raise _wrong(f"{where}, worker {number}", f"its key is that of {entries[entry.key].name!r}, too")
        entries[entry.key] = entry
    return AllowList(entries)


def _entry(content: Any, at: str) -> AllowedWorker:
    if not isinstance(content, dict):
        raise _wrong(at, f"it is {content!r}; write name, key and what else it may have")
    table: dict[str, Any] = {str(name): value for name, value in content.items()}
    fields = AllowedWorker.__struct_fields__
    for name in table:
        if name not in fields:
            raise _wrong(at, f"there is no key {name!r}{suggest(name, fields)}")
    for name in ("name", "key"):
        if not isinstance(table.get(name), str) or not table[name]:
            raise _wrong(at, f"{name} is missing, or no text")
    at = f"{at}, {table['name']!r}"
    if not is_key(table["key"]):
        raise _wrong(at, f"key is {table['key']!r}; a public key has {LENGTH} characters of Z85")
    labels = table.get("labels", {})
    if not isinstance(labels, dict):
        raise _wrong(at, f'labels is {labels!r}; write {{ gpu = "true", zone = ["a", "b"], team = "*" }}')
    return AllowedWorker(
        name=table["name"],
        key=table["key"],
        labels={str(label): _texts(value, at, f"labels.{label}") for label, value in labels.items()},
        handlers=_texts(table.get("handlers", ANY), at, "handlers"),
        names=_texts(table.get("names", ANY), at, "names"),
    )


def _texts(value: Any, at: str, name: str) -> tuple[str, ...]:
    """Returns one text, or a list of them, as a tuple."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(each, str) and each for each in texts):
        raise _wrong(at, f"{name} is {value!r}; write text, or a list of texts")
    return tuple(texts)


def _fits(text: str, patterns: Iterable[str]) -> bool:
    return any(
        re.fullmatch(".*".join(re.escape(part) for part in pattern.split(ANY)), text, re.DOTALL) for pattern in patterns
    )


def _final(code: str, message: str) -> Error:
    return Error(code, message, retry=False)


def _wrong(where: str, what: str) -> InvalidSetting:
    return InvalidSetting(f"{where}: {what}", code="bad_workers_file", where=where)
