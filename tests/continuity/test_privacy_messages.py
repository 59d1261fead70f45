"""A key torn over several messages is one key; talk between its parts is not."""

from continuity.capture import PublicMessage
from continuity.privacy import mask_messages
from journal.ids import EntryId

HALF = "MIIEowIBAAKCAQEAabcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL"
OTHER = "bXlzZWNyZXRrZXlpc3ZlcnlzZWNyZXRhbmRsb25nZW5vdWdoZm9ydGhpcw"
BEGIN, END = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"


def masked(*texts: str) -> list[str]:
    messages = [PublicMessage(EntryId(f"e{n}"), "user", text, n) for n, text in enumerate(texts)]
    done, count = mask_messages(messages)
    assert [message.entry_id for message in done] == [message.entry_id for message in messages]
    assert (count > 0) == (list(done) != messages)
    return [message.text for message in done]


def test_both_halves_of_a_torn_key_are_masked() -> None:
    first, second = masked(f"my key\n{BEGIN}\n{HALF}", f"{OTHER}\n{END}\nthanks")
    assert (first, second) == ("my key\n[masked:private-key]", "[masked:private-key]\nthanks")


def test_an_answer_between_the_halves_stays() -> None:
    first, answer, second = masked(f"{BEGIN}\n{HALF}\n", "I see half a key.", f"{OTHER}\n{END}")
    assert HALF not in first
    assert answer == "I see half a key."
    assert second == "[masked:private-key]"


def test_a_key_in_three_parts_is_masked_in_all_of_them() -> None:
    assert masked(BEGIN, HALF, f"{OTHER}\n{END}") == ["[masked:private-key]"] * 3


def test_a_second_half_without_an_end_is_masked_as_far_as_it_looks_like_one() -> None:
    assert masked(f"{BEGIN}\n{HALF}", f"{OTHER}\nThat was all.", HALF) == [
        "[masked:private-key]",
        "[masked:private-key]\nThat was all.",
        HALF,
    ]


def test_a_new_key_begins_where_the_old_one_was_expected_to_go_on() -> None:
    assert masked(f"{BEGIN}\n{HALF}", f"{BEGIN}\n{OTHER}\n{END}") == ["[masked:private-key]"] * 2


def test_an_end_far_into_a_message_does_not_mask_everything_before_it() -> None:
    text = f"{'words ' * 4000}{END}"
    assert masked(f"{BEGIN}\n{HALF}", text)[1] == text


def test_a_key_nobody_goes_on_with_is_not_waited_for_for_ever() -> None:
    talk = ["talk"] * 5
    assert masked(f"{BEGIN}\n{HALF}", *talk, f"words {END}")[-1] == f"words {END}"


def test_messages_without_secrets_are_the_same_objects() -> None:
    messages = [PublicMessage(EntryId("e"), "assistant", "done", 1)]
    done, count = mask_messages(messages)
    assert done[0] is messages[0]
    assert count == 0
