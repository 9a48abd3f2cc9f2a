"""The web interface: what is served for pages and files, below a prefix, and where it was not built."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kit.api import RunningApi, running_api
from turnout.runner.server_settings import ServerSettings
from turnout.server import web_files

HTML = {"Accept": "text/html,application/xhtml+xml"}
PAGE = '<!doctype html><html><head><title>x</title><script src="./assets/a-1.js"></script></head><body></body></html>'


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A built interface in the place of the package's own."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "assets" / "a-1.js").write_text("plain")
    (tmp_path / "assets" / "a-1.js.gz").write_bytes(gzip.compress(b"plain"))
    (tmp_path / "favicon.svg").write_text("<svg/>")
    _install(monkeypatch, tmp_path)
    return tmp_path


def _install(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr("turnout.server.context.installed_files", lambda: web_files.installed_files(folder))


@contextmanager
def served(**settings: object) -> Iterator[RunningApi]:
    with running_api(settings=ServerSettings(port=0, **settings)) as api:  # type: ignore[arg-type]
        yield api


def test_every_page_path_gets_the_page_with_a_strict_policy(built: Path) -> None:
    with served() as api:
        for path in ("/", "/runs", "/runs/0199", "/workflows/a::b", "/sign-in"):
            answer = api.client().get(path, headers=HTML)
            assert answer.status_code == 200 and answer.headers["content-type"] == "text/html; charset=utf-8"
            assert 'src="/assets/a-1.js"' in answer.text and 'name="turnout-root" content=""' in answer.text
            policy = answer.headers["content-security-policy"]
            assert "unsafe" not in policy and "script-src 'self';" in policy and "base-uri 'none'" in policy
            assert answer.headers["cache-control"] == "no-cache"


def test_the_nonce_of_style_sheets_is_new_for_each_page(built: Path) -> None:
    with served() as api:
        first, second = (api.client().get("/", headers=HTML) for _ in range(2))
        nonce = first.headers["content-security-policy"].partition("'nonce-")[2].partition("'")[0]
        assert len(nonce) > 20 and f'name="turnout-nonce" content="{nonce}"' in first.text
        assert nonce not in second.text


def test_hashed_files_are_kept_for_ever_and_sent_compressed(built: Path) -> None:
    with served() as api:
        answer = api.client().get("/assets/a-1.js", headers={"Accept-Encoding": "gzip, deflate"})
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert (answer.headers["content-encoding"], answer.text) == ("gzip", "plain")
        plain = api.client().get("/assets/a-1.js", headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers and plain.text == "plain"
        assert api.client().get("/favicon.svg").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/api/v1/nope", "/assets/gone-2.js", "/metrics/x", "/healthz/x", "/health/x"])
def test_paths_that_are_no_pages_are_never_answered_with_the_page(built: Path, path: str) -> None:
    with served() as api:
        answer = api.client().get(path, headers=HTML)
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_route")


def test_only_files_of_the_interface_are_read(built: Path, tmp_path: Path) -> None:
    (tmp_path.parent / "secret.txt").write_text("secret")
    files = web_files.WebFiles(built)
    for name in ("../secret.txt", "assets/../../secret.txt", "/etc/hostname", "index.html", "assets", ""):
        assert files.file(name, "") is None


def test_programs_get_a_problem_document_for_an_unknown_path(built: Path) -> None:
    with served() as api:
        answer = api.client().get("/nope", headers={"Accept": "application/json"})
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_route")
        assert api.client().post("/runs", headers=HTML).status_code in (401, 404, 405)


def test_below_a_prefix_pages_files_and_the_api_are_found_with_and_without_it(built: Path) -> None:
    with served(root_path="/ops/turnout") as api:
        page = api.client().get("/ops/turnout/runs", headers=HTML).text
        assert 'src="/ops/turnout/assets/a-1.js"' in page and 'name="turnout-root" content="/ops/turnout"' in page
        assert api.client().get("/ops/turnout/assets/a-1.js").text == "plain"
        assert api.client().get("/ops/turnout/healthz").json() == {"status": "ok"}
        assert api.client().get("/healthz").json() == {"status": "ok"}
        assert 'content="/ops/turnout"' in api.client().get("/ops/turnout", headers=HTML).text
        signed = api.client().post("/ops/turnout/api/v1/session", json={"token": api.token("viewer")})
        assert "Path=/ops/turnout" in signed.headers["set-cookie"]


def test_the_prefix_that_a_listed_proxy_reports_counts_and_no_other(built: Path) -> None:
    prefix = {**HTML, "X-Forwarded-Prefix": "/ops/"}
    with served(trusted_proxies=("127.0.0.1",)) as api:
        assert 'content="/ops"' in api.client().get("/runs", headers=prefix).text
        evil = {**HTML, "X-Forwarded-Prefix": '/"><script>'}
        assert "<script>" not in api.client().get("/runs", headers=evil).text
    with served() as api:
        assert 'name="turnout-root" content=""' in api.client().get("/runs", headers=prefix).text


def test_a_checkout_without_the_interface_serves_the_api_and_one_page_that_says_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(monkeypatch, tmp_path / "nothing")
    with served() as api:
        assert "make ui" in api.client().get("/", headers=HTML).text
        assert api.client().get("/runs", headers=HTML).status_code == 404
        assert "sign-in.js" in api.client().get("/sign-in", headers=HTML).text
        assert api.client("viewer").get("/api/v1/session").json()["interface"] is None


def test_the_session_names_the_version_and_the_build_of_the_interface(built: Path) -> None:
    with served() as api:
        session = api.client("viewer").get("/api/v1/session").json()
        assert session["version"] and len(session["interface"]) == 12
        assert f'name="turnout-build" content="{session["interface"]}"' in api.client().get("/", headers=HTML).text
