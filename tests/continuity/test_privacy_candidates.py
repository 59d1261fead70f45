"""What looks like a credential and is not known to be one is a candidate; names, digests and paths are none."""

import pytest

from continuity.capture import PublicMessage
from continuity.privacy import WITHHELD, mask, mask_candidates, mask_words, withhold
from journal.ids import EntryId

VALUE = "Xk29dLq07" + "TzPw81RmVb4"


def messages(*texts: str) -> list[PublicMessage]:
    return [PublicMessage(EntryId(f"e{n}"), "user", mask(text).text, n) for n, text in enumerate(texts)]


@pytest.mark.parametrize(
    "text",
    [
        f"the session id is {VALUE}",
        f"login: {VALUE}",
        f"license => '{VALUE}'",
        f"the key for the lamp is {VALUE}",
        f"cookie value: {VALUE[:9]}\u200b{VALUE[9:]}",
        f"rnd_{VALUE}",
    ],
)
def test_a_random_value_behind_a_telling_word_is_a_candidate(text: str) -> None:
    (done,), count = mask_candidates(messages(text))
    assert count == 1
    assert VALUE[:6] not in done.text
    assert mask_candidates([done]) == ((done,), 0)


@pytest.mark.parametrize(
    "text",
    [
        f"the lamp is {VALUE}",
        "session id: 9f439ea1b2c3d4e5f60718293a4b5c6d7e8f9012",
        "session: 550e8400-e29b-41d4-a716-446655440000",
        "login: tau/checkpoints/tau-checkpoint-d3847cee412e53792fea.md",
        "cache_key: " + VALUE,
        "<li key=" + f'"{VALUE}">',
        '"nextPageToken": ' + f'"{VALUE}"',
        "cookie: CookieJarOfTheHouse2024Version",
        "integrity key: sha512-" + VALUE,
        "sk-learn-like-interfaces-of-many-things",
    ],
)
def test_what_is_only_long_or_only_named_is_none(text: str) -> None:
    given = messages(text)
    assert mask_candidates(given) == (tuple(given), 0)
    assert withhold(given) == (tuple(given), 0)


def test_a_message_with_a_candidate_is_withheld_as_a_whole_and_the_others_stay() -> None:
    given = messages("good morning", f"the session id is {VALUE}, and two are {VALUE}", "good night")
    done, count = withhold(given)
    assert [one.text for one in done] == ["good morning", WITHHELD, "good night"]
    assert done[0] is given[0]
    assert count == 1


def test_words_that_stand_alone_are_masked_with_what_may_be_a_credential_or_without() -> None:
    words = f"password=hunter22, and the key for the lamp is {VALUE}"
    certain = mask(words)
    assert mask_words(words, candidates=False) == certain
    done = mask_words(words, candidates=True)
    assert done.text == certain.text.replace(VALUE, "[masked:possible-credential]")
    assert (certain.count, done.count) == (1, 2)
