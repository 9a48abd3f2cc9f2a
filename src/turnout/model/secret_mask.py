"""Masks secrets in a stream of output, also where one is split over two chunks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

MASK = b"*******"
MIN_LINE_LENGTH = 8
"""Bytes of a line of a secret with several lines from which on the line alone is masked as well."""


def needles_of(secrets: Iterable[str]) -> tuple[bytes, ...]:
    """Returns the texts to mask, the longest first: each secret, and the longer lines of those that have several, as
    they are and as they stand in a JSON document."""
    found: dict[bytes, None] = {}
    for secret in secrets:
        text = secret.strip("\r\n")
        lines = text.splitlines()
        long = [line.strip() for line in lines if len(line.strip()) >= MIN_LINE_LENGTH] if len(lines) > 1 else []
        for each in (text, *long):
            for form in _forms(each) if each else ():
                found[form.encode(errors="surrogateescape")] = None
    return tuple(sorted(found, key=len, reverse=True))


def _forms(text: str) -> Iterator[str]:
    """Yields the text, and the ways in which the usual encoders write it inside of a JSON string."""
    yield text
    for ascii_only in (True, False):
        escaped = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield escaped
        yield escaped.replace("/", "\\/")
        yield re.sub(r"\\u([0-9a-f]{4})", lambda code: f"\\u{code[1].upper()}", escaped)


class Masker:
    """Replaces secrets in a stream. What may be the beginning of one is held back until more comes, or the end.

    >>> masker = Masker(["s3cret"])
    >>> masker.feed(b"token s3c"), masker.feed(b"ret."), masker.flush()
    (b'token ', b'*******.', b'')
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._needles = needles_of(secrets)
        # The longest first: of several that begin at one place, the first alternative counts.
        self._pattern = re.compile(b"|".join(map(re.escape, self._needles)))
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Returns the part of the stream so far that can be shown."""
        if not self._needles:
            return data
        masked, self._held = self._masked(self._held + data)
        return masked

    def flush(self) -> bytes:
        """Returns what was held back, at the end of the stream."""
        held, self._held = self._held, b""
        return self._pattern.sub(MASK, held) if self._needles else held

    def text(self, text: str) -> str:
        """Returns a whole text with every secret masked."""
        if not self._needles:
            return text
        return self._pattern.sub(MASK, text.encode(errors="surrogateescape")).decode(errors="surrogateescape")

    def _masked(self, data: bytes) -> tuple[bytes, bytes]:
        """Returns the data with secrets masked, and the end of it that may begin one."""
        parts: list[bytes] = []
        place, begun = 0, self._begins(data, 0)
        for match in self._pattern.finditer(data):
            if match.start() >= begun:
                break  # a longer secret that begins before it may still be on its way
            parts += (data[place : match.start()], MASK)
            place = match.end()
            if place > begun:
                begun = self._begins(data, place)
        parts.append(data[place:begun])
        return b"".join(parts), data[begun:]

    def _begins(self, data: bytes, place: int) -> int:
        """Returns the first position from which on the data may be the beginning of a secret that is not complete."""
        first = len(data)
        for needle in self._needles:
            for at in range(max(place, len(data) - len(needle) + 1), first):
                if needle.startswith(data[at:]):
                    first = at
                    break
        return first
