"""Writes `continuity/privacy/vendor.py` from the token forms that Kingfisher bundles; `--check` writes nothing.

They are Betterleaks' and Veles' rules, kept by people who do that daily. Taken is each form that is recognised by its
own first characters; forms that need a name before them are judged by our own rules, which learn the vendors' names.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from importlib.metadata import distribution
from pathlib import Path
from typing import TypedDict

from tools.vendor_rules.forms import alphabet, is_open, prefixes, secret_of, shortest, written
from tools.vendor_rules.patterns import Node, Unsupported, parsed

ROOT = Path(__file__).resolve().parents[2]
TARGET = "continuity/privacy/vendor.py"
PACKAGE = "kingfisher-bin"

ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~+/=|!%:$-")
"""What a token may be written in; `continuity.privacy.prefixed` reads runs of it."""

OURS = frozenset({"generic-credential-uri", "jwt", "private-key"})
"""Known better by rules of our own, which also see them torn and quoted."""

_SHORTEST = 16

WORDS = frozenset(
    "checkout crates curl cursor hunter instantly kraken lark linear monday sonar stability weights".split()
)
"""Vendors whose names are words too: what is called SUCH_KEY may be anything."""


class Rule(TypedDict):
    """One rule as Kingfisher lists it."""

    id: str
    pattern: str
    visible: bool


class Form(TypedDict):
    """One form as the module holds it."""

    name: str
    roots: tuple[str, ...]
    pattern: str
    is_open: bool


def listed() -> list[Rule]:
    """Return the rules of the installed package, which is asked nothing else and reaches no network."""
    program = next(path for path in distribution(PACKAGE).files or () if path.name == "kingfisher")
    with tempfile.TemporaryDirectory() as folder:
        listing = Path(folder) / "rules.json"
        command = [str(program.locate()), "rules", "list", "--format", "json", "--output", str(listing), "--quiet"]
        subprocess.run(command, check=True, capture_output=True, env={"HOME": folder, "PATH": ""})
        found: list[Rule] = json.loads(listing.read_text(encoding="utf-8"))
    return found


def text() -> str:
    """Return the module as the rules say it."""
    forms, names = _made(listed())
    version = distribution(PACKAGE).version
    lines = [
        '"""Forms of vendors\' tokens. Made by `python -m tools.vendor_rules` from rules that others keep; see NOTICE."""',
        "",
        "# ruff: noqa: E501",
        "",
        f'SOURCE = "{PACKAGE} {version}"',
        '"""The package that the rules were read from: Betterleaks (MIT) and Veles (Apache-2.0), as Kingfisher has them."""',
        "",
        "NAMES = frozenset(",
        f'    """{" ".join(sorted(names))}""".split()',
        ")",
        '"""Vendors whose keys have no look of their own: what is called THEIR_KEY is secret."""',
        "",
        "FORMS: tuple[tuple[str, tuple[str, ...], str, bool], ...] = (",
        *(f"    ({form['name']!r}, {form['roots']!r}, {_raw(form['pattern'])}, {form['is_open']})," for form in forms),
        ")",
        '"""Name, how it begins, its form, and whether nothing says how long it is. No form can match in many ways."""',
    ]
    return _formatted("\n".join(lines) + "\n")


def _formatted(source: str) -> str:
    ruff = Path(sys.executable).parent / "ruff"
    command = [str(ruff), "format", "--stdin-filename", TARGET, "-"]
    return subprocess.run(command, input=source, check=True, capture_output=True, text=True, cwd=ROOT).stdout


def _raw(pattern: str) -> str:
    return f"r'{pattern}'" if "'" not in pattern and not pattern.endswith("\\") else repr(pattern)


def _made(rules: Sequence[Rule]) -> tuple[list[Form], set[str]]:
    forms: dict[str, Form] = {}
    names: set[str] = set()
    for rule in rules:
        if not rule["visible"] or _name(rule["id"]) in OURS:
            continue
        try:
            form = _form(rule)
        except Unsupported:
            names.update(_vendors(rule))
        else:
            forms.setdefault(form["pattern"], form)
    return _rooted(forms.values()), names


def _vendors(rule: Rule) -> Iterator[str]:
    """The vendor that a rule wants named before a value."""
    first = _name(rule["id"]).partition("-")[0]
    if first in rule["pattern"].lower() and first.isalpha() and len(first) > 3 and first not in WORDS:
        yield first


def _form(rule: Rule) -> Form:
    node = _secret(rule["pattern"])
    if alphabet(node) - ALPHABET:
        raise Unsupported("written in other characters")
    if shortest(node) < _SHORTEST:
        raise Unsupported("too short to be known")
    return Form(name=_name(rule["id"]), roots=prefixes(node), pattern=written(node), is_open=is_open(node))


def _secret(pattern: str) -> Node:
    """The part that is the secret; one that must stand behind a name is taken if it also is known by itself."""
    tree = parsed(pattern)
    try:
        node, least = secret_of(tree), 3
    except Unsupported:
        node, least = secret_of(tree, anywhere=True), 4
    for root in prefixes(node):
        if len(root) < least or (least > 3 and root.isalnum()) or "://" in root:
            raise Unsupported("not known by its beginning")
    return node


def _name(identity: str) -> str:
    """`betterleaks.apollo-api-key.1` is `apollo-api-key`; no longer than a placeholder's word may be."""
    name = identity.removeprefix("betterleaks.").removeprefix("veles.secrets/").rpartition(".")
    full = name[0] if name[2].isdigit() else "".join(name)
    while len(full) > 32:
        full = full.rpartition("-")[0]
    return full


def _rooted(forms: Collection[Form]) -> list[Form]:
    """Let each form begin with the shortest of all beginnings that its own begin with: one look finds all forms."""
    every = sorted({root for form in forms for root in form["roots"]}, key=len)
    shortest_of = {root: next(head for head in every if root.startswith(head)) for root in every}
    for form in forms:
        form["roots"] = tuple(sorted({shortest_of[root] for root in form["roots"]}))
    return sorted(forms, key=lambda form: (form["name"], form["pattern"]))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="vendor_rules", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the module is what the rules say")
    given = parser.parse_args(arguments)
    path, wanted = ROOT / TARGET, text()
    if path.exists() and path.read_text(encoding="utf-8") == wanted:
        return 0
    print(TARGET)
    if not given.check:
        path.write_text(wanted, encoding="utf-8")
    return 1 if given.check else 0


if __name__ == "__main__":
    sys.exit(main())
