"""An orchestrator at a site, to be killed: ``site_orchestrator SITE URL ADDRESS NAMESPACE [FLOW INPUTS]``.

It submits the runs, if any are given, prints their ids, and drives whatever there is until its standard input ends. A
line of that, ``[FLOW, INPUTS]`` as JSON, has it submit more.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.executor_flows import FLOWS
from tests.kit.sites import runner_at
from turnout import Runner


def main() -> None:
    site, url, address, namespace, *wanted = sys.argv[1:]
    with runner_at(site, url, address, namespace) as runner:
        if wanted:
            submit(runner, wanted[0], json.loads(wanted[1]))
        print("ready", flush=True)
        for line in sys.stdin:
            submit(runner, *json.loads(line))


def submit(runner: Runner, name: str, inputs: list[dict[str, Any]]) -> None:
    flow = next(each for each in FLOWS if each.name == name)
    for each in inputs:
        print(runner.submit(flow, **each).id, flush=True)


if __name__ == "__main__":
    main()
