"""With which arguments is a body called? Those of the workflow, as annotated, and what it asks for by annotation.

A parameter annotated ``TaskInfo`` or ``Context`` is filled by the engine, whatever its name. Other annotations that are
not plain JSON say what the argument is made into. Which parameters those are is found out once per function.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache, partial
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypeGuard, Union, get_args, get_origin

import msgspec

from turnout.authoring.annotations import Conversions, conversions_for, converted, types_of
from turnout.authoring.injection import INJECTED, Context
from turnout.contracts.executor import Work
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
    """What a context is made into: ``Context``, or a class that derives from it."""


@lru_cache(maxsize=4096)
def slots_of(body: Body) -> tuple[Slot, ...]:
    """The parameters of the body that the engine fills, in order."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found: list[Slot] = []
    for index, parameter in enumerate(inspect.signature(body).parameters.values()):
        kind = _kind(parameter.annotation, body)
        if kind is None and parameter.default is INJECTED:
            raise InvalidWorkflow(
                f"parameter {parameter.name!r} of {body.__qualname__} has the default injected(), and its annotation "
                "does not say what is injected: annotate it as TaskInfo or Context",
                code="bad_injection",
            )
        if kind is not None:
            place = index if parameter.kind in positional else None
            found.append(Slot(parameter.name, kind, place, _context_type(parameter.annotation, body)))
    return tuple(found)


@lru_cache(maxsize=4096)
def open_signature(body: Body) -> inspect.Signature:
    """The parameters that the workflow gives arguments for."""
    filled = {slot.name for slot in slots_of(body)}
    return inspect.Signature([each for each in inspect.signature(body).parameters.values() if each.name not in filled])


class Needs(NamedTuple):
    """What it takes to call a function, beyond passing the arguments on."""

    slots: tuple[Slot, ...]
    conversions: Conversions | None


NOTHING = Needs((), None)


@lru_cache(maxsize=4096)
def needs_of(body: Body) -> Needs | None:
    """What calling this body takes; None for most bodies: they get JSON values as they are, and nothing else."""
    slots = slots_of(body)
    conversions = conversions_for(types_of(body), open_signature(body).parameters.values())
    return Needs(slots, conversions) if slots or conversions is not None else None


def call(work: Work, info: TaskInfo) -> tuple[Body, tuple[Any, ...], dict[str, Any]]:
    """The function to call for this attempt and its arguments; in Context style it returns what the body leaves."""
    assert work.body is not None, "only Python bodies are called"
    body = work.body
    needs = needs_of(body) or NOTHING
    context = None if work.context is None else _own_copy(work.context, needs.slots)
    args, kwargs = _as_needed(needs, work.args, work.kwargs, info, context)
    if context is None:
        return body, args, kwargs
    return _leaving(body, context), args, kwargs


def caller(
    body: Body, args: tuple[Any, ...], kwargs: Mapping[str, Any], context: Mapping[str, Any] | None = None
) -> Callable[[TaskInfo], Callable[[], Any]] | None:
    """What ``Work.bind_body`` is for this body: None if calling it with its arguments is all there is to it."""
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
        # Slots come in ascending order, so everything before this position is in place if there are as many arguments.
        if slot.position is not None and slot.position <= len(filled):
            filled.insert(slot.position, value)
        else:
            named[slot.name] = value
    return tuple(filled), named


def _own_copy(context: Mapping[str, Any], slots: tuple[Slot, ...]) -> Context:
    # Bodies change their context in place; another attempt, or another task, must not see that.
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


def _kind(annotation: Any, body: Body) -> Literal["context", "info"] | None:
    options = _options(annotation, body)
    if options is None:
        # Imported under TYPE_CHECKING only: the text has to do.
        names = {part.strip().removeprefix("turnout.") for part in str(annotation).split("|")}
        return "info" if "TaskInfo" in names else "context" if "Context" in names else None
    return "info" if TaskInfo in options else "context" if any(map(_is_context, options)) else None


def _context_type(annotation: Any, body: Body) -> type[Context]:
    return next((each for each in _options(annotation, body) or () if _is_context(each)), Context)


def _is_context(kind: Any) -> TypeGuard[type[Context]]:
    return isinstance(kind, type) and issubclass(kind, Context)


def _options(annotation: Any, body: Body) -> tuple[Any, ...] | None:
    """The types that an annotation names; None if it is text that cannot be evaluated."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, getattr(inspect.unwrap(body), "__globals__", {}))
        except Exception:
            return None
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
