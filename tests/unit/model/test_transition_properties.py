"""The run machine under everything that can happen to it: what holds over every order of events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kit.examples import examples
from kit.runs import HERE, SOON, RunTable, graph_of, new_run, task

from turnout.model.branch import Branch
from turnout.model.branches import skipped_by_choice
from turnout.model.deferral import Defer, Unmet
from turnout.model.events import DispatchDecision, ErrorInfo, ExecutionResult, TaskReadyEvent
from turnout.model.names import hook_name, is_hook, split_task_id
from turnout.model.rows import RunWrite, TaskRow
from turnout.model.rules import (
    Rule,
    all_,
    always,
    any_,
    context_value,
    leaves,
    none_,
    task_failed,
    task_skipped,
    task_success,
)
from turnout.model.rules import TaskFailed as FailureOf
from turnout.model.run_machine import RunMachine
from turnout.model.spec import FromTask, Hook, HookedOn, Literally, Mapped, TaskSpec
from turnout.model.states import TASK_TERMINAL, RunState, TaskState
from turnout.model.transition import Transition
from turnout.model.verdict import Limits

POLLED = DispatchDecision("pollers", "a rule")
LIMITS = Limits(crashes=3, losses=4, deferrals=3, inline_output=40)
ENDS: dict[str, Callable[[TaskReadyEvent], ExecutionResult]] = {
    "completed": lambda event: ExecutionResult.success(
        event, {"k": event.attempt % 2, "by": event.attempt, "l": [0] * (event.attempt % 3)}
    ),
    "completed_large": lambda event: ExecutionResult.success(
        event, {"k": 1, "by": event.attempt, "l": [1, 2], "text": "x" * 40}
    ),
    "failed": lambda event: ExecutionResult.failed(event, "broken"),
    "failed_for_good": lambda event: ExecutionResult.failed(event, "broken", retryable=False),
    "retry_after": lambda event: ExecutionResult.failed(event, "broken", retry_after=SOON),
    "timed_out": lambda event: ExecutionResult.timed_out(event, 1.0),
    "crashed": lambda event: ExecutionResult.crashed(event, "signal 9"),
    "lost": lambda event: ExecutionResult.lost(event, "worker gone"),
    "returned": lambda event: ExecutionResult.returned(event, "no_capacity"),
    "cancelled": ExecutionResult.cancelled,
    "deferred": lambda event: ExecutionResult.deferred(event, Defer(0, save=event.attempt)),
    "deferred_for_long": lambda event: ExecutionResult.deferred(event, Defer(SOON)),
    "deferred_until": lambda event: ExecutionResult.deferred(event, Defer(condition="m:holds")),
    "condition_unmet": lambda event: ExecutionResult.deferred(event, Unmet("m:holds")),
}
BRANCHES = ("branch", "branch_to_nowhere")
CHOICES = st.integers(0, 99)


# -- random workflows -------------------------------------------------------------------------------------------
def rules_over(names: Sequence[str]) -> st.SearchStrategy[Rule]:
    plain: st.SearchStrategy[Rule] = st.one_of(
        st.just(always()), st.sampled_from([context_value("k", op, 1) for op in ("==", "!=", "exists", "not_exists")])
    )
    if names:
        makers = st.sampled_from([task_success, task_failed, task_skipped])
        plain |= st.builds(lambda make, name: make(name), makers, st.sampled_from(names))
    nested = st.builds(
        lambda join, parts: join(*parts), st.sampled_from([all_, any_, none_]), st.lists(plain, min_size=1, max_size=3)
    )
    return plain | nested


@st.composite
def mapping(draw: st.DrawFn, known: Sequence[TaskSpec], rule: Rule | None) -> tuple[Mapped, tuple[Any, ...]]:
    """One or two lists: written out, made by a task, or collected by a mapped one, item by item if it can be."""
    sources = st.lists(st.integers(0, 9), max_size=3).map(Literally)
    if known:
        sources |= st.sampled_from(known).map(
            lambda each: FromTask(each.name) if each.map is not None else FromTask(each.name, ("l",))
        )
    lists = draw(st.lists(sources, min_size=1, max_size=2))
    collected = [each.name for each in lists if isinstance(each, FromTask) and not each.path]
    piped = tuple(dict.fromkeys(collected)) if rule is None and draw(st.booleans()) else ()
    options = Mapped(
        tuple(range(len(lists))),
        max_parallel=draw(st.none() | st.integers(1, 2)),
        return_exceptions=draw(st.booleans()),
        piped=piped,
    )
    return options, tuple(lists)


@st.composite
def workflows(draw: st.DrawFn) -> tuple[TaskSpec, ...]:
    tasks: list[TaskSpec] = []
    for number in range(draw(st.integers(2, 8))):
        known = [each.name for each in tasks]
        after = draw(st.lists(st.sampled_from(known), unique=True, max_size=3)) if known else []
        once = draw(st.booleans())
        rule = draw(st.none() | rules_over(after))
        options, lists = draw(mapping(tasks, rule)) if draw(st.integers(0, 2)) == 0 else (None, ())
        names = [each.name for each in lists if isinstance(each, FromTask)]
        tasks.append(
            task(
                f"t{number}",
                *dict.fromkeys([*after, *names]),
                rule=rule,
                at_most_once=once,
                attempts=1 if once else draw(st.integers(1, 3)),
                delay=draw(st.sampled_from([0.0, SOON])),
                args=lists,
                map=options,
            )
        )
    ordered = draw(st.permutations(tasks))
    ends: list[HookedOn] = ["success", "failure", "exit"]
    owners = st.sampled_from(["", "", *(each.name for each in ordered)])
    called = draw(st.lists(st.tuples(st.sampled_from(ends), owners), unique=True, max_size=4))
    hooks = [task(hook_name(on, "tell", of), attempts=2, hook=Hook(on, of)) for on, of in called]
    return (*ordered, *hooks)


# -- the life of one run ----------------------------------------------------------------------------------------
class RunLife(RuleBasedStateMachine):
    """A database, the run's owner, owners that were replaced and do not know it, executors and pollers."""

    @initialize(tasks=workflows(), polled=st.sets(st.integers(0, 7)), owned=st.booleans())
    def submit(self, tasks: tuple[TaskSpec, ...], polled: set[int], owned: bool) -> None:
        self.graph = graph_of(*tasks)
        self.new = new_run(input='{"k":1}')
        self.polled = polled
        self.table = RunTable()
        self.owners = 1
        self.zombies: list[RunMachine] = []
        self.fresh = False
        self.mail: list[ExecutionResult] = []
        self.orders: list[str] = []
        self.cancelled = 0
        self.in_flight: dict[tuple[int, int], TaskReadyEvent] = {}
        """Attempts that an executor or a poller has, answered or not yet."""
        self.answers: dict[tuple[int, int], ExecutionResult] = {}
        """What an executor answered: if it says so again, it says the same."""
        self.holders: dict[tuple[int, int], str] = {}
        self.attempts: dict[int, int] = {}
        self.final: bytes | None = None
        self.machine = RunMachine.create(self.graph, self.new, LIMITS)
        transition = Transition(self.machine, 0.0)
        events: list[TaskReadyEvent] = []
        if owned:
            transition.begin()
            events = self.place(transition)
            transition.finish()
        self.table.insert(transition.insert(self.owner if owned else None))
        if owned:
            self.machine.apply(transition)
            self.dispatch(events)
        else:
            self.take_over()

    @property
    def owner(self) -> str:
        return f"owner-{self.owners}"

    def over(self) -> bool:
        return self.table.run.state.terminal

    # -- what an owner does -------------------------------------------------------------------------------------
    def place(self, transition: Transition) -> list[TaskReadyEvent]:
        for pos in transition.offerable():
            if self.left_to_pollers(transition.task(pos)) and transition.task(pos).state is TaskState.READY:
                transition.offer(pos, POLLED)
        return [
            transition.start(pos, HERE, self.owner)
            for pos in transition.ready()
            if not self.left_to_pollers(transition.task(pos))
        ]

    def left_to_pollers(self, row: TaskRow) -> bool:
        return (row.pos if row.group is None else row.group) in self.polled

    def spec_of(self, row: TaskRow) -> TaskSpec:
        return self.graph.tasks[row.pos if row.group is None else row.group]

    def dispatch(self, events: Sequence[TaskReadyEvent]) -> None:
        """Only after the commit: the database has exactly this attempt running, for this holder, in a run that runs."""
        for event in events:
            pos = split_task_id(event.task_id)[1]
            state = self.table.run.state
            assert state is RunState.RUNNING or (state is RunState.CANCELLING and pos in self.graph.hooks)
            row = self.table.tasks[pos]
            assert (row.state, row.attempt, row.holder) == (TaskState.RUNNING, event.attempt, self.owner)
            assert (pos, event.attempt) not in self.in_flight, "an attempt was dispatched twice"
            self.in_flight[pos, event.attempt] = event
            self.holders[pos, event.attempt] = self.owner

    def turn_of(self, machine: RunMachine) -> tuple[Transition, list[TaskReadyEvent]]:
        transition = Transition(machine, 1.0)
        for result in self.mail:
            transition.result(result, split_task_id(result.task_id)[1])
        running: list[int] = []
        if self.fresh and transition.run_row.state is RunState.CANCELLING:
            running += transition.go_on_cancelling()
        elif self.fresh:
            transition.begin()
        for order in self.orders:
            match order:
                case "pause":
                    transition.pause()
                case "resume":
                    transition.resume()
                case reason:
                    running += transition.cancel(reason)
        for pos in running:
            if transition.task(pos).holder != self.owner:
                transition.stop_running(pos, "cancelled")
        events = self.place(transition)
        transition.finish()
        return transition, events

    def take_over(self, *, died: bool = False) -> None:
        """A new machine from the rows, under another epoch. What its dead or forgetful owner held and lost is lost."""
        self.zombies.append(self.machine)
        self.owners += died
        self.machine = self.table.adopt(self.owner, self.graph, self.new, LIMITS)
        self.fresh = True
        self.mail = [] if died else self.mail
        reported = {(split_task_id(result.task_id)[1], result.attempt) for result in self.mail}
        for row in self.machine.tasks:
            key = (row.pos, row.attempt)
            never_sent = row.holder == self.owner and key not in self.in_flight and key not in reported
            dead = (row.holder or "").startswith("owner") and row.holder != self.owner
            if row.state is TaskState.RUNNING and (never_sent or dead):
                self.mail.append(ExecutionResult.lost(self.machine.event(row.pos), "its owner is gone"))

    def settled(self, transition: Transition, events: Sequence[TaskReadyEvent]) -> None:
        """The turn was applied."""
        self.machine.apply(transition)
        self.mail, self.orders, self.fresh = [], [], False
        self.dispatch(events)
        self.memory_equals_the_database()

    # -- steps --------------------------------------------------------------------------------------------------
    @precondition(lambda self: not self.over())
    @rule(fate=st.sampled_from(["applied"] * 5 + ["lost", "unknown"]))
    def take_a_turn(self, fate: str) -> None:
        transition, events = self.turn_of(self.machine)
        if transition.empty:
            self.mail, self.orders, self.fresh = [], [], False
            return
        if fate == "lost":
            return
        outcome = self.table.commit(transition.write())
        if outcome.applied and fate == "applied":
            self.settled(transition, events)
        elif not self.over():
            # The database disagrees, or the answer to the commit was lost: read the run anew.
            self.take_over()

    @precondition(lambda self: self.in_flight and not self.over())
    @rule(
        which=CHOICES,
        end=st.sampled_from([*ENDS, "completed", "completed", "completed", "branch", "branch", *BRANCHES]),
        times=st.integers(1, 2),
    )
    def an_attempt_ends(self, which: int, end: str, times: int) -> None:
        keys = sorted(set(self.in_flight) - set(self.answers)) or sorted(self.in_flight)
        self.deliver(keys[which % len(keys)], end, times)

    @precondition(lambda self: self.answers and not self.over())
    @rule(which=CHOICES)
    def an_old_answer_comes_again(self, which: int) -> None:
        self.deliver(sorted(self.answers)[which % len(self.answers)], "completed", 1)

    def deliver(self, key: tuple[int, int], end: str, times: int) -> None:
        result = self.answers.setdefault(key, self.answer(key, end))
        if self.holders[key].startswith("poller"):
            self.machine.observe_claim(*key, self.holders[key])
        self.mail += [result] * times

    def answer(self, key: tuple[int, int], end: str) -> ExecutionResult:
        event = self.in_flight[key]
        if end not in BRANCHES:
            return ENDS[end](event)
        dependents = self.graph.dependents[key[0]] if key[0] < len(self.graph.tasks) else ()
        names = [self.graph.tasks[pos].name for pos in dependents]
        chosen = names[event.attempt % 2 :: 2] if end == "branch" else ["nowhere"]
        return ExecutionResult.success(event, Branch(*chosen, value={"k": 1, "by": event.attempt}))

    @precondition(lambda self: not self.over())
    @rule(which=CHOICES)
    def a_retry_comes_due(self, which: int) -> None:
        waiting = [row.pos for row in self.table.tasks.values() if row.retry_in]
        if waiting:
            pos = waiting[which % len(waiting)]
            self.table.waited(pos)
            self.machine.clear_delay(pos)

    @precondition(lambda self: self.polled and not self.over())
    @rule(which=CHOICES)
    def a_poller_claims(self, which: int) -> None:
        offered = [row.pos for row in self.table.tasks.values() if row.poll_key]
        if offered:
            self.claim(offered[which % len(offered)], f"poller-{which}")

    def claim(self, pos: int, poller: str) -> None:
        attempt = self.table.claim_ready(pos, poller)
        if attempt is not None:
            event = self.machine.event(pos, self.table.tasks[pos])
            assert (pos, attempt) not in self.in_flight
            self.in_flight[pos, attempt] = event
            self.holders[pos, attempt] = poller

    @precondition(lambda self: not self.over())
    @rule(order=st.sampled_from(["pause", "resume", "pause", "resume", "enough", "run_timed_out"]))
    def somebody_orders(self, order: str) -> None:
        self.cancelled += order not in ("pause", "resume")
        self.orders.append(order)

    @precondition(lambda self: not self.over())
    @rule()
    def another_owner_adopts_the_run(self) -> None:
        self.take_over(died=True)

    @rule(which=CHOICES, doing=st.sampled_from(["results", "cancel", "pause", "resume", "due", "reject"]))
    def a_zombie_writes(self, which: int, doing: str) -> None:
        """An owner that was replaced goes on with what it believes: all of it is stale."""
        if not self.zombies:
            return
        zombie = self.zombies[which % len(self.zombies)]
        transition = Transition(zombie, 2.0)
        for row in zombie.tasks:
            if doing == "results" and row.state is TaskState.RUNNING:
                transition.result(ExecutionResult.success(zombie.event(row.pos), {"k": 9}), row.pos)
            elif doing == "due":
                zombie.clear_delay(row.pos)
        match doing:
            case "cancel":
                transition.cancel("too late")
            case "pause":
                transition.pause()
            case "resume":
                transition.resume()
            case "reject" if not transition.run_row.state.terminal:
                transition.reject(ErrorInfo("StoreRejected", "poison"))
        for pos in transition.ready():
            transition.start(pos, HERE, "zombie")
        transition.finish()
        self.stays_as_it_is(transition.write())

    def stays_as_it_is(self, write: RunWrite) -> None:
        before = self.image(), len(self.table.history)
        outcome = self.table.commit(write)
        touched = {row.pos for row in (*write.tasks, *write.items)} | ({-1} if write.run else set())
        assert set(outcome.stale) == touched, "a fenced owner's write was applied"
        assert (self.image(), len(self.table.history)) == before

    def image(self) -> bytes:
        return msgspec.json.encode([self.table.run, *self.table.tasks.values()])

    # -- what always holds --------------------------------------------------------------------------------------
    def memory_equals_the_database(self) -> None:
        machine, table = self.machine, self.table
        assert (machine.row, machine.epoch, machine.seq) == (table.run, table.epoch, table.seq)
        for pos, stored in table.tasks.items():
            held = machine.tasks[pos]
            if stored.state is TaskState.RUNNING and held.poll_key:
                continue  # A poller has claimed it and the owner has not heard of it yet.
            if held.output is None and stored.output is not None:
                assert len(stored.output) > LIMITS.inline_output
                assert (pos if stored.group is None else stored.group) not in self.graph.rule_context
                assert plain(held) == plain(msgspec.structs.replace(stored, output=None))
            else:
                assert plain(held) == plain(stored)
        again = RunMachine(
            self.graph, self.new, machine.row, list(machine.tasks), epoch=machine.epoch, seq=machine.seq, limits=LIMITS
        )
        assert (machine.remaining, machine.open) == (again.remaining, again.open)
        assert self.held(machine) == self.held(again)
        assert len(machine.ready) == len(again.ready)
        assert {pos: (group.items, group.open, group.busy) for pos, group in machine.groups.items()} == {
            pos: (group.items, group.open, group.busy) for pos, group in again.groups.items()
        }

    def held(self, machine: RunMachine) -> set[int]:
        """What could start but for limits, and what can: which of them is which depends on who came first."""
        return {*machine.ready, *(pos for group in machine.groups.values() for pos in group.held)}

    @invariant()
    def history_is_a_path_in_the_table_of_moves(self) -> None:
        self.table.check()

    @invariant()
    def an_attempt_has_at_most_one_accepted_result(self) -> None:
        ended = [
            (move.pos, move.attempt) for move in self.table.history if move.old == TaskState.RUNNING and move.pos >= 0
        ]
        assert len(ended) == len(set(ended))

    @invariant()
    def an_output_is_that_of_the_attempt_that_is_recorded(self) -> None:
        for row in self.table.tasks.values():
            assert (row.output is None) == (row.state is not TaskState.COMPLETED)
            if row.output is not None and row.pos in self.graph.mapped:
                items = [each for each in self.table.tasks.values() if each.group == row.pos]
                assert msgspec.json.decode(row.output) == len(items)
                assert [each.index for each in items] == list(range(len(items)))
            elif row.output is not None:
                assert msgspec.json.decode(row.output)["by"] == row.attempt

    @invariant()
    def attempts_never_decrease(self) -> None:
        for pos, row in self.table.tasks.items():
            assert row.attempt >= self.attempts.get(pos, 0)
            self.attempts[pos] = row.attempt

    @invariant()
    def an_at_most_once_task_starts_again_only_if_it_was_handed_back_or_deferred_itself(self) -> None:
        again = {
            (move.pos, move.attempt)
            for move in self.table.history
            if (move.old, move.new) == (TaskState.RUNNING, TaskState.READY)
            and msgspec.json.decode(move.detail or "{}")["status"] in ("returned", "deferred")
        }
        for pos, row in self.table.tasks.items():
            if self.spec_of(row).at_most_once:
                assert len([key for key in self.in_flight if key[0] == pos and key not in again]) <= 1

    @invariant()
    def budgets_are_kept(self) -> None:
        for row in self.table.tasks.values():
            assert row.failures <= self.spec_of(row).retry.attempts
            assert row.crashes <= LIMITS.crashes
            assert row.losses <= LIMITS.losses

    @invariant()
    def a_task_waits_for_its_dependencies_and_for_nothing_else(self) -> None:
        tasks = self.table.tasks
        for row in tasks.values():
            open_ = [each for each in self.waited_for(row) if tasks[each].state not in TASK_TERMINAL]
            if row.pos in self.graph.hooks or (row.reason or "").startswith("not_chosen"):
                continue
            if row.state is TaskState.PENDING:
                assert open_ or self.fresh, "a task is pending though nothing it waits for is open"
            elif row.state is not TaskState.CANCELLED:
                assert not open_, "a task left pending before its dependencies had ended"

    def waited_for(self, row: TaskRow) -> list[int]:
        """An item waits for its counterparts in a pipe; a mapped task with a pipe only until those exist, if nothing
        else stands in its way."""
        pipes = self.graph.pipes.get(row.pos if row.group is None else row.group, ())
        if row.group is not None:
            return [each.pos for each in self.table.tasks.values() if each.group in pipes and each.index == row.index]
        tasks = self.table.tasks
        opened = [pos for pos in pipes if tasks[pos].state is TaskState.RUNNING]
        others = [tasks[dep] for dep in self.graph.deps[row.pos] if dep not in opened]
        if row.state is TaskState.PENDING and not all(
            r.state is TaskState.COMPLETED or skipped_by_choice(r) for r in others
        ):
            opened = []
        return [dep for dep in self.graph.deps[row.pos] if dep not in opened]

    @invariant()
    def no_more_items_are_under_way_than_their_limit_allows(self) -> None:
        for pos in self.graph.mapped:
            mapped = self.graph.tasks[pos].map
            if mapped is not None and mapped.max_parallel is not None:
                items = [row for row in self.table.tasks.values() if row.group == pos]
                busy = [row for row in items if row.state is TaskState.RUNNING or row.poll_key]
                assert len(busy) <= mapped.max_parallel

    @invariant()
    def a_mapped_task_ends_as_its_items_did(self) -> None:
        for pos in self.graph.mapped:
            row, mapped = self.table.tasks[pos], self.graph.tasks[pos].map
            ends = {each.state for each in self.table.tasks.values() if each.group == pos}
            assert row.holder is None and row.poll_key is None and row.state is not TaskState.READY
            if row.state is TaskState.COMPLETED:
                allowed = {TaskState.COMPLETED, TaskState.FAILED} if mapped.return_exceptions else {TaskState.COMPLETED}
                assert ends <= allowed
            elif row.state is TaskState.FAILED and ends:
                assert ends & {TaskState.FAILED, TaskState.SKIPPED}

    @invariant()
    def a_hook_starts_only_after_the_end_that_calls_it(self) -> None:
        tasks, graph = self.table.tasks, self.graph
        for pos in graph.hooks:
            hook = graph.tasks[pos].hook
            assert hook is not None
            if tasks[pos].attempt and hook.of:
                of = tasks[graph.position[hook.of]]
                assert of.state in TASK_TERMINAL and of.attempt
            elif tasks[pos].attempt:
                later = {p for p in graph.run_hooks if self.on(p) == "exit"} if hook.on == "exit" else graph.run_hooks
                others = [row for row in tasks.values() if row.pos not in later]
                assert all(row.state in TASK_TERMINAL for row in others)

    def on(self, pos: int) -> str:
        hook = self.graph.tasks[pos].hook
        return hook.on if hook else ""

    def the_right_hooks_were_called(self) -> None:
        ends = {"completed": ["success", "exit"], "failed": ["failure", "exit"], "cancelled": ["exit"], "skipped": []}
        for pos in self.graph.hooks:
            hook, row = self.graph.tasks[pos].hook, self.table.tasks[pos]
            assert hook is not None
            of = self.table.tasks[self.graph.position[hook.of]] if hook.of else None
            end = self.table.run.state if of is None else of.state
            called = hook.on in ends[end.value] and (of is None or of.attempt > 0)
            assert (row.attempt > 0) == called, f"{row.name}: {row.state} after {end}"
            assert row.state is not TaskState.CANCELLED

    @invariant()
    def the_end_is_the_end(self) -> None:
        if self.final is not None:
            assert self.image() == self.final
        elif self.over():
            self.final = self.image()
            self.the_run_ended_rightly()

    def the_run_ended_rightly(self) -> None:
        run, tasks = self.table.run, self.table.tasks
        assert self.table.owner is None
        if run.reason == "enough":
            assert run.state is RunState.CANCELLED
        elif run.reason == "run_timed_out":
            assert run.state is RunState.FAILED
        else:
            failed = {
                row.name
                for row in tasks.values()
                if row.group is None
                and not is_hook(row.name)
                and row.state is TaskState.FAILED
                and not (row.reason or "").startswith("dependency_")
            }
            assert run.state is (RunState.FAILED if failed - self.excused() else RunState.COMPLETED)
        if not self.cancelled:
            assert run.state is not RunState.CANCELLED
            assert not [row for row in tasks.values() if row.state is TaskState.CANCELLED]
            self.the_right_hooks_were_called()

    def excused(self) -> set[str]:
        ended = [row for row in self.table.tasks.values() if row.group is None and row.state is TaskState.COMPLETED]
        completed = [self.graph.tasks[row.pos] for row in ended]
        return {
            leaf.task
            for spec in completed
            for leaf in leaves(spec.rule)
            if isinstance(leaf, FailureOf) and leaf.task in spec.depends_on
        }

    # -- nothing wedges -----------------------------------------------------------------------------------------
    def teardown(self) -> None:
        """Deliver everything that is due, and the run ends."""
        if not hasattr(self, "table"):
            return
        for _ in range(200):
            if self.over():
                break
            for row in list(self.table.tasks.values()):
                if row.retry_in:
                    self.table.waited(row.pos)
                    self.machine.clear_delay(row.pos)
                if row.poll_key:
                    self.claim(row.pos, "poller-last")
                if row.state is TaskState.RUNNING and (row.pos, row.attempt) in self.in_flight:
                    self.deliver((row.pos, row.attempt), "completed", 1)
            if self.table.run.state is RunState.PAUSED:
                self.orders.append("resume")
            self.take_a_turn("applied")
            self.history_is_a_path_in_the_table_of_moves()
            self.an_attempt_has_at_most_one_accepted_result()
        assert self.over(), f"nothing is in flight and the run has not ended: {self.table.run.state}"
        self.the_end_is_the_end()


def plain(row: TaskRow) -> dict[str, Any]:
    """What the columns say; ``was`` is the fence of the last write, not a column."""
    image = msgspec.to_builtins(row)
    return {name: value for name, value in image.items() if name not in ("was", "was_attempt")}


TestRunLife = RunLife.TestCase
TestRunLife.settings = settings(
    max_examples=examples(200),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
