"""Reads the headers that make requests safe to repeat and changes safe to make: Idempotency-Key, If-Match and
If-None-Match (pure)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from turnout.errors import PreconditionFailed, RequestError

IDEMPOTENCY_KEY = "idempotency-key"
MAX_KEY = 255
"""Characters of an Idempotency-Key."""

_KEY = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]*"')


def idempotency_key(headers: Mapping[str, str]) -> str | None:
    """Returns the key of a request that starts a run; None if it has none. It becomes the idempotency key of the run:
    the same key with the same input gives the same run, with another input it is refused.

    >>> idempotency_key({"idempotency-key": "order-17"})
    'order-17'
    """
    given = headers.get(IDEMPOTENCY_KEY)
    if given is None:
        return None
    # RFC drafts write the key as a quoted string; most clients send it bare.
    key = given[1:-1] if len(given) >= 2 and given[0] == given[-1] == '"' else given
    if len(key) > MAX_KEY or not _KEY.fullmatch(key):
        raise RequestError(
            f"Idempotency-Key is {given[:40]!r}: write 1 to {MAX_KEY} printable characters of ASCII",
            code="bad_idempotency_key",
        )
    return key


def etag(version: str | int) -> str:
    """Returns the ETag of a version.

    >>> etag(7)
    '"7"'
    """
    return f'"{version}"'


def check_if_match(headers: Mapping[str, str], current: str | int | None, what: str) -> None:
    """Raises PreconditionFailed unless the request is based on the current version of what it changes.

    ``current`` None: it does not exist yet, and the request says so with ``If-None-Match: *``."""
    wanted, absent = _tags(headers, "if-match"), _tags(headers, "if-none-match")
    if not wanted and not absent:
        raise PreconditionFailed(
            f"a change of {what} needs If-Match with the ETag of the version that it is based on, or If-None-Match: * "
            "to make a new one",
            code="precondition_required",
        )
    tag = None if current is None else etag(current)
    if absent and tag is not None and ("*" in absent or tag in absent):
        raise PreconditionFailed(f"{what} exists already", code="stale_etag", etag=tag)
    if not wanted:
        return
    if tag is None:
        raise PreconditionFailed(f"{what} does not exist", code="stale_etag")
    if "*" not in wanted and tag not in wanted:
        raise PreconditionFailed(
            f"{what} has changed since it was read: the current version is {tag}", code="stale_etag", etag=tag
        )


def is_unmodified(headers: Mapping[str, str], current: str | int) -> bool:
    """True if the caller has this version already: the answer is 304."""
    tags = _tags(headers, "if-none-match")
    return "*" in tags or etag(current) in tags


def _tags(headers: Mapping[str, str], name: str) -> frozenset[str]:
    given = headers.get(name)
    if given is None:
        return frozenset()
    if given.strip() == "*":
        return frozenset("*")
    found = [each.strip() for each in given.split(",")]
    for each in found:
        if not _TAG.fullmatch(each):
            raise RequestError(f'{name} is {given[:60]!r}: write ETags in quotes, as "7", or *', code="bad_etag")
    return frozenset(each.removeprefix("W/") for each in found)
