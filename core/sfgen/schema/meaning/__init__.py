"""Normalise schemas: references and combinators become branches, and these become typed groups."""
