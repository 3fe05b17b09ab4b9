"""The embedded model: a small transformer that comes with the package, so that everything works without a download.

A Llama-architecture model of under three million parameters with a byte-level BPE tokenizer of its own, in float16, as
an ordinary transformers directory. It learned from text that :mod:`sfgen.models.tiny.corpus` writes by rules (small
talk, questions, stories, facts, JSON records, addresses, dates, log lines, prices), and it knows nothing else: it is
there to show and to test what a constraint does, not to be asked for advice. :mod:`sfgen.models.tiny.train` makes it
again from a seed.

The committed weights: 1.6 million parameters, 2 048 tokens, 4 layers of width 160, made on one thread by
``python -m sfgen.models.tiny.train --steps 5500 --seed 0 --threads 1 --bfloat16`` in 34 minutes of a shared processor
(16.9 million freshly written tokens). On 1 500 fresh documents the perplexity is 2.2 per token; of the words it writes
freely at temperature 0.8, 99 in 100 are words of its corpus. On a CPU, let torch use one thread: more of them slow a
model this small down.
"""

from pathlib import Path

DIRECTORY = Path(__file__).parent / "weights"
"""The transformers directory: ``config.json``, ``model.safetensors``, ``tokenizer.json`` and their companions."""
