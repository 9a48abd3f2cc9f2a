"""Orders through four languages: starts a hub and four workers, runs some orders, says where each task ran.

Run it with ``python examples/languages/run.py``. What a machine lacks is said, and Python stands in for it;
``--without ruby`` shows that.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from languages import HERE, Language, languages
from orders import ORDERS, fulfil

from turnout import Runner
from turnout.errors import RunFailed, WaitTimedOut
from turnout.model.logs import Stream
from turnout.runner import EngineSettings, LogSettings, RunHandle

FOLDER = HERE / ".turnout"
GRACE = 20


class WorkerEnded(Exception):
    """Raised when a worker ended before the run."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Order fulfilment across four languages.")
    names = ["ruby", "go", "node"]
    parser.add_argument("--without", action="append", default=[], choices=names, help="let Python stand in for it")
    without = parser.parse_args().without
    # SIGTERM and a closed terminal end it as Ctrl-C does: workers are stopped on the way out.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        return fulfil_all(without)
    except WorkerEnded as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; runs that had not ended go on when it is started again", file=sys.stderr)
        return 130


def fulfil_all(without: list[str]) -> int:
    print("getting the workers ready", flush=True)
    found = languages(without)
    FOLDER.mkdir(exist_ok=True)
    database = f"sqlite:///{FOLDER / 'turnout.db'}"
    # What the handlers say is shown with their order, at its end.
    quiet = EngineSettings(logs=LogSettings(echo=False))
    with Runner(database, hub="tcp://127.0.0.1:0", workflows=[fulfil], settings=quiet, handle_sigterm=False) as runner:
        print(f"hub       {runner.hub}", flush=True)
        with workers(found, str(runner.hub)) as processes:
            handles = [runner.submit(fulfil, order) for order in ORDERS]
            for order, handle in zip(ORDERS, handles, strict=True):
                wait(handle, processes)
                show(order, handle)
    print(f"\nMore about them, in {os.path.relpath(HERE)}: turnout runs ls, turnout runs show last, turnout logs last")
    return 0


@contextlib.contextmanager
def workers(found: list[Language], hub: str) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Starts all workers, and stops them at the end: by SIGTERM, then by SIGKILL."""
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for each in found:
            processes[each.name] = each.start(hub, log_of(each.name), {"LABELS": str(FOLDER)})
            why = f"   a stand-in in Python: {each.missing}" if each.missing else ""
            print(f"worker    {each.name:<8}pid {processes[each.name].pid:<8}{each.labels}{why}", flush=True)
        yield processes
    finally:
        for process in processes.values():
            process.terminate()
        for name, process in processes.items():
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                print(f"{name} does not end by itself", file=sys.stderr)
                process.kill()
                process.wait()


def wait(handle: RunHandle[Any], processes: dict[str, subprocess.Popen[bytes]]) -> None:
    """Waits until the run has ended in any state. Raises WorkerEnded if a worker ended before."""
    while True:
        try:
            handle.result(timeout=1)
            return
        except WaitTimedOut:
            for name, process in processes.items():
                if process.poll() is not None:
                    said = log_of(name).read_text(errors="replace")[-2000:]
                    raise WorkerEnded(f"the worker {name} ended, exit code {process.returncode}:\n{said}") from None
        except RunFailed:
            return


def show(order: dict[str, Any], handle: RunHandle[Any]) -> None:
    run = handle.status()
    print(f"\norder {order['order_id']} of {order['customer']['name']}: {run.state}, run {run.id}")
    said: dict[tuple[str, int], list[str]] = {}
    for line in handle.logs():
        if line.stream != Stream.PROGRESS:
            said.setdefault((line.task, line.attempt), []).append(line.text.strip())
    for each in handle.attempts():
        lines = [*said.get((each.task, each.attempt), []), *([each.error] if each.error else [])]
        where = f"{each.task:<18}attempt {each.attempt}  {each.worker or 'here':<8}{each.outcome or '':<10}"
        print(f"  {where} {'; '.join(lines)}".rstrip())
    sys.stdout.flush()


def log_of(name: str) -> Path:
    return FOLDER / f"worker-{name}.log"


if __name__ == "__main__":
    sys.exit(main())
