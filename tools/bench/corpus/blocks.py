"""Credentials of many lines or many fields: private keys, key files, signed tokens and cluster settings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random

from tools.bench.corpus.carriers import told_by_itself
from tools.bench.corpus.samples import Drawn, Kind, each
from tools.bench.corpus.shapes import START, b64, hexes, jwt, uuid4
from tools.bench.corpus.words import app, host, user

JWT = re.compile(START + r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{40,}")
PRIVATE_BLOCK = re.compile("-----BEGIN [A-Z ]*PRIVATE KEY")


def der(tag: int, content: bytes) -> bytes:
    """Return one value in DER."""
    if len(content) < 0x80:
        return bytes((tag, len(content))) + content
    size = len(content).to_bytes((len(content).bit_length() + 7) // 8)
    return bytes((tag, 0x80 | len(size))) + size + content


def rsa(chance: Random, bits: int = 2048) -> bytes:
    """Return what has the form of an RSA key (RFC 8017) and opens nothing: its numbers are noise."""
    size = bits // 8
    sizes = (size, 3, size, size // 2, size // 2, size // 2, size // 2, size // 2)
    numbers = [b"\x00", *(b"\x00" + chance.randbytes(each) for each in sizes)]
    numbers[2] = b"\x01\x00\x01"
    return der(0x30, b"".join(der(0x02, number) for number in numbers))


def elliptic(chance: Random) -> bytes:
    """Return what has the form of a P-256 key (RFC 5915)."""
    curve = der(0xA0, bytes.fromhex("06082a8648ce3d030107"))
    point = der(0xA1, der(0x03, b"\x00\x04" + chance.randbytes(64)))
    return der(0x30, der(0x02, b"\x01") + der(0x04, chance.randbytes(32)) + curve + point)


def pkcs8(chance: Random) -> bytes:
    """Return what has the form of a private key in PKCS #8, either of RSA or of Ed25519."""
    if chance.random() < 0.4:
        return bytes.fromhex("302e020100300506032b657004220420") + chance.randbytes(32)
    algorithm = bytes.fromhex("300d06092a864886f70d0101010500")
    return der(0x30, der(0x02, b"\x00") + algorithm + der(0x04, rsa(chance)))


def encrypted(chance: Random) -> bytes:
    return der(0x30, bytes.fromhex("305706092a864886f70d01050d304a") + chance.randbytes(1100))


def openssh(chance: Random) -> bytes:
    """Return what has the form of an Ed25519 key as OpenSSH keeps it (PROTOCOL.key)."""

    def string(data: bytes) -> bytes:
        return len(data).to_bytes(4) + data

    public, check = chance.randbytes(32), chance.randbytes(4)
    key = string(b"ssh-ed25519") + string(public)
    inner = check + check + key + string(chance.randbytes(32) + public) + string(user(chance).encode())
    inner += bytes(range(1, 1 + -len(inner) % 8))
    none = string(b"none") + string(b"none") + string(b"")
    return b"openssh-key-v1\x00" + none + (1).to_bytes(4) + string(key) + string(inner)


def body_lines(data: bytes, width: int = 64) -> list[str]:
    text = b64(data)
    return [text[at : at + width] for at in range(0, len(text), width)]


def pem(label: str, key: Callable[[Random], bytes], *, width: int = 64) -> Callable[[Random], Drawn]:
    """Return how to draw a PEM block (RFC 7468) of `label` with one of the usual things around it."""

    def draw(chance: Random) -> Drawn:
        lines = body_lines(key(chance), width)
        block = [f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"]
        name = f"{app(chance)}.key"
        match chance.randrange(7):
            case 0:
                text = "\n".join(block) + "\n"
            case 1:
                text = "\r\n".join(block) + "\r\n"
            case 2:
                text = f"$ cat {name}\n" + "\n".join(block) + "\n$ ls\n"
            case 3:
                text = json.dumps({"name": name, "key": "\n".join(block) + "\n"})
            case 4:
                text = f"{app(chance)}:\n  key: |\n" + "".join(f"    {line}\n" for line in block) + "  port: 22\n"
            case 5:
                text = f"cut while pasting {name}:\n" + "\n".join(block[:-1])
            case _:
                text = f'{app(chance).upper()}_KEY="' + "\\n".join(block) + '"'
        return Drawn(text, _whole(lines))

    return draw


def _whole(lines: list[str]) -> tuple[str, ...]:
    """Return the lines that are long enough to be told from chance."""
    return tuple(dict.fromkeys(line for line in lines if len(line) >= 16))


def legacy_encrypted(chance: Random) -> Drawn:
    lines = body_lines(chance.randbytes(1190))
    head = (
        "-----BEGIN RSA PRIVATE KEY-----",
        "Proc-Type: 4,ENCRYPTED",
        f"DEK-Info: AES-128-CBC,{hexes(chance, 32).upper()}",
    )
    text = "\n".join((*head, "", *lines, "-----END RSA PRIVATE KEY-----", ""))
    return Drawn(text, _whole(lines))


def two_messages(chance: Random) -> Drawn:
    """Return a block that was pasted in two halves, with talk between them."""
    lines = body_lines(rsa(chance))
    half = chance.randint(4, len(lines) - 4)
    first = "\n".join(("-----BEGIN RSA PRIVATE KEY-----", *lines[:half]))
    second = "\n".join((*lines[half:], "-----END RSA PRIVATE KEY-----"))
    between = chance.choice(("user: and the rest", "assistant: Is that all of it?\n\nuser:", "(continued)"))
    return Drawn(f"user: {first}\n\n{between}\n{second}\n", _whole(lines))


def tail(chance: Random) -> Drawn:
    """Return the end of a block whose beginning was said elsewhere."""
    lines = body_lines(rsa(chance))[chance.randint(4, 20) :]
    text = "\n".join((*lines, "-----END RSA PRIVATE KEY-----", ""))
    return Drawn(chance.choice(("", "and here is the rest:\n")) + text, _whole(lines))


def pgp(chance: Random) -> Drawn:
    lines = body_lines(b"\x95\x07" + chance.randbytes(1000))
    end = chance.choice(("\n", "\r\n"))
    head = ("-----BEGIN PGP PRIVATE KEY BLOCK-----", "Version: GnuPG v2", "")
    text = end.join((*head, *lines, "=" + b64(chance.randbytes(3)), "-----END PGP PRIVATE KEY BLOCK-----", ""))
    return Drawn(text, _whole(lines))


def putty(chance: Random) -> Drawn:
    lines = body_lines(chance.randbytes(chance.choice((36, 600))))
    public = body_lines(b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00 " + chance.randbytes(32))
    head = (
        "PuTTY-User-Key-File-3: ssh-ed25519",
        "Encryption: none",
        f"Comment: {user(chance)}",
        f"Public-Lines: {len(public)}",
    )
    text = "\r\n".join(
        (*head, *public, f"Private-Lines: {len(lines)}", *lines, f"Private-MAC: {hexes(chance, 64)}", "")
    )
    return Drawn(text, _whole(lines))


def service_account(chance: Random) -> Drawn:
    """Return a key file of a Google service account, whole or as one line of an environment."""
    lines = body_lines(pkcs8(chance))
    key = "\n".join(("-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----", ""))
    project = f"{app(chance)}-{chance.randint(10**5, 10**6)}"
    content = {
        "type": "service_account",
        "project_id": project,
        "private_key_id": hexes(chance, 40),
        "private_key": key,
        "client_email": f"{app(chance)}@{project}.iam.gserviceaccount.com",
        "client_id": str(chance.randint(10**20, 10**21)),
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    text = json.dumps(content, indent=chance.choice((None, 2)))
    if chance.random() < 0.3:
        text = f"GOOGLE_APPLICATION_CREDENTIALS_JSON='{json.dumps(content)}'"
    if chance.random() < 0.2:
        text = json.dumps({"file": text})
    return Drawn(text, _whole(lines))


def signed_token(chance: Random) -> str:
    claims: dict[str, object] = {
        "sub": uuid4(chance),
        "name": user(chance),
        "iat": chance.randint(16 * 10**8, 18 * 10**8),
    }
    return jwt(chance, claims)


def kubeconfig(chance: Random) -> Drawn:
    if chance.random() < 0.5:
        token = signed_token(chance)
        return Drawn(f"users:\n- name: {user(chance)}\n  user:\n    token: {token}\n", (token,))
    key = b64(("-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(body_lines(rsa(chance))) + "\n").encode())
    certificate = b64(b"-----BEGIN CERTIFICATE-----\n" + chance.randbytes(60))
    head = f"- name: {user(chance)}\n  user:\n    client-certificate-data: {certificate}\n"
    return Drawn(f"apiVersion: v1\nkind: Config\nusers:\n{head}    client-key-data: {key}\n", (key,))


def cluster_secret(chance: Random) -> Drawn:
    """Return a Kubernetes Secret: its values are base64 and nothing more."""
    first, second = b64(hexes(chance, 24).encode()), b64(chance.randbytes(30))
    head = f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: {app(chance)}\ntype: Opaque\ndata:\n"
    return Drawn(f"{head}  password: {first}\n  api-token: {second}\n", (first, second))


def registry_login(chance: Random) -> Drawn:
    login = b64(f"{user(chance)}:{hexes(chance, 30)}".encode())
    server = chance.choice(("https://index.docker.io/v1/", host(chance)))
    text = json.dumps({"auths": {server: {"auth": login}}}, indent=chance.choice((None, 2, "\t")))
    return Drawn(text, (login,))


def web_key(chance: Random) -> Drawn:
    """Return a private JSON Web Key (RFC 7517)."""
    x, y, d = (b64(chance.randbytes(32)).rstrip("=").replace("+", "-").replace("/", "_") for _ in range(3))
    return Drawn(json.dumps({"kty": "EC", "crv": "P-256", "kid": uuid4(chance), "x": x, "y": y, "d": d}), (d,))


KINDS: tuple[Kind, ...] = (
    each("pem-rsa", pem("RSA PRIVATE KEY", rsa), definite=True),
    each("pem-ec", pem("EC PRIVATE KEY", elliptic), definite=True),
    each("pem-pkcs8", pem("PRIVATE KEY", pkcs8), definite=True),
    each("pem-pkcs8-encrypted", pem("ENCRYPTED PRIVATE KEY", encrypted), definite=True),
    each("pem-openssh", pem("OPENSSH PRIVATE KEY", openssh, width=70), definite=True),
    each("pem-legacy-encrypted", legacy_encrypted, definite=True),
    each("pem-two-messages", two_messages, definite=True),
    each("pem-tail", tail, definite=False),
    each("pgp-private", pgp, definite=True),
    each("putty-key", putty, definite=True),
    each("google-service-account", service_account, definite=True),
    told_by_itself("jwt", ("ID_TOKEN", "SESSION_JWT", "ACCESS_TOKEN", "SERVICE_ROLE_KEY"), signed_token),
    each("kubeconfig", kubeconfig, definite=True),
    each("kubernetes-secret", cluster_secret, definite=False),
    each("docker-login", registry_login, definite=True),
    each("private-web-key", web_key, definite=False),
)
