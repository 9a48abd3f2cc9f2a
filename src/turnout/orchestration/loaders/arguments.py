"""Makes the arguments of tasks in a workflow that maps some: an item takes its part of each list."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from turnout.model.bindings import params_in, resolve
from turnout.model.mapping import Outputs, arguments_of, piped_item, texts_for_item
from turnout.model.rows import TaskRow
from turnout.model.spec import FromParam, FromTask, ListOf, TaskSpec, Template

Source: TypeAlias = FromParam | FromTask
Split: TypeAlias = Sequence[bytes]
"""A list as the JSON text of each of its items."""

MAX_CACHED_BYTES = 32 * 1024 * 1024
"""Above it the least recently used lists are dropped, and read again when they are needed."""

LIST_OVERHEAD, ITEM_OVERHEAD = 512, 48
"""Bytes that a list and each of its items take beside their text, roughly."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class SplitLists:
    """Caches the lists that items of mapped tasks take their arguments from, by run and source. For any thread."""

    def __init__(self, limit: int = MAX_CACHED_BYTES) -> None:
        self._limit = limit
        self._lists: OrderedDict[tuple[str, Source], tuple[Split, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, run_id: str, source: Source) -> Split | None:
        with self._lock:
            found = self._lists.get((run_id, source))
            if found is None:
                return None
            self._lists.move_to_end((run_id, source))
            return found[0]

    def split(self, run_id: str, source: Source, value: list[Any]) -> Split:
        """Splits the list and caches the parts."""
        parts = [_encode(item) for item in value]
        size = LIST_OVERHEAD + sum(len(part) + ITEM_OVERHEAD for part in parts)
        with self._lock:
            before = self._lists.pop((run_id, source), None)
            self._lists[run_id, source] = (parts, size)
            self._size += size - (before[1] if before is not None else 0)
            while self._size > self._limit and len(self._lists) > 1:
                _, (_, dropped) = self._lists.popitem(last=False)
                self._size -= dropped
        return parts


class Call:
    """The call of one task: names the outputs that it needs, then makes arguments of them.

    Values are decoded for each call, so a body may change what it is given.
    """

    __slots__ = ("_input", "_lists", "_outputs", "_params", "_run_id", "_splits", "index", "needed", "task")

    def __init__(
        self, run_id: str, input: str, outputs: Outputs, row: TaskRow, lists: SplitLists | None = None
    ) -> None:
        graph = outputs.graph
        self.task: TaskSpec = graph.tasks[row.task_pos]
        self.index = row.index
        self._input = input
        self._run_id = run_id
        self._outputs = outputs
        self._lists = lists
        self._splits: dict[int | str, Split] = {}
        """The cached lists, held here so that they stay if the cache drops them."""
        self._params: dict[str, Any] | None = None
        if row.group is not None and row.index is not None:
            self._splits = self._known_lists()
            self.needed = texts_for_item(outputs, row.group, row.index, self._splits)
        else:
            inputs = graph.inputs(row.pos, outputs.has_value)
            self.needed = list(dict.fromkeys(each for dep in inputs for each in outputs.behind(dep)))

    def _known_lists(self) -> dict[int | str, Split]:
        assert self.task.map is not None
        found: dict[int | str, Split] = {}
        for which, template in arguments_of(self.task):
            if self._lists is not None and which in self.task.map.over and isinstance(template, FromParam | FromTask):
                split = self._lists.get(self._run_id, template)
                if split is not None:
                    found[which] = split
        return found

    def arguments(self, texts: Mapping[int, str]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns positional and keyword arguments; ``texts`` has the outputs that are needed."""
        task = self.task
        values = {which: self._argument(which, template, texts) for which, template in arguments_of(task)}
        return tuple(values[which] for which in range(len(task.args))), {name: values[name] for name in task.kwargs}

    def value(self, name: str, texts: Mapping[int, str]) -> Any:
        """Returns the output of the task of that name."""
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
        if self._lists is not None and isinstance(template, FromParam | FromTask):
            self._lists.split(self._run_id, template, value)
        return value[index]

    def _resolved(self, template: Template, texts: Mapping[int, str]) -> Any:
        if self._params is None and params_in(template):
            self._params = _decode(self._input)
        return resolve(template, self._params or {}, lambda name: self.value(name, texts))
