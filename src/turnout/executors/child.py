"""The program that a child of the process executor runs: bodies/child.py with the authors' way of calling bodies."""

from __future__ import annotations

from turnout.authoring.invocation import caller
from turnout.bodies.child import Child


def main(data: int) -> None:
    Child(data, caller).serve()
