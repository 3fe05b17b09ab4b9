"""Inspect schemas and texts: validation errors, positions in a text, trees of rules, examples."""
