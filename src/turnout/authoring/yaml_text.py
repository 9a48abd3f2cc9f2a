"""Reads a YAML document: plain values only, within bounds, every error with its line and column.

Plain scalars are read by YAML 1.2: ``on``, ``yes``, ``12:30`` and ``2024-01-01`` are text. Importing this module loads
the YAML library, so it is imported where a YAML file is read and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import yaml

from turnout.errors import InvalidYaml

if TYPE_CHECKING:
    from yaml import SafeLoader
else:
    # The loader in C is missing if PyYAML was built without libyaml; both read the same.
    SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MAX_CHARACTERS = 1 << 20
MAX_DEPTH = 50
MAX_VALUES = 100_000
"""Values in a document, those of an alias counted at each use. A document above any of the three is refused."""

TAG = "tag:yaml.org,2002:"
_LINE_BREAK = re.compile(r"\r\n|[\r\n\x85\u2028\u2029]")
_STR, MERGE = f"{TAG}str", f"{TAG}merge"


def read_yaml(text: str) -> Any:
    """Returns the value of the one document in the text: dicts with text keys, lists, text, numbers, flags, None."""
    with bounded(text):
        return yaml.load(text, Loader=Loader)


@contextmanager
def bounded(text: str) -> Iterator[None]:
    """Raises InvalidYaml if the text is out of bounds, and for every error of the YAML library inside of the block."""
    if len(text) > MAX_CHARACTERS:
        raise InvalidYaml(f"it has {len(text):,} characters; {MAX_CHARACTERS:,} are the most", code="yaml_too_large")
    try:
        _check_bounds(text)
        yield
    except yaml.MarkedYAMLError as error:
        problem = ", ".join(each for each in (error.context, error.problem) if each)
        mark = error.problem_mark or error.context_mark
        raise _invalid(problem, *(_inside(text, mark.line, mark.column) if mark else (0, 0))) from error
    except yaml.reader.ReaderError as error:
        place = _end_of(text[: max(0, text.find(chr(error.character)))])
        raise _invalid(f"there is the character {error.character:#04x}", *place) from error
    except UnicodeEncodeError as error:  # half of a surrogate pair
        place = _end_of(text[: error.start])
        raise _invalid(f"there is the character {ord(text[error.start]):#06x}", *place) from error


def _check_bounds(text: str) -> None:
    """Raises InvalidYaml if the document is too large or too deep, before values are built."""
    values = 0
    open_: list[tuple[str | None, int]] = []
    """The anchor of each open list and table, and the number of values before it."""
    sizes: dict[str, int] = {}
    for event in yaml.parse(text, Loader=Loader):
        match event:
            case yaml.ScalarEvent(anchor=anchor):
                values += 1
                if anchor:
                    sizes[anchor] = 1
            case yaml.CollectionStartEvent(anchor=anchor):
                open_.append((anchor, values))
                values += 1
                sizes.pop(anchor, None)
            case yaml.CollectionEndEvent():
                anchor, before = open_.pop()
                if anchor:
                    sizes[anchor] = values - before
            case yaml.AliasEvent(anchor=anchor):
                if any(anchor == each for each, _ in open_):
                    refuse(event, f"*{anchor} stands inside of what it means")
                values += sizes.get(anchor, 1)
            case _:
                pass
        if values > MAX_VALUES:
            refuse(event, f"there are more than {MAX_VALUES:,} values, with those behind aliases", "yaml_too_large")
        if len(open_) > MAX_DEPTH:
            refuse(event, f"lists and tables are more than {MAX_DEPTH} deep", "yaml_too_large")


class Loader(SafeLoader):
    """Loads the plain values of YAML 1.2, and the merge key ``<<`` of 1.1."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._flattened: set[Any] = set()

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Called for every table before it is built. Its keys are checked before those of ``<<`` are merged."""
        if node in self._flattened:
            return
        self._flattened.add(node)
        first: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag not in (_STR, MERGE):
                shown = repr(key.value) if isinstance(key, yaml.ScalarNode) else "a list or table"
                refuse(key, f"a key must be text, not {shown}; put it into quotes")
            if key.value in first:
                refuse(key, f"the key {key.value!r} is here again, after line {first[key.value]}", "duplicate_key")
            first[key.value] = key.start_mark.line + 1
        super().flatten_mapping(node)


def _scalar(tag: str, read: Callable[[str], Any], pattern: str = "", first: Iterable[str] = "") -> None:
    """Registers the reader of scalars with this tag, and of plain ones of this pattern that begin with one of these
    characters."""

    def construct(loader: Loader, node: yaml.Node) -> Any:
        if not isinstance(node, yaml.ScalarNode):
            refuse(node, f"a list or table cannot be read as {tag}")
        text = loader.construct_scalar(node)
        try:
            if re.fullmatch(pattern or "(?s:.*)", text):
                return read(text)
        except ValueError:  # a whole number with thousands of digits
            pass
        refuse(node, f"{text[:40]!r} cannot be read as {tag}")

    Loader.add_constructor(f"{TAG}{tag}", construct)
    if pattern:
        Loader.add_implicit_resolver(f"{TAG}{tag}", re.compile(rf"(?:{pattern})\Z"), list(first))


def _whole(text: str) -> int:
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    return int(text, base)


def _unknown_tag(_loader: Loader, node: yaml.Node) -> Any:
    refuse(node, f"the tag {node.tag.replace(TAG, '!!')} is not understood: write plain text, numbers, lists, tables")


# The library's own types are removed: dates, sets, binary, numbers by YAML 1.1.
Loader.yaml_implicit_resolvers = {}
Loader.yaml_constructors = {None: _unknown_tag}
_scalar("null", lambda _: None, "~|null|Null|NULL|", ["~", "n", "N", ""])
_scalar("bool", lambda text: text.lower() == "true", "true|True|TRUE|false|False|FALSE", "tTfF")
_scalar("int", _whole, r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789")
_scalar(
    "float",
    lambda text: float(text.replace(".inf", "inf").replace(".nan", "nan")),
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan",
    "-+.0123456789",
)
_scalar("str", str)
Loader.add_implicit_resolver(MERGE, re.compile(r"<<\Z"), ["<"])
Loader.add_constructor(f"{TAG}seq", SafeLoader.construct_yaml_seq)
Loader.add_constructor(f"{TAG}map", SafeLoader.construct_yaml_map)


def refuse(at: yaml.Node | yaml.Event, problem: str, code: str | None = None) -> NoReturn:
    """Raises InvalidYaml for this place."""
    raise _invalid(problem, at.start_mark.line, at.start_mark.column, code)


def _inside(text: str, line: int, column: int) -> tuple[int, int]:
    """Returns the place, or the end of the text for one behind it, as the library gives for what is missing there."""
    return min((line, column), _end_of(text))


def _end_of(text: str) -> tuple[int, int]:
    """Returns the line and the column behind the last character, from 0."""
    lines = _LINE_BREAK.split(text)
    return len(lines) - 1, len(lines[-1])


def _invalid(problem: str, line: int, column: int, code: str | None = None) -> InvalidYaml:
    return InvalidYaml(f"line {line + 1}, column {column + 1}: {problem}", code=code, line=line + 1, column=column + 1)
