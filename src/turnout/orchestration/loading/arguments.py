"""The arguments of tasks in a workflow that maps some: an item takes its part of each list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from turnout.model.bindings import params_in, resolve
from turnout.model.mapping import Outputs, arguments_of, piped_item, texts_for_item
from turnout.model.rows import TaskRow
from turnout.model.spec import FromParam, FromTask, ListOf, TaskSpec, Template
from turnout.orchestration.loading.split_lists import Split, SplitLists

_decode = msgspec.json.Decoder().decode


class Call:
    """The call of one task: it says which outputs it needs, then makes arguments of them.

    Values are freshly decoded, so that a body may change what it is given.
    """

    __slots__ = ("_input", "_lists", "_outputs", "_params", "_run_id", "_splits", "index", "needed", "task")

    def __init__(self, run_id: str, input: str, outputs: Outputs, row: TaskRow, lists: SplitLists) -> None:
        graph = outputs.graph
        self.task: TaskSpec = graph.tasks[row.task_pos]
        self.index = row.index
        self._input = input
        self._run_id = run_id
        self._outputs = outputs
        self._lists = lists
        self._splits: dict[int | str, Split] = {}
        """The lists that are known already: they are held here, whatever is forgotten meanwhile."""
        self._params: dict[str, Any] | None = None
        if row.group is not None and row.index is not None:
            self._splits = self._known_lists()
            self.needed = texts_for_item(outputs, row.group, row.index, self._splits)
        else:
            inputs = graph.inputs(row.pos, outputs.completed)
            self.needed = list(dict.fromkeys(each for dep in inputs for each in outputs.behind(dep)))

    def _known_lists(self) -> dict[int | str, Split]:
        assert self.task.map is not None
        found: dict[int | str, Split] = {}
        for which, template in arguments_of(self.task):
            if which in self.task.map.over and isinstance(template, FromParam | FromTask):
                split = self._lists.get(self._run_id, template)
                if split is not None:
                    found[which] = split
        return found

    def arguments(self, texts: Mapping[int, str]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional ones, and those by name; ``texts`` has the outputs that are needed."""
        task = self.task
        values = {which: self._argument(which, template, texts) for which, template in arguments_of(task)}
        return tuple(values[which] for which in range(len(task.args))), {name: values[name] for name in task.kwargs}

    def value(self, name: str, texts: Mapping[int, str]) -> Any:
        """What the task of that name has returned."""
        return self._outputs.value(self._outputs.graph.position[name], texts)

    def _argument(self, which: int | str, template: Template, texts: Mapping[int, str]) -> Any:
        mapped = self.task.map
        if mapped is not None and self.index is not None and which in mapped.over:
            return self._item(which, template, self.index, texts)
        return self._resolved(template, texts)

    def _item(self, which: int | str, template: Template, index: int, texts: Mapping[int, str]) -> Any:
        split = self._splits.get(which)
        if split is not None:
            return _decode(split[index])
        piped = piped_item(self._outputs, template, index)
        if piped is not None:
            return self._outputs.item(piped, texts)
        if isinstance(template, ListOf):
            return self._resolved(template.items[index], texts)
        value = self._resolved(template, texts)
        if isinstance(template, FromParam | FromTask):
            self._lists.split(self._run_id, template, value)
        return value[index]

    def _resolved(self, template: Template, texts: Mapping[int, str]) -> Any:
        if self._params is None and params_in(template):
            self._params = _decode(self._input)
        return resolve(template, self._params or {}, lambda name: self.value(name, texts))
