"""Tokens of code hosts, package registries, builders and model providers, made as these publish their formats."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from tools.bench.corpus.carriers import told_by_itself, told_by_name
from tools.bench.corpus.samples import Kind
from tools.bench.corpus.shapes import (
    BASE32,
    BASE36,
    BASE62,
    BASE64,
    DIGITS,
    HEX,
    LETTERS,
    UPPER,
    URLSAFE,
    Crc62,
    Shape,
    run,
    shape,
    uuid4,
)


class Format(NamedTuple):
    """A published format that is told by itself, and the names its values are kept under."""

    kind: str
    names: tuple[str, ...]
    shape: Shape


class Secret(NamedTuple):
    """A published format that only its name tells from any other text of its alphabet."""

    kind: str
    names: tuple[str, ...]
    make: Callable[[Random], str]


def fmt(kind: str, names: str, *pieces: str | tuple[str, int, int] | Crc62) -> Format:
    """Return the format of `kind`; names are separated by blanks."""
    return Format(kind, tuple(names.split()), shape(*(run(*p) if isinstance(p, tuple) else p for p in pieces)))


def part(alphabet: str, low: int, high: int | None = None) -> tuple[str, int, int]:
    return alphabet, low, high or low


def secret(kind: str, names: str, make: Shape | Callable[[Random], str]) -> Secret:
    return Secret(kind, tuple(names.split()), make.make if isinstance(make, Shape) else make)


def kinds(formats: tuple[Format, ...], secrets: tuple[Secret, ...]) -> tuple[Kind, ...]:
    """Return formats as definite kinds in any line, and secrets as candidates in lines that name them."""
    return (
        *(told_by_itself(each.kind, each.names, each.shape.make) for each in formats),
        *(told_by_name(each.kind, each.names, each.make) for each in secrets),
    )


WORD = BASE62 + "_"
MARK = "T3BlbkFJ"
"""What OpenAI writes into the middle of each of its keys."""

CODE_HOSTS = (
    fmt("github-classic", "GITHUB_TOKEN GH_TOKEN", "ghp_", part(BASE62, 30), Crc62()),
    fmt("github-oauth", "GITHUB_TOKEN GH_OAUTH_TOKEN", "gho_", part(BASE62, 30), Crc62()),
    fmt("github-user", "GITHUB_USER_TOKEN", "ghu_", part(BASE62, 30), Crc62()),
    fmt("github-server", "GITHUB_TOKEN INSTALLATION_TOKEN", "ghs_", part(BASE62, 30), Crc62()),
    fmt("github-refresh", "GITHUB_REFRESH_TOKEN", "ghr_", part(BASE62, 70), Crc62()),
    fmt("github-fine-grained", "GITHUB_PAT", "github_pat_", part(BASE62, 22), "_", part(BASE62, 53), Crc62()),
    fmt("gitlab-personal", "GITLAB_TOKEN CI_PUSH_TOKEN", "glpat-", part(URLSAFE, 20)),
    fmt(
        "gitlab-routable",
        "GITLAB_TOKEN",
        "glpat-",
        part(URLSAFE, 27, 60),
        ".",
        part(BASE36, 2),
        part(BASE36, 7),
    ),
    fmt("gitlab-deploy", "DEPLOY_TOKEN", "gldt-", part(URLSAFE, 20)),
    fmt("gitlab-runner", "RUNNER_TOKEN", "glrt-", part(URLSAFE, 20)),
    fmt("gitlab-registration", "REGISTRATION_TOKEN", "GR1348941", part(URLSAFE, 20)),
    fmt("gitlab-trigger", "TRIGGER_TOKEN", "glptt-", part(HEX, 40)),
    fmt("gitlab-job", "CI_JOB_TOKEN", "glcbt-", part(HEX, 2), "_", part(URLSAFE, 20)),
    fmt("gitlab-agent", "AGENT_TOKEN", "glagent-", part(URLSAFE, 50)),
    fmt("gitlab-feed", "FEED_TOKEN", "glft-", part(URLSAFE, 20)),
    fmt("bitbucket-app-password", "BITBUCKET_PASSWORD", "ATBB", part(BASE62, 24), part("0123456789ABCDEF", 8)),
    fmt("atlassian", "JIRA_TOKEN", "ATATT3xFfGF0", part(URLSAFE, 171), "=", part("0123456789ABCDEF", 8)),
    fmt("sourcegraph", "SRC_ACCESS_TOKEN", "sgp_", part(HEX, 16), "_", part(HEX, 40)),
)

REGISTRIES = (
    fmt("npm", "NPM_TOKEN NODE_AUTH_TOKEN", "npm_", part(BASE62, 30), Crc62()),
    fmt("pypi", "PYPI_TOKEN TWINE_PASSWORD", "pypi-AgEIcHlwaS5vcmc", part(URLSAFE, 120, 160)),
    fmt("rubygems", "GEM_HOST_API_KEY", "rubygems_", part(HEX, 48)),
    fmt("crates-io", "CARGO_REGISTRY_TOKEN", "cio", part(BASE62, 32)),
    fmt("nuget", "NUGET_API_KEY", "oy2", part(BASE36, 43)),
    fmt("docker-personal", "DOCKER_PASSWORD DOCKERHUB_TOKEN", "dckr_pat_", part(URLSAFE, 27)),
    fmt("docker-organisation", "DOCKERHUB_TOKEN", "dckr_oat_", part(URLSAFE, 32)),
    fmt("buildkite", "BUILDKITE_API_TOKEN", "bkua_", part(HEX, 40)),
    fmt("circleci", "CIRCLE_TOKEN", "CCIPAT_", part(BASE62, 22), "_", part(HEX, 40)),
    fmt("netlify", "NETLIFY_AUTH_TOKEN", "nfp_", part(BASE62, 36)),
)

MODELS = (
    fmt("openai-legacy", "OPENAI_API_KEY", "sk-", part(BASE62, 20), MARK, part(BASE62, 20)),
    fmt("openai-project", "OPENAI_API_KEY", "sk-proj-", part(URLSAFE, 74), MARK, part(URLSAFE, 74)),
    fmt("openai-service", "OPENAI_API_KEY", "sk-svcacct-", part(URLSAFE, 58), MARK, part(URLSAFE, 58)),
    fmt("openai-admin", "OPENAI_ADMIN_KEY", "sk-admin-", part(URLSAFE, 58), MARK, part(URLSAFE, 58)),
    fmt("anthropic", "ANTHROPIC_API_KEY CLAUDE_API_KEY", "sk-ant-api03-", part(URLSAFE, 93), "AA"),
    fmt("anthropic-admin", "ANTHROPIC_ADMIN_KEY", "sk-ant-admin01-", part(URLSAFE, 93), "AA"),
    fmt("anthropic-oauth", "ANTHROPIC_AUTH_TOKEN", "sk-ant-oat01-", part(URLSAFE, 93), "AA"),
    fmt("openrouter", "OPENROUTER_API_KEY", "sk-or-v1-", part(HEX, 64)),
    fmt("hugging-face", "HF_TOKEN HUGGINGFACE_TOKEN", "hf_", part(LETTERS, 34)),
    fmt("hugging-face-organisation", "HF_ORG_TOKEN", "api_org_", part(LETTERS, 34)),
    fmt("groq", "GROQ_API_KEY", "gsk_", part(BASE62, 52)),
    fmt("replicate", "REPLICATE_API_TOKEN", "r8_", part(BASE62, 37)),
    fmt("perplexity", "PPLX_API_KEY", "pplx-", part(BASE62, 48)),
    fmt("xai", "XAI_API_KEY", "xai-", part(BASE62, 80)),
    fmt("langsmith", "LANGSMITH_API_KEY", "lsv2_pt_", part(HEX, 32), "_", part(HEX, 10)),
)

CLOUDS = (
    fmt("aws-key-id", "AWS_ACCESS_KEY_ID", "AKIA", part(BASE32, 16)),
    fmt("aws-temporary-key-id", "AWS_ACCESS_KEY_ID", "ASIA", part(BASE32, 16)),
    fmt("aws-session-token", "AWS_SESSION_TOKEN", "FwoGZXIvYXdzE", part(BASE64, 243), "=="),
    fmt("aws-bedrock", "AWS_BEARER_TOKEN_BEDROCK", "ABSK", part(BASE64, 126), "="),
    fmt("google-api-key", "GOOGLE_API_KEY MAPS_KEY GEMINI_API_KEY", "AIza", part(URLSAFE, 35)),
    fmt("google-oauth-secret", "GOOGLE_CLIENT_SECRET", "GOCSPX-", part(URLSAFE, 28)),
    fmt("google-refresh-token", "GOOGLE_REFRESH_TOKEN", "1//0", part(URLSAFE, 2), "CgYIARAA", part(URLSAFE, 60, 90)),
    fmt("google-access-token", "GOOGLE_ACCESS_TOKEN", "ya29.", part(URLSAFE, 120, 200)),
    fmt(
        "azure-client-secret",
        "AZURE_CLIENT_SECRET ARM_CLIENT_SECRET",
        part(BASE62, 3),
        part(DIGITS, 1),
        "Q~",
        part(BASE62 + "_~.-", 30, 33),
        part(BASE62, 1),
    ),
    fmt("azure-devops", "AZURE_DEVOPS_EXT_PAT", part(BASE62, 76), "AZDO", part(BASE62, 4)),
    fmt("digitalocean-personal", "DIGITALOCEAN_TOKEN", "dop_v1_", part(HEX, 64)),
    fmt("digitalocean-oauth", "DO_ACCESS_TOKEN", "doo_v1_", part(HEX, 64)),
    fmt("digitalocean-refresh", "DO_REFRESH_TOKEN", "dor_v1_", part(HEX, 64)),
    fmt("heroku", "HEROKU_API_KEY", "HRKU-AA", part(URLSAFE, 58)),
    fmt("cloudflare-origin", "CF_ORIGIN_CA_KEY", "v1.0-", part(HEX, 24), "-", part(HEX, 146)),
    fmt(
        "onepassword-secret-key",
        "OP_SECRET_KEY",
        "A3-",
        part(UPPER + DIGITS, 6),
        "-",
        part(UPPER + DIGITS, 11),
        *("-", part(UPPER + DIGITS, 5)) * 3,
    ),
    fmt("planetscale", "PLANETSCALE_TOKEN", "pscale_tkn_", part(WORD, 43)),
    fmt("supabase", "SUPABASE_ACCESS_TOKEN", "sbp_", part(HEX, 40)),
    fmt("tailscale", "TS_AUTHKEY", "tskey-auth-", part(BASE62, 12), "CNTRL-", part(BASE62, 32)),
)

CLOUD_SECRETS = (
    secret("aws-secret-key", "AWS_SECRET_ACCESS_KEY", shape(run(BASE64, 40))),
    secret("google-client-secret-old", "GOOGLE_CLIENT_SECRET", shape(run(URLSAFE, 24))),
    secret("azure-storage-key", "AZURE_STORAGE_KEY AZURE_STORAGE_ACCOUNT_KEY", shape(run(BASE64, 85), "A==")),
    secret("heroku-old", "HEROKU_API_KEY", uuid4),
    secret("cloudflare-token", "CLOUDFLARE_API_TOKEN CF_API_TOKEN", shape(run(URLSAFE, 40))),
    secret("cloudflare-global", "CLOUDFLARE_API_KEY", shape(run(HEX, 37))),
    secret("fastly", "FASTLY_API_TOKEN FASTLY_API_KEY", shape(run(URLSAFE, 32))),
    secret("azure-devops-old", "AZURE_DEVOPS_PAT", shape(run("abcdefghijklmnopqrstuvwxyz234567", 52))),
    secret("algolia-admin", "ALGOLIA_ADMIN_KEY ALGOLIA_API_KEY", shape(run(HEX, 32))),
    secret("okta", "OKTA_API_TOKEN", shape("00", run(URLSAFE, 40))),
    secret("dropbox-app-secret", "DROPBOX_APP_SECRET", shape(run(BASE36, 15))),
    secret("trello-secret", "TRELLO_API_SECRET", shape(run(HEX, 64))),
    secret("backblaze", "B2_APPLICATION_KEY", shape("K00", run(BASE62 + "/+", 28))),
    secret("wireguard", "WG_PRIVATE_KEY", shape(run(BASE64, 42), "A=")),
    secret("steam", "STEAM_WEB_API_KEY", shape(run("0123456789ABCDEF", 32))),
    secret("codecov", "CODECOV_TOKEN", uuid4),
    secret("kraken-key", "EXCHANGE_PRIVATE_KEY", shape(run(BASE64, 85), "Q==")),
)

FORMATS = (*CODE_HOSTS, *REGISTRIES, *MODELS, *CLOUDS)
KINDS = kinds(FORMATS, CLOUD_SECRETS)
