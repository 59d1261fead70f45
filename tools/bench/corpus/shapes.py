"""How the values of published formats are spelt: alphabets, lengths and checksums; it holds no value of any of them."""

from __future__ import annotations

import base64
import json
import re
import string
import uuid
import zlib
from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

DIGITS = string.digits
LOWER = string.ascii_lowercase
UPPER = string.ascii_uppercase
LETTERS = UPPER + LOWER
HEX = "0123456789abcdef"
BASE32 = UPPER + "234567"
BASE36 = DIGITS + LOWER
BASE62 = DIGITS + UPPER + LOWER
BASE64 = BASE62 + "+/"
URLSAFE = BASE62 + "_-"
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=\[\d\dm))"
"""Where a value may begin: behind no letter or digit, unless that ends an escape of JSON or of a terminal."""


class Run(NamedTuple):
    """Between `low` and `high` characters of an alphabet."""

    alphabet: str
    low: int
    high: int


class Crc62:
    """Six base62 digits of the CRC-32 of what stands between the first piece and here (GitHub, npm)."""


type Piece = str | Run | Crc62


class Shape(NamedTuple):
    """A format: how to make a value of it, and the expression that finds one in a text."""

    make: Callable[[Random], str]
    pattern: re.Pattern[str]


def run(alphabet: str, low: int, high: int | None = None) -> Run:
    """Return `low` characters of `alphabet`, or between `low` and `high`."""
    return Run(alphabet, low, high or low)


def shape(*pieces: Piece) -> Shape:
    """Return the format whose values are these pieces in a row."""

    def make(chance: Random) -> str:
        made = ""
        for piece in pieces:
            match piece:
                case str():
                    made += piece
                case Run():
                    made += take(chance, piece.alphabet, chance.randint(piece.low, piece.high))
                case Crc62():
                    made += crc62(made.removeprefix(pieces[0] if isinstance(pieces[0], str) else ""))
        return made

    return Shape(make, re.compile(START + "".join(map(_expression, pieces))))


def _expression(piece: Piece) -> str:
    match piece:
        case str():
            return re.escape(piece)
        case Run():
            return f"[{re.escape(piece.alphabet)}]{{{piece.low},{piece.high}}}"
        case Crc62():
            return "[0-9A-Za-z]{6}"


def take(chance: Random, alphabet: str, count: int) -> str:
    return "".join(chance.choices(alphabet, k=count))


def crc62(body: str) -> str:
    """Return the CRC-32 of `body` as six base62 digits, zero first."""
    rest, made = zlib.crc32(body.encode()), ""
    for _ in range(6):
        rest, digit = divmod(rest, 62)
        made = BASE62[digit] + made
    return made


def crc32_hex(body: str) -> str:
    return f"{zlib.crc32(body.encode()):08x}"


def hexes(chance: Random, count: int) -> str:
    return take(chance, HEX, count)


def uuid4(chance: Random) -> str:
    return str(uuid.UUID(bytes=chance.randbytes(16), version=4))


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def b64url(data: bytes) -> str:
    """Return unpadded base64 of the alphabet that URLs bear."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def b64json(value: Mapping[str, object]) -> str:
    """Return `value` as a JSON Web Token spells its parts; it begins `eyJ`."""
    return b64url(json.dumps(value, separators=(",", ":")).encode())


def jwt(chance: Random, claims: Mapping[str, object]) -> str:
    """Return a signed token (RFC 7519) with a signature of no key."""
    algorithm, size = chance.choice((("HS256", 32), ("RS256", 256), ("ES256", 64)))
    head = b64json({"alg": algorithm, "typ": "JWT"})
    return f"{head}.{b64json(claims)}.{b64url(chance.randbytes(size))}"


def bech32(prefix: str, data: bytes) -> str:
    """Return `data` in Bech32 (BIP 173) under `prefix`, in small letters, with its checksum."""
    bits = "".join(f"{byte:08b}" for byte in data)
    bits += "0" * (-len(bits) % 5)
    values = [int(bits[at : at + 5], 2) for at in range(0, len(bits), 5)]
    spread = [ord(letter) >> 5 for letter in prefix] + [0] + [ord(letter) & 31 for letter in prefix]
    rest = _polymod([*spread, *values, *[0] * 6]) ^ 1
    values += [(rest >> 5 * (5 - at)) & 31 for at in range(6)]
    return f"{prefix}1" + "".join(BECH32[value] for value in values)


def _polymod(values: list[int]) -> int:
    generator = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
    rest = 1
    for value in values:
        top = rest >> 25
        rest = (rest & 0x1FFFFFF) << 5 ^ value
        for at in range(5):
            rest ^= generator[at] if top >> at & 1 else 0
    return rest
