"""Ways to PostgreSQL: which URLs are refused before a connection is tried."""

from __future__ import annotations

import pytest

from turnout.errors import InvalidSetting
from turnout.store import connect
from turnout.store.postgres.connector import Connector
from turnout.store.postgres.settings import PostgresSettings

SERVER = "postgresql://ada:s3cret@db/flows"


@pytest.mark.parametrize(
    ("url", "direct_url", "reason"),
    [
        (f"{SERVER}?options=-csearch_path%3Dflows", SERVER, "ALTER ROLE"),
        (SERVER, "postgresql://ada:s3cret@[bad/x", "direct_database cannot be read"),
        ("sqlite:///turnout.db", SERVER, "direct_database is for PostgreSQL"),
    ],
)
def test_a_direct_url_that_cannot_work_is_refused(url: str, direct_url: str, reason: str) -> None:
    with pytest.raises(InvalidSetting, match=reason) as caught:
        connect(url, direct_url=direct_url)
    assert caught.value.code == "bad_database_url"
    assert "s3cret" not in caught.value.message


def test_settings_go_with_transactions_only_through_a_pooler() -> None:
    settings = PostgresSettings(statement_timeout_ms=7)
    assert Connector(SERVER, None, settings).settings_of_transaction is None
    sent = Connector(SERVER, SERVER, settings).settings_of_transaction
    assert sent is not None and b"set_config('statement_timeout', '7', true)" in sent
