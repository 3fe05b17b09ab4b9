"""The embedded model: a small transformer that comes with the package, so that everything works without a download.

A Llama-architecture model of under four million parameters with a byte-level BPE tokenizer of its own, in float16, as
an ordinary transformers directory. Its architecture is fixed, so it runs without torch: ``network`` is the forward pass
in numpy, ``kv_cache`` what a text keeps of it, ``session`` one text, ``model`` the whole. It learned from text that
:mod:`sfgen.models.tiny.corpus` writes by rules: sentences and their records, lists, labels, answers, queries and calls,
whose names, words and numbers are drawn so widely that copying them is all that helps, and small talk, stories, facts
and letters besides. It knows nothing else: it is there to show and to test what a constraint does, not to be asked for
advice. :mod:`sfgen.models.tiny.training` makes it again from a seed. These two stand in the repository alone: an
installed wheel has the weights, and not what made them.

The committed weights: 3.87 million parameters (6 layers of width 256, 4 heads of 64), 2 048 tokens (a space is one by
itself, so that a name is spelled alike wherever it stands), a file of 7.7 MB: the running mean after 3 750 steps of 16
rows of 256 tokens, 15 million tokens, made on a shared processor in about an hour by::

    python -m sfgen.models.tiny.training --directory DIR --steps 120000 --stop 3750 --rows 16 --seed 0

Copying came between the steps 500 and 750. On sentences, names and words that no training text holds, 200 of each kind
(``python -m tests.bench.tiny``): 74 in 100 records under their schema are right, 94 queries under a pattern of the
table's columns, 93 calls of one of three tools, and 60 choices among two to four, where the model must find which of
several sentences alike is asked for. The model before it had 0, 6, 0 and 33. Of 100 texts of 60 tokens under a ban of
one of its commonest words 59 hold together (97 before): small talk comes back to what it said. It foresees held-back
small talk with 1.34 bits a character (1.52 before) and stories with 1.38 (1.60). Letting the learning rate fall to
nothing, up to step 5 500, made it better on its own templates and worse on held-back ones (70 queries): what it lacks
is more kinds of templates, and then more steps.
"""

from __future__ import annotations

from pathlib import Path

DIRECTORY = Path(__file__).parent / "weights"
"""The transformers directory: ``config.json``, ``model.safetensors``, ``tokenizer.json`` and their companions."""
