"""JSON Schema: read a schema and compile it to the rules of a grammar. Only :mod:`.json_schema` uses tokens.

Five packages, each of which imports only those before it:

* :mod:`~sfgen.schema.scalars`: strings and numbers as automata of their written forms;
* :mod:`~sfgen.schema.reading`: from a dict, a text, a file, examples, tools or a Python type to a checked document;
* :mod:`~sfgen.schema.meaning`: conjunctions, their branches (a disjunctive normal form), typed groups, emptiness;
* :mod:`~sfgen.schema.writing`: the rules of a grammar;
* :mod:`~sfgen.schema.inspection`: validation and its messages, positions in a text, the tree of rules.

Two modules use all five: the constraint (:mod:`~sfgen.schema.json_schema`) and its files (:mod:`~sfgen.schema.file`).
"""

from sfgen.schema.reading.read import read_schema

__all__ = ["read_schema"]
