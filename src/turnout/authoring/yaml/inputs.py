"""Makes the parameters of a workflow file those of a spec: names, defaults, types and bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET

from turnout.authoring.yaml.params import Parameter, problem_of
from turnout.model.annotations import ConversionError, TypeAdapter
from turnout.model.interpolation import as_text
from turnout.model.spec import Param

_TYPES: Mapping[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool}
_FLAGS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def input_name(parameter: Parameter) -> str:
    """Returns the name in a run's input: a positional parameter ``1`` is ``_1`` there."""
    return parameter.name if parameter.position is None else f"_{parameter.position}"


def spec_params(parameters: Sequence[Parameter]) -> tuple[Param, ...]:
    return tuple(_param(each) for each in parameters)


def adapters(parameters: Sequence[Parameter]) -> Mapping[str, TypeAdapter]:
    """Returns the types of the parameters, which take text for every type."""
    return {input_name(each): _adapter(each) for each in parameters}


def _param(parameter: Parameter) -> Param:
    kind = _TYPES[parameter.type]
    default = parameter.default
    if default is UNSET:
        default = "" if parameter.type == "string" else None
    return Param(
        name=input_name(parameter),
        required=parameter.required,
        default=None if parameter.required else default,
        type=kind.__name__,
        doc=parameter.description,
        schema=_schema(parameter),
    )


def _schema(parameter: Parameter) -> dict[str, Any]:
    bounds = {
        "enum": list(parameter.enum) or None,
        "minimum": parameter.minimum,
        "maximum": parameter.maximum,
        "minLength": parameter.min_length,
        "maxLength": parameter.max_length,
        "pattern": parameter.pattern,
    }
    return {"type": parameter.type, **{name: value for name, value in bounds.items() if value is not None}}


def _adapter(parameter: Parameter) -> TypeAdapter:
    kind = _TYPES[parameter.type]

    def convert(value: Any) -> Any:
        made = _converted(parameter, value)
        right = problem_of(parameter, made)
        if right is not None:
            raise ConversionError(f"write {right}")
        return made

    return TypeAdapter(kind.__name__, convert, False, kind, reads_text=True)


def _converted(parameter: Parameter, value: Any) -> Any:
    """Returns the value in the parameter's type. Text is read: values come from command lines and outputs as well."""
    text = as_text(value).strip()
    made: Any = None
    match parameter.type:
        case "string":
            return as_text(value)
        case "integer":
            digits = text.lstrip("+-")
            made = int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else _whole(value)
        case "number":
            made = _number(text)
        case "boolean":
            made = _FLAGS.get(text.lower())
    if made is None:
        raise ConversionError(f"it is no {parameter.type}")
    return made


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, float) and value.is_integer() else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
