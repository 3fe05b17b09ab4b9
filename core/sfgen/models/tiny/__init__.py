"""The embedded model: a small transformer that comes with the package, so that everything works without a download.

A Llama-architecture model of under four million parameters with a byte-level BPE tokenizer of its own, in float16, as
an ordinary transformers directory. Its architecture is fixed, so it runs without torch: ``network`` is the forward pass
in numpy, ``kv_cache`` what a text keeps of it, ``session`` one text, ``batch`` several, with what ``rows_kv_cache``
keeps of them and ``rows_attention`` makes of it, ``model`` the whole. It learned from text that
:mod:`sfgen.models.tiny.corpus` writes by rules: sentences and their records, lists, labels, answers, queries and calls,
whose names, words and numbers are drawn so widely that copying them is all that helps, and small talk, stories, facts
and letters besides. It knows nothing else: it is there to show and to test what a constraint does, not to be asked for
advice. :mod:`sfgen.models.tiny.training` makes it again from a seed. These two stand in the repository alone: an
installed wheel has the weights, and not what made them.

The committed weights: 3.87 million parameters (6 layers of width 256, 4 heads of 64), 2 048 tokens (a space is one by
itself, so that a name is spelled alike wherever it stands), a file of 7.7 MB: the running mean after 6 600 steps of 16
rows of 256 tokens, 27 million tokens, made on a shared processor in about two hours and a half. Up to step 3 750 the
text had few templates of a kind; the text as it is now came in between the steps 3 750 and 6 000, from those weights::

    python -m sfgen.models.tiny.training --directory DIR --from-weights OLD --from-step 3750 --steps 6600
    python -m sfgen.models.tiny.training.calibrate DIR/weights 1.15

Copying came between the steps 500 and 750. On sentences, names and words that no training text holds, 200 of each kind
(``python -m tests.bench.tiny``), with the weights of step 3 750 in brackets: 92 (74) in 100 records under their schema
are right, 98 (94) queries under a pattern of the table's columns, 95 (92) calls of one of three tools, and 90 (60)
choices among two to four, where the model must find which of several sentences alike is asked for. Of 100 texts of 60
tokens under a ban of one of its commonest words 100 (59) hold together. It foresees held-back small talk with 1.22 bits
a character (1.34) and stories with 1.36 (1.38). What brought this were more kinds of templates, put together from
clauses, several questions about one text, each with its answer, short answers that count more, prose that says nothing
twice, and then a learning rate that falls to nothing. The last makes it too sure of its own templates: held-back
stories took 1.47 bits before its scores were divided by 1.15.
"""

from __future__ import annotations

from pathlib import Path

DIRECTORY = Path(__file__).parent / "weights"
"""The transformers directory: ``config.json``, ``model.safetensors``, ``tokenizer.json`` and their companions."""
