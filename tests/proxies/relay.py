"""What lies between a client and its server: a relay that makes the way there longer, and can be blocked or cut.

``python -m tests.proxies.relay HOST PORT SECONDS`` prints the port that it listens at. Then it obeys one command a line
on standard input, answers each with a line, and ends when the input does.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from contextlib import suppress

CHUNK = 1 << 16
MOST_UNDER_WAY = 1024
"""Chunks of one connection that are held back at most; above it the sender has to wait."""


class Way:
    """One direction of a connection. Each chunk arrives ``delay`` after it was sent, whatever else is under way."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, relay: Relay, delay: float) -> None:
        self._reader, self._writer = reader, writer
        self._relay, self._delay = relay, delay
        self._chunks: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(MOST_UNDER_WAY)

    async def go(self) -> None:
        """Until the sender has closed its end and everything is delivered, or the link breaks."""
        reading = asyncio.ensure_future(self._take())
        try:
            await self._deliver()
            self._writer.write_eof()
        finally:
            reading.cancel()

    async def _take(self) -> None:
        clock = asyncio.get_running_loop().time
        chunk = b"more"
        while chunk:
            try:
                chunk = await self._reader.read(CHUNK)
            except OSError:
                chunk = b""
            await self._chunks.put((clock() + self._delay, chunk))

    async def _deliver(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            due, chunk = await self._chunks.get()
            if (left := due - clock()) > 0:
                await asyncio.sleep(left)
            await self._relay.running.wait()
            if not chunk:
                return
            self._writer.write(chunk)
            await self._writer.drain()


class Relay:
    """All connections of one proxy."""

    def __init__(self, host: str, port: int, delay: float) -> None:
        self._host, self._port, self._delay = host, port, delay
        self._links: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._refusing = False
        self.running = asyncio.Event()
        self.running.set()

    async def serve(self) -> int:
        server = await asyncio.start_server(self._come, "127.0.0.1", 0)
        return int(server.sockets[0].getsockname()[1])

    def obey(self, command: str) -> None:
        match command:
            case "pause":
                self.running.clear()
            case "resume":
                self.running.set()
            case "cut":
                for link in list(self._links):
                    link.transport.abort()
            case "refuse":
                self._refusing = True
            case "accept":
                self._refusing = False
            case _:
                raise ValueError(f"unknown command {command!r}")

    async def close(self) -> None:
        for command in ("refuse", "resume", "cut"):
            self.obey(command)
        await asyncio.gather(*self._tasks)

    def _come(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._pass_on(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refusing:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(self._host, self._port)
        except OSError:
            writer.transport.abort()
            return
        ends = writer, far_writer
        for end in ends:
            # Small messages are not to wait for the acknowledgement of earlier ones: the delay is ours alone.
            end.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._links.update(ends)
        there = Way(reader, far_writer, self, self._delay)
        back = Way(far_reader, writer, self, 0.0)
        try:
            with suppress(OSError):
                await asyncio.gather(there.go(), back.go())
        finally:
            self._links.difference_update(ends)
            for end in ends:
                end.transport.abort()


async def main() -> None:
    relay = Relay(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
    print(await relay.serve(), flush=True)
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def obey(command: str) -> None:
        relay.obey(command)
        print("done", flush=True)

    def listen() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(obey, line.strip())
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=listen, daemon=True).start()
    await ended.wait()
    await relay.close()


if __name__ == "__main__":
    asyncio.run(main())
