"""Look-alikes that are names of things: digests, ids, addresses and numbers, which whoever reads a text needs."""

from __future__ import annotations

from random import Random

from tools.bench.corpus.samples import Guise
from tools.bench.corpus.shapes import (
    BASE36,
    BASE62,
    BASE64,
    CROCKFORD,
    DIGITS,
    LOWER,
    UPPER,
    URLSAFE,
    b64,
    hexes,
    take,
    uuid4,
)
from tools.bench.corpus.words import app, clock, host, user, word


def pick(chance: Random, *lines: str) -> str:
    return chance.choice(lines)


def git_full(chance: Random) -> str:
    sha = hexes(chance, 40)
    return pick(
        chance,
        f"commit {sha}\nAuthor: {user(chance)} <{user(chance)}@example.com>\n",
        f"fixed in {sha}",
        f"git checkout {sha} -- {word(chance)}.py",
        f"parent {sha}",
        f"https://github.com/acme/{app(chance)}/commit/{sha}",
        f"{app(chance)} @ git+https://github.com/acme/{app(chance)}@{sha}",
        f"uses: actions/checkout@{sha} # v4",
        f'"head_sha": "{sha}"',
        sha,
    )


def git_short(chance: Random) -> str:
    first, second = hexes(chance, 7), hexes(chance, 9)
    return pick(
        chance,
        f"{first} {app(chance)}: {word(chance)} is read once",
        f"index {first}..{hexes(chance, 7)} 100644",
        f"HEAD is now at {first} {word(chance)}",
        f"   {first}..{hexes(chance, 7)}  main -> main",
        f"v2.1.0-14-g{second}",
        f"see `{second}`.",
    )


def uuid(chance: Random) -> str:
    one = uuid4(chance)
    return pick(
        chance,
        f'{{"id": "{one}", "kind": "{word(chance)}"}}',
        f"session {one} resumed",
        f"/api/v2/{app(chance)}/{one}/items",
        f"{one.upper()}",
        f"intent {one} was answered",
        f"user_id={one} role=viewer",
        f"<{one}@mail.example.com>",
    )


def sha256(chance: Random) -> str:
    one = hexes(chance, 64)
    return pick(
        chance,
        f"{one}  {app(chance)}.tar.gz",
        f"sha256:{one}",
        f'"content_sha256": "{one}",',
        f"SHA256 ({word(chance)}.iso) = {one}",
        f"digest={one} size={chance.randint(1, 99999)}",
    )


def md5(chance: Random) -> str:
    one = hexes(chance, 32)
    return pick(
        chance,
        f"{one}  {word(chance)}.bin",
        f"MD5 = {one}",
        f"md5sum: {one}",
        f'"checksum":"{one}"',
        f"Content-MD5 {one}",
    )


def capture_id(chance: Random) -> str:
    one = hexes(chance, 64)
    return pick(
        chance,
        f"capture_id: {one}",
        f'"capture_id": "{one}"',
        f"capture {one} was confirmed by reading",
        f"continuity show {one}",
        f"- capture: `{one}`",
    )


def checkpoint_title(chance: Random) -> str:
    one = f"tau-checkpoint-{hexes(chance, 20)}"
    return pick(
        chance,
        f"title: {one}",
        f"memory://tau/checkpoints/{one}",
        f"tau/checkpoints/{one}.md",
        f"- continues [[{one}]]",
        f"permalink: {app(chance)}/tau/checkpoints/{one}",
        one,
    )


def image(chance: Random) -> str:
    png = "iVBORw0KGgoAAAANSUhEUgAA" + take(chance, BASE64, chance.randint(60, 200))
    gif = "R0lGODlhAQABAIAAAAAAAP" + take(chance, BASE64, 40)
    return pick(
        chance,
        f"data:image/png;base64,{png}==",
        f'<img src="data:image/png;base64,{png}">',
        f"![{word(chance)}](data:image/gif;base64,{gif})",
        f"background: url(data:image/png;base64,{png})",
    )


def font(chance: Random) -> str:
    body = take(chance, BASE64, chance.randint(80, 240))
    return pick(
        chance,
        f"src: url(data:font/woff2;base64,d09GMgABAAAAA{body}) format('woff2');",
        f"@font-face{{font-family:{word(chance)};src:url(data:application/font-woff;base64,d09GRgABAAAA{body})}}",
    )


def npm_integrity(chance: Random) -> str:
    one = b64(chance.randbytes(64))
    return pick(
        chance,
        f'"integrity": "sha512-{one}",',
        f"  integrity sha512-{one}",
        f"resolution: {{integrity: sha512-{one}}}",
        f'<script src="/{word(chance)}.js" integrity="sha384-{b64(chance.randbytes(48))}" crossorigin="anonymous">',
    )


def python_hash(chance: Random) -> str:
    one = hexes(chance, 64)
    return pick(
        chance,
        f"    --hash=sha256:{one} \\",
        f'sdist = {{ url = "https://example.org/{word(chance)}-1.2.tar.gz", hash = "sha256:{one}", size = 8812 }}',
        f'    {{file = "{word(chance)}-2.0-py3-none-any.whl", hash = "sha256:{one}"}},',
    )


def module_sum(chance: Random) -> str:
    one = b64(chance.randbytes(32))
    return pick(
        chance,
        f"github.com/acme/{word(chance)} v1.{chance.randint(0, 40)}.0 h1:{one}",
        f"golang.org/x/{word(chance)} v0.{chance.randint(0, 40)}.1/go.mod h1:{one}",
        f'checksum = "{hexes(chance, 64)}"',
        f'"hash": "sha256-{one}",',
    )


def ulid(chance: Random) -> str:
    one = "01" + take(chance, CROCKFORD, 24)
    return pick(chance, f"event_id={one}", f'"id":"{one}"', f"job {one} done", f"/runs/{one}", one)


def ksuid(chance: Random) -> str:
    one = "2" + take(chance, BASE62, 26)
    return pick(chance, f"message_id={one}", f'"ksuid": "{one}"', f"delivered {one} in 12 ms", f"evt/{one}")


def nanoid(chance: Random) -> str:
    one = take(chance, BASE62, 1) + take(chance, URLSAFE, 19) + take(chance, BASE62, 1)
    return pick(chance, f'<li key="{one}">', f"id={one}", f'{{"id":"{one}","label":"{word(chance)}"}}', f"/board/{one}")


def image_digest(chance: Random) -> str:
    one = f"sha256:{hexes(chance, 64)}"
    return pick(
        chance,
        f"FROM python:3.12-slim@{one}",
        f"image: registry.example.com/{app(chance)}@{one}",
        f"Digest: {one}",
        f"{app(chance)}: digest: {one} size: 1570",
    )


def container(chance: Random) -> str:
    one = hexes(chance, 12)
    return pick(
        chance,
        f'{one}   {app(chance)}:latest   "python -m app"   2 hours ago   Up 2 hours   {word(chance)}_{user(chance)}',
        f"docker logs -f {one}",
        f"root@{one}:/srv#",
        f"Removing intermediate container {one}",
        f"/var/lib/docker/containers/{hexes(chance, 64)}/config.v2.json",
    )


def request_id(chance: Random) -> str:
    return pick(
        chance,
        f"{clock(chance)} INFO {app(chance)} request_id=req_{take(chance, BASE62, 24)} status=200",
        f"x-request-id: {hexes(chance, 32)}",
        f"x-amzn-RequestId: {uuid4(chance)}",
        f"x-amz-id-2: {b64(chance.randbytes(57))}",
        f"cf-ray: {hexes(chance, 16)}-FRA",
        f"[{clock(chance)}] {word(chance)} rid={take(chance, BASE36, 20)} 18ms",
    )


def trace_id(chance: Random) -> str:
    trace, span = hexes(chance, 32), hexes(chance, 16)
    return pick(
        chance,
        f"traceparent: 00-{trace}-{span}-01",
        f"trace_id={trace} span_id={span}",
        f'"logging.googleapis.com/trace": "projects/{app(chance)}/traces/{trace}"',
        f"X-Amzn-Trace-Id: Root=1-{hexes(chance, 8)}-{hexes(chance, 24)}",
        f"b3: {trace}-{span}-1",
    )


def etag(chance: Random) -> str:
    return pick(
        chance,
        f'ETag: "{hexes(chance, 32)}"',
        f'etag: W/"{hexes(chance, 5)}-{take(chance, BASE62, 27)}"',
        f'If-None-Match: "{hexes(chance, 40)}"',
        f'"@odata.etag": "W/\\"datetime{chance.randint(1, 999)}\\""',
    )


def cache_key(chance: Random) -> str:
    one = hexes(chance, 64)
    return pick(
        chance,
        f"Cache restored from key: Linux-pip-{one}",
        f"key: uv-{word(chance)}-{one[:40]}",
        f"cache_key={app(chance)}:v3:{one[:32]}",
        f"GET {app(chance)}:{word(chance)}:{one[:40]} -> miss",
        f"node_modules/.cache/{word(chance)}/{one[:20]}.json",
    )


def phone(chance: Random) -> str:
    digits = take(chance, DIGITS, 7)
    return pick(
        chance,
        f"call +44 20 {digits[:4]} {digits[3:]}",
        f"tel:+1-555-{digits[:3]}-{digits[3:]}",
        f"(555) {digits[:3]}-{digits[3:]}",
    )


def iban(chance: Random) -> str:
    blocks = " ".join(take(chance, DIGITS, 4) for _ in range(4))
    return pick(
        chance,
        f"IBAN DE{take(chance, DIGITS, 2)} {blocks} {take(chance, DIGITS, 2)}",
        f"GB{take(chance, DIGITS, 2)}TEST{take(chance, DIGITS, 14)}",
        f"invoice {take(chance, UPPER, 2)}-{take(chance, DIGITS, 8)}, ref {take(chance, DIGITS, 16)}",
    )


def isbn(chance: Random) -> str:
    number = "-".join(take(chance, DIGITS, size) for size in (1, 4, 4, 1))
    return f"{word(chance)}, ISBN 978-{number}"


def ipv6(chance: Random) -> str:
    one = ":".join(("2001", "db8", *(hexes(chance, 4) for _ in range(6))))
    return pick(
        chance,
        f"inet6 {one}/64 scope global",
        f"[{one}]:8443",
        f"{host(chance)} AAAA {one}",
        f"from {one} port {chance.randint(1024, 9999)}",
    )


def mac(chance: Random) -> str:
    one = ":".join(hexes(chance, 2) for _ in range(6))
    return pick(
        chance,
        f"link/ether {one} brd ff:ff:ff:ff:ff:ff",
        f"dhcp: {one} -> {word(chance)}",
        one.replace(":", "-").upper(),
    )


def ssh_public(chance: Random) -> str:
    edwards = b64(b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00 " + chance.randbytes(32))
    rsa = b64(b"\x00\x00\x00\x07ssh-rsa\x00\x00\x00\x03\x01\x00\x01\x00\x00\x01\x01\x00" + chance.randbytes(256))
    return pick(
        chance,
        f"ssh-ed25519 {edwards} {user(chance)}@{word(chance)}",
        f"ssh-rsa {rsa} {user(chance)}",
        f"{host(chance)} ssh-ed25519 {edwards}",
        f"ssh_authorized_keys:\n  - ssh-ed25519 {edwards}\n",
    )


def pem_public(chance: Random) -> str:
    label, size = chance.choice(
        (("PUBLIC KEY", 294), ("CERTIFICATE", 800), ("CERTIFICATE REQUEST", 500), ("RSA PUBLIC KEY", 270))
    )
    body = b64(b"\x30\x82" + size.to_bytes(2) + chance.randbytes(size))
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    return "\n".join((f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""))


def fingerprint(chance: Random) -> str:
    one = b64(chance.randbytes(32)).rstrip("=")
    return pick(
        chance,
        f"256 SHA256:{one} {user(chance)}@{word(chance)} (ED25519)",
        f"ED25519 key fingerprint is SHA256:{one}.",
        f"SHA1 Fingerprint={':'.join(hexes(chance, 2).upper() for _ in range(20))}",
        f"gpg: using EDDSA key {hexes(chance, 40).upper()}",
        f"age1{take(chance, LOWER + DIGITS, 58)} is the recipient",
    )


def public_id(chance: Random) -> str:
    return pick(
        chance,
        f"customer cus_{take(chance, BASE62, 14)} upgraded",
        f'"price": "price_1{take(chance, BASE62, 23)}"',
        f"gtag('config', 'G-{take(chance, UPPER + DIGITS, 10)}');",
        f"arn:aws:iam::{take(chance, DIGITS, 12)}:role/{app(chance)}",
        f"i-{hexes(chance, 17)} running in subnet-{hexes(chance, 17)}",
        f"https://docs.google.com/document/d/1{take(chance, URLSAFE, 43)}/edit",
        f"slack://channel?team=T{take(chance, UPPER + DIGITS, 8)}&id=C{take(chance, UPPER + DIGITS, 10)}",
    )


GUISES = (
    Guise("git-sha", git_full),
    Guise("git-sha-short", git_short),
    Guise("uuid", uuid),
    Guise("sha256", sha256),
    Guise("md5", md5),
    Guise("capture-id", capture_id),
    Guise("checkpoint-title", checkpoint_title),
    Guise("base64-image", image),
    Guise("base64-font", font),
    Guise("npm-integrity", npm_integrity),
    Guise("python-hash", python_hash),
    Guise("module-sum", module_sum),
    Guise("ulid", ulid),
    Guise("ksuid", ksuid),
    Guise("nanoid", nanoid),
    Guise("image-digest", image_digest),
    Guise("container-id", container),
    Guise("request-id", request_id),
    Guise("trace-id", trace_id),
    Guise("etag", etag),
    Guise("cache-key", cache_key),
    Guise("phone", phone),
    Guise("account-number", iban),
    Guise("isbn", isbn),
    Guise("ipv6", ipv6),
    Guise("mac", mac),
    Guise("ssh-public-key", ssh_public),
    Guise("pem-public", pem_public),
    Guise("fingerprint", fingerprint),
    Guise("public-id", public_id),
)
