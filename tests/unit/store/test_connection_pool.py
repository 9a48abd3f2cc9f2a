"""Connections are lent to a bounded number, in order; a server that is full is waited for, one that is away is not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from turnout.errors import StoreUnreachable
from turnout.store.postgres.pool import ConnectionPool

WAIT = 20.0


class FakeConnection:
    def __init__(self) -> None:
        self.broken = self.closed = False

    def close(self) -> None:
        self.closed = True


class FakeServer:
    """Gives at most ``room`` connections."""

    def __init__(self, room: int = 100) -> None:
        self.room = room
        self.made: list[FakeConnection] = []
        self.refused = threading.Event()

    def connect(self) -> Any:
        if sum(not one.closed for one in self.made) >= self.room:
            self.refused.set()
            raise StoreUnreachable("no more connections")
        self.made.append(FakeConnection())
        return self.made[-1]


def pool_of(server: FakeServer, size: int, patience: float = WAIT) -> ConnectionPool:
    return ConnectionPool(server.connect, size, patience)


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def until_waiting(pool: ConnectionPool, count: int) -> None:
    while pool.waits.look().waiting < count:
        pass


def test_connections_are_used_again() -> None:
    server = FakeServer()
    pool = pool_of(server, 2)
    for _ in range(5):
        with pool.lend():
            pass
    assert len(server.made) == 1
    use = pool.waits.look()
    assert (use.active, use.waiting) == (0, 0)


def test_who_finds_none_waits_and_first_come_is_first_served() -> None:
    pool, order = pool_of(FakeServer(), 1), list[int]()

    def take(number: int) -> None:
        with pool.lend():
            order.append(number)

    threads = []
    with pool.lend():
        for number in range(5):
            threads.append(in_thread(lambda number=number: take(number)))
            until_waiting(pool, number + 1)
    for thread in threads:
        thread.join(WAIT)
    assert order == list(range(5))


def test_who_waits_too_long_is_told_and_leaves_nothing_behind() -> None:
    pool = pool_of(FakeServer(), 1, patience=0.01)
    with pool.lend():
        with pytest.raises(StoreUnreachable, match="all 1 connections to the database were in use"):
            with pool.lend():
                pass
    with pool.lend():
        use = pool.waits.look()
    assert (use.active, use.waiting) == (1, 0)


def test_a_server_that_is_away_is_not_waited_for() -> None:
    server = FakeServer(room=0)
    pool = pool_of(server, 3)
    for _ in range(5):
        with pytest.raises(StoreUnreachable, match="no more connections"):
            with pool.lend():
                pass
    server.room = 1
    with pool.lend():
        assert pool.waits.look().active == 1


def test_who_is_refused_by_a_full_server_waits_for_a_connection_that_works() -> None:
    server = FakeServer(room=1)
    pool, got = pool_of(server, 5), list[Any]()

    def take() -> None:
        with pool.lend() as lent:
            got.append(lent.connection)

    with pool.lend() as mine:
        thread = in_thread(take)
        assert server.refused.wait(WAIT)
        assert pool.waits.look().waiting == 1
    thread.join(WAIT)
    assert got == [mine.connection]


def test_when_a_full_server_has_room_again_connections_are_made_without_anybody_giving_one_back() -> None:
    server = FakeServer(room=1)
    pool, got = pool_of(server, 5), threading.Event()

    def take() -> None:
        with pool.lend():
            got.set()

    with pool.lend():
        in_thread(take)
        assert server.refused.wait(WAIT)
        server.room = 2
        assert got.wait(WAIT)


def test_those_who_wait_at_a_full_server_are_told_when_the_last_connection_breaks() -> None:
    server = FakeServer(room=1)
    pool, told = pool_of(server, 5), threading.Event()

    def take() -> None:
        try:
            with pool.lend():
                pass
        except StoreUnreachable:
            told.set()

    with pool.lend() as lent:
        in_thread(take)
        assert server.refused.wait(WAIT)
        server.room = 0
        lent.connection.broken = True  # type: ignore
    assert told.wait(WAIT)


def test_one_that_breaks_takes_the_idle_ones_with_it() -> None:
    server = FakeServer()
    pool = pool_of(server, 3)
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(pool.lend())
    with pool.lend() as lent:
        lent.connection.broken = True  # type: ignore
    with pool.lend():
        pass
    assert [one.closed for one in server.made] == [False, True, True, False]  # the first was the broken one
    assert pool.breaks == 1


def test_a_closed_pool_keeps_nothing() -> None:
    server = FakeServer()
    pool = pool_of(server, 2)
    with pool.lend():
        pool.close()
    assert [one.closed for one in server.made] == [True]
