"""Items of mapped tasks, with commits over a channel."""

from __future__ import annotations

import pytest

from tests.conformance.channel_store import ChannelStore, channel_store  # noqa: F401 - a fixture
from tests.conformance.test_store_items import *  # noqa: F403 - its tests, with the fixture below


@pytest.fixture
def store(channel_store: ChannelStore) -> ChannelStore:  # noqa: F811
    return channel_store
