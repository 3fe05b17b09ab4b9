"""Registers: what a rule remembers beside its state.

There are three kinds, a file each: ``counts`` (counted repetitions), ``names`` (members in any order), ``texts`` (texts
that must differ). ``register`` has the values of all kinds, and ``Kind``, the protocol that each kind follows.
``registers`` puts the three together; whatever reads, measures or walks a network asks it, and knows none of them.
"""
