"""The shell of both engines: everything but the step.

An engine reads one byte from a configuration to others, and knows the distance of each from the end. Everything that is
built upon that is here, once:

* ``read``: a reader of positions, which are sets of configurations: whole texts, the only byte that can follow, and
  many texts from one position.
* ``masks``: the mask of a configuration, and the caches of such masks, bounded in bytes.
* ``positions``: the tokens that a position allows, without a limit and within one, of the masks of its configurations.
* ``completion``: the shortest text to an end and its fewest tokens.
* ``guide``: the guide of one sequence, and a cache of values by vocabulary.
* ``token_symbols``: grammars that ask for tokens by name, before either engine.

The engines differ where one for both would be slower and larger. Reading: a network returns to a frame wherever a rule
may end; a parser reduces once a terminal has ended, and looks one terminal ahead. Distances: a network's are sums over
the frames of the stack; a parser's are the least over pending terminals, so they do not add up.
"""
