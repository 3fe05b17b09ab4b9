"""Registers: the memory of a rule beside its state.

There are three kinds, a file each: ``counts`` (counted repetitions), ``names`` (members in any order), ``texts`` (texts
that must differ). ``register`` has the values of all kinds, and ``Kind``, the protocol that each kind follows.
``registers`` puts the three together: readers, distances and walks of a network use it alone, and know no kind.
"""
