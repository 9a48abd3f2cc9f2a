"""Decisions about the head of a request: its origin, its host, and the secrets that it carries."""

from __future__ import annotations

import pytest

from turnout.errors import AccessDenied, InvalidSetting, RequestError, TurnoutError
from turnout.model.access import new_secret
from turnout.runner.server_settings import ServerSettings
from turnout.server.caller import COOKIE, Head, Sender, bearer_of, check_head, cookie_of, root_of, sender_of

LOCAL = Sender("127.0.0.1", secure=False, local=True)


def head(
    method: str = "GET", path: str = "/api/v1/runs", query: str = "", peer: str = "127.0.0.1", **headers: str
) -> Head:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return Head(method=method, path=path, query=query, peer=peer, headers={"host": "localhost:8470", **given})


def refused(given: Head, settings: ServerSettings | None = None, sender: Sender = LOCAL) -> str:
    with pytest.raises(TurnoutError) as caught:
        check_head(given, sender, settings or ServerSettings())
    assert isinstance(caught.value, RequestError)
    return caught.value.code


@pytest.mark.parametrize(
    "query",
    ["token=x", "a=1&access_token=", "API_KEY=1", "q=" + new_secret()],
    ids=["token", "access", "key", "secret"],
)
def test_a_token_in_the_query_is_refused(query: str) -> None:
    assert refused(head(query=query)) == "token_in_query"


def test_an_ordinary_query_is_served() -> None:
    check_head(head(query="limit=5&state=failed&q=to_day"), LOCAL, ServerSettings())


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8470", "", "localhost.evil.example", "127.0.0.2", "[::2]"]
)
def test_a_request_to_another_host_is_refused(host: str) -> None:
    assert refused(head(host=host)) == "host_not_allowed"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:8470", "LOCALHOST:80"])
def test_requests_to_loopback_names_are_served(host: str) -> None:
    check_head(head(host=host), LOCAL, ServerSettings())


def test_listed_hosts_are_served() -> None:
    settings = ServerSettings(host="0.0.0.0", behind_proxy=True, hosts=("turnout.example",))
    check_head(head(host="Turnout.example"), LOCAL, settings)
    assert refused(head(host="other.example"), settings) == "host_not_allowed"


def test_probes_may_use_any_host() -> None:
    check_head(head(path="/healthz", host="10.1.2.3:8470"), LOCAL, ServerSettings())
    check_head(head(path="/readyz", host="10.1.2.3:8470"), LOCAL, ServerSettings())


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:9999", "https://localhost:8470"])
def test_a_change_from_a_foreign_page_is_refused(origin: str) -> None:
    assert refused(head("POST", origin=origin)) == "origin_not_allowed"


def test_a_change_from_the_servers_own_page_or_a_listed_one_is_served() -> None:
    check_head(head("POST", origin="http://localhost:8470"), LOCAL, ServerSettings())
    check_head(head("POST", origin="https://ops.example"), LOCAL, ServerSettings(origins=("https://ops.example",)))
    tls = Sender("127.0.0.1", secure=True, local=True)
    check_head(head("POST", origin="https://localhost:8470"), tls, ServerSettings())


def test_forwarded_headers_count_only_from_listed_proxies() -> None:
    settings = ServerSettings(trusted_proxies=("10.0.0.0/8",))
    forwarded = {"x_forwarded_for": "1.2.3.4, 203.0.113.9, 10.0.0.2", "x_forwarded_proto": "https"}
    listed = sender_of(head(peer="10.0.0.1", **forwarded), settings)
    assert listed == Sender("203.0.113.9", secure=True, local=False)
    other = sender_of(head(peer="192.0.2.1", **forwarded), settings)
    assert other == Sender("192.0.2.1", secure=False, local=False)
    junk = sender_of(head(peer="10.0.0.1", x_forwarded_for="unknown, <script>"), settings)
    assert junk == Sender("10.0.0.1", secure=False, local=False)


def test_behind_a_proxy_callers_speak_tls_unless_a_listed_proxy_says_otherwise() -> None:
    settings = ServerSettings(trusted_proxies=("10.0.0.1",), behind_proxy=True)
    assert sender_of(head(peer="192.0.2.1"), settings).secure
    assert sender_of(head(peer="10.0.0.1"), settings).secure
    assert not sender_of(head(peer="10.0.0.1", x_forwarded_proto="http"), settings).secure


def test_a_caller_is_local_only_if_no_proxy_can_be_in_between() -> None:
    assert sender_of(head(), ServerSettings()).local
    assert sender_of(head(peer="::1"), ServerSettings()).local
    assert not sender_of(head(peer="192.0.2.1"), ServerSettings()).local
    assert not sender_of(head(), ServerSettings(behind_proxy=True)).local
    assert not sender_of(head(x_forwarded_for="203.0.113.9"), ServerSettings()).local
    assert not sender_of(head(x_forwarded_for="127.0.0.1"), ServerSettings(trusted_proxies=("127.0.0.1",))).local


def test_the_token_is_in_the_authorization_header() -> None:
    assert bearer_of(head(authorization="Bearer to_x")) == "to_x"
    assert bearer_of(head(authorization="bearer to_x")) == "to_x"
    assert bearer_of(head()) is None


@pytest.mark.parametrize("given", ["Basic eDp5", "to_x", "Bearer", "Bearer a b", ""])
def test_another_authorization_is_refused(given: str) -> None:
    with pytest.raises(AccessDenied) as caught:
        bearer_of(head(authorization=given))
    assert caught.value.code == "malformed_authorization"


def test_the_session_of_a_browser_is_in_its_cookie() -> None:
    assert cookie_of(head(cookie=f"theme=dark; {COOKIE}=ts_x")) == "ts_x"
    assert cookie_of(head(cookie="theme=dark")) is None
    assert cookie_of(head()) is None


@pytest.mark.parametrize(
    ("given", "peer", "settings", "root"),
    [
        (None, "127.0.0.1", ServerSettings(), ""),
        (None, "127.0.0.1", ServerSettings(root_path="/ops"), "/ops"),
        ("/turnout/", "10.0.0.7", ServerSettings(trusted_proxies=("10.0.0.0/8",)), "/turnout"),
        ("/turnout", "10.0.0.7", ServerSettings(root_path="/ops", trusted_proxies=("10.0.0.0/8",)), "/turnout"),
        ("/turnout", "192.0.2.1", ServerSettings(trusted_proxies=("10.0.0.0/8",)), ""),
        ('/"><script>', "10.0.0.7", ServerSettings(trusted_proxies=("10.0.0.0/8",)), ""),
        ("//evil.example", "10.0.0.7", ServerSettings(trusted_proxies=("10.0.0.0/8",)), ""),
    ],
)
def test_the_path_below_which_a_server_is_reached(
    given: str | None, peer: str, settings: ServerSettings, root: str
) -> None:
    assert root_of(head(peer=peer, **({} if given is None else {"x_forwarded_prefix": given})), settings) == root


@pytest.mark.parametrize("path", ["ops", "/ops/", "/o ps", "//ops", "/ops?x", "/"])
def test_a_root_path_that_is_none_is_refused(path: str) -> None:
    with pytest.raises(InvalidSetting, match="root_path"):
        ServerSettings(root_path=path).check("server")
