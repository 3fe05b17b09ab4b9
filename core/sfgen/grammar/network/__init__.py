"""Rules that call each other, as one network of automata (a recursive transition network; Woods, 1970).

In reading order: ``rules`` has the expressions of a grammar, ``analysis`` finds which rules have a text, ``simplify``
rewrites them, ``rule_automata`` makes an automaton of each rule, and ``network`` joins these in a ``table``.
``registers`` has the memory of rules beside their states, a file for each kind. ``stack`` and ``read`` read bytes,
``distances`` finds the fewest bytes to the end, ``walk`` and ``masks`` find the tokens, ``completion`` the shortest
text to an end. ``positions`` is the network over one vocabulary. All but the step itself is in ``sfgen.grammar.shell``.
Nothing here knows JSON.
"""
