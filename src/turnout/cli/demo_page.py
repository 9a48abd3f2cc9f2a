"""The page of ``turnout demo --web``: serves the demo's runs on this machine, and reports where."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.cookiejar import CookieJar
from typing import Any
from urllib.request import HTTPCookieProcessor, OpenerDirector, ProxyHandler, Request, build_opener

import msgspec

from turnout.cli import demo_shop
from turnout.cli.demo import Web, show_order
from turnout.cli.dev import worker_command
from turnout.cli.dev_companion import DevCompanion
from turnout.cli.foreground import without_echo
from turnout.cli.format import format_count
from turnout.cli.launch import ANY_PORT
from turnout.cli.logs import LineQueue
from turnout.cli.orchestrate import stop_event
from turnout.cli.output import print_json, print_line
from turnout.errors import InvalidSetting
from turnout.model.extras import optional_packages
from turnout.runner import EngineSettings, Runner
from turnout.runner.config import Config
from turnout.runner.definitions.settings import DefinitionSettings
from turnout.runner.server_settings import DEFAULT_HOST

with optional_packages():
    from turnout.cli.serve import ApiProcess
    from turnout.server.web_files import installed_files

ANSWER_TIMEOUT = 30.0
"""Seconds in which the page has to answer."""


class DemoPage(msgspec.Struct, frozen=True):
    """The addresses of the page."""

    url: str
    link: str
    """Signs a browser in, once."""
    built: bool
    """False if the web interface was not built: one page says so."""


def serve_demo(config: Config, queue: LineQueue, web: Web, *, as_json: bool) -> None:
    """Shows the example order, starts more runs, and serves them until a stop signal or until the page has answered."""
    with ExitStack() as stack:
        runner = stack.enter_context(_runner(config, queue))
        stack.enter_context(demo_worker(runner))
        stack.callback(demo_shop.end_runs, runner)
        shown = show_order(runner, queue, quiet=as_json)
        stop = stack.enter_context(stop_event("the demo ends, and its data are removed"))
        if not as_json:
            print_line()
            print_line([("The web interface (turnout dev)", "bold")])
            print_line("  starting more runs: some fail, some wait, one is at work …")
        demo_shop.start_runs(runner)
        page = stack.enter_context(demo_page(runner, config, web.port))
        answer = None if web.stay else page_answer(page)
        if as_json:
            print_json({**shown, "url": page.url, "link": page.link, "interface": page.built})
        else:
            for line in report(page, answer):
                print_line(line)
        if web.stay:
            stop.wait()


def report(page: DemoPage, answer: str | None) -> list[str]:
    """Returns the lines about the page; ``answer``: what it answered, if the demo ends now."""
    missing = [] if page.built else ["  not built here: the page says so, and the API answers (build it: make ui)"]
    if answer is not None:
        return [*missing, f"  {answer}", f"  {page.url}/ was served; on a terminal it stays until Ctrl-C"]
    return [*missing, "  this link signs a browser in, once; Ctrl-C ends the demo", f"  {page.link}"]


def _runner(config: Config, queue: LineQueue) -> Runner:
    """Returns the Runner of the shop: with a hub for its worker, schedules, and a folder with a workflow file."""
    return Runner(
        config=config,
        workflows=demo_shop.WORKFLOWS,
        settings=without_echo(EngineSettings()),
        on_output=queue.put,
        hub=ANY_PORT,
        schedules=True,
        definitions=DefinitionSettings(modules=(demo_shop,), folders=(config.root / "workflows",)),
        handle_sigterm=False,
    )


@contextmanager
def demo_page(runner: Runner, config: Config, port: int | None) -> Iterator[DemoPage]:
    """Serves the runs of this Runner on loopback while the block runs, on the default port or, if another program has
    it, on any free one."""
    links: list[str] = []
    with ExitStack() as stack:
        options = {"host": DEFAULT_HOST, "port": port, "drain": 0.0}
        try:
            api = stack.enter_context(ApiProcess.of(config, options, link=links.append))
        except InvalidSetting as error:
            if port is not None or error.code != "address_unavailable":
                raise
            api = stack.enter_context(ApiProcess.of(config, {**options, "port": 0}, link=links.append))
        server = stack.enter_context(api.served(runner.core))
        yield DemoPage(server.url, links[0], installed_files() is not None)


def demo_worker(runner: Runner) -> DevCompanion:
    """Returns the worker of the demo's warehouse, a process that ends with this one."""
    labels = [f"{name}={value}" for name, value in demo_shop.WORKER_LABELS.items()]
    command = worker_command(runner, [demo_shop.__name__], "warehouse", labels)
    return DevCompanion((), (), lambda _: None, command, quiet=True)


def page_answer(page: DemoPage) -> str:
    """Opens the page as a browser does, signs in by its link, and returns what it answered."""
    # A proxy of the environment is not asked for an address of this machine.
    browser = build_opener(ProxyHandler({}), HTTPCookieProcessor(CookieJar()))
    with browser.open(Request(f"{page.url}/", headers={"Accept": "text/html"}), timeout=ANSWER_TIMEOUT) as answer:
        status, size = answer.status, len(answer.read())
    code = page.link.partition("#code=")[2]
    _json(browser, page, "/api/v1/session", {"code": code})
    runs = _json(browser, page, "/api/v1/runs?limit=100")["runs"]
    states = ", ".join(f"{count} {state}" for state, count in sorted(Counter(run["state"] for run in runs).items()))
    return f"GET / answered {status} with {size:,} bytes, and the API {format_count(len(runs), 'run')}: {states}"


def _json(browser: OpenerDirector, page: DemoPage, path: str, body: Any = None) -> Any:
    content = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Origin": page.url}
    with browser.open(Request(f"{page.url}{path}", content, headers), timeout=ANSWER_TIMEOUT) as answer:
        return json.load(answer)
