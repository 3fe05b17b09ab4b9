"""How the embedded model is made: tokenizer, batches, optimizer, checkpoints.

::

    python -m sfgen.models.tiny.training --directory WORK --steps 60000 --threads 2

Training goes on from what is in the directory, however it was stopped. Its text is that of
:mod:`sfgen.models.tiny.corpus.copying.mixture`; the batch of a step depends on the seed and the step alone.
"""
