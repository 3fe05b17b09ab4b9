"""Grammars: rules that call each other, read with a stack.

Two engines share one shell. ``network`` reads the rules of schemas and of GBNF: an automaton for each rule, with calls
between them. ``lalr`` reads Lark's grammars by lark's own tables and terminals, since lark says what they mean.
``shell`` has the parts that both need: positions, masks, shortest completions, guides. ``mixed`` reads schemas inside
of Lark grammars by both engines. ``language`` has the grammars as users write them, in GBNF or in Lark's language.
"""
