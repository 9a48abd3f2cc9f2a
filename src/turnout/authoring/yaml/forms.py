"""Reads single values: each form says what may be written, reads it, and gives its JSON Schema."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from turnout.authoring.yaml.nodes import Items, Node, Scalar, Table, plain, shown
from turnout.authoring.yaml.read_state import Reading, Rejected, report_repeated, unique
from turnout.model.names import suggest

T = TypeVar("T")
Schema = dict[str, Any]

MAX_TEXT = 100_000
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")


class Form(ABC, Generic[T]):
    """The values that may be written in one place, and how they are read."""

    text: str
    """What would be right, for messages and the reference: ``a whole number from 1 to 1,000``."""
    code = "bad_value"
    """The code of a value that is not of this form."""

    @abstractmethod
    def read(self, node: Node, where: str, reading: Reading) -> T:
        """Returns the canonical value. Raises Rejected after it has reported what is wrong."""

    @abstractmethod
    def schema(self, definitions: dict[str, Schema]) -> Schema:
        """Returns the JSON Schema; tables that it names are added to the definitions."""

    def misfit(self, node: Node, where: str, reading: Reading) -> Rejected:
        return reading.reject(self.code, f"{where} is {shown(node)}: write {self.text}", node.mark, where)


class Text(Form[str]):
    """Text; a number or a flag is taken as it was written."""

    def __init__(self, text: str = "text", *, pattern: str = "", least: int = 0, most: int = MAX_TEXT) -> None:
        self.text = text
        self._pattern = re.compile(pattern) if pattern else None
        self._least, self._most = least, most

    def read(self, node: Node, where: str, reading: Reading) -> str:
        if not isinstance(node, Scalar) or node.value is None:
            raise self.misfit(node, where, reading)
        text = node.text
        if not self._least <= len(text) <= self._most:
            right = f"at least {self._least:,}" if len(text) < self._least else f"at most {self._most:,}"
            why = f"{where} has {len(text):,} characters: write {right}"
            raise reading.reject("bad_value", why, node.mark, where)
        if "\x00" in text or (self._pattern and not self._pattern.fullmatch(text)):
            raise self.misfit(node, where, reading)
        return text

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        schema: Schema = {"type": ["string", "number", "boolean"]}
        if self._pattern:
            schema = {"type": "string", "pattern": f"^(?:{self._pattern.pattern})$"}
        if self._least:
            schema["minLength"] = self._least
        return schema


class Whole(Form[int]):
    """A whole number within bounds, also in quotes."""

    def __init__(self, least: int | None = None, most: int | None = None) -> None:
        self._least, self._most = least, most
        self.text = f"a whole number{_range(least, most)}"

    def read(self, node: Node, where: str, reading: Reading) -> int:
        match node:
            case Scalar(value=int() as value) if not isinstance(value, bool):
                number = value
            case Scalar(value=str() as value) if _WHOLE.fullmatch(value):
                number = int(value)
            case _:
                raise self.misfit(node, where, reading)
        if not _inside(number, self._least, self._most):
            raise self.misfit(node, where, reading)
        return number

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"type": ["integer", "string"], **_limits(self._least, self._most), "pattern": "^[-+]?[0-9]+$"}


class Number(Form[float]):
    """A number within bounds."""

    def __init__(self, least: float | None = None, most: float | None = None) -> None:
        self._least, self._most = least, most
        self.text = f"a number{_range(least, most)}"

    def read(self, node: Node, where: str, reading: Reading) -> float:
        match node:
            case Scalar(value=int() | float() as value) if not isinstance(value, bool):
                if math.isfinite(value) and _inside(value, self._least, self._most):
                    return value
            case Scalar(value=str() as value) if _WHOLE.fullmatch(value) and _inside(
                int(value), self._least, self._most
            ):
                return int(value)
            case _:
                pass
        raise self.misfit(node, where, reading)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"type": ["number", "string"], **_limits(self._least, self._most), "pattern": "^[-+]?[0-9]+$"}


class Flag(Form[bool]):
    text = "true or false"

    def read(self, node: Node, where: str, reading: Reading) -> bool:
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        raise self.misfit(node, where, reading)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"type": "boolean"}


class Choice(Form[str]):
    """One of several words; synonyms are read as the word that they stand for."""

    def __init__(self, words: Iterable[str], synonyms: Mapping[str, str] | None = None) -> None:
        self._words = tuple(words)
        self._synonyms = dict(synonyms or {})
        self.text = " or ".join(f"`{word}`" for word in self._words)

    def read(self, node: Node, where: str, reading: Reading) -> str:
        if not isinstance(node, Scalar) or node.value is None:
            raise self.misfit(node, where, reading)
        word = self._synonyms.get(node.text, node.text)
        if word not in self._words:
            why = f"{where} is {shown(node)}{suggest(node.text, self._words)}"
            raise reading.reject("bad_value", why, node.mark, where)
        return word

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"enum": [*self._words, *self._synonyms]}


class Several(Form[tuple[T, ...]]):
    """A list; what is no list is a list of one."""

    def __init__(self, form: Form[T], text: str = "", *, least: int = 0, most: int = 10_000) -> None:
        self.form = form
        self._least, self._most = least, most
        self.text = text or f"{form.text}, or a list of these"

    def read(self, node: Node, where: str, reading: Reading) -> tuple[T, ...]:
        if not isinstance(node, Items):
            return (self.form.read(node, where, reading),)
        if not self._least <= len(node.nodes) <= self._most:
            right = f"at least {self._least:,}" if len(node.nodes) < self._least else f"at most {self._most:,}"
            why = f"{where} has {len(node.nodes):,} entries: write {right}"
            raise reading.reject("bad_value", why, node.mark, where)
        return read_each(self.form, node, where, reading)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        one = self.form.schema(definitions)
        many: Schema = {"type": "array", "items": one, **({"minItems": self._least} if self._least else {})}
        return {"anyOf": [one, many]}


class TextTable(Form[dict[str, str]]):
    """A table of texts."""

    def __init__(self, text: str = "a table of texts") -> None:
        self.text = text

    def read(self, node: Node, where: str, reading: Reading) -> dict[str, str]:
        if not isinstance(node, Table):
            raise self.misfit(node, where, reading)
        value, rejected = Text(), False
        found: dict[str, str] = {}
        for entry in unique(node, where, reading):
            try:
                found[entry.key] = value.read(entry.node, f"{where}.{entry.key}", reading)
            except Rejected:
                rejected = True
        if rejected:
            raise Rejected
        return found

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"type": "object", "additionalProperties": Text().schema(definitions)}


class Anything(Form[Any]):
    text = "text, a number, a flag, a list or a table"

    def read(self, node: Node, where: str, reading: Reading) -> Any:
        report_repeated(node, where, reading)
        return plain(node)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {}


def read_each(form: Form[T], node: Items, where: str, reading: Reading) -> tuple[T, ...]:
    """Returns the values of a list. All of them are read before a problem of one rejects the list."""
    found: list[T] = []
    for number, each in enumerate(node.nodes):
        reading.places[f"{where}[{number}]"] = each.mark
        try:
            found.append(form.read(each, f"{where}[{number}]", reading))
        except Rejected:
            continue
    if len(found) < len(node.nodes):
        raise Rejected
    return tuple(found)


def _inside(number: float, least: float | None, most: float | None) -> bool:
    return (least is None or number >= least) and (most is None or number <= most)


def _range(least: float | None, most: float | None) -> str:
    match least, most:
        case None, None:
            return ""
        case _, None:
            return f" from {least:,}"
        case None, _:
            return f" up to {most:,}"
        case _:
            return f" from {least:,} to {most:,}"


def _limits(least: float | None, most: float | None) -> Schema:
    found = {"minimum": least, "maximum": most}
    return {name: value for name, value in found.items() if value is not None}
