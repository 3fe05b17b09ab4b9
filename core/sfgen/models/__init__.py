"""Models: anything that scores the next token. ``load`` finds one by name, ``from_transformers`` takes a loaded one.

``transformers_model`` is any transformers causal model: ``checkpoint`` finds and loads it by name, ``architecture`` and
``device`` say whether and where it runs, ``prompt`` makes token ids of text (``transformers_tokenizer``,
``chat_template``), ``weights`` loads it, ``transformers_session`` reads one text with it (``transformers_cache`` takes
tokens back, ``rotary`` watches positions that depend on the length), ``transformers_batch`` several at once
(``batched_kv_cache``). ``partial_lm_head`` scores a few tokens only, ``every_position`` all tokens after each token
read, ``separate_rows`` makes do with a model that can do less.

``gguf`` is a GGUF file, run by llama.cpp, which neither torch nor transformers is needed for.

``uniform`` has no preference, over a tokenizer or over ``characters``; ``zip_model`` makes a compressor a model;
``tiny`` is the small model that comes with the package, which runs in numpy. ``readable`` says what no model can read.
``inventory`` lists the models on this machine.
"""

from __future__ import annotations

from sfgen.models.load import load_model, load_vocabulary

__all__ = ["load_model", "load_vocabulary"]
