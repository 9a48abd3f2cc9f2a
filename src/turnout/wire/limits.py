"""Bounds of what one message may hold: more is over the limit, whatever its size in bytes.

They are far above what a worker or a hub sends, and low enough that reading one message takes well below a second.
Workers of all languages have the same, held to them by ``vectors/limits.json``.
"""

from __future__ import annotations

from collections.abc import Mapping

from turnout.wire.messages import KINDS, MAX_CREDITS, Message, OverLimit

MAX_RESULTS = 5_000
"""Steps, results or lines of one message."""
MAX_TOKENS = 2 * MAX_CREDITS
"""Tokens, or held steps: those that run and wait, and those whose results are not acknowledged."""
MAX_REPLY_TOKENS = 1_000
"""Unknown tokens that one answer names."""
MAX_TOKEN_LENGTH = 256
MAX_NAMES = 1_000
MAX_REPAIRABLE_PARTS = 1_000_000
"""Objects, lists and values of a message that cannot be read as it is, and is repaired result by result."""
MAX_OUTPUT_FACTOR = 4
"""How much larger than its bound an output may be as it travels: with escapes, or in MessagePack."""

LIMITS: Mapping[str, int] = {
    "results": MAX_RESULTS,
    "steps": MAX_RESULTS,
    "lines": MAX_RESULTS,
    "tokens": MAX_TOKENS,
    "in_flight": MAX_TOKENS,
    "keep": MAX_TOKENS,
    "release": MAX_TOKENS,
    "granted": MAX_TOKENS,
    "denied": MAX_TOKENS,
    "versions": MAX_NAMES,
    "codecs": MAX_NAMES,
    "hubs": MAX_NAMES,
}
"""By the name of a field, in every message that has it."""

_FIELDS = {
    message: tuple((name, LIMITS[name]) for name in message.__struct_fields__ if name in LIMITS)
    for message in KINDS.values()
}


def check_lists(kind: str, message: Message) -> None:
    """Raises OverLimit if a list of the message is too long.

    >>> from turnout.wire.messages import Ack
    >>> check_lists("ack", Ack(("t",) * 200_001))
    Traceback (most recent call last):
    turnout.wire.messages.OverLimit: ack has 200,001 tokens; the limit is 200,000
    """
    for name, limit in _FIELDS[KINDS[kind]]:
        if len(getattr(message, name)) > limit:
            raise OverLimit(f"{kind} has {len(getattr(message, name)):,} {name}; the limit is {limit:,}")


def check_results(count: int) -> None:
    """The same for results that are not read yet."""
    if count > MAX_RESULTS:
        raise OverLimit(f"results has {count:,} results; the limit is {MAX_RESULTS:,}")


def check_complexity(text: bytes) -> None:
    """Raises OverLimit if repairing this JSON would take long. Counts what may begin a value, so at least as many as
    there are."""
    found = sum(text.count(mark) for mark in (b"[", b"{", b",", b'"'))
    if found > MAX_REPAIRABLE_PARTS:
        raise OverLimit(f"a message that cannot be read has {found:,} parts; the limit is {MAX_REPAIRABLE_PARTS:,}")
