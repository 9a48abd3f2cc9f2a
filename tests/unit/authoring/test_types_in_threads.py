"""Annotations are found out about in many threads at once, and the process lives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import turnout

PROGRAM = """
import sys, threading
import msgspec
from turnout.authoring.annotations import types_of
from turnout.authoring.invocation import needs_of

sys.setswitchinterval(1e-6)
DEFINITION = '''
class Part(msgspec.Struct):
    number: int
    rest: dict[str, list[int]]

class Whole(msgspec.Struct):
    first: Part
    some: tuple[Part, ...] = ()
    named: dict[str, Part] = {}

def body(whole: Whole, part: Part) -> Whole:
    return whole
'''
for _ in range(40):
    names = {"msgspec": msgspec}
    exec(DEFINITION, names)
    barrier = threading.Barrier(4)

    def find_out(body=names["body"]):
        barrier.wait()
        needs_of(body)
        types_of(body)["whole"].convert({"first": {"number": 1, "rest": {}}, "some": [{"number": 2, "rest": {}}]})

    threads = [threading.Thread(target=find_out) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("fine")
"""


def test_annotations_are_found_out_about_in_many_threads_at_once() -> None:
    source = str(Path(turnout.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={"PYTHONPATH": source}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "fine"), done.stderr[-2000:]
