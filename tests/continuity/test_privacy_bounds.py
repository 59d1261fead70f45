"""Masking costs in proportion to the text, whatever was put into it to make it cost more."""

from time import process_time

import pytest

from continuity.capture import PublicMessage
from continuity.privacy import mask, withhold
from journal.ids import EntryId

UNITS = [
    "a",
    " ",
    "\n",
    "\u200b",
    "password=",
    "password is ",
    "password for a b c d ",
    'token="',
    'a="',
    '"a":"',
    "a: b",
    "a:a[a",
    '\\"',
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n-----END ",
    "eyJ",
    "eyJabcdefgh.",
    "ghp_",
    "sk-a\n",
    "://",
    "http://a:b",
    "x@",
    "<a>",
    "Authorization: ",
    "basic ",
    "Cookie: ",
    "-u a:",
    "--password ",
    "[masked:",
    "mysql ",
    "htpasswd -b a ",
    "ENV A_TOKEN ",
    'variable "a" { ',
    "name: token value: ",
    "docker login ",
    "login a password ",
    "net use \\\\",
    "$2y$",
    '"kty" "d": "',
    "Private-Lines: 1\nab\n",
    "LS0tLS1CRUdJTi",
    "Mabcdefghijklmnopqrstuvwx.abcdef.",
    "token for a is aB3dE5gH7jK9mN1p ",
    "\x1b[3",
    "a.b.",
    "A_A",
]


def _seconds(text: str) -> float:
    begun = process_time()
    withhold([PublicMessage(EntryId("e"), "user", mask(text).text, 0)])
    return process_time() - begun


@pytest.mark.parametrize("unit", UNITS)
def test_four_times_the_text_costs_about_four_times_as_much(unit: str) -> None:
    """A pause of the machine in the middle of it is no cost of ours, so it may be tried again."""
    small, large = (unit * (size // len(unit)) for size in (12_000, 48_000))
    bound = 10 * max(min(_seconds(small) for _ in range(2)), 0.002)
    assert any(_seconds(large) < bound for _ in range(3))


@pytest.mark.long
@pytest.mark.parametrize("unit", ["password=", 'token="', "eyJ", "-----BEGIN PRIVATE KEY-----"])
def test_a_message_of_a_million_characters_is_masked(unit: str) -> None:
    assert mask(unit * (1_000_000 // len(unit))).text
