"""Grammars: rules that call each other, read with a stack.

Two engines stand in one shell. ``network`` reads the rules of schemas and of GBNF: an automaton for each rule, with
calls between them. ``lalr`` reads Lark's grammars by lark's own tables and terminals, since lark says what they mean.
``shell`` has what both need: stacks, positions, masks, the way to the end, guides. ``mixed`` reads schemas inside of
Lark grammars, by both. ``language`` has the grammars as users write them; its two doors are GBNF and Lark.
"""
