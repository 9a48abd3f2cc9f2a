"""Declares the parameters that several routes have."""

from __future__ import annotations

from typing import Annotated

from litestar.params import HeaderParameter, Parameter

from turnout.errors import RequestError
from turnout.server.preconditions import MAX_KEY
from turnout.server.responses import RUN_ID

MAX_PAGE_SIZE = 1_000
MAX_TIME = 1e11

RunId = Annotated[str, Parameter(description=f"The id of a run, as `{RUN_ID}`.", max_length=64)]
TaskName = Annotated[
    str, Parameter(description="The name of a task; an item of a mapped task is `name[0]`.", max_length=400)
]
Limit = Annotated[int, Parameter(ge=1, le=MAX_PAGE_SIZE, description="Entries of one page at most.")]
Cursor = Annotated[
    str | None,
    Parameter(
        description="The value of `next` of the page before. It is valid for the same list with the same filter.",
        max_length=512,
    ),
]
Time = Annotated[
    float | None,
    Parameter(ge=0, le=MAX_TIME, description="A bound of the time of submission, in seconds since 1970."),
]
IdempotencyKey = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        max_length=MAX_KEY + 2,
        description="The same key with the same body gives the same run, and with another body 409. Keys are those of "
        "one workflow.",
    ),
]
IfMatch = Annotated[
    str | None,
    HeaderParameter(name="If-Match", max_length=400, description='The ETag of the version that is changed, as `"7"`.'),
]
LastEventId = Annotated[
    str | None,
    HeaderParameter(
        name="Last-Event-ID",
        max_length=128,
        description="The id of the last event that the client has; the stream continues behind it.",
    ),
]

After = Annotated[
    str | None,
    Parameter(
        max_length=128,
        description="The same as Last-Event-ID, which prevails, for clients that cannot send that header.",
    ),
]


def position_of(last: str | None) -> tuple[int, int]:
    """Returns the position in a history that a cursor stands for: seq and part."""
    if last is None:
        return 0, 0
    seq, _, part = last.partition(".")
    return number_of(seq), number_of(part)


def number_of(last: str | None) -> int:
    """Returns the number that a cursor stands for; 0 without one."""
    if last is None:
        return 0
    if not last.isascii() or not last.isdigit() or len(last) > 18:
        raise RequestError("this is no cursor of this list", code="invalid_cursor", field="cursor")
    return int(last)
