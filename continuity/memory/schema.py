"""Whether an answer has the shape its tool declares. A declaration that is itself unusable is held against nobody."""

from __future__ import annotations

from jsonschema import SchemaError, validators  # type: ignore[import-untyped] # it ships no types
from referencing import Registry
from referencing.exceptions import Unresolvable

from continuity.memory.calls import Json, Schema


def conforms(value: Json, schema: Schema) -> bool:
    """Return whether `value` satisfies `schema`; references are followed inside the schema and nowhere else."""
    try:
        validator = validators.validator_for(schema)
        validator.check_schema(dict(schema))
        return bool(validator(dict(schema), registry=Registry()).is_valid(value))
    except (SchemaError, Unresolvable, RecursionError):
        return True
