"""A run shares its slots with its tasks and child runs: limits hold, and no holder waits for itself."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from turnout.model.limits import LimitSize
from turnout.model.slot_admission import OVERTAKE_TIMEOUT, LimitState, Waiter, admit
from turnout.model.slots import RUN, rank


def child(number: int, *names: str, above: dict[str, dict[str, frozenset[str]]], pos: int = RUN) -> Waiter:
    return Waiter(f"run-{number}", pos, rank(float(number), 0), float(number), names, above)


def full(**held: int) -> dict[str, LimitState]:
    return {name: LimitState(LimitSize(count), held=count) for name, count in held.items()}


PARENT = {"a": {"parent": frozenset({"parent"})}}


def test_a_child_shares_the_slot_of_its_parent_although_the_limit_is_full() -> None:
    admitted = admit([child(1, "a", above=PARENT)], full(a=1), 0.0)
    assert admitted.granted == [("run-1", RUN)] and admitted.shared == [("run-1", RUN, "a", "parent")]


def test_children_share_the_slot_one_after_the_other_and_take_free_ones_meanwhile() -> None:
    limits = {"a": LimitState(LimitSize(2), held=1)}
    admitted = admit([child(number, "a", above=PARENT) for number in (1, 2, 3)], limits, 0.0)
    assert [run_id for run_id, _ in admitted.granted] == ["run-1", "run-2"]
    assert admitted.shared == [("run-1", RUN, "a", "parent")] and limits["a"].held == 2


def test_a_slot_that_a_task_uses_is_not_shared_with_a_child_run_and_the_other_way_round() -> None:
    for pos in (0, RUN):
        limits = full(a=1)
        limits["a"].users["parent"] = {("parent", 0) if pos == 0 else ("sibling", RUN)}
        assert admit([child(1, "a", above=PARENT, pos=pos)], limits, 0.0).granted == []


def test_a_grandchild_shares_the_slot_that_its_parent_shares() -> None:
    limits = full(a=1)
    limits["a"].users["grandparent"] = {("parent", RUN)}
    above = {"a": {"grandparent": frozenset({"grandparent", "parent"})}}
    assert admit([child(1, "a", above=above)], limits, 0.0).shared == [("run-1", RUN, "a", "grandparent")]


def test_a_slot_that_is_shared_counts_in_a_rate() -> None:
    limits = {"a": LimitState(LimitSize(1, 2), held=1, begun=1, next_in=0.5)}
    admitted = admit([child(number, "a", above=PARENT) for number in (1, 2)], limits, 0.0)
    assert admitted.granted == [("run-1", RUN)] and limits["a"].begun == 2
    limits["a"].users.clear()
    assert admit([child(2, "a", above=PARENT)], limits, 0.0).next_in == 0.5


def test_a_slot_is_not_kept_from_what_its_waiter_waits_for() -> None:
    """The first waits for ``a``, which the parent holds until its child has had ``b``."""

    def granted(*, above: dict[str, dict[str, frozenset[str]]]) -> list[str]:
        limits = {**full(a=1), "b": LimitState(LimitSize(1))}
        both = Waiter("both", RUN, -1.0, -1.0, ("a", "b"))
        admitted = admit([both, child(1, "b", above=above)], limits, OVERTAKE_TIMEOUT + 10)
        return [run_id for run_id, _ in admitted.granted]

    assert granted(above=PARENT) == ["run-1"]
    assert granted(above={}) == []


def test_a_slot_is_not_kept_from_what_its_waiter_waits_for_by_way_of_others() -> None:
    """The first waits for ``a``; its holder waits for a child that needs ``c``, whose holder waits for ``b``."""
    limits = {**full(a=1, c=1), "b": LimitState(LimitSize(1))}
    first = Waiter("first", RUN, -1.0, -1.0, ("a", "b"))
    second = child(1, "c", above={"a": {"x": frozenset({"x"})}})
    third = child(2, "b", above={"c": {"y": frozenset({"y"})}})
    assert [run_id for run_id, _ in admit([first, second, third], limits, 100.0).granted] == ["run-2"]


class Node:
    """A run or a task of a simulated family."""

    def __init__(self, number: int, parent: Node | None, names: tuple[str, ...], is_task: bool) -> None:
        self.parent, self.names, self.children = parent, names, list[Node]()
        self.run_id, self.pos = (parent.run_id, number) if is_task and parent is not None else (f"{number:03}", RUN)
        self.since, self.admitted, self.ended = float(number), False, False
        self.slots: dict[str, str | None] = {}
        if parent is not None:
            parent.children.append(self)

    @property
    def waits(self) -> bool:
        return not self.admitted and (self.parent is None or self.parent.admitted)

    @property
    def done(self) -> bool:
        return self.admitted and not self.ended and all(each.ended for each in self.children)

    def ancestors(self) -> Iterator[Node]:
        if self.parent is not None:
            yield self.parent
            yield from self.parent.ancestors()

    def uses(self, name: str) -> bool:
        return self.admitted and not self.ended and name in self.names

    def slot(self, name: str) -> str:
        return self.slots[name] or self.run_id

    def above(self) -> dict[str, dict[str, frozenset[str]]]:
        found: dict[str, dict[str, frozenset[str]]] = {}
        for each in self.ancestors():
            for name in each.names:
                slots = found.setdefault(name, {})
                slots[each.slot(name)] = slots.get(each.slot(name), frozenset()) | {each.run_id}
        return found


SIZES = {"a": 1, "b": 2}


class Family:
    """Runs, their tasks and child runs. A descendant needs only limits of its next ancestor with limits."""

    def __init__(self, data: st.DataObject) -> None:
        self.nodes: list[Node] = []
        for number in range(data.draw(st.integers(1, 10))):
            runs = [node for node in self.nodes if node.pos == RUN]
            parent = data.draw(st.none() | st.sampled_from(runs)) if runs else None
            named = next((each.names for each in parent.ancestors() if each.names), ()) if parent else ()
            allowed = sorted((parent.names if parent else ()) or named or SIZES)
            names = tuple(sorted(data.draw(st.sets(st.sampled_from(allowed)))))
            self.nodes.append(Node(number, parent, names, data.draw(st.booleans())))

    def state(self, name: str) -> LimitState:
        state = LimitState(LimitSize(SIZES[name]))
        users = [node for node in self.nodes if node.uses(name)]
        for node in users:
            slot = node.slots[name]
            given = next((each for each in users if each.run_id == slot and each.pos == RUN), None)
            state.held += given is None
            if slot is not None:
                state.users.setdefault(slot, set()).add((node.run_id, node.pos))
        return state

    def admit(self, now: float) -> int:
        waiting = {(node.run_id, node.pos): node for node in self.nodes if node.waits}
        made = [
            Waiter(node.run_id, node.pos, rank(node.since, 0), node.since, node.names, node.above())
            for node in waiting.values()
        ]
        admitted = admit(made, {name: self.state(name) for name in SIZES}, now)
        shared = {(run_id, pos, name): slot for run_id, pos, name, slot in admitted.shared}
        for run_id, pos in admitted.granted:
            node = waiting[run_id, pos]
            node.admitted = True
            node.slots = {name: shared.get((run_id, pos, name)) for name in node.names}
        return len(admitted.granted)

    def check(self) -> None:
        for name, size in SIZES.items():
            users = [node for node in self.nodes if node.uses(name)]
            waited_for = {each for node in users for each in node.ancestors()}
            at_work = [node for node in users if node not in waited_for]
            assert len(at_work) <= size, f"{len(at_work)} of {name} are at work"
            assert self.state(name).held <= size


@given(st.data())
def test_every_family_of_runs_comes_to_its_end_and_no_limit_is_exceeded(data: st.DataObject) -> None:
    family, now = Family(data), 0.0
    while not all(node.ended for node in family.nodes):
        now += data.draw(st.sampled_from([1.0, 100.0]))
        granted = family.admit(now)
        family.check()
        done = [node for node in family.nodes if node.done]
        assert granted or done, "nothing goes on"
        if done:
            data.draw(st.sampled_from(done)).ended = True
