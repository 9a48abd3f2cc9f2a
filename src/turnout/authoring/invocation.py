"""Binds the arguments of a body: those of the workflow, converted as annotated, and those that the engine fills.

A parameter annotated ``TaskInfo`` or ``Context`` is filled by the engine, whatever its name. The parameters of a
function are examined once.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache, partial
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypeGuard, Union, get_args, get_origin

import msgspec

from turnout.authoring.annotations import Conversions, annotations_of, conversions_for, converted, types_of
from turnout.authoring.injection import INJECTED, Context
from turnout.errors import InvalidWorkflow, PermanentFailure
from turnout.model.branch import Branch
from turnout.model.info import TaskInfo

Body: TypeAlias = Callable[..., Any]


class Slot(NamedTuple):
    """A parameter that the engine fills. ``position`` is None if it can only be given by name."""

    name: str
    kind: Literal["context", "info"]
    position: int | None
    context: type[Context] = Context
    """The class of the context: ``Context``, or one that derives from it."""


@lru_cache(maxsize=4096)
def slots_of(body: Body) -> tuple[Slot, ...]:
    """Returns the parameters of the body that the engine fills, in order."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found: list[Slot] = []
    resolved = annotations_of(body)
    for index, parameter in enumerate(inspect.signature(body).parameters.values()):
        annotation = resolved.get(parameter.name, parameter.annotation)
        kind = _kind(annotation)
        if kind is None and parameter.default is INJECTED:
            raise InvalidWorkflow(
                f"parameter {parameter.name!r} of {body.__qualname__} has the default injected(), and its annotation "
                "does not say what is injected: annotate it as TaskInfo or Context",
                code="bad_injection",
            )
        if kind is not None:
            place = index if parameter.kind in positional else None
            found.append(Slot(parameter.name, kind, place, _context_type(annotation)))
    return tuple(found)


@lru_cache(maxsize=4096)
def open_signature(body: Body) -> inspect.Signature:
    """Returns the signature with the parameters that the workflow gives arguments for."""
    filled = {slot.name for slot in slots_of(body)}
    return inspect.Signature([each for each in inspect.signature(body).parameters.values() if each.name not in filled])


class Needs(NamedTuple):
    """The injected parameters and the conversions of a function."""

    slots: tuple[Slot, ...]
    conversions: Conversions | None


NOTHING = Needs((), None)


@lru_cache(maxsize=4096)
def needs_of(body: Body) -> Needs | None:
    """Returns the needs of the body; None for most bodies, which take JSON values unchanged and nothing else."""
    slots = slots_of(body)
    conversions = conversions_for(types_of(body), open_signature(body).parameters.values())
    return Needs(slots, conversions) if slots or conversions is not None else None


def caller(
    body: Body, args: tuple[Any, ...], kwargs: Mapping[str, Any], context: Mapping[str, Any] | None = None
) -> Callable[[TaskInfo], Callable[[], Any]] | None:
    """Returns the ``Work.bind_body`` of this body; None if it is called with its arguments unchanged."""
    needs = needs_of(body)
    if needs is None:
        if context is None:
            return None
        needs = NOTHING
    return partial(_bound, needs, body, args, kwargs, context)


def _bound(
    needs: Needs,
    body: Body,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    context: Mapping[str, Any] | None,
    info: TaskInfo,
) -> Callable[[], Any]:
    own = None if context is None else _own_copy(context, needs.slots)
    filled, named = _as_needed(needs, args, kwargs, info, own)
    function = body if own is None else _leaving(body, own)
    return partial(function, *filled, **named)


def _as_needed(
    needs: Needs, args: tuple[Any, ...], kwargs: Mapping[str, Any], info: TaskInfo, context: Context | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if needs.conversions is not None:
        args, kwargs = converted(needs.conversions, args, kwargs, info.task_name)
    return fill(needs.slots, args, kwargs, info, context)


def fill(
    slots: tuple[Slot, ...],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    info: TaskInfo,
    context: Context | None,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    filled, named = list(args), dict(kwargs)
    for slot in slots:
        value = info if slot.kind == "info" else context
        # Slots are in ascending order, so all arguments before this position are set if there are as many.
        if slot.position is not None and slot.position <= len(filled):
            filled.insert(slot.position, value)
        else:
            named[slot.name] = value
    return tuple(filled), named


def _own_copy(context: Mapping[str, Any], slots: tuple[Slot, ...]) -> Context:
    # Bodies may change their context in place; other attempts and other tasks must not see that.
    kind = next((slot.context for slot in slots if slot.kind == "context"), Context)
    return kind(msgspec.json.decode(msgspec.json.encode(context)))


def _leaving(body: Body, context: Context) -> Body:
    def run(*args: Any, **kwargs: Any) -> Any:
        returned = body(*args, **kwargs)
        return _left_later(context, returned) if inspect.isawaitable(returned) else _left(context, returned)

    return run


async def _left_later(context: Context, returned: Awaitable[Any]) -> dict[str, Any] | Branch[Any]:
    return _left(context, await returned)


def _left(context: Context, returned: Any) -> dict[str, Any] | Branch[Any]:
    if isinstance(returned, Branch):
        return Branch(*returned.chosen, value=_left(context, returned.value))
    if returned is None or returned is context:
        return dict(context)
    if isinstance(returned, dict):
        return {**context, **returned}
    raise PermanentFailure(
        f"a task in Context style returned a value of type {type(returned).__qualname__}: "
        "return None, or a dict whose keys are set in the context, or a Branch",
        code="not_an_object",
    )


def _kind(annotation: Any) -> Literal["context", "info"] | None:
    if isinstance(annotation, str):
        # The name is imported under TYPE_CHECKING only, so the text is compared.
        names = {part.strip().removeprefix("turnout.") for part in str(annotation).split("|")}
        return "info" if "TaskInfo" in names else "context" if "Context" in names else None
    options = _options(annotation)
    return "info" if TaskInfo in options else "context" if any(map(_is_context, options)) else None


def _context_type(annotation: Any) -> type[Context]:
    return next((each for each in _options(annotation) if _is_context(each)), Context)


def _is_context(kind: Any) -> TypeGuard[type[Context]]:
    return isinstance(kind, type) and issubclass(kind, Context)


def _options(annotation: Any) -> tuple[Any, ...]:
    """Returns the types that an annotation names."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
