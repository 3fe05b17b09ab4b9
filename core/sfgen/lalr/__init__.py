"""Grammars of lark as constraints: a parser over terminals (LALR(1)), and a scanner for the terminals.

What a grammar means is lark's word: its tables, its terminals, its lexer's rule. From top to bottom: ``lark_package``
reads them, ``tables`` says in which form, ``ordered_threads`` and ``lexer`` make scanners that read bytes, ``stack``
keeps the parser's states, ``distances`` tells how far the end is, ``walk`` and ``masks`` find the tokens.
"""
