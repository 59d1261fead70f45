"""Look-alikes from programs: code, settings and logs that speak of passwords and tokens, or merely look scrambled."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tools.bench.corpus.samples import Guise
from tools.bench.corpus.shapes import BASE36, BASE62, DIGITS, HEX, LETTERS, LOWER, hexes, take
from tools.bench.corpus.words import APPS, VERBS, app, clock, host, user, word

SUBJECTS = (
    "password token secret api_key access_token refresh_token credential passphrase auth_token secret_key".split()
)

SIGNATURES = (
    "def <verb>_<subject>(<subject>: str) -> None:",
    "def <verb>_<word>(self, <subject>: str | None = None) -> bool:",
    "async def <verb>(<subject>: SecretStr, *, <word>: int) -> str:",
    "function <verb><Word>(<subject>, options) {",
    "public void set<Word>(String <subject>) { this.<subject> = <subject>; }",
    "fn <verb>_<word>(<subject>: &str) -> Result<(), Error> {",
    "interface <Word>Options { <subject>: string; <word>?: number }",
    "type <Word> = { <subject>?: string | null };",
    "class <Word>(BaseModel):\n    <subject>: str\n    <word>_id: int\n",
    "lambda <subject>: <subject>.strip()",
    "self._<subject> = <subject>",
    "func (c *Client) <Word>(<subject> string) error {",
)
CALLS = (
    "tokens = tokenizer.encode(<word>)",
    "token = next(<word>_stream)",
    "for token in doc: print(token.text, token.<word>)",
    "<subject> = getpass.getpass('<Word>: ')",
    "<subject> = request.headers.get('Authorization')",
    "<subject> = settings.<subject>.get_secret_value()",
    "api_key=config.<word>.api_key,",
    "<subject> = <verb>_<subject>(<word>, <num>)",
    "const { <subject> } = await <verb><Word>(<word>);",
    "<subject> := os.Args[<num>]",
    "hash = bcrypt.hashpw(password.encode(), bcrypt.gensalt(<num>))",
    "secret = secrets.token_urlsafe(<num>)",
    "let token = lexer.next_token()?; // <word>",
    "if token.kind == Token.<Word>: self.<verb>()",
    "password == confirm_password or <word>.fail()",
    "csrf_token = <word>.cookies['csrftoken']",
)
GUARDS = (
    "if not <subject>:\n    raise ValueError('<subject> is missing for <app>')",
    "if <subject> is None: return <num>",
    "assert <subject> != '', '<word>'",
    'if [ -z "$<SUBJECT>" ]; then echo "set <SUBJECT> for <app>"; exit <num>; fi',
    "if (!<subject>) throw new Error('no <subject> for <app>');",
    "except Invalid<Word>Token as error: log.warning('token of <app>: %s', error)",
    "<subject> ?? <verb><Word>()",
)
SCHEMAS = (
    '"<subject>": {"type": "string", "description": "the <word> of <app>"}',
    '"required": ["<subject>", "<word>"]',
    "<subject>:\n  type: string\n  minLength: <num>\n",
    "<subject> VARCHAR(<num>) NOT NULL,",
    "ALTER TABLE <word> ADD COLUMN <subject>_hash BYTEA;",
    "SELECT id, <subject>_hash FROM <app>_<word> WHERE expires_at > now();",
    '<input type="password" name="<subject>" id="<word>-<num>" autocomplete="current-password">',
    '"<subject>": null, "<word>": <num>',
    "message <Word> { string <subject> = <num>; }",
    "<subject> = models.CharField(max_length=<num>)",
)
COUNTS = (
    "max_tokens=<num>",
    '{"prompt_tokens": <num>, "completion_tokens": <num2>, "total_tokens": <num3>}',
    "TOKEN_TTL=<num>",
    "PASSWORD_MIN_LENGTH=<num>",
    "token_count: <num>",
    "tokens_per_second = <num>.<num2>",
    "SECRET_ROTATION_DAYS=<num>",
    "API_KEY_LIMIT: <num>",
    "<app> used <num> tokens, <num2> of them cached",
    '"max_new_tokens": <num>, "temperature": 0.<num2>',
    "access_token_lifetime = <num>",
    "keys=<num> secrets=<num2> in <app>",
)
REFERENCES = (
    "<SUBJECT>: ${{ secrets.<SUBJECT> }}  # <app>",
    "<subject>: ${<SUBJECT>}\n<word>: <num>",
    'curl -H "Authorization: Bearer $<SUBJECT>" https://<host>/',
    "export <SUBJECT>=$(pass show <app>/<word>)",
    '<app>_<subject> = os.environ["<SUBJECT>"]',
    "const <subject> = process.env.<APP>_<SUBJECT>;",
    "<APP>_PASSWORD_FILE=/run/secrets/<word>",
    "DATABASE_URL=postgres://$DB_USER:$DB_PASSWORD@<host>/<app>",
    "<subject>: op://<app>/<word>/<subject>",
    "<subject>: {{ lookup('env', '<SUBJECT>') }}  # <word>",
    "secretKeyRef:\n  name: <app>-<word>\n  key: <subject>\n",
    "<subject> = var.<app>_<subject>",
    "<subject>: vault:secret/data/<app>#<word>",
    "arn:aws:secretsmanager:eu-west-1:<account>:secret:<app>/<word>-<six>",
    "${<SUBJECT>:?set it for <app>}",
    "echo %<APP>_<SUBJECT>%",
)
HELP = (
    "  --<subject> TEXT   the <subject> for <app>  [env: <SUBJECT>]",
    "usage: <app> [--token-file PATH] [--password-stdin] <word>",
    "<app> login --password-stdin < <word>.txt",
    "-p, --password  ask for the password (<word>)",
    "$ <app> token list --<word>",
    "<app> secret create <word> --from-file=<word>.txt",
)
TESTS = (
    "test_a_<subject>_of_<word>_is_refused_after_<num>_days",
    "tests/<app>/test_<subject>s.py::test_<verb>_<word>[<num>] PASSED",
    "it('rejects a <subject> without <word> in <app>', async () => {",
    "--- FAIL: Test<Word><Verb>Token (0.<num>s)",
    "def test_<verb>_<subject>_twice_<word>() -> None:",
)
FLAGS = (
    "feature.<app>.password-less-login=true  # <num>",
    "enable_<word>_token_refresh: false # <app>",
    "flags: [use-secret-store-<word>, rotate-keys-v<num>]",
    "<APP>_REQUIRE_PASSWORD=false  # <word>",
    "ld.variation('<app>-token-<word>', user, false)",
)
ERRORS = (
    '<now> FATAL password authentication failed for user "<word>" on <app>',
    "SyntaxError: Unexpected token } in JSON at position <num>",
    "<now> <app>: invalid token: expired <num> seconds ago",
    "error: secret not found: <app>/<word>",
    "fatal: could not read Password for 'https://<host>': terminal prompts disabled",
    "<now> WARN token bucket of <app> is empty, waiting <num> ms",
    "401 Unauthorized: Bearer token missing (<host>)",
    "remote: HTTP Basic: Access denied for <word> on <app>",
    "JsonParseException: Unrecognized token '<word>': was expecting null (line <num>)",
    "permission denied: <app> has no access to secret <word>",
)
VERSIONS = (
    "<word>-<app>==<num>.<num2>.<num3>",
    '"<word>": "^<num>.<num2>.0 || >=<num3>.0.0-rc.1"',
    "<word> (<num>.<num2>+dfsg-<num3>ubuntu4.1~22.04)",
    "<app>-<num>.<num2>.<num3>-SNAPSHOT.jar",
    "<word>>=<num>,<<num2>,!=<num3>",
    "v<num>.<num2>.<num3>-beta.4+build.20240131",
)
PLACES = (
    "/home/<word>/.config/<app>/tokens.json",
    "C:\\Users\\<word>\\AppData\\Local\\<app>\\secret-store\\v<num>",
    "src/<app>/auth/password_<verb>.py:<num>",
    "/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T/<app>-<word>",
    "node_modules/@<app>/<word>-token-parser/dist/index.<num>.js",
    "/nix/store/<base36>-<app>-<num>",
    "~/.ssh/id_ed25519_<word>.pub",
    "s3://<app>-<word>/year=2025/part-<num>.parquet",
)
ADDRESSES = (
    "postgres://localhost:5432/<app>_<word>",
    "redis://<host>:6379/<num>",
    "git@github.com:<word>/<app>.git",
    "ssh://git@<host>:2222/<word>.git",
    "https://<host>/<word>@2x.png?v=<num>",
    "mongodb://<host>:27017,<host>:27018/<word>",
    "mailto:<word>@<host>",
    "https://<app>.example.com:8443/<word>#L<num>",
    "amqp://<word>@<host>/<app>",
)
RAISED = (
    'Traceback (most recent call last):\n  File "/srv/<app>/auth.py", line <num>, in <verb>\n'
    "    token = self.<verb>_token(<word>)\nKeyError: 'token'\n"
)
PYTHON_TRACES = (
    RAISED,
    '  File "/usr/lib/python3.12/site-packages/<word>/tokens.py", line <num>, in __init__\n    raise InvalidToken',
    "<app>.errors.PasswordExpired: password of <word> expired <num> days ago",
)
JAVA_TRACES = (
    "\tat com.<app>.security.<Word>TokenFilter.doFilter(<Word>TokenFilter.java:<num>)",
    "Caused by: java.lang.IllegalStateException: <word>Password must not be null\n\t... <num> more",
    "\tat org.<word>.$Proxy<num>.<verb>(Unknown Source)\n\tat com.<app>.Main$$Lambda$<num2>/0x<hex16>.run(Main.java:<num3>)",
    "java.lang.NoSuchMethodError: com/<app>/<Word>;->setApiKey(Ljava/lang/String;)V",
)
MESSAGES = (
    '"password.reset.<word>": "Reset your password for <app>"',
    'msgid "Forgot your password, <word>?"\nmsgstr ""\n',
    "auth.token.expired.<word>=Your token has expired (<num>)",
    "label: Password of <word>",
    "<Word>, enter the secret word to go on to <app>",
)


def filled(*lines: str) -> Callable[[Random], str]:
    """Return how to draw one of `lines` with everything put in."""

    def draw(chance: Random) -> str:
        text, subject, noun = chance.choice(lines), chance.choice(SUBJECTS), word(chance)
        for mark, filling in (
            ("<subject>", subject),
            ("<SUBJECT>", subject.upper()),
            ("<word>", noun),
            ("<Word>", noun.capitalize()),
            ("<verb>", chance.choice(VERBS)),
            ("<Verb>", chance.choice(VERBS).capitalize()),
            ("<app>", app(chance)),
            ("<APP>", chance.choice(APPS).upper()),
            ("<host>", host(chance)),
            ("<user>", user(chance)),
            ("<now>", clock(chance)),
            ("<num>", str(chance.randint(2, 4096))),
            ("<num2>", str(chance.randint(10, 99))),
            ("<num3>", str(chance.randint(100, 9999))),
            ("<account>", take(chance, DIGITS, 12)),
            ("<six>", take(chance, LETTERS, 6)),
            ("<hex16>", hexes(chance, 16)),
            ("<base36>", take(chance, BASE36, 32)),
        ):
            text = text.replace(mark, filling)
        return text

    return draw


def minified(chance: Random) -> str:
    a, b, c = (take(chance, LETTERS, chance.randint(1, 2)) for _ in range(3))
    return (
        f"!function({a},{b}){{var {c}={a}.{word(chance)}||{{}};{c}.token={b}?{a}.key:null,"
        f"{c}.{take(chance, LETTERS, 3)}=function(){{return {b}.secret&&{a}({chance.randint(1, 999)})}}}}(window,document);"
    )


def chunk_name(chance: Random) -> str:
    name = f"{word(chance)}.{take(chance, HEX, 20)}"
    css = f"{word(chance)}_{app(chance)}__{take(chance, BASE62, 5)}"
    return chance.choice(
        (
            f"/static/js/{name}.chunk.js",
            f'<div class="{css} sc-{take(chance, LOWER, 6)}">',
            f"assets/index-{take(chance, BASE62, 8)}.js",
        )
    )


def colour(chance: Random) -> str:
    return f"--{word(chance)}: #{hexes(chance, chance.choice((3, 6, 8)))}; --token-{app(chance)}: #{hexes(chance, 6).upper()};"


def hex_dump(chance: Random) -> str:
    rows: list[str] = []
    for row in range(chance.randint(1, 3)):
        data = chance.randbytes(16)
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data)
        rows.append(f"{row * 16:08x}  {data[:8].hex(' ')}  {data[8:].hex(' ')}  |{shown}|")
    return "\n".join(rows)


def mangled(chance: Random) -> str:
    first, second = word(chance), app(chance)
    name = f"_ZN{len(first)}{first}{len(second)}{second}5TokenC2ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
    rust = f"_ZN{len(first)}{first}{len(second)}{second}17h{hexes(chance, 16)}E"
    return chance.choice(
        (f"undefined reference to `{name}'", f"{hexes(chance, 16)} T {name}", f"{rust} + {chance.randint(1, 999)}")
    )


def vector(chance: Random) -> str:
    numbers = ", ".join(f"{chance.uniform(-1, 1):.8f}" for _ in range(6))
    return chance.choice((f"[{numbers}, ...]", f'"embedding": [{numbers}]', f"tensor([{numbers}])"))


def iso_time(chance: Random) -> str:
    return chance.choice(
        (
            clock(chance),
            f"created_at={clock(chance)}",
            f'"expires": "{clock(chance)}"',
            f"{clock(chance)}/{clock(chance)}",
        )
    )


GUISES = (
    *(
        Guise(name, filled(*lines))
        for name, lines in (
            ("code-signature", SIGNATURES),
            ("code-call", CALLS),
            ("code-guard", GUARDS),
            ("schema", SCHEMAS),
            ("token-count", COUNTS),
            ("secret-reference", REFERENCES),
            ("command-help", HELP),
            ("test-name", TESTS),
            ("feature-flag", FLAGS),
            ("error-message", ERRORS),
            ("version", VERSIONS),
            ("file-path", PLACES),
            ("plain-url", ADDRESSES),
            ("python-trace", PYTHON_TRACES),
            ("java-trace", JAVA_TRACES),
            ("translation", MESSAGES),
        )
    ),
    Guise("minified-code", minified),
    Guise("asset-name", chunk_name),
    Guise("css-colour", colour),
    Guise("hex-dump", hex_dump),
    Guise("mangled-name", mangled),
    Guise("embedding", vector),
    Guise("iso-time", iso_time),
)
