"""Holds the parameters that a workflow declares, and reads the forms in which they are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from turnout.authoring.yaml.arguments import named, refuse_commands, tokens
from turnout.authoring.yaml.conditions import check_pattern
from turnout.authoring.yaml.forms import Anything, Flag, Form, Number, Schema, Several, Text, Whole
from turnout.authoring.yaml.marks import Mark
from turnout.authoring.yaml.nodes import Items, Node, Scalar, Table, is_null
from turnout.authoring.yaml.read_state import Reading, Rejected, unique
from turnout.authoring.yaml.tables import DERIVED, Key, TableForm
from turnout.authoring.yaml.variables import check_receiving
from turnout.model.patterns import pattern_of
from turnout.model.text_values import shown_value

ParameterType: TypeAlias = Literal["string", "integer", "number", "boolean"]
Plain: TypeAlias = str | int | float | bool


class Pattern(Text):
    """A regular expression."""

    def __init__(self) -> None:
        super().__init__("a regular expression")

    def read(self, node: Node, where: str, reading: Reading) -> str:
        text = super().read(node, where, reading)
        check_pattern(text, where, node, reading)
        return text


class PlainValue(Form[Scalar]):
    """Text, a number or a flag, which is converted when the type of its parameter is known."""

    text = "text, a number, true or false"

    def read(self, node: Node, where: str, reading: Reading) -> Scalar:
        if isinstance(node, Scalar) and node.value is not None:
            return node
        raise self.misfit(node, where, reading)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"type": ["string", "number", "boolean"]}


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of a workflow. Without a ``type`` it is text: ``1.10`` stays ``1.10``."""

    name: Annotated[str, Key(example="name: REGION", derived=True)]
    """The name, as in ``${NAME}``. A positional parameter is named by its place: ``1``, ``2``."""
    type: Annotated[ParameterType, Key(example="type: integer")] = "string"
    """The type of its values."""
    default: Annotated[Plain | UnsetType, Key(example="default: 3", form=PlainValue())] = UNSET
    """The value of a run that gives none."""
    required: Annotated[bool, Key(example="required: true", derived=True)] = False
    """``true``: a run must give a value, as for a parameter without a default; ``false``: it may be empty."""
    enum: Annotated[tuple[Plain, ...], Key(example="enum: [small, large]", form=Several(PlainValue(), least=1))] = ()
    """The values that are allowed; without it all."""
    minimum: Annotated[float | None, Key(example="minimum: 1")] = None
    """The least value of a number."""
    maximum: Annotated[float | None, Key(example="maximum: 10")] = None
    """The greatest value of a number."""
    min_length: Annotated[int | None, Meta(ge=0), Key(example="min_length: 1")] = None
    """The least number of characters of a text."""
    max_length: Annotated[int | None, Meta(ge=0), Key(example="max_length: 20")] = None
    """The greatest number of characters of a text."""
    pattern: Annotated[str | None, Key(example='pattern: "^v[0-9]+$"', form=Pattern())] = None
    """A regular expression that a text must contain a match of; without backreferences and lookarounds."""
    description: Annotated[str, Key(example="description: Where the data is")] = ""
    """The meaning, for forms and help."""
    position: Annotated[int | None, DERIVED] = None
    """The place of a positional parameter, from 1; None: it has a name."""


def problem_of(parameter: Parameter, value: Plain) -> str | None:
    """Returns what would be right if the parameter does not allow the value, which has its type already."""
    if parameter.enum and value not in parameter.enum:
        return f"one of {', '.join(map(str, parameter.enum))}"
    if isinstance(value, str):
        if parameter.min_length is not None and len(value) < parameter.min_length:
            return f"at least {parameter.min_length:,} characters"
        if parameter.max_length is not None and len(value) > parameter.max_length:
            return f"at most {parameter.max_length:,} characters"
        if parameter.pattern is not None:
            pattern = pattern_of(parameter.pattern)
            if len(value) > pattern.longest:
                return f"at most {pattern.longest:,} characters, so that its pattern can be searched for"
            if not pattern.search(value):
                return f"a text that matches {parameter.pattern}"
        return None
    if parameter.minimum is not None and value < parameter.minimum:
        return f"at least {parameter.minimum:,}"
    if parameter.maximum is not None and value > parameter.maximum:
        return f"at most {parameter.maximum:,}"
    return None


class Declaration(NamedTuple):
    """One entry of ``params`` before it is read: a default, or a table with a type and bounds."""

    name: str | None
    """None: it is given by its position. Empty: the table has it."""
    node: Node
    where: str
    mark: Mark


class ParamsForm(Form[tuple[Parameter, ...]]):
    """Words by position or as ``NAME=value``, a list of these, a table, or entries with a type and bounds."""

    text = "words such as `a NAME=b`, a list, or a table of names with their defaults or types"

    def __init__(self) -> None:
        self._typed = TableForm(Parameter)

    def read(self, node: Node, where: str, reading: Reading) -> tuple[Parameter, ...]:
        found: dict[str, Parameter] = {}
        sound, positions = True, 0
        for each in self._declarations(node, where, reading):
            try:
                parameter = self._parameter(each, reading)
                if each.name is None:
                    positions += 1
                    parameter = msgspec.structs.replace(parameter, name=str(positions), position=positions)
                else:
                    check_receiving(parameter.name, each.where, each.mark, reading)
                if parameter.name in found:
                    why = f"{each.where} declares {parameter.name!r} again"
                    raise reading.reject("duplicate_parameter", why, each.mark, each.where)
                found[parameter.name] = parameter
            except Rejected:
                sound = False
        if not sound:
            raise Rejected
        return tuple(found.values())

    def _declarations(self, node: Node, where: str, reading: Reading) -> Iterator[Declaration]:
        match node:
            case Scalar(value=value, text=text) if value is not None:
                for name, word in tokens(text, where, node.mark, reading):
                    yield Declaration(name, Scalar(word, word, node.mark), where, node.mark)
            case Items(nodes=nodes):
                for number, each in enumerate(nodes):
                    reading.places[f"{where}[{number}]"] = each.mark
                    yield from self._of_item(each, f"{where}[{number}]", reading)
            case Table():
                for entry in unique(node, where, reading):
                    yield Declaration(entry.key, entry.node, f"{where}.{entry.key}", entry.mark)
            case _:
                raise self.misfit(node, where, reading)

    def _of_item(self, node: Node, where: str, reading: Reading) -> Iterator[Declaration]:
        match node:
            case Scalar(value=str() as text):
                name, word = named(text)
                yield Declaration(name, Scalar(word, word, node.mark), where, node.mark)
            case Table(entries=entries) if any(entry.key == "name" for entry in entries):
                yield Declaration("", node, where, node.mark)
            case Table():
                yield from self._declarations(node, where, reading)
            case _:
                yield Declaration(None, node, where, node.mark)

    def _parameter(self, given: Declaration, reading: Reading) -> Parameter:
        name, node, where, _ = given
        match node:
            case Table(entries=entries) if name == "" or {entry.key for entry in entries} & set(self._typed.fields):
                return self._declared(node, where, reading, name or "")
            case Scalar() if name or not is_null(node):
                refuse_commands(node.text, where, node.mark, reading, words=False)
                return Parameter(name=name or "", default="" if is_null(node) else node.text)
            case Items() | Table() if name:
                return Parameter(name=name, default=msgspec.json.encode(Anything().read(node, where, reading)).decode())
            case _:
                raise self.misfit(node, where, reading)

    def _declared(self, node: Table, where: str, reading: Reading, name: str = "") -> Parameter:
        fields = self._typed.read_fields(node, where, reading)
        kind: ParameterType = fields.get("type", "string")
        for bound in ("minimum", "maximum") if kind in ("string", "boolean") else ():
            if bound in fields:
                why = f"{where}.{bound} is for numbers: write `type: integer` or `type: number`"
                raise reading.reject("bad_value", why, reading.places[f"{where}.{bound}"], f"{where}.{bound}")
        converted: dict[str, Any] = {
            **fields,
            "name": fields.get("name", name),
            "default": _typed(kind, fields.get("default"), f"{where}.default", reading),
            "enum": tuple(_typed(kind, each, f"{where}.enum", reading) for each in fields.get("enum", ())),
            "required": fields.get("required", "default" not in fields),
        }
        parameter = Parameter(**converted)
        default = parameter.default
        if default is not UNSET and (right := problem_of(parameter, default)):
            why = f"{where}.default is {shown_value(default)}: write {right}"
            raise reading.reject("bad_value", why, reading.places[f"{where}.default"], f"{where}.default")
        return parameter

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        typed = self._typed.schema(definitions)
        plain_value: Schema = {"type": ["string", "number", "boolean", "null"]}
        value: Schema = {"anyOf": [plain_value, typed, {"type": "array"}, {"type": "object"}]}
        table: Schema = {"type": "object", "additionalProperties": value}
        item: Schema = {"anyOf": [{"type": ["string", "number", "boolean"]}, typed, table]}
        return {"anyOf": [{"type": ["string", "number", "boolean"]}, {"type": "array", "items": item}, table]}


_FORMS: dict[str, Form[Any]] = {"string": Text(), "integer": Whole(), "number": Number(), "boolean": Flag()}


def _typed(kind: ParameterType, node: Scalar | None, where: str, reading: Reading) -> Any:
    return UNSET if node is None else _FORMS[kind].read(node, where, reading)


PARAMS = ParamsForm()
