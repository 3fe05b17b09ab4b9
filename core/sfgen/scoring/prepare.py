"""The scoring loop of one prompt: made from a model, a prompt and choices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sfgen import arguments
from sfgen.decoding.plain_forms import vocabulary_of
from sfgen.decoding.prompt_tokens import prompt_tokens
from sfgen.errors import InputError, UsageError
from sfgen.models.messages import ChatPrompt
from sfgen.protocols import Model
from sfgen.scoring.loop import ScoringLoop
from sfgen.scoring.spelling import Spelling


def checked_choices(choices: Iterable[str]) -> tuple[str, ...]:
    """Check the choices, and drop those that occur twice.

    Raises:
        UsageError: There is none, or one of them is not text.
    """
    texts = tuple(dict.fromkeys(arguments.texts("choices", choices)))
    if not texts:
        raise UsageError("choices is an empty list: there is nothing to score")
    for text in texts:
        if arguments.utf8("choices", text) is None:
            raise UsageError(f"the choice {text!r} contains a surrogate code point, which is not text")
    return texts


def prepare_scoring(model: Model, prompt: str | Sequence[int], choices: Sequence[str]) -> ScoringLoop:
    """Make the scoring loop of one prompt, for a driver to run.

    Args:
        model: The model.
        prompt: Text, or the ids of its tokens.
        choices: What ``checked_choices`` gave.

    Raises:
        UsageError: The prompt has a token that the vocabulary has not, or a choice cannot be written.
        InputError: The prompt and a choice are longer than the model's context.
        SfgenError: The model cannot read the prompt.
    """
    vocabulary = vocabulary_of(model)
    prompt_ids = tuple(prompt_tokens(model, prompt))
    if not prompt_ids:
        raise UsageError("the prompt has no token, so nothing tells what may come first")
    if isinstance(prompt, ChatPrompt) and prompt.begun is not None and tuple(model.encode(prompt.text)) == prompt_ids:
        prompt = prompt.text  # whose end is text that the tokenizer may join with a choice
    spelled = Spelling(model, prompt, prompt_ids).spelled(choices)
    context: int | None = getattr(model, "context_length", None)
    # The last token is read too where an end token may follow it.
    longest = len(spelled.root) + max(map(len, spelled.choices)) - (0 if vocabulary.end_token_ids else 1)
    if context is not None and longest > context:
        name = getattr(model, "name", "the model")
        raise InputError(
            f"the prompt and a choice are longer than {name} can read: {longest} tokens, its context holds {context}",
            hint="Give a shorter prompt, or use a model with a longer context.",
        )
    return ScoringLoop(vocabulary, choices, spelled, len(prompt_ids))
