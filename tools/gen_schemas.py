"""Writes `schemas/events` and `schemas/cli` from the code that is their only truth; `--check` writes nothing.

One schema for each tag ever used in a journal, and one for each command that prints JSON.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import msgspec

from continuity.cli.doctor.findings import DoctorView
from continuity.cli.shapes import SETTLE_SHAPES
from journal.codec import TAGS
from replay.shapes import CLI_SHAPES, NotStored

ROOT = Path(__file__).resolve().parent.parent
DIALECT = "https://json-schema.org/draft/2020-12/schema"
FOLDERS = ("schemas/events", "schemas/cli")
PATHS = ("tau_home", "settings", "compatible_settings", "extension", "state", "packages", "installed")

type Schema = dict[str, object]


def schemas() -> Iterator[tuple[str, str]]:
    """Yield every schema file, by its path in the checkout, and its text."""
    for kind, tag in sorted(TAGS.items(), key=lambda item: item[1]):
        yield f"schemas/events/{tag}.json", _text(_of(kind))
    for command, shape in CLI_SHAPES.items():
        yield f"schemas/cli/{command}.json", _text(_list_of(shape, NotStored) if command == "unproven" else _of(shape))
    for command, view in SETTLE_SHAPES.items():
        yield f"schemas/cli/{command}.json", _text(_of(view))
    yield "schemas/cli/doctor.json", _text(_of(DoctorView))
    yield "schemas/cli/paths.json", _text(_paths())


def _of(shape: type[msgspec.Struct]) -> Schema:
    """The schema of one struct, with its name at the top and its parts below."""
    (_,), parts = msgspec.json.schema_components([shape], schema_hook=_any, ref_template="#/$defs/{name}")
    own = parts.pop(shape.__name__)
    own["required"] = list(own["properties"])  # a default is a convenience of the code, never left out
    return {"$schema": DIALECT, **own, **({"$defs": parts} if parts else {})}


def _any(kind: type) -> Schema:
    """What msgspec has no schema for: the values inside a payload, which are JSON of any shape."""
    if kind is not object:
        raise NotImplementedError
    return {"description": "any JSON"}


def _list_of(*shapes: type[msgspec.Struct]) -> Schema:
    found = [_of(shape) for shape in shapes]
    parts = {name: part for each in found for name, part in cast("Schema", each.pop("$defs", {})).items()}
    for each in found:
        del each["$schema"]
    return {"$schema": DIALECT, "type": "array", "items": {"anyOf": found}, **({"$defs": parts} if parts else {})}


def _paths() -> Schema:
    """`paths` runs without what makes the other shapes, so its schema is written here and a test compares it."""
    properties: Schema = {
        "schema": {"const": "continuity.paths/1"},
        **{name: {"type": "string"} for name in PATHS},
        "inventories": {"type": "array", "items": {"type": "string"}},
    }
    return {
        "$schema": DIALECT,
        "title": "Paths",
        "description": "Where settings, journals and the extension of this user are.",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(schema: Schema) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def differences(root: Path) -> list[str]:
    """Return the files under `root` that are not what the code says, missing and left-over ones among them."""
    wanted = dict(schemas())
    found = {path.relative_to(root).as_posix() for folder in FOLDERS for path in (root / folder).glob("*")}
    missing = {name for name in wanted if name not in found}
    changed = {name for name in found & wanted.keys() if (root / name).read_text(encoding="utf-8") != wanted[name]}
    return sorted(missing | changed | (found - wanted.keys()))


def write(root: Path) -> None:
    """Make the schemas under `root` what the code says."""
    wanted = dict(schemas())
    for name in differences(root):
        path = root / name
        if name in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[name], encoding="utf-8")
        else:
            path.unlink()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="gen_schemas", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say which files are not what the code says")
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="the checkout (default: this one)")
    given = parser.parse_args(arguments)
    found = differences(given.root)
    for name in found:
        print(name)
    if not given.check:
        write(given.root)
    return 1 if found and given.check else 0


if __name__ == "__main__":
    sys.exit(main())
