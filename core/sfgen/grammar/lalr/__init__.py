"""Grammars of lark as constraints: an LALR(1) parser over terminals, and a lexer over bytes.

lark decides what a grammar means: its tables, its terminals, its lexer's rule. In reading order: ``lark_package`` reads
the ``tables``, ``ordered_threads`` and ``lexer`` make the lexer, ``compiled_grammar`` caches both in a file. ``stack``
and ``read`` read bytes, ``costs`` and ``distances`` find the fewest bytes to the end, ``completion`` the shortest text
to it, ``walk`` and ``masks`` the tokens. ``positions`` is the grammar over one vocabulary. ``indentation`` and
``layout_masks`` do the same for grammars with a layout. All but the step itself is in ``sfgen.grammar.shell``.
"""
