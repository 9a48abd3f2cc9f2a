"""Answers with a value as JSON text: whole, in parts by ``Range``, or as a file to keep."""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, Any

from litestar import Request, Response
from litestar.params import Parameter

from turnout.errors import RequestError
from turnout.server.preconditions import etag
from turnout.server.responses import Responses, answers

JSON = "application/json"
Download = Annotated[bool, Parameter(description="True: browsers keep it as a file.")]
_RANGE = re.compile(r"bytes=(\d{1,18})-(\d{0,18})")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def value_answers(*codes: str) -> Responses:
    """Returns the answers of a route that answers with a value, as the OpenAPI document describes them."""
    return answers(
        Any,
        *codes,
        "range_not_satisfiable",
        status=(200, 206),
        description="The value, or with 206 the part asked for.",
    )


def value_response(text: bytes, request: Request[Any, Any, Any], name: str | None) -> Response[bytes]:
    """Returns the answer with this JSON text, or with the part of it that the request asks for.

    ``name`` is that of the file under which a browser keeps it; None: it is shown."""
    tag = etag(hashlib.sha256(text).hexdigest()[:32])
    headers = {"ETag": tag, "Accept-Ranges": "bytes"}
    if name is not None:
        headers["Content-Disposition"] = f'attachment; filename="{_UNSAFE.sub("_", name)}.json"'
    if request.headers.get("if-none-match") == tag:
        return Response(b"", status_code=304, headers=headers)
    part = _part(request.headers.get("range"), len(text))
    # A part of another version than the client has would not fit the parts that it has.
    if part is None or request.headers.get("if-range", tag) != tag:
        return Response(text, headers=headers, media_type=JSON)
    headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{len(text)}"
    return Response(text[part.start : part.stop], status_code=206, headers=headers, media_type=JSON)


def _part(wanted: str | None, size: int) -> range | None:
    """Returns the part that a ``Range`` asks for; None for all of it. Other forms than one part by its first byte are
    answered with all of it, as the protocol allows."""
    found = None if wanted is None else _RANGE.fullmatch(wanted)
    if found is None:
        return None
    first, last = int(found[1]), int(found[2] or size - 1)
    if last < first and found[2]:
        return None
    if first >= size:
        raise RequestError(
            f"Range is {wanted!a}: the value has {size:,} bytes", code="range_not_satisfiable", field="Range", size=size
        )
    return range(first, min(last, size - 1) + 1)
