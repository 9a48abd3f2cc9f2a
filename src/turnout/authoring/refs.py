"""Holds the placeholders that stand for values while a graph is built, and makes templates of values that hold them."""

from __future__ import annotations

import linecache
import os
import sys
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn, Protocol

from turnout.errors import InvalidWorkflow, NotJson, NotYetAValue, TooLarge
from turnout.model.spec import DictOf, FromParam, FromTask, ListOf, Literally, Template
from turnout.model.types import to_json_value
from turnout.model.values import dump_output

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def author() -> FrameType:
    """Returns the frame of the innermost caller outside of this package."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(_HERE):
        frame = frame.f_back
    return frame


def place() -> str:
    """Returns ``file.py:12`` of the author's line in the call stack, with the line itself if it can be read."""
    frame = author()
    return _shown(frame.f_code.co_filename, frame.f_lineno)


def unpacked() -> int | None:
    """Returns the number of names that the author's line unpacks an iterator into; None if it does not unpack."""
    import dis

    frame = author()
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at + 1] if dis.opname[code[at]] in ("UNPACK_SEQUENCE", "UNPACK_EX") else None


def raised_at(error: BaseException) -> str:
    """Returns `` at file.py:12`` of the line that raised, with the line itself if it can be read."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" at {_shown(frames[-1].filename, frames[-1].lineno or 0)}" if frames else ""


def _shown(file: str, line: int) -> str:
    text = linecache.getline(file, line).strip()
    return f"{file}:{line}" + (f" ({text})" if text else "")


COMPUTE = "do it in a task that takes it as an argument"
CHOOSE = "decide in a task that takes it as an argument, or give the later task a trigger_rule"
LOOP = "map a task over it, as in f.map(x), or pass it whole to a task that goes through it"


class Origin(Protocol):
    """The graph that a placeholder belongs to."""

    @property
    def workflow(self) -> str: ...


class Ref:
    """The placeholder of a value that a run will have. Only keys and indexes may be taken from it."""

    __slots__ = ("_ref_drawing", "_ref_source")

    _ref_source: FromParam | FromTask
    _ref_drawing: Origin

    def __init__(self, source: FromParam | FromTask, drawing: Origin) -> None:
        object.__setattr__(self, "_ref_source", source)
        object.__setattr__(self, "_ref_drawing", drawing)

    @property
    def __task_name__(self) -> str:
        """The task whose result this is, for trigger rules."""
        if isinstance(self._ref_source, FromParam):
            raise NotYetAValue(f"{place()}: {describe(self)} is no task", parameter=self._ref_source.name)
        return self._ref_source.name

    def __getattr__(self, name: str) -> Ref:
        # Interpreters, debuggers and notebooks read such attributes of every object; they must not get a placeholder.
        if name.startswith("_"):
            raise AttributeError(f'{describe(self)} has no attribute {name!r}; write ["{name}"] for a key of that name')
        return self._part(name)

    def __getitem__(self, key: object) -> Ref:
        if isinstance(key, str) or (isinstance(key, int) and not isinstance(key, bool)):
            return self._part(key)
        _refuse(self, f"[{key!r}]", "only text keys and whole-number indexes can be picked here; " + COMPUTE)

    def _part(self, step: str | int) -> Ref:
        source = self._ref_source
        return Ref(type(source)(source.name, (*source.path, step)), self._ref_drawing)

    def __repr__(self) -> str:
        return f"<{describe(self)}, not yet a value>"

    # The hash is the identity: comparing placeholders is refused, but they may be in a set.
    def __hash__(self) -> int:
        return id(self)


def source_of(ref: Ref) -> FromParam | FromTask:
    return ref._ref_source  # pyright: ignore[reportPrivateUsage]


def drawing_of(ref: Ref) -> Origin:
    return ref._ref_drawing  # pyright: ignore[reportPrivateUsage]


def describe(ref: Ref) -> str:
    """Returns the placeholder in words: ``the result of 'charge' at ['id']``."""
    source = source_of(ref)
    what = f"parameter {source.name!r}" if isinstance(source, FromParam) else f"the result of {source.name!r}"
    return what + (f" at {''.join(f'[{step!r}]' for step in source.path)}" if source.path else "")


def _refuse(ref: Ref, use: str, way_out: str) -> NoReturn:
    raise NotYetAValue(
        f"{place()}: {use} needs a value, but {describe(ref)} has none yet: "
        f"the workflow function only draws the graph. Instead, {way_out}",
        use=use,
    )


def _iterate(ref: Ref) -> NoReturn:
    count = unpacked()
    if count is None:
        _refuse(ref, "a loop", LOOP)
    source = source_of(ref)
    kept, name = ("", source.name) if isinstance(source, FromParam) else (f"r = {source.name}(…) and ", "r")
    whole = name + "".join(f"[{step!r}]" for step in source.path)
    parts = ", ".join(f"{whole}[{index}]" for index in range(count))
    _refuse(ref, "unpacking", f"pick its parts: {kept}{parts}")


def _refusal(use: str, way_out: str) -> Callable[..., Any]:
    def refuse(self: Ref, *_: object, **__: object) -> NoReturn:
        _refuse(self, use, way_out)

    return refuse


_OPERATORS = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
    *("and", "or", "xor", "lshift", "rshift"),
)
_FORBIDDEN = {
    "__bool__": ("a condition (if, while, and, or, not)", CHOOSE),
    "__reversed__": ("reversed()", LOOP),
    "__len__": ("len()", COMPUTE),
    "__contains__": ("in", CHOOSE),
    "__call__": ("a method call", COMPUTE),
    "__str__": ("str() or print()", COMPUTE),
    "__format__": ("an f-string or format()", COMPUTE),
    "__bytes__": ("bytes()", COMPUTE),
    "__await__": ("await", "leave the await out: tasks are only called here, the engine awaits them"),
    "__enter__": ("with", COMPUTE),
    "__setattr__": ("setting an attribute", COMPUTE),
    "__setitem__": ("setting an item", COMPUTE),
    "__delitem__": ("deleting an item", COMPUTE),
    **{f"__{name}__": ("a comparison", CHOOSE) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{f"__{prefix}{name}__": ("arithmetic", COMPUTE) for name in _OPERATORS for prefix in ("", "r", "i")},
    **{f"__{name}__": ("arithmetic", COMPUTE) for name in ("divmod", "rdivmod", "neg", "pos", "abs", "invert")},
    **{f"__{name}__": (f"{name}()", COMPUTE) for name in ("int", "float", "complex", "round", "trunc")},
    "__index__": ("use as a number", COMPUTE),
}

_METHODS: dict[str, Callable[..., Any]] = {"__iter__": _iterate}

for _method, (_use, _way_out) in _FORBIDDEN.items():
    _METHODS[_method] = _refusal(_use, _way_out)
for _method, _function in _METHODS.items():
    setattr(Ref, _method, _function)


def template_of(value: Any, drawing: Origin, what: str) -> Template:
    """Returns the template for one argument or for the result; ``what`` names it in errors. Tuples become lists."""
    match value:
        case Ref():
            return _source(value, drawing, what)
        case list() | tuple() if _holds_refs(value):
            return ListOf(tuple(template_of(item, drawing, what) for item in value))
        case dict() if _holds_refs(value):
            for key in value:
                if not isinstance(key, str):
                    raise InvalidWorkflow(f"{place()}: {what} has the key {key!r}: keys are strings", code="not_json")
            return DictOf({key: template_of(item, drawing, what) for key, item in value.items()})
        case _:
            return Literally(_json(value, what))


def _source(ref: Ref, drawing: Origin, what: str) -> Template:
    if drawing_of(ref) is not drawing:
        raise InvalidWorkflow(
            f"{place()}: {what} is {describe(ref)} of workflow {drawing_of(ref).workflow!r}, "
            f"but this is workflow {drawing.workflow!r}: pass it on as a parameter",
            code="foreign_reference",
        )
    return source_of(ref)


def _holds_refs(value: Any) -> bool:
    match value:
        case Ref():
            return True
        case list() | tuple():
            return any(_holds_refs(item) for item in value)
        case dict():
            return any(_holds_refs(part) for pair in value.items() for part in pair)
        case _:
            return False


def _json(value: Any, what: str) -> Any:
    try:
        made = to_json_value(value, what)
        dump_output(made, what=what)
    except (NotJson, TooLarge) as error:
        way_out = (
            ". A result that does not exist yet cannot be part of an object: make the object in a task, or pass a dict"
            if error.fields.get("type") == Ref.__qualname__
            else ""
        )
        raise InvalidWorkflow(f"{place()}: {error.message}{way_out}", code=error.code) from error
    return made
