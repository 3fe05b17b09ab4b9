"""Schemas inside of Lark grammars: an engine built from the two others.

For lark's parser each schema is a terminal, a *schema terminal*. Where the parser accepts it, the schema's network
begins to read; where the network's text may end, lark's lexer and parser continue after the terminal. ``reader`` reads
bytes in this way, ``borders`` finds the tokens that cross from one engine into the other, ``positions`` makes the
masks.
"""
