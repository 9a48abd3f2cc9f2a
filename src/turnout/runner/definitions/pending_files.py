"""Explains why a workflow file of a folder cannot call another one that has errors itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from turnout.errors import InvalidWorkflow
from turnout.runner.definitions.called_workflows import CompileText
from turnout.runner.definitions.compilation import AnyWorkflow, Attempted


class PendingFiles(Mapping[str, AnyWorkflow]):
    """The workflows that one text may call: those in force, and files that are not in force yet, by their names."""

    def __init__(
        self,
        compile: CompileText,
        in_force: Mapping[str, AnyWorkflow],
        texts: Mapping[str, str],
        base: str | None,
        caller: str,
    ) -> None:
        self._compile = compile
        self._in_force = in_force
        self._texts = texts
        self._base = base
        self._open = [caller]
        """The files that are being compiled, each called by the one before."""
        self._attempted: dict[str, Attempted] = {}

    def __getitem__(self, name: str) -> AnyWorkflow:
        """Raises InvalidWorkflow with the first error of a file, or with the circle that it closes."""
        found = self._in_force.get(name)
        if found is not None:
            return found
        if name in self._open:
            circle = " → ".join([*self._open[self._open.index(name) :], name])
            raise InvalidWorkflow(
                f"workflow files call one another in a circle and would never end: {circle}", code="recursive_workflow"
            )
        if name not in self._texts:
            raise KeyError(name)
        attempted = self._attempt(name)
        if attempted.workflows:
            return attempted.workflows[0]
        first = next(each for each in attempted.findings if each.severity == "error")
        raise InvalidWorkflow(f"workflow {name!r}, line {first.line}: {first.message}", code=first.code)

    def _attempt(self, name: str) -> Attempted:
        if name not in self._attempted:
            self._open.append(name)
            try:
                self._attempted[name] = self._compile(self._texts[name], name, self._base, self)
            finally:
                self._open.pop()
        return self._attempted[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._in_force, *self._texts)))

    def __len__(self) -> int:
        return sum(1 for _ in self)
