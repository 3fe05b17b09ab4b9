"""The models on this machine, found without importing anything heavy: only names and sizes of files are looked at.

``hub_cache`` looks into the cache of the Hugging Face hub, ``folders`` at files and directories, ``ollama`` at what
Ollama has downloaded; ``near`` says which of them a wrong name may have meant.
"""

from __future__ import annotations

from sfgen.models.inventory.found import BUILT_IN, FoundModel, built_in_models
from sfgen.models.inventory.here import models_here

__all__ = ["BUILT_IN", "FoundModel", "built_in_models", "models_here"]
