"""A topic is words that say something: masked, bounded, and safe as a search whatever a person typed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from continuity.profile import Profile
from continuity.recall import plan_recall
from continuity.topic import MOST_WORDS, READ_CHARS, topic_of

PROFILE = Profile(
    kind="general",
    project="main",
    read_projects=(),
    repository=None,
    root=None,
    scope="thesis",
    cwd="/w/thesis",
    checkpoint_folder="tau/checkpoints",
)
MAYBE = "Xk29dLq07" + "TzPw81RmVb4"
TROUBLE = (
    'He said "mend the foghorn',
    "foghorn AND",
    "OR foghorn",
    "NOT foghorn OR (oil",
    "NEAR(foghorn oil, 2)",
    "NEAR oil",
    "foghorn* ^oil {title}: oil",
    "tag:foghorn category:oil",
    "don't; DROP TABLE notes; -- foghorn",
    "foghorn/horn.py:12 C:\\oil -x +y",
    "🚨 foghorn 🚨\x00\x1b[2J\u202e",
    "\ud800foghorn",
    "\u0301\u0301\u0301 \u0301foghorn",
    "[[foghorn]] memory://main/foghorn",
    "灯台の灯 маяк фонарь",
)


@pytest.fixture(scope="module")
def index() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE notes USING fts5(text)")
        connection.execute("INSERT INTO notes VALUES ('Mend the foghorn.'), ('Buy oil.'), ('灯台の灯 маяк')")
        yield connection


def test_words_that_stand_in_any_prompt_say_nothing() -> None:
    assert topic_of("Could you please have a look at why the foghorn is not working with the new oil?") == (
        "foghorn",
        "working",
        "oil",
    )


@pytest.mark.parametrize("prompt", ["", " \n ", "yes, go on", "?!", "🚨", "a b c", "\x00"])
def test_a_prompt_without_such_words_has_no_topic(prompt: str) -> None:
    assert topic_of(prompt) == ()


def test_a_word_counts_once_however_it_is_written() -> None:
    assert topic_of("Foghorn foghorn FOGHORN caf\u00e9 cafe\u0301") == ("foghorn", "caf\u00e9")


@pytest.mark.parametrize(("word", "told"), [("oi", ()), ("oil", ("oil",)), ("灯", ()), ("灯台", ("灯台",))])
def test_two_characters_are_a_word_outside_ascii_alone(word: str, told: tuple[str, ...]) -> None:
    assert topic_of(word) == told


@pytest.mark.parametrize(("length", "kept"), [(40, True), (41, False)])
def test_what_is_too_long_for_a_word_is_none(length: int, kept: bool) -> None:
    assert topic_of("y" * length) == (("y" * length,) if kept else ())


def test_the_first_words_are_the_topic() -> None:
    words = tuple(f"word{number}" for number in range(MOST_WORDS + 1))
    assert topic_of(" ".join(words)) == words[:MOST_WORDS]


def test_what_stands_behind_the_beginning_of_a_prompt_is_not_looked_at() -> None:
    filling = "of " * ((READ_CHARS - 8) // 3)
    assert topic_of(f"{filling} foghorn") == ("foghorn",)
    assert topic_of(f"{filling} and so on foghorn") == ()


def test_a_credential_is_no_part_of_a_topic() -> None:
    assert topic_of("the password is hunter22 password=hunter22 for the foghorn") == ("password", "foghorn")
    assert topic_of("use ghp_abcdefghijklmnopqrstuvwxyz0123456789 for the foghorn") == ("foghorn",)


@pytest.mark.parametrize("before", range(READ_CHARS - 42, READ_CHARS + 2))
@pytest.mark.parametrize("after", [" foghorn", " foghorn" * 2_000])
def test_a_credential_where_the_beginning_ends_is_no_part_of_a_topic(before: int, after: str) -> None:
    filling = ("of," * before)[: before - 1]
    assert topic_of(f"{filling},ghp_abcdefghijklmnopqrstuvwxyz0123456789{after}") in ((), ("foghorn",))


@pytest.mark.parametrize("before", range(0, 42, 3))
def test_a_credential_where_the_look_ends_is_no_part_of_a_topic_however_much_before_it_was_masked(before: int) -> None:
    block = "\n".join(["-----BEGIN PRIVATE KEY-----", *["a1B2" * 16] * 110, "-----END PRIVATE KEY-----"])
    filling = ("of," * 4_000)[: 8_000 - len(block) - before]
    assert topic_of(f"{block}{filling},ghp_abcdefghijklmnopqrstuvwxyz0123456789") == ()


def test_what_may_be_a_credential_is_no_word_unless_it_is_let_pass() -> None:
    prompt = f"the key for the lamp is {MAYBE}"
    assert topic_of(prompt) == ("key", "lamp")
    assert topic_of(prompt, candidates=False) == ("key", "lamp", MAYBE.lower())


@pytest.mark.parametrize("prompt", TROUBLE)
def test_no_prompt_makes_a_search_that_an_index_refuses(prompt: str, index: sqlite3.Connection) -> None:
    queries = [query.text for query in plan_recall(PROFILE, checkpoint=None, topic=topic_of(prompt)) if query.text]
    assert len(queries) == 2
    found = index.execute("SELECT text FROM notes WHERE notes MATCH ?", (queries[0],)).fetchall()
    assert found, "the word that is there was not found"


@pytest.mark.parametrize("prompt", TROUBLE)
def test_a_topic_holds_letters_numbers_and_their_marks_alone(prompt: str) -> None:
    assert all(word == word.lower() and word.isprintable() for word in topic_of(prompt))
    assert not {char for word in topic_of(prompt) for char in word} & set("\"'()*:^{}[]+-/\\.,;!?&|~`#@%=<>$_ ")
