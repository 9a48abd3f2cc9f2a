"""Which keys may come in, and what they may claim: the file as a value, its slips, and when it is read again."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.errors import InvalidSetting
from turnout.executors.workers.allow_list import ANY, AllowedWorker, AllowList, parse
from turnout.executors.workers.allow_list_file import AllowedWorkers
from turnout.executors.workers.curve_auth import refusal_log
from turnout.rate_limited_log import MAX_LINES, REPEAT_INTERVAL, WINDOW
from turnout.wire.messages import Hello

KEY, OTHER = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
FULL = f"""
[[worker]]
name = "gpu box"
key = "{KEY}"
labels = {{ gpu = "true", zone = ["a", "b"], team = "*" }}
handlers = ["Orders::*", "mail"]
names = ["gpu-*"]

[[worker]]
name = "plain"
key = "{OTHER}"
"""


def hello(labels: dict[str, str] | None = None, handlers: tuple[str, ...] = ("mail",), name: str = "gpu-1") -> Hello:
    return Hello(
        versions=("1.0",),
        worker_id="w",
        seq=1,
        credits=1,
        codecs=("json",),
        handlers=handlers,
        labels=labels or {},
        name=name,
    )


def test_a_whole_file_is_read() -> None:
    found = parse(FULL, "workers.toml")
    assert list(found.entries) == [KEY, OTHER] and KEY in found and "x" not in found
    assert found.entries[KEY] == AllowedWorker(
        name="gpu box",
        key=KEY,
        labels={"gpu": ("true",), "zone": ("a", "b"), "team": (ANY,)},
        handlers=("Orders::*", "mail"),
        names=("gpu-*",),
    )
    assert found.entries[OTHER] == AllowedWorker(name="plain", key=OTHER)
    assert parse("", "workers.toml") == AllowList()


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (hello(), None),
        (hello({"gpu": "true", "zone": "b", "team": "whatever"}), None),
        (hello({"gpu": "false"}), "labels_refused: key 'gpu box' allows gpu=true, not gpu=false"),
        (hello({"zone": "c"}), "labels_refused: key 'gpu box' allows zone=a, zone=b, not zone=c"),
        (hello({"disk": "ssd"}), "labels_refused: key 'gpu box' allows no label disk, not disk=ssd"),
        (hello({"gpu": "*"}), "labels_refused: key 'gpu box' allows gpu=true, not gpu=*"),
        (hello(handlers=("Orders::Ship", "mail")), None),
        (hello(handlers=("mail", "pay")), "handlers_refused: key 'gpu box' does not allow the handler 'pay'"),
        (hello(handlers=("*",)), "handlers_refused: key 'gpu box' does not allow the handler '*'"),
        (hello(name="cpu-1"), "key_refused: key 'gpu box' does not allow the name 'cpu-1'"),
    ],
)
def test_a_key_allows_what_its_entry_says(said: Hello, code: str | None) -> None:
    error = parse(FULL, "workers.toml").refusal(KEY, said)
    assert (None if error is None else f"{error.code}: {error.message}") == code
    assert error is None or not error.retry


def test_an_entry_without_more_allows_no_labels_and_every_handler() -> None:
    found = parse(FULL, "workers.toml")
    assert found.refusal(OTHER, hello(handlers=("*",), name="")) is None
    error = found.refusal(OTHER, hello({"gpu": "true"}))
    assert error is not None and error.code == "labels_refused"


@pytest.mark.parametrize("key", [None, "", "x" * 40])
def test_no_key_and_an_unknown_one_are_refused_for_good(key: str | None) -> None:
    error = parse(FULL, "workers.toml").refusal(key, hello())
    assert error is not None and (error.code, error.retry) == ("key_refused", False)


LABELS = st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=4)


@given(claimed=LABELS, allowed=st.dictionaries(st.text(max_size=3), st.lists(st.text(max_size=3), max_size=3)))
def test_a_worker_comes_in_exactly_if_every_label_it_claims_is_allowed(
    claimed: dict[str, str], allowed: dict[str, list[str]]
) -> None:
    entry = AllowedWorker(name="one", key=KEY, labels={label: tuple(values) for label, values in allowed.items()})
    may = all(value in allowed.get(label, ()) or ANY in allowed.get(label, ()) for label, value in claimed.items())
    assert (entry.refusal(hello(claimed)) is None) is may


@given(pieces=st.lists(st.text(max_size=4), min_size=1, max_size=4), filled=st.lists(st.text(max_size=4), max_size=3))
def test_a_pattern_allows_what_has_any_text_in_place_of_its_stars(pieces: list[str], filled: list[str]) -> None:
    pieces = [piece.replace(ANY, "") for piece in pieces]
    middle = [*filled, "", "", ""]
    text = pieces[0] + "".join(middle[at] + piece for at, piece in enumerate(pieces[1:]))
    entry = AllowedWorker(name="one", key=KEY, handlers=(ANY.join(pieces),))
    assert entry.refusal(hello(handlers=(text,))) is None
    assert len(pieces) > 1 or entry.refusal(hello(handlers=(f"{text}x",))) is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[worker", "workers.toml: it is not TOML"),
        ("worker = " + "[" * 5000, "workers.toml: it is not TOML"),
        ("worker = " + "9" * 5000, "workers.toml: it is not TOML"),
        ("[[workers]]", "there is no key 'workers': did you mean 'worker'?"),
        ("[worker]\nname = 'a'", "worker is one table; write [[worker]] for each key"),
        ("worker = [3]", "worker 1: it is 3; write name, key"),
        ("[[worker]]\nkey = 'x'", "worker 1: name is missing"),
        ("[[worker]]\nname = 'a'", "worker 1: key is missing"),
        ("[[worker]]\nname = 'a'\nkey = 'short'", "worker 1, 'a': key is 'short'; a public key has 40 characters"),
        (f"[[worker]]\nname = 'a'\nkey = '{KEY}'\nlable = 1", "there is no key 'lable': did you mean 'labels'?"),
        (f"[[worker]]\nname = 'a'\nkey = '{KEY}'\nlabels = 'gpu'", "labels is 'gpu'; write {"),
        (f"[[worker]]\nname = 'a'\nkey = '{KEY}'\nlabels = {{ gpu = true }}", "labels.gpu is True; write text"),
        (f"[[worker]]\nname = 'a'\nkey = '{KEY}'\nhandlers = [1]", "handlers is [1]; write text"),
        (FULL + f"[[worker]]\nname = 'again'\nkey = '{KEY}'", "worker 3: its key is that of 'gpu box', too"),
    ],
)
def test_a_slip_in_the_file_is_named(text: str, said: str) -> None:
    with pytest.raises(InvalidSetting) as raised:
        parse(text, "workers.toml")
    assert raised.value.code == "bad_workers_file" and raised.value.message.startswith("workers.toml")
    assert said in raised.value.message


@given(st.text())
def test_whatever_the_file_holds_it_is_a_list_or_a_named_slip(text: str) -> None:
    try:
        assert isinstance(parse(text, "workers.toml"), AllowList)
    except InvalidSetting as error:
        assert error.code == "bad_workers_file"


def looked(allowed: AllowedWorkers) -> bool:
    """A change counts once it was seen twice."""
    return allowed.look() or allowed.look()


def test_a_list_that_is_being_written_is_not_read(tmp_path: Path) -> None:
    """An editor empties a file before it writes it; a moment without a key would throw everybody out for good."""
    file = tmp_path / "workers.toml"
    file.write_text(FULL)
    allowed = AllowedWorkers(file)
    with file.open("w") as writing:
        assert not allowed.look(), "it is empty"
        for part in FULL.partition('[[worker]]\nname = "plain"'):
            writing.write(part)
            writing.flush()
            assert not allowed.look() and len(allowed.list.entries) == 2
    file.write_text("")
    assert looked(allowed) and not allowed.list.entries


def test_a_list_that_is_written_while_it_is_read_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "workers.toml"
    file.write_text(FULL)
    allowed = AllowedWorkers(file)
    file.write_text(FULL.replace("plain", "other"))
    read_text = Path.read_text

    def emptied(path: Path, **options: Any) -> str:
        path.write_text("")
        return read_text(path, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_text", emptied)
        assert not looked(allowed) and KEY in allowed.list
    file.write_text(FULL.replace("plain", "other"))
    assert looked(allowed) and allowed.list.entries[OTHER].name == "other"


def test_the_list_is_read_again_when_the_file_changes_and_kept_while_it_is_broken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "workers.toml"
    file.write_text("")
    allowed = AllowedWorkers(file)
    assert not allowed.look()
    file.write_text(FULL)
    assert looked(allowed) and KEY in allowed.list and not looked(allowed)
    for broken in ("[[worker", "", None):
        if broken is None:
            file.unlink()
        else:
            file.write_text(broken)
        assert looked(allowed) is (broken == "")
    assert KEY not in allowed.list, "an empty file is a list with nobody in it"
    said = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(said) == 2 and "not TOML" in said[0].getMessage() and "cannot be read" in said[1].getMessage()
    assert not allowed.look() and not allowed.look()
    assert len([record for record in caplog.records if record.levelno == logging.ERROR]) == 2


def test_a_change_in_the_same_moment_and_of_the_same_size_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "workers.toml"
    file.write_text(FULL)
    allowed = AllowedWorkers(file)
    file.write_text(FULL.replace("gpu box", "cpu box"))
    assert looked(allowed) and allowed.list.entries[KEY].name == "cpu box"


def test_a_refusal_is_logged_once_for_each_peer_and_reason_and_again_much_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 0.0
    refusals = refusal_log(lambda: now)
    for _ in range(3):
        refusals.note("one", "no key")
        refusals.note("one", "labels")
        refusals.note("two", "no key")
    assert [record.getMessage() for record in caplog.records] == [
        "one was refused: no key",
        "one was refused: labels",
        "two was refused: no key",
    ]
    now = REPEAT_INTERVAL
    refusals.note("one", "no key")
    assert len(caplog.records) == 4 and refusals.count == 10


def test_whoever_tries_many_keys_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    refusals = refusal_log(lambda: now)
    for number in range(1000):
        refusals.note("one", f"key {number}")
    assert len(caplog.records) == MAX_LINES + 1
    assert caplog.records[-1].getMessage() == f"more were refused; the next lines about that come in {WINDOW:.0f} s"
    now = WINDOW
    refusals.note("one", "key 999")
    assert len(caplog.records) == MAX_LINES + 2
