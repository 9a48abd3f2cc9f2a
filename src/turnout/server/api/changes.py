"""Declares the routes by which operators change one thing: its path, what it answers, and the codes of its errors."""

from __future__ import annotations

from typing import Any

from litestar import post

from turnout.server.guards import requires
from turnout.server.responses import answers


def change(
    path: str,
    content: Any,
    *codes: str,
    operation_id: str,
    summary: str,
    example: Any,
    description: str,
    status: int = 200,
    takes_body: bool = False,
) -> post:
    """Returns the decorator of a POST route that needs the role of operators."""
    return post(
        path,
        status_code=status,
        operation_id=operation_id,
        summary=summary,
        guards=[requires("operator")],
        responses=answers(
            content, *codes, status=status, takes_body=takes_body, example=example, description=description
        ),
    )
