"""The privacy corpus is what it says: repeatable, labelled truly, all noise, and without a credential among its look-alikes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tools.bench.corpus import FORMATS, GUISES, KINDS, Format, Lookalike, Positive, lookalikes, positives
from tools.bench.corpus.blocks import JWT, PRIVATE_BLOCK, elliptic, encrypted, openssh, pkcs8, rsa
from tools.bench.corpus.carriers import BARE, NAMED, fill
from tools.bench.corpus.samples import held_out, repeatable
from tools.bench.corpus.shapes import BASE62, bech32, crc62, run, shape

ROOT = Path(__file__).parents[2]
SEEDS = (1, 2, 77)
URL_PASSWORD = re.compile(r"\b[a-z][a-z+]+://[^\s/:@<>]*:(?![$*<\[])[^\s/@<>]+@")
EXAMPLES = (
    "AKIAIOSFODNN7" + "EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
    "hunter" + "2",
    "correct horse battery",
)
"""Values that are published as examples; a masker may know them by heart."""


@pytest.fixture(scope="module", params=SEEDS, name="seed")
def chosen_seed(request: pytest.FixtureRequest) -> int:
    chosen: int = request.param
    return chosen


@pytest.fixture(scope="module")
def found(seed: int) -> tuple[Positive, ...]:
    return positives(seed)


@pytest.fixture(scope="module")
def harmless(seed: int) -> tuple[Lookalike, ...]:
    return lookalikes(seed)


@pytest.fixture(scope="module")
def texts(found: tuple[Positive, ...], harmless: tuple[Lookalike, ...]) -> tuple[str, ...]:
    return (*(sample.text for sample in found), *(sample.text for sample in harmless))


def by_format(kind: str) -> Format:
    return next(each for each in FORMATS if each.kind == kind)


def test_there_are_at_least_420_credentials_of_64_kinds_and_six_of_each(found: tuple[Positive, ...]) -> None:
    counts = Counter(sample.kind for sample in found)
    assert len(found) >= 420
    assert len(counts) >= 64
    assert min(counts.values()) >= 6
    assert set(counts) == {kind.name for kind in KINDS}


def test_there_are_at_least_1500_look_alikes_of_40_kinds_and_as_many_of_each(harmless: tuple[Lookalike, ...]) -> None:
    counts = Counter(sample.kind for sample in harmless)
    assert len(harmless) >= 1500
    assert len(counts) >= 40
    assert len(set(counts.values())) == 1
    assert set(counts) == {guise.name for guise in GUISES}


def test_a_kind_has_one_name_and_a_name_one_kind() -> None:
    names = [kind.name for kind in KINDS] + [guise.name for guise in GUISES]
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_no_text_is_there_twice(texts: tuple[str, ...]) -> None:
    assert [text for text, count in Counter(texts).items() if count > 1] == []


def test_a_seed_makes_the_same_samples_again(
    seed: int, found: tuple[Positive, ...], harmless: tuple[Lookalike, ...]
) -> None:
    assert positives(seed) == found
    assert lookalikes(seed) == harmless


def test_another_process_makes_the_same_samples() -> None:
    command = (sys.executable, "-m", "tools.bench.privacy_corpus", "--json", "--seed", "1")
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    samples: tuple[Positive | Lookalike, ...] = (*positives(1), *lookalikes(1))
    assert lines == [json.dumps(sample._asdict()) for sample in samples]


def test_another_seed_makes_other_secrets_of_the_same_kinds() -> None:
    first, second = positives(1), positives(2)
    assert [sample.kind for sample in first] == [sample.kind for sample in second]
    assert [sample.held_out for sample in first] == [sample.held_out for sample in second]
    assert {sample.text for sample in first} & {sample.text for sample in second} == set()


def test_every_secret_stands_in_its_text_and_is_long_enough_to_be_one(found: tuple[Positive, ...]) -> None:
    for sample in found:
        assert sample.secrets, sample
        for secret in sample.secrets:
            assert secret in sample.text, sample
            assert len(secret) >= 10, sample


def test_no_secret_is_part_of_another_sample(found: tuple[Positive, ...], harmless: tuple[Lookalike, ...]) -> None:
    spent = {secret for sample in found if not sample.kind.startswith("pem") for secret in sample.secrets}
    for sample in harmless:
        assert not any(secret in sample.text for secret in spent), sample
    owners = Counter(secret for sample in found for secret in {*sample.secrets} & spent)
    assert [secret for secret, count in owners.items() if count > 1] == []


def test_no_secret_is_a_published_example(texts: tuple[str, ...]) -> None:
    assert [example for example in EXAMPLES if any(example in text for text in texts)] == []


def test_every_value_of_a_format_is_found_by_the_expression_of_that_format() -> None:
    for each in FORMATS:
        chance = repeatable(1, each.kind)
        for _ in range(20):
            value = each.shape.make(chance)
            assert each.shape.pattern.match(value), (each.kind, value)


def test_no_look_alike_has_the_format_of_a_credential(harmless: tuple[Lookalike, ...]) -> None:
    patterns = (*(each.shape.pattern for each in FORMATS), JWT, PRIVATE_BLOCK, URL_PASSWORD)
    for sample in harmless:
        assert [pattern.pattern for pattern in patterns if pattern.search(sample.text)] == [], sample


def test_the_expressions_do_find_the_credentials(found: tuple[Positive, ...]) -> None:
    patterns = {each.kind: each.shape.pattern for each in FORMATS} | {"jwt": JWT, "url-postgres": URL_PASSWORD}
    missed = [sample for sample in found if sample.kind in patterns and not patterns[sample.kind].search(sample.text)]
    assert [sample for sample in missed if "%" not in sample.secrets[0]] == []


def test_no_source_of_the_corpus_holds_a_whole_credential() -> None:
    patterns = (*(each.shape.pattern for each in FORMATS), JWT)
    sources = [*(ROOT / "tools/bench/corpus").glob("*.py"), Path(__file__)]
    assert len(sources) > 10
    for source in sources:
        text = source.read_text(encoding="utf-8")
        assert [pattern.pattern for pattern in patterns if pattern.search(text)] == [], source


def test_a_third_of_the_kinds_of_credentials_is_held_out_whole(found: tuple[Positive, ...]) -> None:
    kept: dict[str, set[bool]] = {}
    for sample in found:
        kept.setdefault(sample.kind, set()).add(sample.held_out)
    assert all(len(values) == 1 for values in kept.values())
    assert sum(True in values for values in kept.values()) == round(len(kept) / 3)


def test_a_third_of_each_kind_of_look_alike_is_held_out(harmless: tuple[Lookalike, ...]) -> None:
    counts = Counter(sample.kind for sample in harmless)
    kept = Counter(sample.kind for sample in harmless if sample.held_out)
    assert {kind: kept[kind] for kind in counts} == {kind: round(count / 3) for kind, count in counts.items()}


def test_what_is_held_out_hangs_on_the_names_and_not_on_their_order() -> None:
    names = [f"kind/{number}" for number in range(27)]
    assert held_out(names) == held_out(names[::-1])
    assert held_out(names) != frozenset(names[:9])


def test_both_parts_hold_definite_and_candidate_kinds(found: tuple[Positive, ...]) -> None:
    assert {(sample.definite, sample.held_out) for sample in found} == {
        (True, True),
        (True, False),
        (False, True),
        (False, False),
    }


def test_the_settings_are_varied(found: tuple[Positive, ...]) -> None:
    texts = [sample.text for sample in found]
    for trait in ("\r\n", "\\n", '\\"', "\x1b[32m", "```", "'", "`", "\t", "\ufeff", "| ", "%", "\u200b", "--token "):
        assert sum(trait in text for text in texts) >= 1, trait
    assert sum(sample.text == sample.secrets[0] for sample in found) >= 3
    assert sum(sample.text.startswith(sample.secrets[0]) for sample in found) >= 30
    assert sum(sample.text.endswith(sample.secrets[-1]) for sample in found) >= 60
    assert sum(len(sample.secrets) == 2 for sample in found) >= 60


@pytest.mark.parametrize("line", [*NAMED, *BARE])
def test_a_line_is_filled_to_the_last_mark_and_names_what_stands_in_it(line: str) -> None:
    drawn = fill(repeatable(1, line), line, "SOME_TOKEN", shape(run(BASE62, 12)).make)
    assert not re.search("<(T|U|N|n|c|w|now|app)>|^url:", drawn.text)
    assert len(drawn.secrets) == ("<T>" in line) + ("<U>" in line) > 0
    assert all(secret in drawn.text for secret in drawn.secrets)


def test_a_line_of_a_url_bears_its_values_encoded() -> None:
    drawn = fill(repeatable(1, "url"), "url:?key=<T>", "KEY", lambda _: "a+b/c=")
    assert drawn == ("?key=a%2Bb%2Fc%3D", ("a%2Bb%2Fc%3D",))


@pytest.mark.parametrize("kind", ["github-classic", "github-oauth", "github-server", "npm"])
def test_a_checksum_is_the_crc_of_what_is_before_it(kind: str) -> None:
    value = by_format(kind).shape.make(repeatable(5, kind))
    assert len(value) == 40
    assert value[-6:] == crc62(value[4:-6])
    assert value[-6:] != crc62(value[5:-6])


def test_a_checksum_is_the_one_that_github_shows_in_its_example() -> None:
    assert crc62("zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ") == "0mLq17"
    assert crc62("") == "000000"


def test_bech32_makes_the_address_that_its_standard_shows() -> None:
    data = bytes.fromhex("00443214c74254b635cf84653a56d7c675be77df")
    assert bech32("abcdef", data) == "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("key", [rsa, elliptic, pkcs8, encrypted])
def test_a_private_key_is_one_sequence_of_the_length_it_states(key: Callable[[Random], bytes], seed: int) -> None:
    made = key(repeatable(seed, "key"))
    long = made[1] & 0x7F if made[1] & 0x80 else 0
    assert made[0] == 0x30
    assert len(made) == 2 + long + (int.from_bytes(made[2 : 2 + long]) if long else made[1])


def test_an_openssh_key_begins_as_all_of_them_do_and_is_padded_to_whole_blocks() -> None:
    made = openssh(repeatable(4, "key"))
    public_end = made.index(b"ssh-ed25519") + len(b"ssh-ed25519") + 4 + 32
    inner = int.from_bytes(made[public_end : public_end + 4])
    assert made.startswith(b"openssh-key-v1\x00")
    assert inner % 8 == 0
    assert len(made) == public_end + 4 + inner
