"""Registers: the memory of a rule besides its state.

There are three kinds, a file each: ``counts`` (counted repetitions), ``names`` (members in any order), ``texts`` (texts
that must differ). ``register`` defines the values of all kinds, and ``Kind``, the protocol of a kind. ``registers``
combines the three: readers, distances and walks of a network use only that module, and depend on no kind.
"""
