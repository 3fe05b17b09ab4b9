"""Grammars as users write them, in GBNF and in Lark: what their texts mean, told in the grammar's own words.

``grammar`` is the facade, and ``language`` the protocol that each format implements. ``gbnf_language`` stands on
``sfgen.grammar.network``, ``lark_language`` on ``sfgen.grammar.lalr``, ``lark_of_schemas`` on ``sfgen.grammar.mixed``.
"""
