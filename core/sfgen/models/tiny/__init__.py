"""The embedded model: a small transformer that comes with the package, so that everything works without a download.

A Llama-architecture model of under three million parameters with a byte-level BPE tokenizer of its own, in float16, as
an ordinary transformers directory. Its architecture is fixed, so it runs without torch: ``network`` is the forward pass
in numpy, ``kv_cache`` what a text keeps of it, ``session`` one text, ``model`` the whole. It learned from text that
:mod:`sfgen.models.tiny.corpus` writes by rules (small talk, questions, stories, facts, letters, JSON records,
addresses, dates, log lines, prices), and it knows nothing else: it is there to show and to test what a constraint does,
not to be asked for advice. :mod:`sfgen.models.tiny.train` makes it again from a seed. These two stand in the
repository alone: an installed wheel has the weights, and not what made them.

The committed weights: 2.56 million parameters (4 layers of width 192, 4 heads), 4 096 tokens, a file of 5.1 MB, made
on one thread of a shared processor in 48 and 22 minutes (on two idle cores 50 steps take 16 s, so all of it 35 minutes)
by::

    python -m sfgen.models.tiny.train --steps 4400 --seed 0 --threads 1 --output FIRST
    python -m sfgen.models.tiny.train --start FIRST --steps 2200 --seed 1 --threads 1 --output DIR

They saw 13.5 million freshly written tokens, 9.0 in the first run and 4.5 in the second. On 1 500 fresh documents the
perplexity is 2.58 per token. On templates that were held back it is 28 (sentences of known phrases), 29 (small talk),
93 (stories) and 10 (records): the model knows its templates well and the language behind them hardly. Of the words it
writes freely, 99 in 100 are words of its corpus, at temperature 0.8 and at 1. What it cannot do is carry a name through
a story or a country into its answer: each sentence is whole, and the next one may be about somebody else.
"""

from __future__ import annotations

from pathlib import Path

DIRECTORY = Path(__file__).parent / "weights"
"""The transformers directory: ``config.json``, ``model.safetensors``, ``tokenizer.json`` and their companions."""
