"""Grammars in the formats that users write, GBNF and Lark, described by the names in the grammar.

``grammar`` is the facade, and ``language`` the protocol that each format implements. ``gbnf_language`` uses
``sfgen.grammar.network``, ``lark_language`` uses ``sfgen.grammar.lalr``, ``lark_of_schemas`` uses
``sfgen.grammar.mixed``.
"""
