"""Models: anything that scores the next token. ``kinds_of_models`` finds one by name; ``spec`` is a name not loaded.

``transformers_model`` is any transformers causal model, by its name or loaded by the caller: ``location`` finds its
files, ``weight_files`` names them, ``checkpoint`` loads them, ``configuration`` and ``device`` say whether and where it
runs, ``prompt`` makes token ids of text and ``messages``. ``transformers_session`` reads one text with it,
``kv_cache_rewind`` takes tokens back, ``transformers_batch`` reads several texts at once (``batched_kv_cache``). Both
run forward passes by ``transformers_forward``; ``transformers_internals`` alone uses undocumented parts of
transformers.

``gguf`` is a GGUF file, run by llama.cpp, without torch and transformers. ``tiny`` is the small model that comes with
the package and runs in numpy. ``uniform`` has no preference; ``zip_model`` makes a compressor a model. ``sessions`` has
the code that all models share, ``cpu_threads`` chooses their number of threads, ``inventory`` lists the models on this
machine.
"""

from __future__ import annotations

from sfgen.models.kinds_of_models import load_model, load_vocabulary

__all__ = ["load_model", "load_vocabulary"]
