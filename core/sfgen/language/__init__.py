"""Grammars as their users write them, in GBNF and in Lark: what a text of theirs means, asked in their own words.

``grammar`` is the facade, ``language`` what it asks of each format. GBNF stands on ``sfgen.grammar``, Lark's language
on ``sfgen.lalr``.
"""
