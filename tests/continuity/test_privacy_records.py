"""Values that stand beside their name in commands, attributes and records are masked whole; what only points at one stays."""

import pytest

from continuity.privacy import Masked, mask

# Written in parts, so that nobody's scanner takes a test for a leak.
SECRET = "Xk29dLq07" + "TzPw81RmVb4"
HASH = "u9R4xiwyarww" + "LMvI2owDZ2W9rjU"

FORMS = {
    "environment": f"ENV API_TOKEN {SECRET}",
    "windows": f'setx DB_PASSWORD "{SECRET}"',
    "attribute": f'<add key="DB_PASSWORD" value="{SECRET}" />',
    "member": f'{{"name": "DB_PASSWORD", "value": "{SECRET}"}}',
    "escaped member": f'{{\\"name\\": \\"DB_PASSWORD\\", \\"value\\": \\"{SECRET}\\"}}',
    "mapping": f"- name: DB_PASSWORD\n  value: {SECRET}",
    "variable": f'variable "db_password" {{\n  default = "{SECRET}"\n}}',
    "statement": f"CREATE USER app IDENTIFIED BY '{SECRET}';",
    "statement with a plugin": f"ALTER USER a IDENTIFIED WITH sha2 BY '{SECRET}'",
    "role": f"ALTER ROLE app WITH LOGIN PASSWORD '{SECRET}'",
    "netrc": f"machine x.example login ada password {SECRET}",
    "netrc over lines": f"machine x.example\n  login ada\n  password {SECRET}\n",
    "mysql": f"mysql -u root -p{SECRET} lamps",
    "sshpass": f"sshpass -p '{SECRET}' ssh ada@lamp",
    "redis": f"redis-cli -h lamp -a {SECRET} ping",
    "ldap": f"ldapsearch -D cn=ada -w {SECRET} -b dc=lamp",
    "htpasswd": f"htpasswd -bc .htpasswd ada {SECRET}",
    "openssl": f"openssl rsa -in a.pem -passin pass:{SECRET}",
    "archive": f"zip -P {SECRET} out.zip lamp.csv",
    "share": f"net use Z: \\\\lamp\\share {SECRET} /user:ada",
    "crypt": f"ada:$6$saltsalt${HASH}",
    "apache": f"ada:$apr1$saltsalt${HASH}",
    "directory": f"userPassword: {{SSHA}}{HASH}=",
    "phrase": "the passphrase is `walnut harbor " + "marble 940`",
    "postgres": f"PGPASSWORD={SECRET} psql",
    "web key": f'{{"kty": "EC", "x": "public", "d": "{SECRET}"}}',
    "putty": f"Private-Lines: 1\r\n{SECRET}+abc/def==\r\nPrivate-MAC: {'0123456789abcdef' * 3}\r\n",
    "armour in base64": "client-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpN" + SECRET * 2,
    "ansi": f"password=\x1b[32m{SECRET}\x1b[0m",
    "ansi inside": "gh" + f"p_16C7e42F292c\x1b[1m6912E7710c838347Ae178B4a {SECRET[:0]}",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_value_beside_its_name_is_masked_whole(form: str) -> None:
    masked = mask(FORMS[form])
    assert masked.count >= 1
    for part in (SECRET[:8], SECRET[-8:], HASH[:8], "walnut harbor", "marble 940", "0123456789abcdef", "7710c8383"):
        assert part not in masked.text
    assert mask(masked.text) == Masked(masked.text, 0)


@pytest.mark.parametrize(
    "text",
    [
        "ENV API_TOKEN $TOKEN",
        "ENV LAMP_COLOUR white",
        '<add key="Colour" value="white" />',
        '<add key="DB_PASSWORD" value="${DB_PASSWORD}" />',
        'variable "db_password" {\n  default = ""\n}',
        'variable "colour" { default = "white" }',
        "IDENTIFIED BY '<password>'",
        "machine x.example login ada password $PASSWORD",
        "mysql -u root -p lamps",
        "costs $5$ and $6$ a piece",
        '{"kty": "EC", "x": "l7aVE36ar-Z1FfAOET2bEHYaXGiJY161FHMVa5QKsqE"}',
        "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSURkekNDQWwrZ0F3SUJBZ0lFQmF6",
        "Private-Lines: 3",
        "${PASSWORD:?set it}",
        "arn:aws:secretsmanager:eu-west-1:1001:secret:lamp/white",
        "tests/test_secrets.py::test_lamp[1590]",
        "src/auth/password_parse.py:2188",
        "fn f(password: &str, token: &mut String)",
        "token := os.Args[2489]",
        "secret = secrets.token_urlsafe(3696)",
        "d.token=W?Ho.key:null,d.x=1",
        "passphrase VARCHAR(220) NOT NULL",
        "  --secret TEXT   the secret  [env: SECRET]",
        "API_KEY=xxxx-xxxx-xxxx",
        'token: REPLACE_ME, api_key: "[REDACTED]"',
        "SECRET={{ lamp.secret }}",
        "postgres://$DB_USER:$DB_PASSWORD@lamp/db",
        "postgres://ada:***@lamp/db",
        "amqp://lamp@queue.example/jobs",
        '"password.reset.title": "Reset your password"',
        "SECRET_ROTATION_DAYS=30",
        '"nextPageToken": "CDUYC3nEzUWgAZ0dAA"',
        "secret: op://lamp/white/secret and vault:secret/data/lamp#white",
        "string secret_key = 1142;",
        "Authorization: Bearer <access token>",
        "password_file: /run/secrets/lamp, secret: /run/secrets/lamp",
        "token.123 = abcdef",
        "token = await auth.get_valid_token()",
        "runtime = Runtime(paths=paths, credentials=store)",
        "def f(token: AccessToken, refresh_token: RefreshTokenT) -> None",
        "self.access_token = auth_info",
        "token = auth_header[7:]  # without the word before it",
        '_RFC9110_TOKEN = re.compile(r"^x$")',
        'credentials = f"{encoded_id}:{encoded_secret}"',
        "no words, error text or secrets: digest and length stand there",
        "a placeholder such as driver://user:pass@localhost/lamps",
        'METHODS: Literal["client_secret_post"] = "none"',
    ],
)
def test_what_only_points_at_a_value_or_makes_one_stays(text: str) -> None:
    assert mask(text) == Masked(text, 0)
