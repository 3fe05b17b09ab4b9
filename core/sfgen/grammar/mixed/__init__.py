"""Schemas inside of Lark grammars: an engine built from the two others.

lark's parser sees each schema as a terminal, a *schema terminal*. Where it takes one, a reading of the schema's network
begins; where the network's text may end, lark's lexer and parser go on after the terminal. ``reader`` reads bytes in
this way, ``borders`` finds the tokens that go from one engine into the other, ``positions`` makes the masks.
"""
