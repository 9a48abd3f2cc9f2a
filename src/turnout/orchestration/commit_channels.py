"""Makes commits on the event loop, over channels of the store whose answers wake it: no thread waits for them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from turnout.contracts.store.ledger import CommitChannel
from turnout.errors import StoreUnreachable
from turnout.model.rows import RunWrite, WriteOutcome

log = logging.getLogger("turnout.ledger")

MAX_CHARACTERS = 256 * 1024
"""Characters of values in a commit on a channel: larger ones would hold up the event loop, and go to a lane."""

B = TypeVar("B")


class CommitChannels(Generic[B]):
    """The open channels of one ledger. Each makes one commit at a time. Used on the event loop only.

    ``committed`` is called with a batch and its outcomes, ``failed`` with a batch that has none and the error: unless
    the database refused it, it is not known whether it was committed. The channel is closed then."""

    def __init__(
        self, committed: Callable[[B, list[WriteOutcome]], None], failed: Callable[[B, BaseException], None]
    ) -> None:
        self._committed = committed
        self._failed = failed
        self._free: list[CommitChannel] = []
        self._busy: dict[CommitChannel, B] = {}
        self._sockets: dict[CommitChannel, int] = {}
        """Of each channel: a connection that is lost does not tell its own any more."""
        self._unsent: set[CommitChannel] = set()
        """Channels whose socket does not take all that is to be sent."""
        self._opening = 0
        self._available = True
        """False once the store had none to give."""
        self._closed = False

    def request(self, most: int) -> bool:
        """Returns whether the caller is to open one more, of ``most``, and then to call ``opened``."""
        wanted = self._available and not self._closed and len(self._free) + len(self._busy) + self._opening < most
        self._opening += wanted
        return wanted

    def opened(self, channel: CommitChannel | None, *, available: bool = True) -> None:
        """Takes a channel that was requested; None if it could not be opened, or is never ``available``."""
        self._opening -= 1
        self._available = self._available and available
        if channel is None:
            return
        if self._closed:
            channel.close()
            return
        socket = self._sockets[channel] = channel.fileno()
        asyncio.get_running_loop().add_reader(socket, self._on_readable, channel)
        self._free.append(channel)

    def send(self, batch: B, writes: Sequence[RunWrite], wake: Callable[[], frozenset[str]]) -> bool:
        """Begins the commit of this batch. False if no channel is free or its values cannot be sent: nothing was."""
        if not self._free:
            return False
        channel = self._free.pop()
        try:
            channel.send(writes, wake())
        except StoreUnreachable as error:
            self._busy[channel] = batch
            self._drop(channel, error)
            return True
        except Exception:  # a lane finds out which of the writes is at fault
            self._free.append(channel)
            return False
        self._busy[channel] = batch
        self._flush(channel)
        return True

    def close(self) -> None:
        """Closes each channel when it is free."""
        self._closed = True
        free, self._free = self._free, []
        for channel in free:
            self._release(channel)

    def _flush(self, channel: CommitChannel) -> None:
        try:
            sent = channel.flush()
        except Exception as error:
            self._drop(channel, error)
            return
        if not sent:
            self._unsent.add(channel)
            asyncio.get_running_loop().add_writer(self._sockets[channel], self._flush, channel)
        elif channel in self._unsent:
            self._unsent.discard(channel)
            asyncio.get_running_loop().remove_writer(self._sockets[channel])

    def _on_readable(self, channel: CommitChannel) -> None:
        try:
            outcomes = channel.receive()
        except Exception as error:
            self._drop(channel, error)
            return
        if outcomes is None:
            self._flush(channel)
            return
        batch = self._busy.pop(channel)
        if self._closed:
            self._release(channel)
        else:
            self._free.append(channel)
        self._committed(batch, outcomes)

    def _drop(self, channel: CommitChannel, error: BaseException) -> None:
        """Closes a channel that has failed, whatever was sent over it."""
        batch = self._busy.pop(channel, None)
        if channel in self._free:
            self._free.remove(channel)
        self._release(channel)
        if batch is not None:
            self._failed(batch, error)
        else:
            log.debug("an idle connection for commits was closed: %s", error)

    def _release(self, channel: CommitChannel) -> None:
        loop, socket = asyncio.get_running_loop(), self._sockets.pop(channel)
        loop.remove_reader(socket)
        loop.remove_writer(socket)
        self._unsent.discard(channel)
        channel.close()
