"""JSON Schema: a schema is read, and becomes rules of a grammar. Nothing here knows tokens."""

from sfgen.schema.read import read_schema

__all__ = ["read_schema"]
