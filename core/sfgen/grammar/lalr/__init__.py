"""Lark grammars as constraints: an LALR(1) parser over terminals, and a lexer over bytes.

lark defines the meaning of a grammar by its parse tables, its terminals and the rule of its lexer. In reading order:
``lark_package`` reads the ``tables``, ``ordered_threads`` and ``lexer`` make the lexer, ``compiled_grammar`` caches
both in a file. ``stack`` and ``read`` read bytes. ``costs`` and ``distances`` find the fewest bytes to the end,
``completion`` finds the shortest text to it, ``walk`` and ``masks`` find the allowed tokens. ``positions`` is the
grammar over one vocabulary. ``indentation`` and ``layout_masks`` are the same for grammars with a layout. Everything
except the step by one byte or token is in ``sfgen.grammar.shell``.
"""
