"""Holds the parameters that a workflow declares, and the arguments that a step passes on."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

ParameterType: TypeAlias = Literal["string", "integer", "number", "boolean"]
Plain: TypeAlias = str | int | float | bool


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of a workflow. Without a ``type`` it is text: ``1.10`` stays ``1.10``."""

    name: str
    """The name, as in ``${NAME}``. A positional parameter is named by its place: ``1``, ``2``."""
    type: ParameterType = "string"
    """The type of its values."""
    default: Plain | UnsetType = UNSET
    """The value of a run that gives none."""
    required: bool = False
    """True: a run must give a value. Set as well if there is neither a default nor ``required: false``."""
    enum: tuple[Plain, ...] = ()
    """The values that are allowed; empty: all."""
    minimum: float | None = None
    """The least value of a number."""
    maximum: float | None = None
    """The greatest value of a number."""
    min_length: Annotated[int, Meta(ge=0)] | None = None
    """The least number of characters of a text."""
    max_length: Annotated[int, Meta(ge=0)] | None = None
    """The greatest number of characters of a text."""
    pattern: str | None = None
    """A regular expression that a text must contain a match of."""
    description: str = ""
    """The meaning, for forms and help."""
    position: int | None = None
    """The place of a positional parameter, from 1; None: it has a name."""


class Arguments(msgspec.Struct, frozen=True):
    """The ``params`` of a step: what a sub-workflow, a handler or a Python task is called with."""

    positional: tuple[Any, ...] = ()
    named: dict[str, Any] = {}
