"""Text from outside, as a terminal may have it."""

from __future__ import annotations

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from turnout.model.exposition import exposed
from turnout.model.texts import json_text, printable, printable_line

OVERRIDES = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def steers(character: str) -> bool:
    """Whether a terminal may do something else than show it."""
    return unicodedata.category(character) in ("Cc", "Zl", "Zp") or character in OVERRIDES


texts = st.text(st.one_of(st.characters(), st.sampled_from("\x1b\x07\x7f\x9b\x00\r\n\t\\" + OVERRIDES)))


@given(texts)
def test_nothing_that_steers_a_terminal_is_left_but_newlines_and_tabs(text: str) -> None:
    assert {each for each in printable(text) if steers(each)} <= {"\n", "\t"}
    assert not any(steers(each) for each in printable_line(text))


@given(texts)
def test_escaping_twice_changes_nothing(text: str) -> None:
    assert printable(printable(text)) == printable(text)
    assert printable_line(printable(text)) == printable_line(text)


@given(texts)
def test_json_says_the_same_and_steers_nothing(text: str) -> None:
    said = json_text({"a": [text]})
    assert json.loads(said) == {"a": [text]}
    assert not any(steers(each) for each in said)


def test_ordinary_text_is_left_as_it_is() -> None:
    text = "naïve 漢字 👩\u200d💻 [bold]no markup[/bold]\n\tindented"
    assert printable(text) == text


def test_escapes_show_what_was_there() -> None:
    assert printable("\x1b]0;title\x07 \x9b31m \u202e\r") == r"\x1b]0;title\x07 \x9b31m \u202e\r"
    assert printable_line("a\nb\tc") == r"a\nb\tc"


def test_a_label_of_a_metric_steers_nothing_and_stays_readable_for_prometheus() -> None:
    assert exposed({"m": "M."}, [("m", (("worker", '\x1b[2J"x'),), 1.0)]).splitlines()[-1] == (
        r'm{worker="\\x1b[2J\"x"} 1.0'
    )
