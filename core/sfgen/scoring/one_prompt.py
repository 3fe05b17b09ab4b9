"""Score some choices after one prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from sfgen import arguments
from sfgen.decoding.batch import batch_of, drive_batch
from sfgen.decoding.plain_forms import model_of
from sfgen.errors import InternalError, SfgenError
from sfgen.models.messages import Prompt, prompt_of
from sfgen.protocols import Model
from sfgen.scoring.choice import ChoiceScore, Scored
from sfgen.scoring.loop import ScoringLoop
from sfgen.scoring.prepare import checked_choices, prepare_scoring


@arguments.with_known_names
def score(model: Model | str | Path, prompt: Prompt, choices: Iterable[str]) -> list[ChoiceScore]:
    """Score choices after a prompt by their probabilities as whole texts.

    Each is the product of the probabilities of its tokens (temperature 1, all tokens) and of an end token behind them,
    of several end tokens together: so ``hot`` is not mixed up with ``hotel``, which begins with it. With a model that
    has no end token the text counts alone, and ``hotel`` is one of the texts of ``hot``. It is one sequence of tokens
    that counts, the one that the tokenizer writes (see ``sfgen.scoring.spelling``), not all that spell the choice.

    Args:
        model: As of ``generate``.
        prompt: As of ``generate``: text, the ids of its tokens, or the messages of a conversation.
        choices: The texts; of equal ones the first counts.

    Returns:
        The score of each choice, the likeliest first, equals in the order of the choices. Their probabilities sum to 1;
        what the model gives to all of them together is the sum of ``exp(logprob)``. Sums are float64.

    Raises:
        UsageError: An argument of another kind, no choice, no token in the prompt, or a choice that the vocabulary
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


def drive_scoring(loop: ScoringLoop, model: Model) -> Scored:
    """Run the scoring loop of a single prompt: a batch of one.

    Args:
        loop: The scoring of the prompt's choices.
        model: What scores their tokens.

    Raises:
        SfgenError: What ends it; see ``score``.
    """
    told: Iterator[tuple[int, Scored | SfgenError]] = drive_batch([loop], batch_of(model, 1))
    for _, event in told:
        if isinstance(event, SfgenError):
            raise event
        return event
    raise InternalError("scoring ended without a result")
