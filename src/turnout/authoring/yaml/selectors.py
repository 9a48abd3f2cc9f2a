"""Reads worker selectors, tags and signals: the short values that several tables share."""

from __future__ import annotations

from typing import Literal, TypeAlias

from turnout.authoring.yaml.forms import Choice, Form, Schema, Text, TextTable
from turnout.authoring.yaml.nodes import Items, Node, Scalar, Table
from turnout.authoring.yaml.read_state import Reading

Selector: TypeAlias = dict[str, str] | Literal["local"] | None
SignalName: TypeAlias = Literal["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGKILL"]

_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGKILL")
SIGNAL = Choice(_SIGNALS, {name.removeprefix("SIG"): name for name in _SIGNALS})


class SelectorForm(Form[Selector]):
    """``local``, or a table of labels."""

    text = "`local`, or a table of labels such as `{gpu: true}`"

    def read(self, node: Node, where: str, reading: Reading) -> Selector:
        match node:
            case Scalar(value="local"):
                return "local"
            case Table(entries=entries) if entries:
                return TextTable().read(node, where, reading)
            case _:
                raise self.misfit(node, where, reading)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"anyOf": [{"const": "local"}, {**TextTable().schema(definitions), "minProperties": 1}]}


class TagsForm(Form[tuple[str, ...]]):
    """Words with commas or ``key=value`` with blanks between them, a list of these and of tables, or a table."""

    text = "words with commas between them, a list of words, or a table"

    def read(self, node: Node, where: str, reading: Reading) -> tuple[str, ...]:
        found: list[str] = []
        nodes = node.nodes if isinstance(node, Items) else (node,)
        for number, each in enumerate(nodes):
            path = f"{where}[{number}]" if isinstance(node, Items) else where
            match each:
                case Table():
                    table = TextTable().read(each, path, reading)
                    found += [f"{key}={value}" if value else key for key, value in table.items()]
                case Scalar() if isinstance(node, Items):
                    found.append(Text(least=1).read(each, path, reading).strip())
                case Scalar():
                    text = Text().read(each, path, reading)
                    found += text.split() if "=" in text and "," not in text else text.split(",")
                case Items():
                    raise self.misfit(each, path, reading)
        return tuple(dict.fromkeys(word.strip() for word in found if word.strip()))

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        word, table = Text().schema(definitions), TextTable().schema(definitions)
        return {"anyOf": [word, table, {"type": "array", "items": {"anyOf": [word, table]}}]}


SELECTOR = SelectorForm()
TAGS = TagsForm()
