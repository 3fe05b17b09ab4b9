"""Rules that call each other, as one network of automata (a recursive transition network; Woods, 1970).

In reading order: ``rules`` has the expressions of a grammar, ``analysis`` finds which rules have a text, ``simplify``
rewrites them, ``rule_automata`` makes an automaton of each rule, and ``network`` joins these in a ``table``. What rules
remember beside their states is in ``registers``, a file for each kind. ``stack`` and ``read`` read bytes, ``distances``
finds how far the end is, ``walk`` and ``masks`` find the tokens, ``completion`` the shortest way to an end.
``positions`` is the network over one vocabulary, ``guide`` walks one sequence through it. All that surrounds the step
is in ``sfgen.grammar.shell``. Nothing here knows JSON.
"""
