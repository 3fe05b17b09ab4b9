"""Grammars: rules that call each other, read with a stack.

Two engines share one shell. ``network`` reads the rules of schemas and of GBNF: an automaton for each rule, with calls
between them. ``lalr`` reads Lark's grammars with lark's own tables and terminals, since lark defines their meaning.
``shell`` contains the parts that both need: positions, masks, shortest completions, guides. ``mixed`` reads schemas
inside of Lark grammars with both engines. ``language`` reads grammars as users write them, in GBNF or in Lark's
language.
"""
