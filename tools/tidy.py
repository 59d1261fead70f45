"""Fails the build on a function or a module too long to be read at once; it judges nothing else.

Lines are counted as an editor counts them, docstring and comments included, decorators not.
"""

import argparse
import ast
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

FUNCTION_LINES = 50
MODULE_LINES = 400
TEST_MODULE_LINES = 600

ROOTS = ("continuity", "journal", "replay", "tools", "tests")


class Finding(NamedTuple):
    """One place that is longer than its limit."""

    path: str
    line: int
    what: str
    size: int
    limit: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what} has {self.size} lines, {self.limit} are allowed"


def findings(root: Path, folders: Sequence[str] = ROOTS) -> Iterator[Finding]:
    """Yield what is too long in the Python files of `folders` under `root`, in the order of their paths."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            yield from _in_module(path.read_text(encoding="utf-8"), path.relative_to(root))


def _in_module(source: str, path: Path) -> Iterator[Finding]:
    limit = TEST_MODULE_LINES if path.parts[0] == "tests" else MODULE_LINES
    size = len(source.splitlines())
    if size > limit:
        yield Finding(str(path), 1, "the module", size, limit)
    for node in ast.walk(ast.parse(source, filename=str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = (node.end_lineno or node.lineno) - node.lineno + 1
            if size > FUNCTION_LINES:
                yield Finding(str(path), node.lineno, f"function {node.name}", size, FUNCTION_LINES)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tidy", description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=Path(), help="the checkout to look at (default: here)")
    found = list(findings(parser.parse_args(arguments).root))
    for finding in found:
        print(finding)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
