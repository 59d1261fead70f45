"""Credentials are masked whole, whatever form they come in, and what only looks random stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from continuity.privacy import PLACEHOLDER, mask

# Written in parts, so that nobody's scanner takes a test for a leak.
GITHUB = "16C7e42F292c6912E7710c838347Ae178B4a"
BODY = "MIIEowIBAAKCAQEAabcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL"
JWT = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
BASIC = "dXNlcjpzM2NyZXQ="

FORMS = {
    "gho": ("gho_" + GITHUB, [GITHUB]),
    "ghp": ("ghp_" + GITHUB, [GITHUB]),
    "ghs": ("ghs_" + GITHUB, [GITHUB]),
    "fine-grained": ("github_pat_" + "11ABCDEFG0abcdefghij_" + GITHUB, [GITHUB]),
    "gitlab": ("glpat-" + "ABcdEFghIJklMNopQRst", ["ABcdEFghIJ"]),
    "aws id": ("AKIA" + "IOSFODNN7EXAMPLE", ["IOSFODNN7"]),
    "aws secret": ("AWS_SECRET_ACCESS_KEY=" + "wJalrXUtnFEMI/K7MDENG/bPxRfiCY", ["wJalr", "K7MDENG", "bPxRfiCY"]),
    "secret key": ("SECRET_KEY=" + "django-insecure-abc", ["insecure"]),
    "db pass": ("DB_PASS=" + "hunter", ["hunter"]),
    "env token": ("export GITHUB_TOKEN=" + "abcdef123", ["abcdef"]),
    "quoted env": ("export API_TOKEN='" + "x yy zz'", ["x yy"]),
    "json": ('{"token": "' + "abcdef123" + '"}', ["abcdef"]),
    "json in json": ('{\\"token\\": \\"' + "abcdef123" + '\\"}', ["abcdef"]),
    "json over lines": ('"password":\n    "' + "abcdef123" + '"', ["abcdef"]),
    "quoted over lines": ('password = "abc' + '\ndef123"', ["abc\n", "def123"]),
    "unclosed quote": ('password = "' + "abcdef123", ["abcdef"]),
    "unclosed escape": ('password = \\"' + "abcdef123", ["abcdef"]),
    "prose": ("the password is " + "hunter2, I think", ["hunter2"]),
    "prose word": ("set the password to " + "swordfish.", ["swordfish"]),
    "prose for": ("password for the db was " + "hunter2x", ["hunter2x"]),
    "prose quoted": ('the passphrase is "' + "correct-horse" + '" now', ["correct-horse"]),
    "prose key": ("the api key is " + "abcd1234efgh", ["abcd1234"]),
    "yaml": ("Password: " + "correcthorse", ["correcthorse"]),
    "markdown": ("**Password:** " + "hunter2", ["hunter2"]),
    "annotated": ("password: str = '" + "hunter2" + "'", ["hunter2"]),
    "camel case": ("clientSecret = '" + "abcdef" + "'", ["abcdef"]),
    "xml": ("<password>" + "hunter2" + "</password>", ["hunter2"]),
    "flag": ("mysql --password " + "hunter2 -h x", ["hunter2"]),
    "flag with =": ("tool --api-key=" + "abcdef99", ["abcdef99"]),
    "curl user": ("curl -u admin:" + "s3cret https://x", ["s3cret", "admin"]),
    "connection string": ("Server=x;Password=" + "abc12;Database=y", ["abc12"]),
    "query": ("https://x/?token=" + "abcdef1&page=2", ["abcdef1"]),
    "userinfo": ("postgres://u:" + "p4ssw0rd@host/db", ["p4ss", "u:"]),
    "userinfo @": ("postgres://u:" + "p@ssw0rd@host/db", ["ssw0rd"]),
    "userinfo /": ("postgres://u:" + "p4/ssw0rd@host/db", ["ssw0rd"]),
    "userinfo token": ("https://" + "0123456789abcdef@github.com/a/b", ["01234"]),
    "basic header": ("Authorization: Basic " + BASIC, ["dXNlc"]),
    "basic alone": ("send basic " + BASIC, ["dXNlc"]),
    "bearer header": ("curl -H 'Authorization: Bearer " + "abc.def'", ["abc.def"]),
    "bearer alone": ("use Bearer " + "abcdefgh12345678", ["abcdefgh"]),
    "json header": ('"Authorization": "token ' + "abcdefgh1" + '"', ["abcdefgh"]),
    "cookie": ("Cookie: session=" + "abcdefgh1; a=b", ["abcdefgh"]),
    "npmrc": ("//registry.example.org/:_authToken=" + "abcd-ef12", ["abcd-ef"]),
    "docker auth": ("_auth=" + BASIC, ["dXNlc"]),
    "slack": ("xoxb-" + "123456789012-abcdefGHIJKL", ["1234567", "abcdef"]),
    "slack hook": ("https://hooks.slack.com/services/" + "T000/B000/XXXXyyyyZZZZ", ["T000", "XXXX"]),
    "google": ("AIza" + "SyA1234567890abcdefghijklmnopqrstuv", ["SyA123"]),
    "npm": ("npm_" + "abcdefghijklmnopqrstuvwxyz0123456789", ["abcdef"]),
    "pypi": ("pypi-" + "AgEIcHlwaS5vcmcCJDEyMzQ1Njc4", ["AgEIc"]),
    "openai": ("sk-" + "proj-abcdefghijklmnop1234567890", ["abcdef"]),
    "anthropic": ("sk-ant-" + "api03-abcdefghijk", ["abcdef"]),
    "stripe": ("sk_live_" + "abcdefghij1234567890", ["abcdef"]),
    "hugging face": ("hf_" + "abcdefghijABCDEFGHIJ1234", ["abcdef"]),
    "age": ("AGE-SECRET-KEY-" + "1QQPQYQQPQYQQPQYQQPQY", ["1QQPQ"]),
    "jwt": (JWT, ["eyJhbG", "dozjg"]),
    "pem": (f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\nabcd\n-----END RSA PRIVATE KEY-----", ["MIIE", "abcd"]),
    "pem on one line": (f"-----BEGIN PRIVATE KEY-----{BODY}-----END PRIVATE KEY-----", ["MIIE"]),
    "pem in json": (f'"k": "-----BEGIN PRIVATE KEY-----\\n{BODY}\\nabcdEF=\\n"', ["MIIE", "abcdEF"]),
    "pem without end": (f"-----BEGIN PRIVATE KEY-----\n{BODY}\nabcdEFGH\n\nThat was it.", ["MIIE", "abcdEF"]),
    "pem without begin": (f"the rest:\n{BODY}\n-----END PRIVATE KEY-----", ["MIIE"]),
    "pem with headers": (f"-----BEGIN PRIVATE KEY-----\nProc-Type: 4,ENC\n\n{BODY}", ["MIIE"]),
    "pgp": (
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n{BODY}\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----",
        ["MIIE", "=abcd"],
    ),
    "zero width": ("ghp_" + GITHUB[:9] + "\u200b" + GITHUB[9:], [GITHUB[:9], GITHUB[9:]]),
    "soft hyphen in name": ("pass\u00adword=" + "hunter22", ["hunter"]),
    "over a line break": ("ghp_" + GITHUB[:12] + "\n  " + GITHUB[12:] + " next", [GITHUB[:12], GITHUB[12:]]),
    "long over a line break": ("sk-ant-" + "a1" * 20 + "\nb2c3d4e5f6", ["a1a1", "b2c3"]),
    "over many lines": ("sk-ant-" + "\n".join(["a1b2c3d4e5"] * 9), ["a1b2"]),
    "two in a row": ("ghp_" + GITHUB + "ghp_" + GITHUB, [GITHUB]),
    "two kinds in a row": ("AKIA" + "IOSFODNN7EXAMPLE" + "ghp_" + GITHUB, ["IOSF", GITHUB]),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_credential_is_masked_whole(form: str) -> None:
    text, parts = FORMS[form]
    masked = mask(f"before: {text}\nafter")
    assert masked.count >= 1
    assert masked.text.startswith("before: ")
    assert masked.text.endswith("\nafter")
    assert not [part for part in parts if part in masked.text]


@pytest.mark.parametrize("form", FORMS)
def test_masking_twice_changes_nothing_more(form: str) -> None:
    once = mask(FORMS[form][0])
    assert mask(once.text) == type(once)(once.text, 0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fix 9f439ea1b2c3d4e5f60718293a4b5c6d7e8f9012 and 788f623",
        "550e8400-e29b-41d4-a716-446655440000",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "capture_id: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "tau/checkpoints/tau-checkpoint-0123456789abcdef0123.md",
        "risk-based, desk-top, task-list-of-many-things, sk-learn-like-interfaces",
        "function a(b){return b.token=c,d.password=e.password}const {token:t,password:p}=e;",
        "token: str, password: string; secret = None",
        "token=token, password=db.password, api_key=get_key()",
        "secret: process.env.SECRET and ${TOKEN} and password=$DB_PASS",
        'password: "<your password>", token: "***"',
        "max_tokens=4000, token: 4096, token: 512, eos_token: '</s>'",
        "the password is required; the password is hashed with sha256",
        "basic understanding of bearer token authentication",
        "Basic usage-of-this-thing is shown",
        "the token count is 4096 and the key is to look",
        "tests pass: 10, pass = 1",
        "if password == other: raise",
        "password_file=/run/x, password_hash(x), secret_name=abc",
        'passwords: "", token: "", password=, password: "no", token: "the next word"',
        "ssh://git@github.com/a/b, git@github.com:a/b.git, https://git@example.org/x",
        "https://host:8080/path/@scope/pkg, http://[::1]:80/x, https://u:x/y, https://@x",
        "ghp_short, xoxb-1, glpat-abc, AKIA12, sk-abc, prefix npm_config_registry=https://x",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIE\n-----END CERTIFICATE-----",
        "grep for '-----BEGIN PRIVATE KEY-----' in the file",
        "it ends with -----END PRIVATE KEY----- here",
        "between '-----BEGIN PRIVATE KEY-----' '-----END PRIVATE KEY-----' is the key",
        "****************** passwords",
        "Authorization: <token> and Cookie: ",
        "--password $PASS --token -x --verbose yes -u $A:$B",
        "<password>${PASS}</password><name>Ada</name>",
        "a password manager, a secret santa",
    ],
)
def test_what_is_no_credential_stays(text: str) -> None:
    assert mask(text) == type(mask(""))(text, 0)


def test_a_placeholder_says_what_was_there() -> None:
    assert mask("key " + "ghp_" + GITHUB).text == "key [masked:github-token]"


def test_a_token_torn_over_more_lines_than_anybody_wraps_is_masked_as_far_as_it_is_followed() -> None:
    assert mask("sk-ant-" + "\n".join(["a1b2c3d4e5"] * 12)).text == "[masked:anthropic-key]" + "\na1b2c3d4e5" * 3


def test_a_value_beside_a_placeholder_is_masked_with_it() -> None:
    assert "rest123" not in mask("password=[masked:x]" + "rest123").text


def test_a_block_far_from_its_end_is_masked_as_far_as_it_looks_like_a_key() -> None:
    text = f"-----BEGIN PRIVATE KEY-----\n{BODY}\nA sentence. {'words ' * 4000}\n-----END PRIVATE KEY-----"
    assert "A sentence." in mask(text).text


_SECRETS = st.sampled_from([text for text, _ in FORMS.values()])


@given(
    st.lists(st.one_of(_SECRETS, st.text(max_size=30), st.sampled_from(["\n", '"', "\\", ": ", "=", "@"])), max_size=8)
)
def test_masking_is_idempotent_on_any_text(parts: list[str]) -> None:
    once = mask("".join(parts))
    assert mask(once.text).count == 0
    assert once.count <= len(PLACEHOLDER.findall(once.text)) + 40


@pytest.mark.parametrize("form", FORMS)
def test_a_credential_between_other_text_is_still_masked(form: str) -> None:
    text, parts = FORMS[form]
    masked = mask(f"{'x y\n' * 50}{text}\n{'z\n' * 50}").text
    assert not [part for part in parts if part in masked]
