"""Models: anything that scores the next token. ``load_by_name`` finds one; ``spec`` is a name that is not loaded yet.

``transformers_model`` is any transformers causal model, by its name or loaded by the caller: ``location`` finds its
files, ``weight_files`` names them, ``checkpoint`` loads them, ``configuration`` and ``device`` say whether and where it
runs, ``prompt`` makes token ids of text and ``messages``. ``transformers_session`` reads one text with it,
``kv_cache_rewind`` takes tokens back, ``transformers_batch`` reads several texts at once (``batched_kv_cache``);
``transformers_forward`` is what both do around a forward pass, ``transformers_internals`` what transformers does not
document.

``gguf`` is a GGUF file, run by llama.cpp, which neither torch nor transformers is needed for. ``tiny`` is the small
model that comes with the package, which runs in numpy. ``uniform`` has no preference; ``zip_model`` makes a compressor
a model. ``sessions`` is what all models share, ``cpu_threads`` their number of threads, ``inventory`` lists the models
on this machine.
"""

from __future__ import annotations

from sfgen.models.load_by_name import load_model, load_vocabulary

__all__ = ["load_model", "load_vocabulary"]
