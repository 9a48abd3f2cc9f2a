"""Which server a command uses, and with which token."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnout.errors import InvalidSetting
from turnout.runner.server_access import ServerAccess, server_access

URL = "http://127.0.0.1:8470"


def test_without_a_server_the_database_is_used() -> None:
    assert server_access(None, None, None, {}) is None
    assert server_access(None, None, "sqlite:///x.db", {"TURNOUT_SERVER": URL}) is None


def test_options_prevail_over_the_environment(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("to_one\n")
    (tmp_path / "two").write_text("to_two\n")
    by_file, by_value = {"TURNOUT_TOKEN_FILE": str(tmp_path / "two")}, {"TURNOUT_TOKEN": "to_three"}
    assert server_access(f"{URL}/", None, None, {}) == ServerAccess(URL)
    assert server_access(None, None, None, {"TURNOUT_SERVER": URL, **by_file}) == ServerAccess(URL, "to_two")
    assert server_access(URL, None, None, {**by_file, **by_value}) == ServerAccess(URL, "to_three")
    assert server_access(URL, str(tmp_path / "one"), None, {**by_file, **by_value}) == ServerAccess(URL, "to_one")


@pytest.mark.parametrize(
    ("server", "token_file", "database", "code"),
    [
        (URL, None, "sqlite:///x.db", "two_places"),
        (None, "token", None, "no_server"),
        ("127.0.0.1:8470", None, None, "bad_server_url"),
        ("ftp://host", None, None, "bad_server_url"),
        (f"{URL}?token=to_x", None, None, "bad_server_url"),
        ("http://user:secret@127.0.0.1", None, None, "bad_server_url"),
        (URL, "nothing", None, "bad_token_file"),
    ],
)
def test_what_cannot_work_is_refused(
    server: str | None, token_file: str | None, database: str | None, code: str
) -> None:
    with pytest.raises(InvalidSetting) as caught:
        server_access(server, token_file, database, {})
    assert caught.value.code == code


def test_a_token_never_travels_in_clear_to_another_machine() -> None:
    for scheme, host in (("http", "turnout.example.org"), ("http", "10.0.0.7")):
        with pytest.raises(InvalidSetting, match="in clear") as caught:
            server_access(f"{scheme}://{host}", None, None, {"TURNOUT_TOKEN": "to_secret"})
        assert "to_secret" not in caught.value.message
    for url in ("https://turnout.example.org", "http://localhost:8470", "http://[::1]:8470"):
        assert server_access(url, None, None, {"TURNOUT_TOKEN": "to_x"}) == ServerAccess(url, "to_x")


@pytest.mark.parametrize("text", ["", "\n", "to_one to_two", "é"])
def test_a_token_file_holds_one_token(tmp_path: Path, text: str) -> None:
    (tmp_path / "token").write_text(text)
    with pytest.raises(InvalidSetting) as caught:
        server_access(URL, str(tmp_path / "token"), None, {})
    assert caught.value.code == "bad_token_file"
