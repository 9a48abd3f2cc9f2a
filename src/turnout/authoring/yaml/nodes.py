"""Reads the documents of a YAML text as nodes: plain values that know their lines and columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import yaml

from turnout.authoring.yaml.marks import Mark
from turnout.authoring.yaml_text import MERGE, TAG, Loader, bounded, refuse

MAX_SHOWN = 60


class Scalar(NamedTuple):
    """Text, a number, a flag or nothing."""

    value: str | int | float | bool | None
    text: str
    """The characters of the file: ``1.10``, where the value is ``1.1``."""
    mark: Mark


class Items(NamedTuple):
    """A list."""

    nodes: tuple[Node, ...]
    mark: Mark


class Entry(NamedTuple):
    key: str
    node: Node
    mark: Mark
    """The place of the key."""


class Table(NamedTuple):
    """A table. A key that was written twice is in it twice."""

    entries: tuple[Entry, ...]
    mark: Mark


Node: TypeAlias = Scalar | Items | Table


def documents_of(text: str) -> list[Node]:
    """Returns the documents of the text. Raises InvalidYaml if it is malformed or out of bounds."""
    with bounded(text):
        loader = Loader(text)
        try:
            found: list[Node] = []
            while loader.check_node():
                found.append(_node(loader, loader.get_node()))
            return found
        finally:
            loader.dispose()


def is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def plain(node: Node) -> Any:
    """Returns the node as a JSON value; of a key that was written twice the last value."""
    match node:
        case Scalar(value=value):
            return value
        case Items(nodes=nodes):
            return [plain(each) for each in nodes]
        case Table(entries=entries):
            return {entry.key: plain(entry.node) for entry in entries}


def shown(node: Node) -> str:
    """Returns the value for a message: ``'abc'``, ``12``, ``a list``."""
    match node:
        case Scalar(value=str() as text):
            return repr(text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…")
        case Scalar(value=None):
            return "empty"
        case Scalar(text=text):
            return text
        case Items(nodes=nodes):
            return "a list" if nodes else "an empty list"
        case Table(entries=entries):
            return "a table" if entries else "an empty table"


def _node(loader: Any, node: yaml.Node | None) -> Node:
    assert node is not None
    mark = Mark(node.start_mark.line + 1, node.start_mark.column + 1)
    match node:
        case yaml.ScalarNode():
            return Scalar(loader.construct_object(node), node.value, mark)
        case yaml.SequenceNode(tag=tag) if tag == f"{TAG}seq":
            return Items(tuple(_node(loader, each) for each in node.value), mark)
        case yaml.MappingNode(tag=tag) if tag == f"{TAG}map":
            return Table(tuple(_entries(loader, node)), mark)
        case _:
            refuse(node, f"the tag {node.tag.replace(TAG, '!!')} is not understood: write plain lists and tables")


def _entries(loader: Any, node: yaml.MappingNode) -> Iterator[Entry]:
    """Yields the entries of a table, then those behind ``<<`` whose keys it does not have."""
    own: set[str] = set()
    merged: list[yaml.MappingNode] = []
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            refuse(key, "a key must be text, not a list or table")
        if key.tag == MERGE:
            merged += _merged(value)
            continue
        own.add(key.value)
        yield Entry(key.value, _node(loader, value), Mark(key.start_mark.line + 1, key.start_mark.column + 1))
    for table in merged:
        for entry in _entries(loader, table):
            if entry.key not in own:
                own.add(entry.key)
                yield entry


def _merged(node: yaml.Node) -> list[yaml.MappingNode]:
    tables: list[yaml.Node] = node.value if isinstance(node, yaml.SequenceNode) else [node]
    for each in tables:
        if not isinstance(each, yaml.MappingNode):
            refuse(each, "<< takes a table, or a list of tables")
    return [each for each in tables if isinstance(each, yaml.MappingNode)]
