"""Generate a text, whole or event by event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sfgen.decoding.batch import drive
from sfgen.decoding.config import GenerationConfig, by_config
from sfgen.decoding.events import Event, Finished, Result
from sfgen.decoding.prepare import loop_of
from sfgen.errors import InternalError
from sfgen.protocols import Model


@by_config(GenerationConfig)
def stream(model: Model, prompt: str | Sequence[int], config: GenerationConfig) -> Iterator[Event]:
    """Generate one text, event by event.

    Args:
        model: What ``load_model`` returns, or anything with ``vocabulary``, ``encode(text)`` and ``session()``; a
            ``context_length`` of it bounds the prompt and ``max_tokens``. Or the name of one, which is loaded at each
            call anew: ``"tiny"``, a directory, a hub id.
        prompt: Text, or the ids of its tokens; or the messages of a conversation, ``[{"role": "user", "content":
            "Hi!"}]``, which the model's own chat template writes. For several prompts there is ``job_records``.
        config: The parameters below as one ``GenerationConfig``; parameters given by name take precedence over it. Its
            documentation describes them in full.
        index: The constraint of the text, over the model's vocabulary: an ``Index`` or another source of guides; or
            without vocabulary: a pattern, a ``Dfa``, ``JsonSchema``, ``Grammar`` or ``Template``. If neither it nor one
            of the next six is given, the text is free.
        constraint: Another name of ``index``.
        regex: A pattern of Python's ``re`` that the whole text must match.
        choices: Texts of which the text must be one.
        schema: The schema of the JSON to write: a dict, a type that pydantic reads, JSON, ``"name, age int"``, or a
            path. ``result.value`` is the JSON then, ``result.parsed`` an instance of the type.
        grammar: A grammar of Lark or GBNF, as text or as the ``Path`` of its file.
        template: Text with holes, such as ``"{{name: regex [A-Z][a-z]+}} is here."``, or the ``Path`` of its file.
        banned: Words and phrases that the text must not contain: a list, or a ``BannedWords``.
        word_bias: Words and phrases that are less likely: ``{"talk": -2}``, a bias of at most 0 for each occurrence.
        sampler: A ``Sampler``, which chooses tokens; without, the choice is greedy. The next parameters override it.
        temperature: 0 is greedy, which is the default; 1 draws from the model as it is, and is the default where one of
            the next four is given.
        seed: The seed of the random numbers; drawn by chance if absent.
        top_k: The most tokens to choose from.
        top_p: The probability that the tokens to choose from must reach, from 0 to 1.
        min_p: The least probability of a token, as a share of the most likely one's.
        logit_bias: Numbers to add to the scores of some tokens, by their ids.
        frequency_penalty: The number to subtract from the score of a token for each time that the text has it.
        presence_penalty: The number to subtract, once, from the score of a token that the text has.
        repetition_penalty: The divisor of the positive scores of tokens that text or prompt have; 1 leaves them.
        stop: The text ends before this, or before the first of several; without a constraint only.
        max_tokens: The most tokens to generate. With a constraint the text is complete nevertheless.
        after: Free text comes first, a thought, which ends with this; the text begins after it.
        after_tokens: The most tokens of the thought; ``None``: any number.
        after_counts: Whether ``max_tokens`` counts the thought, too.
        when: The text is free, and each of these is followed by a text of the constraint.
        strategy: The reaction to a banned word: ``"resample"``, ``"first-token"`` or ``"mask"``. ``"exact"``: the text
            is drawn as a whole, on condition that all of it is allowed.
        max_rollbacks: The most rollbacks; after them generation fails. It also fails after a tenth of them, 300 at
            least, in a row in which the text has not grown.
        max_block: Under ``resample``, the most tokens that are drawn again as one.
        max_passes: Under ``exact``, the most prefixes that the model scores.
        max_memory: Under ``exact``, the bytes that kept scores may take.
        fast_forward: Whether text that must follow needs no forward pass.
        heal: Whether the end of the prompt may be written again by longer tokens; ``None``: where it is white space.
        hold: Whether no text is released before the end, so that a rollback may go back as far as it takes.
        observe: Whether ``TokenChosen`` events have the model's likeliest tokens.
        logprobs: Whether ``result.logprobs`` has the log-probabilities of each token.

    Yields:
        Events; the last is ``Finished`` with the result. The texts of the ``TextReleased`` events, joined, are the
        result's text, and nothing in them is ever taken back.

    Raises:
        InputError: The prompt is longer than the model's context.
        LimitTooSmall: ``max_tokens``, or the room in the context, is too small for the shortest match.
        UsageError: As ``GenerationConfig``; or the index belongs to another vocabulary, or the model has no chat
            template, or not for all roles.
        UnknownParameter: A keyword is none of these.
        SfgenError: As ``load_model``, ``Dfa.from_regex``, ``JsonSchema``, ``Index`` and ``BannedWords``, for arguments
            in a plain form.
        BannedWordsError: Every match of the index has a banned word. The call itself raises this error and those above,
            before there is a session.
        DeadEnd: Nothing that is allowed can follow.
        GenerationError: More rollbacks than ``max_rollbacks``; or, with an engine that does not look ahead,
            ``max_tokens`` is reached before the text is a match.
        ModelError: The model's scores cannot be used.
        InternalError: The finished text breaks a guarantee: a fault of sfgen. Then there is no result, but a stream has
            yielded its ``TextReleased`` events before.
    """
    return drive(loop_of(model, prompt, config), model)


@by_config(GenerationConfig)
def generate(model: Model, prompt: str | Sequence[int], config: GenerationConfig) -> Result:
    """Generate one text.

    Args:
        model: What ``load_model`` returns, or anything with ``vocabulary``, ``encode(text)`` and ``session()``; a
            ``context_length`` of it bounds the prompt and ``max_tokens``. Or the name of one, which is loaded at each
            call anew: ``"tiny"``, a directory, a hub id.
        prompt: Text, or the ids of its tokens; or the messages of a conversation, ``[{"role": "user", "content":
            "Hi!"}]``, which the model's own chat template writes. For several prompts there is ``job_records``.
        config: The parameters below as one ``GenerationConfig``; parameters given by name take precedence over it. Its
            documentation describes them in full.
        index: The constraint of the text, over the model's vocabulary: an ``Index`` or another source of guides; or
            without vocabulary: a pattern, a ``Dfa``, ``JsonSchema``, ``Grammar`` or ``Template``. If neither it nor one
            of the next six is given, the text is free.
        constraint: Another name of ``index``.
        regex: A pattern of Python's ``re`` that the whole text must match.
        choices: Texts of which the text must be one.
        schema: The schema of the JSON to write: a dict, a type that pydantic reads, JSON, ``"name, age int"``, or a
            path. ``result.value`` is the JSON then, ``result.parsed`` an instance of the type.
        grammar: A grammar of Lark or GBNF, as text or as the ``Path`` of its file.
        template: Text with holes, such as ``"{{name: regex [A-Z][a-z]+}} is here."``, or the ``Path`` of its file.
        banned: Words and phrases that the text must not contain: a list, or a ``BannedWords``.
        word_bias: Words and phrases that are less likely: ``{"talk": -2}``, a bias of at most 0 for each occurrence.
        sampler: A ``Sampler``, which chooses tokens; without, the choice is greedy. The next parameters override it.
        temperature: 0 is greedy, which is the default; 1 draws from the model as it is, and is the default where one of
            the next four is given.
        seed: The seed of the random numbers; drawn by chance if absent.
        top_k: The most tokens to choose from.
        top_p: The probability that the tokens to choose from must reach, from 0 to 1.
        min_p: The least probability of a token, as a share of the most likely one's.
        logit_bias: Numbers to add to the scores of some tokens, by their ids.
        frequency_penalty: The number to subtract from the score of a token for each time that the text has it.
        presence_penalty: The number to subtract, once, from the score of a token that the text has.
        repetition_penalty: The divisor of the positive scores of tokens that text or prompt have; 1 leaves them.
        stop: The text ends before this, or before the first of several; without a constraint only.
        max_tokens: The most tokens to generate. With a constraint the text is complete nevertheless.
        after: Free text comes first, a thought, which ends with this; the text begins after it.
        after_tokens: The most tokens of the thought; ``None``: any number.
        after_counts: Whether ``max_tokens`` counts the thought, too.
        when: The text is free, and each of these is followed by a text of the constraint.
        strategy: The reaction to a banned word: ``"resample"``, ``"first-token"`` or ``"mask"``. ``"exact"``: the text
            is drawn as a whole, on condition that all of it is allowed.
        max_rollbacks: The most rollbacks; after them generation fails. It also fails after a tenth of them, 300 at
            least, in a row in which the text has not grown.
        max_block: Under ``resample``, the most tokens that are drawn again as one.
        max_passes: Under ``exact``, the most prefixes that the model scores.
        max_memory: Under ``exact``, the bytes that kept scores may take.
        fast_forward: Whether text that must follow needs no forward pass.
        heal: Whether the end of the prompt may be written again by longer tokens; ``None``: where it is white space.
        hold: Whether no text is released before the end, so that a rollback may go back as far as it takes.
            It is always on here: nobody reads the text before.
        observe: Whether ``TokenChosen`` events have the model's likeliest tokens.
        logprobs: Whether ``result.logprobs`` has the log-probabilities of each token.

    Returns:
        The result: its ``text``, its ``finish_reason``, its ``value`` where it is JSON, and more.

    Raises:
        SfgenError: As ``stream``.
        InternalError: As ``stream``: a fault of sfgen.

    >>> generate("uniform", regex="[0-9]{3}", seed=7).text
    '034'
    """
    config = config if config.hold else replace(config, hold=True)
    for event in drive(loop_of(model, prompt, config), model):
        if isinstance(event, Finished):
            return event.result
    raise InternalError("generation ended without a result")
