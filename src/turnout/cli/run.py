"""``turnout run``: runs a workflow in this process."""

from __future__ import annotations

from turnout.cli.options import Arguments, Json, Key, NoWait, Parameters, ParametersFile, Priority, Target, Timeout
from turnout.cli.place import HERE, Place, placed


@placed
def run(
    target: Target,
    arguments: Arguments = None,
    parameters: Parameters = None,
    file: ParametersFile = None,
    key: Key = None,
    priority: Priority = 0,
    timeout: Timeout = None,
    no_wait: NoWait = False,
    as_json: Json = False,
    place: Place = HERE,
) -> int:
    """Run a workflow, show its tasks, and print its result.

    It runs in this process; with --server the server runs one of its workflows, which is named.

    \b
    turnout run shop.orders:fulfil -p customer=Ada -p total=21
    turnout run fulfil --input '{"customer": "Ada"}'      # a workflow of those that are configured
    turnout run flows/etl.py --input order.json --timeout 5m
    turnout run nightly.yaml -- monday LIMIT=10
    turnout run flows/etl.py --no-wait        # for a Runner elsewhere, as turnout enqueue
    turnout run fulfil --server https://turnout.example.org --token-file token
    """
    from turnout.cli.service import Start, service_at

    start = Start(target, parameters or (), file, key, priority, timeout, arguments or (), not no_wait)
    with service_at(place) as service:
        return service.runs.start(start, as_json=as_json)
