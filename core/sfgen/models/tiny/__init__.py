"""The embedded model: a small transformer that comes with the package, so that everything works without a download.

A Llama-architecture model of under four million parameters with a byte-level BPE tokenizer of its own, in float16, as
an ordinary transformers directory. Its architecture is fixed, so it runs without torch: ``network`` is the forward pass
in numpy, ``kv_cache`` its keys and values, ``session`` reads one text, ``batch`` several, ``model`` is the model
itself. It learned to copy names, words and numbers out of its prompt, from text written by rules. It knows nothing
else: its purpose is to show and to test the effect of a constraint, not to answer questions. ``core/training`` in the
repository makes it, and says how; no wheel has that folder.
"""

from __future__ import annotations

from pathlib import Path

DIRECTORY = Path(__file__).parent / "weights"
"""The transformers directory: ``config.json``, ``model.safetensors``, ``tokenizer.json`` and their companions."""
