"""An orchestrator at a site, to be killed: ``site_orchestrator SITE URL ADDRESS NAMESPACE [FLOW INPUTS]``.

It submits the runs, if any are given, prints their ids, and drives whatever there is until its standard input ends.
"""

from __future__ import annotations

import json
import sys

from tests.executor_flows import FLOWS
from tests.kit.sites import runner_at


def main() -> None:
    site, url, address, namespace, *wanted = sys.argv[1:]
    with runner_at(site, url, address, namespace) as runner:
        if wanted:
            flow = next(each for each in FLOWS if each.name == wanted[0])
            for each in json.loads(wanted[1]):
                print(runner.submit(flow, **each).id, flush=True)
        print("ready", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
