"""Make the embedded model: text, tokenizer, batches, optimizer, checkpoints, score; see README.md beside.

The text is that of :mod:`training.corpus.copying.mixture`; the batch of a step depends on the seed and the step alone.
"""
