"""Grammars: rules that call each other, read with a stack.

Two engines share one shell. ``network`` reads the rules of schemas and of GBNF: an automaton for each rule, with calls
between them. ``lalr`` reads Lark grammars by the tables and terminals of the package lark, which defines their meaning.
``shell`` contains the parts that both engines use: positions, masks, shortest completions, guides. ``mixed`` reads
schemas inside of Lark grammars by both engines. ``language`` contains the formats that users write: GBNF and Lark.
"""
