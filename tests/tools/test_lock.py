"""The lock speaks for the project file, and of the public index alone."""

import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from packaging.markers import Marker, default_environment
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


# -- what is installed for Tau -------------------------------------------------------


class Locked(NamedTuple):
    """One library as installers read it."""

    requirement: Requirement
    hashes: frozenset[str]


def exported() -> list[Locked]:
    text = (ROOT / "continuity" / "cli" / "locked.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.split(" --hash=") for line in text.splitlines() if not line.startswith("#")]
    return [Locked(Requirement(first), frozenset(each.strip() for each in rest)) for first, *rest in lines]


def here(**other: str) -> dict[str, str]:
    return {name: str(value) for name, value in default_environment().items()} | other


def needed(environment: dict[str, str]) -> dict[str, str]:
    """What the lock says the product needs there, by name and version."""
    packages = {package["name"]: package for package in lock()["package"]}
    found: dict[str, str] = {}
    wanted = [("tau-continuity", "")]
    while wanted:
        name, extra = wanted.pop()
        package = packages[name]
        entries = package.get("optional-dependencies", {}).get(extra, []) if extra else package.get("dependencies", [])
        for entry in entries:
            if "marker" in entry and not Marker(entry["marker"]).evaluate(environment):
                continue
            wanted += [(entry["name"], extra) for extra in entry.get("extra", [])]
            if entry["name"] not in found:
                found[entry["name"]] = packages[entry["name"]]["version"]
                wanted.append((entry["name"], ""))
    return found


@pytest.mark.parametrize("system", ["linux", "darwin"])
@pytest.mark.parametrize("python", ["3.12", "3.13", "3.14"])
def test_what_is_installed_for_tau_is_what_the_lock_says_the_product_needs(system: str, python: str) -> None:
    environment = here(sys_platform=system, python_version=python, python_full_version=f"{python}.1")
    chosen = [each.requirement for each in exported()]
    there = {
        each.name: str(each.specifier) for each in chosen if each.marker is None or each.marker.evaluate(environment)
    }
    assert there == {name: f"=={version}" for name, version in needed(environment).items()}


def test_it_takes_the_files_that_the_lock_names_and_each_of_them() -> None:
    locked = {package["name"]: frozenset(file["hash"] for file in files(package)) for package in lock()["package"]}
    assert [each.requirement.name for each in exported() if each.hashes != locked[each.requirement.name]] == []


def test_nothing_needs_to_be_built_to_be_installed_for_tau() -> None:
    with_wheels = {package["name"] for package in lock()["package"] if package.get("wheels")}
    assert {each.requirement.name for each in exported()} <= with_wheels
