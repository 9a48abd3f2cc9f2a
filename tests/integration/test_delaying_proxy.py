"""The proxy that makes links slow and breaks them, which other tests and the benchmarks rely on."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from tests.proxies.proxy import DelayingProxy

PATIENCE = 20.0
DELAY = 0.05


class Echo:
    """A server that says everything back, and remembers what it heard."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _serve(self) -> None:
        while True:
            try:
                link, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(link,), daemon=True).start()

    def _answer(self, link: socket.socket) -> None:
        with link:
            try:
                while said := link.recv(1 << 16):
                    self.heard.append(said)
                    link.sendall(said)
            except OSError:
                return


@pytest.fixture
def echo() -> Iterator[Echo]:
    server = Echo()
    yield server
    server.close()


@pytest.fixture
def proxy(echo: Echo) -> Iterator[DelayingProxy]:
    with DelayingProxy("127.0.0.1", echo.port, delay=DELAY) as started:
        yield started


def connected(proxy: DelayingProxy) -> socket.socket:
    return socket.create_connection((proxy.host, proxy.port), timeout=PATIENCE)


def said_back(link: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        some = link.recv(1 << 16)
        assert some, "the link was closed"
        found += some
    return found


def test_every_round_trip_takes_the_delay_longer(proxy: DelayingProxy) -> None:
    with connected(proxy) as link:
        started = time.monotonic()
        for _ in range(3):
            link.sendall(b"hello")
            assert said_back(link, 5) == b"hello"
        assert time.monotonic() - started >= 3 * DELAY


def test_what_is_sent_without_waiting_for_answers_arrives_whole_and_in_order(proxy: DelayingProxy) -> None:
    lines = b"".join(b"%07d\n" % number for number in range(100_000))
    with connected(proxy) as link:
        sending = threading.Thread(target=link.sendall, args=(lines,))
        sending.start()
        assert said_back(link, len(lines)) == lines
        sending.join(PATIENCE)


def test_messages_of_many_connections_are_under_way_together(echo: Echo) -> None:
    # Were they delayed one after the other, the last of these would take 25 s.
    with DelayingProxy("127.0.0.1", echo.port, delay=0.5) as proxy:
        links = [connected(proxy) for _ in range(50)]
        started = time.monotonic()
        for link in links:
            link.sendall(b"hello")
        assert [said_back(link, 5) for link in links] == [b"hello"] * 50
        assert 0.5 <= time.monotonic() - started < PATIENCE
        for link in links:
            link.close()


def test_a_closed_end_is_seen_at_the_other(proxy: DelayingProxy) -> None:
    with connected(proxy) as link:
        link.sendall(b"last words")
        link.shutdown(socket.SHUT_WR)
        assert said_back(link, 10) == b"last words"
        assert link.recv(1) == b""


def test_a_paused_link_swallows_everything_until_it_is_resumed(proxy: DelayingProxy, echo: Echo) -> None:
    with connected(proxy) as link, connected(proxy) as other:
        link.sendall(b"before")
        assert said_back(link, 6) == b"before"
        proxy.pause()
        link.sendall(b"during")
        link.settimeout(4 * DELAY)
        with pytest.raises(TimeoutError):
            link.recv(1)
        assert echo.heard == [b"before"]
        link.settimeout(PATIENCE)
        proxy.resume()
        assert said_back(link, 6) == b"during"
        other.sendall(b"after")
        assert said_back(other, 5) == b"after"


def test_a_cut_breaks_the_connections_that_are_there_and_new_ones_can_be_made(proxy: DelayingProxy) -> None:
    with connected(proxy) as link:
        link.sendall(b"hello")
        said_back(link, 5)
        proxy.cut()
        assert broken(link)
    with connected(proxy) as link:
        link.sendall(b"again")
        assert said_back(link, 5) == b"again"


def test_one_that_refuses_sends_newcomers_away_and_keeps_the_others(proxy: DelayingProxy) -> None:
    with connected(proxy) as old:
        old.sendall(b"hello")
        said_back(old, 5)
        proxy.refuse()
        with connected(proxy) as new:
            assert broken(new)
        old.sendall(b"still")
        assert said_back(old, 5) == b"still"
        proxy.accept()
        with connected(proxy) as new:
            new.sendall(b"again")
            assert said_back(new, 5) == b"again"


def test_a_server_that_is_not_there_looks_like_a_refusal() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
    with DelayingProxy("127.0.0.1", port) as proxy, connected(proxy) as link:
        assert broken(link)


def broken(link: socket.socket) -> bool:
    try:
        return link.recv(1) == b""
    except ConnectionError:
        return True


def test_postgres_answers_through_it(postgres_url: str) -> None:
    with DelayingProxy.before(postgres_url) as proxy, psycopg.connect(proxy.url(postgres_url)) as connection:
        assert connection.execute("select current_database()").fetchone() == (postgres_url.rpartition("/")[2],)
        proxy.cut()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")
