"""Pictures are resized by functions behind an HTTP endpoint.

python function_server.py 8600 &
python pictures.py http://127.0.0.1:8600
"""

from __future__ import annotations

import sys

from http_function import HttpFunctionExecutor

from turnout import RoutingConfig, RoutingRule, Runner, remote, task, workflow

resize = remote("resize", handler="resize", timeout="5m", retries=2)


@task
def index(pictures: list[str]) -> str:
    return ", ".join(pictures)


@workflow
def gallery(picture: str) -> str:
    return index([resize(picture=picture, width=width) for width in (100, 800)])


if __name__ == "__main__":
    functions = HttpFunctionExecutor(sys.argv[1])
    routing = RoutingConfig("default").with_rule(RoutingRule("**::resize*", "functions"))
    with Runner("sqlite:///pictures.db", executors={"functions": functions}, routing=routing) as runner:
        print(runner.run(gallery, "lake.png"))
