"""Tokens of services that people, mail, money and machines pass through, made as these publish their formats."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random

from tools.bench.corpus.samples import Drawn, Kind, each
from tools.bench.corpus.shapes import (
    BASE36,
    BASE62,
    BASE64,
    DIGITS,
    HEX,
    LOWER,
    UPPER,
    URLSAFE,
    Shape,
    b64,
    b64json,
    b64url,
    bech32,
    crc32_hex,
    hexes,
    run,
    shape,
    take,
    uuid4,
)
from tools.bench.corpus.vendors import Format, fmt, kinds, part, secret
from tools.bench.corpus.words import app, clock

TEXT = (
    fmt(
        "slack-bot",
        "SLACK_BOT_TOKEN SLACK_TOKEN",
        "xoxb-",
        part(DIGITS, 11, 13),
        "-",
        part(DIGITS, 11, 13),
        "-",
        part(BASE62, 24),
    ),
    fmt(
        "slack-user",
        "SLACK_TOKEN",
        "xoxp-",
        part(DIGITS, 12),
        "-",
        part(DIGITS, 12),
        "-",
        part(DIGITS, 13),
        "-",
        part(HEX, 32),
    ),
    fmt(
        "slack-app", "SLACK_APP_TOKEN", "xapp-1-A", part(UPPER + DIGITS, 10), "-", part(DIGITS, 13), "-", part(HEX, 64)
    ),
    fmt("slack-refresh", "SLACK_REFRESH_TOKEN", "xoxe-1-", part(BASE62, 146)),
    fmt("telegram-bot", "TELEGRAM_BOT_TOKEN", part("123456789", 1), part(DIGITS, 8, 9), ":AA", part(URLSAFE, 33)),
    fmt("discord-bot", "DISCORD_TOKEN", "MT", part(BASE62, 24), ".G", part(URLSAFE, 5), ".", part(URLSAFE, 38)),
    fmt("sendgrid", "SENDGRID_API_KEY", "SG.", part(URLSAFE, 22), ".", part(URLSAFE, 43)),
    fmt("mailgun", "MAILGUN_API_KEY", "key-", part(HEX, 32)),
    fmt("mailchimp", "MAILCHIMP_API_KEY", part(HEX, 32), "-us", part(DIGITS, 1, 2)),
    fmt("brevo", "BREVO_API_KEY", "xkeysib-", part(HEX, 64), "-", part(BASE62, 16)),
    fmt("twilio-api-key", "TWILIO_API_KEY", "SK", part(HEX, 32)),
    fmt("linear", "LINEAR_API_KEY", "lin_api_", part(BASE62, 40)),
    fmt("notion", "NOTION_TOKEN", "ntn_", part(DIGITS, 11), part(BASE62, 35)),
    fmt("notion-old", "NOTION_TOKEN NOTION_API_KEY", "secret_", part(BASE62, 43)),
    fmt("airtable", "AIRTABLE_API_KEY", "pat", part(BASE62, 14), ".", part(HEX, 64)),
    fmt("figma", "FIGMA_TOKEN", "figd_", part(URLSAFE, 40)),
    fmt("postman", "POSTMAN_API_KEY", "PMAK-", part(HEX, 24), "-", part(HEX, 34)),
    fmt("readme-com", "README_API_KEY", "rdme_", part(BASE36, 70)),
)

MONEY = (
    fmt("stripe-live", "STRIPE_SECRET_KEY STRIPE_API_KEY", "sk_live_", part(BASE62, 24)),
    fmt("stripe-live-long", "STRIPE_SECRET_KEY", "sk_live_51", part(BASE62, 97)),
    fmt("stripe-test", "STRIPE_SECRET_KEY", "sk_test_", part(BASE62, 24)),
    fmt("stripe-restricted", "STRIPE_RESTRICTED_KEY", "rk_live_", part(BASE62, 24)),
    fmt("stripe-webhook", "STRIPE_WEBHOOK_SECRET", "whsec_", part(BASE62, 32)),
    fmt("shopify-access", "SHOPIFY_ACCESS_TOKEN", "shpat_", part(HEX, 32)),
    fmt("shopify-private", "SHOPIFY_PASSWORD", "shppa_", part(HEX, 32)),
    fmt("shopify-shared", "SHOPIFY_API_SECRET", "shpss_", part(HEX, 32)),
    fmt("square-access", "SQUARE_ACCESS_TOKEN", "EAAA", part(URLSAFE, 60)),
    fmt("square-personal", "SQUARE_ACCESS_TOKEN", "sq0atp-", part(URLSAFE, 22)),
    fmt("square-oauth", "SQUARE_APPLICATION_SECRET", "sq0csp-", part(URLSAFE, 43)),
    fmt("paypal-braintree", "BRAINTREE_ACCESS_TOKEN", "access_token$production$", part(BASE36, 16), "$", part(HEX, 32)),
    fmt(
        "plaid-access",
        "PLAID_ACCESS_TOKEN",
        "access-production-",
        *(part(HEX, 8), "-", part(HEX, 4), "-", part(HEX, 4), "-", part(HEX, 4), "-", part(HEX, 12)),
    ),
)

MACHINES = (
    fmt("newrelic-user", "NEW_RELIC_API_KEY", "NRAK-", part(UPPER + DIGITS, 27)),
    fmt("newrelic-browser", "NEW_RELIC_BROWSER_KEY", "NRJS-", part(HEX, 19)),
    fmt("newrelic-licence", "NEW_RELIC_LICENSE_KEY", part(HEX, 36), "NRAL"),
    fmt("sentry-user", "SENTRY_AUTH_TOKEN", "sntryu_", part(HEX, 64)),
    fmt("dynatrace", "DT_API_TOKEN", "dt0c01.", part(UPPER + "234567", 24), ".", part(UPPER + "234567", 64)),
    fmt("databricks", "DATABRICKS_TOKEN", "dapi", part(HEX, 32)),
    fmt("vault-service", "VAULT_TOKEN", "hvs.", part(URLSAFE, 90, 110)),
    fmt("vault-batch", "VAULT_TOKEN", "hvb.", part(URLSAFE, 138, 160)),
    fmt("terraform-cloud", "TFE_TOKEN TF_API_TOKEN", part(BASE62, 14), ".atlasv1.", part(URLSAFE, 60, 67)),
    fmt("pulumi", "PULUMI_ACCESS_TOKEN", "pul-", part(HEX, 40)),
    fmt("doppler-service", "DOPPLER_TOKEN", "dp.st.", part(LOWER, 3, 8), ".", part(BASE62, 40, 44)),
    fmt("doppler-personal", "DOPPLER_TOKEN", "dp.pt.", part(BASE62, 43)),
    fmt("prefect", "PREFECT_API_KEY", "pnu_", part(BASE36, 36)),
    fmt("adafruit", "AIO_KEY", "aio_", part(BASE62, 28)),
)


def grafana_service(chance: Random) -> str:
    body = "glsa_" + take(chance, BASE62, 32)
    return f"{body}_{crc32_hex(body)}"


def grafana_cloud(chance: Random) -> str:
    where = {"r": chance.choice(("eu", "us"))}
    return "glc_" + b64_json(
        {"o": str(chance.randint(10**5, 10**6)), "n": app(chance), "k": take(chance, BASE62, 24), "m": where}
    )


def sentry_organisation(chance: Random) -> str:
    claims = {"iat": chance.randint(16 * 10**8, 18 * 10**8), "url": "https://sentry.example.com", "org": app(chance)}
    return f"sntrys_{b64_json(claims)}_{b64(chance.randbytes(32)).rstrip('=')}"


def onepassword_service(chance: Random) -> str:
    claims = {"signInAddress": "example.1password.com", "userAuth": {"method": "SRPg-4096"}, "email": uuid4(chance)}
    return "ops_" + b64json(claims | {"srpX": hexes(chance, 64), "muk": {"k": b64url(chance.randbytes(32))}})


def fly(chance: Random) -> str:
    return "fm2_" + b64(chance.randbytes(150))


def age(chance: Random) -> str:
    return bech32("age-secret-key-", chance.randbytes(32)).upper()


def b64_json(value: Mapping[str, object]) -> str:
    """Return `value` as base64 that begins `eyJ`, without padding."""
    return b64json(value).replace("-", "+").replace("_", "/")


MADE = (
    Format(
        "grafana-service", ("GRAFANA_TOKEN",), Shape(grafana_service, re.compile("glsa_[0-9A-Za-z]{32}_[0-9a-f]{8}"))
    ),
    Format("grafana-cloud", ("GRAFANA_CLOUD_API_KEY",), Shape(grafana_cloud, re.compile("glc_eyJ[0-9A-Za-z+/]{60}"))),
    Format(
        "sentry-organisation",
        ("SENTRY_AUTH_TOKEN",),
        Shape(sentry_organisation, re.compile("sntrys_eyJ[0-9A-Za-z]{20}")),
    ),
    Format(
        "onepassword-service",
        ("OP_SERVICE_ACCOUNT_TOKEN",),
        Shape(onepassword_service, re.compile("ops_eyJ[0-9A-Za-z_-]{100}")),
    ),
    Format("fly-io", ("FLY_API_TOKEN",), Shape(fly, re.compile("fm2_[0-9A-Za-z+/]{100}"))),
    Format("age-key", ("SOPS_AGE_KEY",), Shape(age, re.compile("AGE-SECRET-KEY-1[0-9A-Z]{58}"))),
)

NAMED_ONLY = (
    secret("datadog-api", "DD_API_KEY DATADOG_API_KEY", shape(run(HEX, 32))),
    secret("datadog-app", "DD_APP_KEY DD_APPLICATION_KEY", shape(run(HEX, 40))),
    secret("pagerduty", "PAGERDUTY_API_TOKEN PD_API_KEY", shape(run(URLSAFE, 20))),
    secret("twilio-auth", "TWILIO_AUTH_TOKEN", shape(run(HEX, 32))),
    secret("paypal-secret", "PAYPAL_CLIENT_SECRET", shape("E", run(URLSAFE, 79))),
    secret("plaid-secret", "PLAID_SECRET", shape(run(HEX, 30))),
    secret("vault-old", "VAULT_TOKEN", shape("s.", run(BASE62, 24))),
    secret("discord-client", "DISCORD_CLIENT_SECRET", shape(run(URLSAFE, 32))),
    secret("snowflake-password", "SNOWFLAKE_PASSWORD SNOWSQL_PWD", shape(run(BASE62, 10), "!", run(DIGITS, 4))),
    secret("consumer-secret", "TWITTER_CONSUMER_SECRET X_API_SECRET", shape(run(BASE62, 50))),
    secret("spotify-secret", "SPOTIFY_CLIENT_SECRET", shape(run(HEX, 32))),
    secret("facebook-app-secret", "FACEBOOK_APP_SECRET", shape(run(HEX, 32))),
    secret("intercom", "INTERCOM_ACCESS_TOKEN", shape("dG9r", run(BASE64, 55), "=")),
)


def slack_webhook(chance: Random) -> Drawn:
    path = "/".join((f"T{take(chance, UPPER + DIGITS, 9)}", f"B{take(chance, UPPER + DIGITS, 10)}"))
    key = take(chance, BASE62, 24)
    url = f"https://hooks.slack.com/services/{path}/{key}"
    return Drawn(_around(chance, url), (key,))


def discord_webhook(chance: Random) -> Drawn:
    key = take(chance, URLSAFE, 67) + take(chance, BASE62, 1)
    site = chance.choice(("discord.com", "discordapp.com"))
    return Drawn(_around(chance, f"https://{site}/api/webhooks/1{take(chance, DIGITS, 18)}/{key}"), (key,))


def teams_webhook(chance: Random) -> Drawn:
    key = hexes(chance, 32)
    url = f"https://{app(chance)}.webhook.office.com/webhookb2/{uuid4(chance)}@{uuid4(chance)}/IncomingWebhook/{key}/{uuid4(chance)}"
    return Drawn(_around(chance, url), (key,))


def telegram_url(chance: Random) -> Drawn:
    key = "AA" + take(chance, URLSAFE, 32) + take(chance, BASE62, 1)
    return Drawn(_around(chance, f"https://api.telegram.org/bot{chance.randint(10**8, 10**10)}:{key}/getMe"), (key,))


def twilio_pair(chance: Random) -> Drawn:
    account, key = hexes(chance, 32), hexes(chance, 32)
    line = chance.choice(
        (
            f"curl -X POST https://api.twilio.com/2010-04-01/Accounts.json -u AC{account}:{key}",
            f"client = Client('AC{account}', auth_token='{key}')",
            f"TWILIO_ACCOUNT_SID=AC{account}\nTWILIO_AUTH_TOKEN={key}\n",
        )
    )
    return Drawn(line, (key,))


def aws_profile(chance: Random) -> Drawn:
    name, key = "AKIA" + take(chance, UPPER + "234567", 16), take(chance, BASE64, 40)
    head = f"[{chance.choice(('default', app(chance)))}]"
    end = chance.choice(("\n", "\r\n"))
    lines = (head, f"aws_access_key_id = {name}", f"aws_secret_access_key = {key}", "region = eu-west-1", "")
    return Drawn(end.join(lines), (name, key))


def _around(chance: Random, url: str) -> str:
    return chance.choice(
        (
            "{}",
            "curl -X POST -d '{{}}' {}",
            "HOOK_URL={}",
            'notify: "{}"',
            "[the hook]({})",
            "<{}>",
            '{{"url": "{}", "retries": 2}}',
            f"{clock(chance)} INFO posting to {{}}, took 83 ms",
        )
    ).format(url)


FORMATS = (*TEXT, *MONEY, *MACHINES, *MADE)
KINDS: tuple[Kind, ...] = (
    *kinds(FORMATS, NAMED_ONLY),
    each("slack-webhook", slack_webhook, definite=True),
    each("discord-webhook", discord_webhook, definite=True),
    each("teams-webhook", teams_webhook, definite=True),
    each("telegram-url", telegram_url, definite=True),
    each("twilio-pair", twilio_pair, definite=False),
    each("aws-profile", aws_profile, definite=False),
)
