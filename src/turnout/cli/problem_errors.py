"""Turns problem documents of a server into the errors that the same command raises on a database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from turnout.errors import (
    AccessDenied,
    InvalidInput,
    RequestError,
    ServerUnavailable,
    TaskFailure,
    TaskSignal,
    TooBusy,
    TurnoutError,
    WaitTimedOut,
)

MEMBERS = frozenset({"type", "title", "status", "detail", "code", "instance"})
"""Members of a problem document that are no fields of the error."""
KINDS_OF_STATUS: Mapping[int, type[TurnoutError]] = {
    400: RequestError,
    401: AccessDenied,
    403: AccessDenied,
    429: TooBusy,
    502: ServerUnavailable,
    503: ServerUnavailable,
    504: WaitTimedOut,
}
"""Classes of codes that no class has as its own; others below 500 are InvalidInput."""


def error_of(status: int, document: Mapping[str, Any]) -> TurnoutError:
    """Returns the error of a problem document, with its code and fields.

    >>> error_of(404, {"code": "run_not_found", "detail": "there is no run 7", "run_id": "7"})
    RunNotFound('there is no run 7')
    """
    code, detail = document.get("code"), document.get("detail")
    if not isinstance(code, str) or not isinstance(detail, str):
        return ServerUnavailable(f"the server answered with status {status} and no problem document", status=status)
    fields = {name: value for name, value in document.items() if name not in MEMBERS}
    if "failures" in fields:
        fields["failures"] = _failures(fields["failures"])
    kind = _KINDS.get(code) or KINDS_OF_STATUS.get(status) or (InvalidInput if status < 500 else TurnoutError)
    return kind(detail, code=code, **fields)


def _failures(found: Any) -> tuple[TaskFailure, ...]:
    try:
        return msgspec.convert(found, tuple[TaskFailure, ...])
    except msgspec.ValidationError:
        return ()


def _kinds(kind: type[TurnoutError]) -> Iterator[type[TurnoutError]]:
    """Yields the class and all below it, but for what bodies raise."""
    yield kind
    for each in kind.__subclasses__():
        if each is not TaskSignal:
            yield from _kinds(each)


_KINDS: dict[str, type[TurnoutError]] = {}
for _kind in _kinds(TurnoutError):
    _KINDS.setdefault(_kind.code, _kind)
