"""Grammars of lark as constraints: an LALR(1) parser over terminals, and a lexer over bytes.

lark decides what a grammar means: its tables, its terminals, its lexer's rule. In reading order: ``lark_package`` reads
the ``tables``, ``ordered_threads`` and ``lexer`` make the lexer, ``compiled`` caches both in a file. ``stack`` and
``read`` read bytes, ``costs`` and ``distances`` find how far the end is, ``completion`` the shortest way to it,
``walk`` and ``masks`` the tokens. ``positions`` is the grammar over one vocabulary. ``indentation`` and
``layout_masks`` are the same with a layout. All that surrounds the step is in ``sfgen.grammar.shell``.
"""
