"""Grammars as users write them, in GBNF and in Lark, with descriptions in the grammar's own names.

``grammar`` is the facade, and ``language`` the protocol that each format implements. ``gbnf_language`` stands on
``sfgen.grammar.network``, ``lark_language`` on ``sfgen.grammar.lalr``, ``lark_of_schemas`` on ``sfgen.grammar.mixed``.
"""
