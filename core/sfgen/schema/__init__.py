"""JSON Schema: a schema is read, and becomes rules of a grammar. Nothing here knows tokens."""
