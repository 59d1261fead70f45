"""The lock speaks for the project file, and of the public index alone."""

import re
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PLAIN = re.compile(r"https://[a-z]+(\.[a-z]+)+")
"""A host anybody can reach: by name, without a user, a key or a port in front of or behind it."""


def lock() -> dict[str, Any]:
    return tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def ours() -> dict[str, Any]:
    return next(package for package in lock()["package"] if package["name"] == "tau-continuity")


def spoken(requirements: list[str]) -> set[tuple[str, frozenset[str], str]]:
    parsed = [Requirement(text) for text in requirements]
    return {(each.name, frozenset(each.extras), str(each.specifier)) for each in parsed}


def recorded(entries: list[dict[str, Any]]) -> set[tuple[str, frozenset[str], str]]:
    texts = [f"{entry['name']}[{','.join(entry.get('extras', []))}]{entry['specifier']}" for entry in entries]
    return spoken(texts)


def hosts(urls: list[str]) -> set[str]:
    return {"/".join(url.split("/")[:3]) for url in urls}


def files(package: dict[str, Any]) -> list[dict[str, Any]]:
    return [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]


def test_everything_but_ourselves_comes_from_one_public_index() -> None:
    sources = {package["name"]: package["source"] for package in lock()["package"]}
    assert sources.pop("tau-continuity") == {"editable": "."}
    assert {tuple(source) for source in sources.values()} == {("registry",)}
    (index,) = {source["registry"] for source in sources.values()}
    (host,) = hosts([index])
    assert PLAIN.fullmatch(host)


def test_every_file_is_on_one_public_host_and_pinned_by_its_digest() -> None:
    pinned = [file for package in lock()["package"] for file in files(package)]
    (host,) = hosts([file["url"] for file in pinned])
    assert PLAIN.fullmatch(host)
    for file in pinned:
        assert re.fullmatch(r"sha256:[0-9a-f]{64}", file["hash"])


def test_every_package_but_ourselves_has_its_files_in_the_lock() -> None:
    without = {package["name"] for package in lock()["package"] if not files(package)}
    assert without == {"tau-continuity"}


def test_the_lock_was_made_from_the_requirements_of_the_project() -> None:
    metadata = ours()["metadata"]
    assert recorded(metadata["requires-dist"]) == spoken(project()["project"]["dependencies"])
    assert recorded(metadata["requires-dev"]["dev"]) == spoken(project()["dependency-groups"]["dev"])
    assert lock()["requires-python"] == project()["project"]["requires-python"]
