"""Score some choices after one prompt: the function for users, the preparation of its loop, and the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sfgen import arguments
from sfgen.decoding.batch import batch_of, drive_batch
from sfgen.decoding.plain_forms import model_of, prompt_tokens, vocabulary_of
from sfgen.errors import InputError, InternalError, SfgenError, UsageError
from sfgen.models.messages import ChatPrompt, Prompt, prompt_of
from sfgen.protocols import Model
from sfgen.scoring.loop import ChoiceScore, Scored, ScoringLoop
from sfgen.scoring.spelling import Spelling


@arguments.with_known_names
def score(model: Model | str | Path, prompt: Prompt, choices: Iterable[str]) -> list[ChoiceScore]:
    """Score choices after a prompt by their probabilities as whole texts.

    The probability of a choice is the product of the probabilities of its tokens (temperature 1, no truncation) and of
    an end token after them, several end tokens taken together: so ``hotel`` does not count for ``hot``, with which it
    begins. If a model has no end token, the end does not count, and the probability of ``hot`` includes ``hotel``. Only
    one sequence of tokens counts, the one that the tokenizer writes (see ``sfgen.scoring.spelling``), not all that
    spell the choice.

    Args:
        model: As of ``generate``.
        prompt: As of ``generate``: text, the ids of its tokens, or the messages of a conversation.
        choices: The texts; duplicates are dropped.

    Returns:
        The score of each choice, the likeliest first, equals in the order of the choices. Their probabilities sum to 1;
        the model's probability of all of them together is the sum of ``exp(logprob)``. Sums are float64.

    Raises:
        UsageError: An argument of a wrong type, no choice, no token in the prompt, or a choice that the vocabulary
            cannot write.
        InputError: The prompt and a choice are longer than the model's context.
        ModelError: The model's scores cannot be used, or none of the choices has any probability.
        SfgenError: As ``load_model``.

    >>> from sfgen import load_model
    >>> [(choice.text, round(choice.probability, 3)) for choice in score("uniform", "It is ", ["hot", "hotel"])]
    [('hot', 1.0), ('hotel', 0.0)]
    """
    model = model_of(model)
    loop = prepare_scoring(model, prompt_of(model, prompt), checked_choices(choices))
    return list(drive_scoring(loop, model).scores)


def checked_choices(choices: Iterable[str]) -> tuple[str, ...]:
    """Check the choices, and drop those that occur twice."""
    texts = tuple(dict.fromkeys(arguments.text_list("choices", choices)))
    if not texts:
        raise UsageError("choices is an empty list: there is nothing to score")
    for text in texts:
        if arguments.utf8("choices", text) is None:
            raise UsageError(f"the choice {text!r} contains a surrogate code point, which is not text")
    return texts


def prepare_scoring(model: Model, prompt: str | Sequence[int], choices: Sequence[str]) -> ScoringLoop:
    """Make the scoring loop of one prompt, for a driver to run."""
    vocabulary = vocabulary_of(model)
    prompt_ids = tuple(prompt_tokens(model, prompt))
    if not prompt_ids:
        raise UsageError("the prompt has no token, so the first token of a choice has no scores")
    if isinstance(prompt, ChatPrompt) and prompt.begun is not None and tuple(model.encode(prompt.text)) == prompt_ids:
        prompt = prompt.text  # the tokenizer may join its end with a choice
    spelled = Spelling(model, prompt, prompt_ids).spelled(choices)
    context: int | None = getattr(model, "context_length", None)
    # The last token is also read if an end token may follow it.
    longest = len(spelled.root) + max(map(len, spelled.choices)) - (0 if vocabulary.end_token_ids else 1)
    if context is not None and longest > context:
        name = getattr(model, "name", "the model")
        raise InputError(
            f"the prompt and a choice are longer than {name} can read: {longest} tokens, its context holds {context}",
            hint="Give a shorter prompt, or use a model with a longer context.",
        )
    return ScoringLoop(vocabulary, choices, spelled, len(prompt_ids))


def drive_scoring(loop: ScoringLoop, model: Model) -> Scored:
    """Run the scoring loop of a single prompt: a batch of one."""
    told: Iterator[tuple[int, Scored | SfgenError]] = drive_batch([loop], batch_of(model, 1))
    for _, event in told:
        if isinstance(event, SfgenError):
            raise event
        return event
    raise InternalError("scoring ended without a result")
