"""A worker's session with a hub, without sockets: what each side does, and what holds in any weather."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.examples import examples
from unit.wire.network import Network, Weather, Worker, done, hello, ids, step

from turnout.wire.frames import pack, unpack
from turnout.wire.handshake import HelloCheck, HubFacts
from turnout.wire.held_steps import HeldSteps
from turnout.wire.hub_events import ForeignResultsReceived
from turnout.wire.messages import Error, Heartbeat, Hello, Message, Start
from turnout.wire.worker_session import SessionState, WorkerSession


def last_of(network: Network, route: bytes) -> Message:
    frames = [frames for to, frames in network.hub.outbox if to == route]
    return unpack(frames[-1]).message


def test_a_worker_says_hello_is_welcomed_and_gives_its_credits() -> None:
    network = Network()
    worker = Worker(network, "w", credits=7)
    network.deliver()
    assert worker.session.state is SessionState.OPEN
    assert network.hub.workers["w"].free == 7


def test_the_connections_of_a_process_are_numbered_together_whichever_link_makes_them() -> None:
    numbers = itertools.count(1)
    sessions = [WorkerSession(hello("w"), HeldSteps(), next_hello_seq=numbers.__next__) for _ in range(2)]
    for session in (*sessions, sessions[0]):
        session.open(0.0)
    said = [unpack(frames).message for session in sessions for frames in session.outbox]
    assert [message.seq for message in said if isinstance(message, Hello)] == [1, 3, 2]


def test_steps_are_done_and_acknowledged_and_forgotten() -> None:
    network = Network()
    worker = Worker(network, "w")
    network.deliver()
    assert network.give([step("a.1"), step("b.1")]) == []
    network.pass_time(1)
    assert network.ended == {"a.1": 1, "b.1": 1}
    assert len(worker.held_steps) == 0 and network.hub.workers["w"].free == 4


def test_a_worker_never_gets_more_than_its_credits() -> None:
    network = Network()
    Worker(network, "w", credits=2)
    network.deliver()
    left = network.give([step(f"{number}.1") for number in range(5)])
    assert [one.token for one in left] == ["2.1", "3.1", "4.1"]


def test_a_result_is_sent_again_until_it_is_acknowledged() -> None:
    network = Network()
    worker = Worker(network, "w")
    network.deliver()
    network.acknowledges = False
    network.give([step("a.1")])
    network.pass_time(5)
    assert [each.state for each in worker.held_steps] == ["done"]
    network.hub.acknowledge(network.hub.workers["w"], ["a.1"])
    network.pump()
    network.deliver()
    assert len(worker.held_steps) == 0


def test_a_worker_that_hears_nothing_begins_nothing_and_its_steps_are_lost_after_the_lease() -> None:
    network = Network()
    worker = Worker(network, "w")
    network.deliver()
    network.give([step("a.1")])
    network.deliver()
    network.weather = Weather(drop=1.0)
    network.pass_time(13, work=False)
    worker.work()
    assert not worker.begun
    network.pass_time(3, work=False)
    assert network.lost == {"a.1": 1}
    network.weather = Weather()
    network.pass_time(6)
    assert worker.session.state is SessionState.OPEN and not worker.begun and len(worker.held_steps) == 0


def test_a_worker_that_was_stopped_for_long_lets_go_what_others_were_given() -> None:
    network = Network()
    worker = Worker(network, "w")
    network.deliver()
    network.give([step("a.1")])
    network.deliver()
    worker.held_steps.begin("a.1")
    worker.alive = False
    network.pass_time(20)
    assert network.lost == {"a.1": 1}
    worker.alive = True
    network.pass_time(10)
    assert worker.dropped == {"a.1"} and worker.session.state is SessionState.OPEN


def test_a_step_with_a_confirmed_start_waits_for_its_leave() -> None:
    network = Network()
    worker = Worker(network, "w")
    network.deliver()
    network.give([step("a.1", confirm=True)])
    network.deliver()
    worker.work()
    assert not worker.begun
    network.pass_time(1)
    assert network.granted["a.1"] >= 1 and worker.begun == {"a.1": 1}


def test_who_says_bye_leaves_nothing_behind() -> None:
    network = Network()
    worker = Worker(network, "w")
    network.deliver()
    network.weather = Weather(drop=1.0)
    network.give([step("a.1")])
    network.weather = Weather()
    worker.session.bye("done")
    worker.flush()
    network.deliver()
    assert (
        network.returned == {"a.1": 1} and "w" not in network.hub.workers
    ) or worker.session.state is SessionState.OPEN


def test_a_message_from_nowhere_is_told_to_say_hello() -> None:
    network = Network()
    network.hub.receive(b"x", pack(Error("?"), "s1"), 0.0)
    assert network.hub.outbox == []
    frames = pack(hello("w"), "")
    network.hub.receive(b"x", [b"credit", b"s9", frames[2], frames[3]], 0.0)
    assert network.hub.malformed == 1


def test_one_worker_cannot_answer_for_another() -> None:
    network = Network()
    first, second = Worker(network, "first"), Worker(network, "second")
    network.deliver()
    entry = network.hub.workers["first"]
    network.hub.give(entry, [step("a.1")], 0.0)
    network.waiting.add("a.1")
    network.pump()
    network.deliver()
    second.held_steps.add(step("a.1"), "b", "hub", 0.0)
    second.work()
    second.tick()
    network.deliver()
    assert not network.ended
    assert len(second.held_steps) == 0, "it is told which they are, and does not say them again"
    first.work()
    first.tick()
    network.deliver()
    assert network.ended == {"a.1": 1}


def test_a_hub_does_not_judge_results_of_steps_that_another_one_gave() -> None:
    network = Network()
    worker = Worker(network, "w")
    network.deliver()
    worker.held_steps.add(step("a.1"), "b", "another hub", 0.0)
    worker.held_steps.finish("a.1", done(step("a.1")))
    said = Error("not_yours", tokens=("a.1",))
    worker.receive(pack(said, network.hub.workers["w"].session))
    assert len(worker.held_steps) == 1


def test_a_step_that_its_worker_had_and_does_not_list_is_lost_and_not_taken_for_one_that_never_arrived() -> None:
    network = Network()
    worker = Worker(network, "w")
    network.deliver()
    network.give([step("had.1", confirm=True)])
    entry = network.hub.workers["w"]
    network.under_way.clear()
    # The word that it was received is lost; that leave was asked for is not.
    network.hub.receive(worker.route, pack(Start(("had.1",)), entry.session, entry.codec), 0.0)
    network.give([step("unseen.1")])
    network.under_way.clear()
    worker.reconnect()
    network.deliver()
    assert network.lost == {"had.1": 1} and network.returned == {"unseen.1": 1}


def test_what_a_hub_has_disowned_goes_on_as_if_another_had_given_it() -> None:
    network = Network()
    worker = Worker(network, "w")
    network.deliver()
    network.give([step("a.1")])
    network.deliver()
    entry = network.hub.workers["w"]
    network.hub.disown(entry)
    assert entry.free == entry.credits and entry.foreign == {"a.1"}
    network.pass_time(1, every=0.25, work=False)
    worker.held_steps.finish("a.1", done(worker.held_steps.begin("a.1")))
    worker.tick()
    route, frames, at = worker.route, [each for each in network.under_way if each[4]], network.now
    network.under_way.clear()
    for each in frames:
        network.hub.receive(route, each[3], at)
    assert [type(event) for event in network.hub.events] == [ForeignResultsReceived]


@pytest.mark.parametrize("text", ["gpu\n2026-01-01 ERROR all is lost", "\x1b[2Jgpu", "gpu\x00", "gpu\u202e", "x" * 257])
@pytest.mark.parametrize("field", ["name", "host", "language", "labels", "values", "handlers"])
def test_what_could_forge_a_line_of_a_log_or_move_a_cursor_is_no_name(text: str, field: str) -> None:
    """Logs, tables and refusals say these words as they came."""
    said = {"labels": {"labels": {text: "a"}}, "values": {"labels": {"a": text}}, "handlers": {"handlers": (text,)}}
    refusal = HelloCheck().refusal(hello("w", **said.get(field, {field: text})), None, None)
    assert refusal is not None and (refusal.code, refusal.retry) == ("bad_hello", False)


def test_a_name_may_be_of_any_language() -> None:
    said = hello("w", name="Büro 3 – 東京", labels={"área": "süd"}, handlers=("Größe::prüfen",))
    assert HelloCheck().refusal(said, None, None) is None


def test_a_connection_is_of_one_worker() -> None:
    network = Network()
    worker = Worker(network, "w")
    network.deliver()
    network.hub.receive(worker.route, pack(hello("another", seq=1), ""), 0.0)
    refusal = last_of(network, worker.route)
    assert isinstance(refusal, Error) and (refusal.code, refusal.retry) == ("bad_hello", False)
    assert set(network.hub.workers) == {"w"} and network.hub.workers["w"].session


def test_an_old_version_and_a_bad_id_are_refused_for_good() -> None:
    network = Network()
    for changes in (
        {"versions": ("0.9",)},
        {"worker_id": "a b"},
        {"credits": -1},
        {"codecs": ("xml",)},
        {"name": "a\0b"},
        {"labels": {"gpu": "a\0b"}},
        {"pid": 2**40},
    ):
        facts = hello("w")
        network.hub.receive(b"r", pack(Hello(**{**_fields(facts), **changes}), ""), 0.0)
        refusal = last_of(network, b"r")
        assert isinstance(refusal, Error) and not refusal.retry
    assert not network.hub.workers


def _fields(message: Hello) -> dict[str, object]:
    return {name: getattr(message, name) for name in message.__struct_fields__}


weathers = st.builds(
    Weather,
    drop=st.sampled_from([0.0, 0.1, 0.4]),
    double=st.sampled_from([0.0, 0.2]),
    corrupt=st.sampled_from([0.0, 0.05]),
    truncate=st.sampled_from([0.0, 0.05]),
    delay=st.sampled_from([0.0, 0.3, 5.0]),
    cut=st.sampled_from([0.0, 0.02]),
)


@settings(max_examples=examples(100), deadline=None)
@given(seed=st.integers(0, 2**32), weather=weathers, confirm=st.booleans())
def test_in_any_weather_each_step_begins_at_most_once_and_ends_in_exactly_one_way(
    seed: int, weather: Weather, confirm: bool
) -> None:
    network = Network(seed, weather)
    workers = [Worker(network, f"w{number}", credits=3) for number in range(2)]
    numbers = itertools.count()
    given_out: list[str] = []
    for _ in range(30):
        steps = [step(f"{next(numbers)}.1", confirm=confirm) for _ in range(3)]
        left = {one.token for one in network.give(steps)}
        given_out += [one.token for one in steps if one.token not in left]
        network.pass_time(1.0)
        if network.random.random() < 0.05:
            stopped = network.random.choice(workers)
            stopped.alive = not stopped.alive
    for worker in workers:
        worker.alive = True
    network.weather = Weather()
    network.pass_time(40)
    begun = sum((worker.begun for worker in workers), start=type(workers[0].begun)())
    assert all(count == 1 for count in begun.values()), "a token began twice"
    for token in given_out:
        ways = network.ended[token] + network.lost[token] + network.returned[token]
        assert ways == 1, f"{token} ended {ways} times"
        assert not (network.returned[token] and begun[token]), f"{token} was given back and had begun"
    assert all(len(worker.held_steps) == 0 for worker in workers), "a worker holds something that nobody waits for"
    assert all(worker.free == worker.credits for worker in network.hub.workers.values())
    assert next(ids) > 0


def test_a_heartbeat_takes_over_what_a_hub_gave_that_is_gone_and_says_which_hubs_there_are() -> None:
    held_steps = HeldSteps()
    session = WorkerSession(hello("w"), held_steps, lambda: [each for each in held_steps if each.hub == "gone"])
    for name in ("gone", "alive"):
        held_steps.add(step(f"{name}.1"), "b", name, 0.0)
    session.open(0.0)
    facts = HubFacts(hub_id="hub")
    session.receive(pack(facts.welcome("s", 1, "json", ()), "s"), 0.0)
    assert held_steps.table["gone.1"].hub == "gone", "it is wanted, but nobody has taken it over"
    keep = ("gone.1", "alive.1", "never.1")
    session.receive(pack(Heartbeat(seq=1, keep=keep, hubs=("tcp://a",)), "s"), 0.0)
    session.receive(pack(Heartbeat(seq=2), "s"), 0.0)
    assert [held_steps.table[token].hub for token in keep[:2]] == ["hub", "alive"]
    assert session.hubs == ("tcp://a",)
