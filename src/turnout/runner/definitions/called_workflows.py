"""Finds the workflows that the texts of definitions call, and compiles those that are not compiled yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from turnout.errors import InvalidWorkflow
from turnout.model.definitions import DefinitionVersion, StoredDefinition
from turnout.runner.definitions.compilation import AnyWorkflow, Attempted

CompileText: TypeAlias = Callable[[str, str, str | None, Mapping[str, AnyWorkflow]], Attempted]
"""Compiles a text of that name with that base; it may call these workflows."""
LOCAL_MARKS = ("\n---", "retry_policy", "retryPolicy")
"""Each text with local sub-workflows, or its base, has one of these."""


def may_have_local(version: DefinitionVersion) -> bool:
    """True if the text may have sub-workflows of its own, which only its runs call."""
    return any(mark in text for mark in LOCAL_MARKS for text in (version.text, version.base or ""))


class CalledWorkflows(Mapping[str, AnyWorkflow]):
    """The workflows that texts may call, by name: one state of the store."""

    def __init__(
        self,
        compile: CompileText,
        stored: Mapping[str, StoredDefinition],
        attempted: Mapping[str, Attempted],
        python: Mapping[str, AnyWorkflow],
        home: str,
    ) -> None:
        self._compile = compile
        self._stored = stored
        self._attempted = dict(attempted)
        """Those that are compiled already."""
        self._python = python
        self._home = home
        """``tenant::package`` of names without them."""
        self._open: list[str] = []

    def attempted(self, full_name: str) -> Attempted:
        """Returns the outcome of compiling this stored definition."""
        known = self._attempted.get(full_name)
        if known is None:
            known = self._attempted[full_name] = self._attempt(full_name, self._stored[full_name])
        return known

    def _attempt(self, full_name: str, stored: StoredDefinition) -> Attempted:
        if full_name in self._open:
            path = " → ".join(each.rpartition("::")[2] for each in (*self._open, full_name))
            raise InvalidWorkflow(f"workflows call one another in a circle ({path})", code="recursive_workflow")
        if stored.current is None or stored.kind != "yaml":
            return Attempted()
        if stored.removed and not may_have_local(stored.current):
            return Attempted()
        self._open.append(full_name)
        try:
            made = self._compile(stored.current.text, full_name.rpartition("::")[2], stored.current.base, self)
        finally:
            self._open.pop()
        return Attempted(local=made.workflows[1:]) if stored.removed else made

    def __getitem__(self, name: str) -> AnyWorkflow:
        full_name = name if "::" in name else f"{self._home}::{name}"
        stored = self._stored.get(full_name)
        if stored is not None and stored.kind == "yaml":
            workflows = self.attempted(full_name).workflows
            if workflows:
                return workflows[0]
        elif full_name in self._python:
            return self._python[full_name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        names = {name for name, each in self._stored.items() if each.exists} | set(self._python)
        return iter(sorted({each.rpartition("::")[2] for each in names}))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def reached(called: Iterable[str], known: Mapping[str, Attempted]) -> set[str]:
    """Returns these workflows and all that they call, at any depth."""
    found: set[str] = set()
    open_ = list(called)
    while open_:
        name = open_.pop()
        if name not in found:
            found.add(name)
            open_.extend(known[name].called if name in known else ())
    return found
