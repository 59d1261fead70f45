"""Passwords and keys that only a name, a place or a sentence gives away; it knows no vendor's format."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from tools.bench.corpus.carriers import fill, told_by_name
from tools.bench.corpus.samples import Drawn, Kind, each
from tools.bench.corpus.shapes import BASE62, HEX, URLSAFE, b64, hexes, run, shape, take
from tools.bench.corpus.words import app, host, password, user, word

type Make = Callable[[Random], str]


class Naming(NamedTuple):
    """A family of names under which values of one sort are kept."""

    kind: str
    names: tuple[str, ...]
    make: Make


def family(kind: str, names: str, make: Make) -> Naming:
    return Naming(kind, tuple(names.split()), make)


def django_key(chance: Random) -> str:
    return take(chance, "abcdefghijklmnopqrstuvwxyz0123456789!@#%^*(-_=+)", 49) + "k"


def laravel_key(chance: Random) -> str:
    return "base64:" + b64(chance.randbytes(32))


NAMINGS = (
    family(
        "db-password", "DB_PASSWORD DB_PASS POSTGRES_PASSWORD MYSQL_ROOT_PASSWORD PGPASSWORD REDIS_PASSWORD", password
    ),
    family("plain-password", "PASSWORD ADMIN_PASSWORD SMTP_PASSWORD USER_PASSWD FTP_PWD", password),
    family(
        "secret-key", "SECRET_KEY APP_SECRET SESSION_SECRET JWT_SECRET CLIENT_SECRET", shape(run(URLSAFE, 32, 64)).make
    ),
    family("api-token", "API_TOKEN AUTH_TOKEN ACCESS_TOKEN BOT_TOKEN DEPLOY_TOKEN", shape(run(BASE62, 24, 48)).make),
    family("api-key", "API_KEY APIKEY SEARCH_API_KEY WEATHER_API_KEY X_API_KEY", shape(run(HEX, 32, 40)).make),
    family(
        "encryption-key", "ENCRYPTION_KEY SIGNING_KEY MASTER_KEY PRIVATE_KEY", lambda chance: b64(chance.randbytes(32))
    ),
    family("rails-secret", "SECRET_KEY_BASE RAILS_MASTER_KEY", shape(run(HEX, 128)).make),
    family("django-secret", "SECRET_KEY DJANGO_SECRET_KEY", django_key),
    family("laravel-key", "APP_KEY", laravel_key),
    family("passphrase", "PASSPHRASE KEY_PASSPHRASE GPG_PASSPHRASE RESTIC_PASSWORD", password),
)

PROSE = (
    "the password is <T>",
    "The password is <T>. Please change it.",
    'the password for <app> is "<T>"',
    "Password: <T>",
    "my password's <T>, don't tell anyone",
    "pw: <T>",
    "login with admin and password <T>",
    "user admin, pass <T>, port 22",
    "credentials are admin / <T>",
    "I set the root password to `<T>` yesterday",
    "the passphrase of the backup is <T>;",
    "das Passwort ist <T>",
    "le mot de passe est <T>",
    "secret: <T>\nremember it",
    "**Password:** `<T>`",
    "the new api key is <T>",
    "use this token: <T>",
)

COMMANDS = (
    "mysql -u root -p<T> <app>",
    "mysqldump --user=app --password=<T> <app> > dump.sql",
    "sshpass -p '<T>' ssh admin@<app>.example.com",
    "curl -u admin:<T> https://<app>.example.com/",
    "curl --user 'admin:<T>' https://<app>.example.com/api",
    "redis-cli -h <app> -a <T> ping",
    "PGPASSWORD=<T> psql -h <app> -U app",
    'psql "host=<app> user=app password=<T> dbname=app"',
    "docker login -u ci -p <T> registry.example.com",
    "ldapsearch -D cn=admin -w <T> -b dc=example",
    "openssl rsa -in a.pem -passin pass:<T>",
    "zip -P <T> out.zip report.csv",
    "htpasswd -bc .htpasswd admin <T>",
    "wget --http-password=<T> https://<app>.example.com/x",
    "net use Z: \\\\<app>\\share <T> /user:admin",
)

STATEMENTS = (
    "CREATE USER app IDENTIFIED BY '<T>';",
    "ALTER ROLE app WITH LOGIN PASSWORD '<T>';",
    "GRANT ALL ON *.* TO 'app'@'%' IDENTIFIED BY '<T>' WITH GRANT OPTION;",
    "CREATE LOGIN app WITH PASSWORD = '<T>';",
    "ALTER USER 'root'@'localhost' IDENTIFIED WITH caching_sha2_password BY '<T>';",
    "username=admin&password=<T>&remember=1",
    "POST /login HTTP/1.1\r\nHost: <app>\r\n\r\nuser=admin&passwd=<T>",
    '{"username": "admin", "password": "<T>"}',
    "Server=tcp:<app>,1433;Database=app;User ID=app;Password=<T>;Encrypt=true;",
    "Driver={ODBC Driver 18};Server=<app>;UID=app;PWD=<T>;",
    "jdbc:postgresql://<app>:5432/app?user=app&password=<T>",
    "jdbc:sqlserver://<app>;databaseName=app;user=app;password=<T>;",
)


def lines_of(lines: tuple[str, ...], make: Make) -> Callable[[Random], Drawn]:
    return lambda chance: fill(chance, chance.choice(lines), "X", make)


def database_url(*schemes: str) -> Callable[[Random], Drawn]:
    """Return how to draw a URL with a password before its host."""

    def draw(chance: Random) -> Drawn:
        key = take(chance, BASE62 + "_-~!*", chance.randint(11, 23)) + take(chance, BASE62, 1)
        if chance.random() < 0.25:
            key += "%40" + take(chance, BASE62, 3)
        who = "" if schemes[0] == "redis" and chance.random() < 0.5 else user(chance)
        url = f"{chance.choice(schemes)}://{who}:{key}@{host(chance)}:{chance.randint(1024, 65535)}/{app(chance)}"
        line = chance.choice(
            (
                "{}",
                "DATABASE_URL={}",
                'url: "{}"',
                "cannot reach {}: timed out",
                "it is `{}`.",
                '{{"dsn":"{}?sslmode=require"}}',
                "engine = create_engine('{}')\r\n",
            )
        )
        return Drawn(line.format(url), (key,))

    return draw


def basic_header(chance: Random) -> Drawn:
    login = b64(f"{user(chance)}:{password(chance)}".encode())
    line = chance.choice(
        (
            "Authorization: Basic {}",
            "authorization: basic {}\r\naccept: */*\r\n",
            "curl -H 'Authorization: Basic {}' https://example.com/",
            '{{"Authorization": "Basic {}"}}',
            "Proxy-Authorization: Basic {}",
        )
    )
    return Drawn(line.format(login), (login,))


def bearer_header(chance: Random) -> Drawn:
    token = take(chance, URLSAFE, chance.randint(32, 64)) + take(chance, BASE62, 1)
    line = chance.choice(
        (
            "Authorization: Bearer {}",
            "< authorization: Bearer {}\r\n< accept: application/json\r\n",
            '{{"headers": {{"Authorization": "Bearer {}"}}}}',
            "headers={{'Authorization': 'Bearer {}'}}",
            "X-Auth-Token: {}",
            "X-Api-Key: {}\r\nHost: example.com\r\n",
            "Authorization: token {}",
        )
    )
    return Drawn(line.format(token), (token,))


def cookie(chance: Random) -> Drawn:
    token = take(chance, BASE62, chance.randint(26, 64))
    line = chance.choice(
        (
            "Set-Cookie: session={}; Path=/; HttpOnly; Secure",
            "set-cookie: sessionid={}; Max-Age=1209600; SameSite=Lax\r\n",
            "Cookie: theme=dark; PHPSESSID={}; lang=en",
            "Cookie: connect.sid={}",
            "Set-Cookie: JSESSIONID={}; Path=/app",
            "curl -b 'auth_token={}' https://example.com/",
            "Set-Cookie: __Host-session={}; Path=/; Secure",
        )
    )
    return Drawn(line.format(token), (token,))


def netrc(chance: Random) -> Drawn:
    key, who, where = password(chance), user(chance), host(chance)
    line = chance.choice(
        (
            f"machine {where} login {who} password {key}\n",
            f"machine {where}\n  login {who}\n  password {key}\n",
            f"$ cat ~/.netrc\nmachine {where}\r\nlogin {who}\r\npassword {key}\r\n",
        )
    )
    return Drawn(line, (key,))


def pgpass(chance: Random) -> Drawn:
    key = take(chance, BASE62 + "!#%_-", chance.randint(12, 20)) + "7"
    entry = f"{host(chance)}:5432:{app(chance)}:{user(chance)}:{key}"
    return Drawn(chance.choice((f"{entry}\n", f"$ cat ~/.pgpass\n{entry}\n*:*:*:x:{key}\n")), (key,))


def htpasswd(chance: Random) -> Drawn:
    salt = take(chance, BASE62 + "./", 8)
    digest = chance.choice(
        (
            f"$apr1${salt}${take(chance, BASE62 + './', 22)}",
            f"$2y$10${take(chance, BASE62 + './', 53)}",
            f"{{SHA}}{b64(chance.randbytes(20))}",
        )
    )
    return Drawn(
        f"{user(chance)}:{digest}{chance.choice(('', chr(10)))}", (digest.rpartition("$")[2].removeprefix("{SHA}"),)
    )


def shadow(chance: Random) -> Drawn:
    digest = take(chance, BASE62 + "./", 86)
    return Drawn(
        f"{user(chance)}:$6${take(chance, BASE62 + './', 16)}${digest}:{chance.randint(17000, 20000)}:0:99999:7:::",
        (digest,),
    )


def one_time_seed(chance: Random) -> Drawn:
    seed = take(chance, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", chance.choice((16, 32)))
    return Drawn(f"otpauth://totp/{app(chance)}:{user(chance)}?secret={seed}&issuer={app(chance)}", (seed,))


def escaped_password(chance: Random) -> Drawn:
    r"""Return a password with signs that JSON escapes, as `json.dumps` or as Go's encoder writes them."""
    key = json.dumps(f'{password(chance)}"{word(chance)}\\{chance.randint(10, 99)}&{word(chance)}')[1:-1]
    if chance.random() < 0.5:
        key = key.replace("&", "\\u0026")
    name = chance.choice(("password", "db_password", "secret", "passwd"))
    return Drawn(f'{{"{name}": "{key}", "port": {chance.randint(1024, 65535)}}}', (key,))


def spaced_password(chance: Random) -> Drawn:
    key = " ".join((word(chance), word(chance), word(chance), str(chance.randint(10, 999))))
    line = chance.choice(('PASSPHRASE="{}"', "password: '{}'", '{{"passphrase": "{}"}}', "the passphrase is `{}`"))
    return Drawn(line.format(key), (key,))


def azure_connection(chance: Random) -> Drawn:
    key = b64(chance.randbytes(64))
    account = f"{app(chance)}{chance.randint(10, 999)}"
    text = f"DefaultEndpointsProtocol=https;AccountName={account};AccountKey={key};EndpointSuffix=core.windows.net"
    line = chance.choice(("{}", "AZURE_STORAGE_CONNECTION_STRING={}", '"AzureWebJobsStorage": "{}",', "conn: '{}'\r\n"))
    return Drawn(line.format(text), (key,))


def azure_bus(chance: Random) -> Drawn:
    key = b64(chance.randbytes(32))
    kind = chance.choice(("RootManageSharedAccessKey", "send", "listen"))
    text = f"Endpoint=sb://{app(chance)}.servicebus.windows.net/;SharedAccessKeyName={kind};SharedAccessKey={key}"
    return Drawn(chance.choice(("{}", "SERVICEBUS_CONNECTION={}", 'bus: "{}"')).format(text), (key,))


def azure_signature(chance: Random) -> Drawn:
    key = b64(chance.randbytes(32)).replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
    until = f"{chance.randint(2024, 2031)}-0{chance.randint(1, 9)}-01T00%3A00%3A00Z"
    query = f"sv=2022-11-02&ss=b&srt=sco&sp=rwdlacx&se={until}&spr=https&sig={key}"
    where = f"https://{app(chance)}.blob.core.windows.net/{word(chance)}"
    return Drawn(chance.choice((f"{where}?{query}", f"SAS_TOKEN=?{query}", f'"{where}/a.csv?{query}"')), (key,))


def signed_url(chance: Random) -> Drawn:
    """Return a presigned address of an object store: whoever has it may fetch."""
    key, day = hexes(chance, 64), f"{chance.randint(2024, 2031)}0{chance.randint(1, 9)}{chance.randint(10, 28)}"
    where = f"https://{app(chance)}.s3.amazonaws.com/{word(chance)}.csv?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date={day}T101500Z"
    return Drawn(f"{chance.choice(('', 'GET ', 'fetch('))}{where}&X-Amz-Expires=3600&X-Amz-Signature={key}", (key,))


KINDS: tuple[Kind, ...] = (
    *(told_by_name(*naming) for naming in NAMINGS),
    each("prose-password", lines_of(PROSE, password), definite=False),
    each("command-password", lines_of(COMMANDS, password), definite=False),
    each("statement-password", lines_of(STATEMENTS, shape(run(BASE62, 12, 24)).make), definite=False),
    each("json-escaped-password", escaped_password, definite=False),
    each("spaced-passphrase", spaced_password, definite=False),
    each("url-postgres", database_url("postgres", "postgresql", "postgresql+asyncpg"), definite=True),
    each("url-mysql", database_url("mysql", "mysql+pymysql", "mariadb"), definite=True),
    each("url-mongodb", database_url("mongodb", "mongodb+srv"), definite=True),
    each("url-redis", database_url("redis", "rediss"), definite=True),
    each("url-amqp", database_url("amqp", "amqps"), definite=True),
    each("url-http", database_url("https", "http", "ftp", "sftp"), definite=True),
    each("url-snowflake", database_url("snowflake", "clickhouse", "ldap", "smtp"), definite=True),
    each("basic-header", basic_header, definite=True),
    each("bearer-header", bearer_header, definite=False),
    each("session-cookie", cookie, definite=False),
    each("netrc", netrc, definite=True),
    each("pgpass", pgpass, definite=False),
    each("htpasswd", htpasswd, definite=True),
    each("shadow", shadow, definite=True),
    each("one-time-seed", one_time_seed, definite=True),
    each("azure-connection-string", azure_connection, definite=True),
    each("azure-service-bus", azure_bus, definite=True),
    each("azure-sas", azure_signature, definite=True),
    each("signed-url", signed_url, definite=True),
)
