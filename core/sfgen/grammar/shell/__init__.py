"""The shell of both engines: all parts except the step.

An engine reads one byte from a configuration to others, and computes the distance of each from the end. The shell
contains everything that is built on these two:

* ``read``: a reader of positions, which are sets of configurations: whole texts, the only byte that can follow, and
  many texts from one position.
* ``masks``: the mask of a configuration, and the caches of such masks, bounded in bytes.
* ``positions``: the tokens that a position allows, with and without a limit, from the masks of its configurations.
* ``completion``: the shortest text to an end, and its fewest tokens.
* ``guide``: the guide of one sequence, and a cache of values by vocabulary.
* ``token_symbols``: grammars with symbols that stand for tokens; these wrap either engine.

The engines differ where a common part would be slower and larger. Reading: a network returns to a frame wherever a rule
may end; a parser reduces when a terminal has ended, with one terminal of lookahead. Distances: a network adds up those
of the frames on the stack; a parser takes the least over pending terminals, which is no sum.
"""
