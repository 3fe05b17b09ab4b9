"""Rules that call each other, as one network of automata (a recursive transition network; Woods, 1970).

``rules`` has the expressions that a grammar is written in, ``network`` makes automata of them. Nothing here knows JSON.
"""
