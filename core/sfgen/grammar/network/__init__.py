"""Rules that call each other, as one network of automata (a recursive transition network; Woods 1970).

In reading order: ``rules`` defines the expressions of a grammar, ``analysis`` finds the rules that have a text,
``simplify`` rewrites them, ``rule_automata`` makes an automaton of each rule, and ``network`` joins these in a
``table``. ``registers`` has the memory of rules besides their states, a file for each kind. ``stack`` and ``read`` read
bytes, ``distances`` finds the fewest bytes to the end, ``walk`` and ``masks`` find the tokens, ``completion`` finds the
shortest text to an end. ``positions`` combines a network with one vocabulary. Whatever does not depend on the engine is
in ``sfgen.grammar.shell``. Nothing here depends on JSON.
"""
