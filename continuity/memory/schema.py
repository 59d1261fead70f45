"""Whether a declaration of a shape is one, and whether an answer has it. An unusable one is held against no answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from jsonschema import Draft202012Validator, SchemaError, validators  # type: ignore[import-untyped] # it ships no types
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012
from referencing.jsonschema import Schema as Dialect

from continuity.memory.calls import Json, Schema

_DATA = frozenset({"const", "default", "enum", "examples"})
"""Under these keys lies no schema."""


def usable(schema: Schema) -> bool:
    """Return whether `schema` is one by the draft that providers judge by, and what it refers to within itself is there."""
    try:
        Draft202012Validator.check_schema(dict(schema))
        whole = Registry[Dialect]().with_resource("", DRAFT202012.create_resource(schema))
        for reference in _references(schema):
            whole.resolver().lookup(reference)
    except (SchemaError, Unresolvable, RecursionError, ValueError):
        return False
    return True


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for key, value in cast("Mapping[str, object]", schema).items():
            if key == "$ref" and isinstance(value, str) and value.startswith("#"):
                yield value
            if key not in _DATA:
                yield from _references(value)
    elif isinstance(schema, list):
        for value in cast("list[object]", schema):
            yield from _references(value)


def conforms(value: Json, schema: Schema) -> bool:
    """Return whether `value` satisfies `schema`; references are followed inside the schema and nowhere else."""
    try:
        validator = validators.validator_for(schema)
        validator.check_schema(dict(schema))
        return bool(validator(dict(schema), registry=Registry()).is_valid(value))
    except (SchemaError, Unresolvable, RecursionError):
        return True
