"""Which texts are addresses of hubs."""

from __future__ import annotations

import pytest

from turnout.wire.addresses import can_be_connected_to, can_be_listened_on


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:5890", "tcp://a.example:1", "tcp://[::1]:65535", "ipc:///run/hub"]
)
def test_somebody_in_particular_can_be_connected_to_and_listened_on(address: str) -> None:
    assert can_be_connected_to(address) and can_be_listened_on(address)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:0", "tcp://127.0.0.1:*", "tcp://*:5890"])
def test_any_port_and_all_addresses_are_for_those_who_listen(address: str) -> None:
    assert can_be_listened_on(address) and not can_be_connected_to(address)


@pytest.mark.parametrize(
    "address",
    [
        *(
            "",
            "127.0.0.1:5890",
            "http://a:1",
            "tcp://",
            "tcp://a",
            "tcp://a:",
            "tcp://a:b",
            "tcp://:5890",
            "tcp://[::1",
        ),
        *("tcp://a:65536", "tcp://a:-1", "tcp://a:1/b", "ipc://"),
    ],
)
def test_everything_else_is_no_address(address: str) -> None:
    # ZeroMQ itself takes port 65536 for 0, and would listen somewhere else than was asked for.
    assert not can_be_connected_to(address) and not can_be_listened_on(address)
