"""The lock speaks for the project file, and of the public index alone."""

import re
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
INDEX = "https://pypi.org/simple"
FILES = "https://files.pythonhosted.org/packages/"


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


def test_the_lock_names_no_host_but_the_public_index() -> None:
    hosts = set(re.findall(r"[a-z+]+://[^/\"]+", (ROOT / "uv.lock").read_text(encoding="utf-8")))
    assert hosts == {"https://pypi.org", "https://files.pythonhosted.org"}


def test_everything_but_ourselves_comes_from_the_public_index() -> None:
    sources = {package["name"]: package["source"] for package in lock()["package"]}
    assert sources.pop("tau-continuity") == {"editable": "."}
    assert {name for name, source in sources.items() if source != {"registry": INDEX}} == set()


def test_every_file_is_pinned_by_its_digest() -> None:
    for package in lock()["package"]:
        files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
        assert files or package["name"] == "tau-continuity"
        for file in files:
            assert file["url"].startswith(FILES)
            assert re.fullmatch(r"sha256:[0-9a-f]{64}", file["hash"])


def test_the_lock_was_made_from_the_requirements_of_the_project() -> None:
    metadata = ours()["metadata"]
    assert recorded(metadata["requires-dist"]) == spoken(project()["project"]["dependencies"])
    assert recorded(metadata["requires-dev"]["dev"]) == spoken(project()["dependency-groups"]["dev"])
    assert lock()["requires-python"] == project()["project"]["requires-python"]
