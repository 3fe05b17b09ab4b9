"""The tokens of a prompt."""

from __future__ import annotations

from collections.abc import Sequence

from sfgen import arguments
from sfgen.decoding.plain_forms import vocabulary_of
from sfgen.errors import UsageError
from sfgen.protocols import Model


def prompt_tokens(model: Model, prompt: str | Sequence[int]) -> Sequence[int]:
    """Return the tokens that the model reads of a prompt.

    Args:
        model: The model.
        prompt: Text, or the ids of its tokens.

    Raises:
        UsageError: Some of these ids are not in the vocabulary.
        SfgenError: The model cannot read the text.
    """
    if isinstance(prompt, str):
        return model.encode(prompt)
    ids = arguments.token_ids("prompt", prompt, "a text or a list of token ids")
    size = len(vocabulary_of(model))
    unknown = [token for token in ids if not 0 <= token < size]
    if unknown:
        raise UsageError(f"the prompt has token {unknown[0]}, but the vocabulary has only {size} tokens")
    return ids
