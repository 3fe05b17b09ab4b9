r"""Processors for ``model.generate(...)`` of transformers.

::

    processor = GuidedLogitsProcessor(index, max_tokens=40)
    model.generate(**inputs, max_new_tokens=40, logits_processor=[processor])

They look at the ids alone, so they work with batches, padding on either side, greedy search, sampling, beams and
several sequences for a prompt. Scores of tokens that may not follow become minus infinity; the others stay as they are.

* **The limit.** ``generate`` cuts a text at ``max_new_tokens``, a number that processors cannot see. Give the processor
  the same number as ``max_tokens``: then every text is complete in time. Without it, a text that is cut may be an
  incomplete match, or end in a banned word that would have become another one (``talk`` of *talking*).
* **The end.** The end tokens are those of the vocabulary, all of them. ``Vocabulary.from_pretrained`` reads all that
  the files of a model name; ``generate`` stops at those of its generation configuration, and after any other end token
  it writes only end tokens. Give it the same: ``eos_token_id=list(vocabulary.end_token_ids)``.
* **One call after another.** A processor can be used again, as it sees from the ids that a new text begins. There is
  one case in which it cannot: the prompt is exactly what the last call returned (or that and one more token). That
  counts as the same text; to begin a new one, call ``reset()`` before. If it cannot be determined, an error is raised.
  A processor is for one ``generate`` at a time; the index in it can be shared by many.
* **Other processors.** Processors after it must not raise scores of minus infinity. If processors before it exclude all
  tokens that it allows (``min_new_tokens`` beside a short pattern, ``forced_bos_token_id``), that is a ``DeadEnd``.
* **Beams.** If fewer texts match than beams are asked for, transformers fills up with repeated texts or empty rows;
  their ``sequences_scores`` are below -1e6.
* **Encoder-decoder models** work: the decoder's first tokens are the prompt. Assisted generation and continuous
  batching (``generate_batch``) do not.

``generate`` calls a processor before each token with the ids of all rows: the prompt, and what was written. It does not
pass the end of the prompt or the begin of a new text, and a beam search copies and exchanges the rows of a prompt. So
``RowTracker`` finds the state of a row by its ids: without the last one they equal those of a row of the previous call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from sfgen.errors import DeadEnd, UsageError

try:
    import torch
    from torch import Tensor
    from transformers import LogitsProcessor
except ImportError as error:
    raise UsageError(f"transformers cannot be imported: {error}", hint="pip install 'sfgen[transformers]'") from error

from sfgen import arguments
from sfgen.ban import BannedWords
from sfgen.decoding.plain_forms import banned_of
from sfgen.integrations.guided import Banned, Guided
from sfgen.integrations.masks import Caps, dead_rows, masked, widest
from sfgen.integrations.state import BatchRow, Rule, Stage, refuse_healing
from sfgen.protocols import GuideSource
from sfgen.vocabulary import Vocabulary

__all__ = ["BannedWordsLogitsProcessor", "GuidedLogitsProcessor"]


class _Processor(LogitsProcessor):
    """The common part of both processors: it follows the rows, and masks the scores."""

    supports_continuous_batching = False

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._rows = RowTracker(rule)
        self._masks: Caps | None = None

    def reset(self) -> None:
        """Forget the texts so far: the next call brings prompts."""
        self._rows.reset()

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Mask the scores of the next token of each row.

        Args:
            input_ids: int64 ``[rows, length]``: prompts, padded to one length, and what was written after them.
            scores: float ``[rows, width]``, logits or log-probabilities, on any device.

        Returns:
            The scores, with minus infinity for tokens that may not follow: float ``[rows, width]``, a new tensor.

        Raises:
            DeadEnd: No token may follow in some row.
            UsageError: The scores are not those of the vocabulary, or it cannot be determined whether new texts begin.
        """
        caps = self._caps_for(input_ids, scores)
        rows = self._rows.rows(input_ids)
        masks = [self._rule.mask(row) for row in rows]
        allowed = masked(scores, [None if mask is None else caps.cap(mask) for mask in masks])
        for number in dead_rows(allowed):
            if rows[number].stage is Stage.OPEN:
                raise self._dead_end(input_ids, rows[number], number, caps)
            allowed[number] = scores[number]  # the row has ended: some scores must remain, any will do
        return allowed

    def _caps_for(self, input_ids: Tensor, scores: Tensor) -> Caps:
        """The caps for scores like these."""
        caps = self._masks
        arguments.instance("input_ids", input_ids, Tensor)
        arguments.instance("scores", scores, Tensor)
        if input_ids.dim() != 2 or scores.dim() != 2 or len(input_ids) != len(scores) or not len(scores):
            raise UsageError(
                f"ids of shape {list(input_ids.shape)} and scores of shape {list(scores.shape)} are not those of a "
                "batch: [rows, length] and [rows, tokens] are needed"
            )
        if caps is None or not caps.fit(scores):
            self._check_width(scores.shape[1])
            caps = self._masks = Caps(scores)
        return caps

    def _check_width(self, width: int) -> None:
        """Check the width of scores: an output layer may have surplus rows, and lack rows of special tokens."""
        vocabulary, size = self._rule.vocabulary, len(self._rule.vocabulary)
        lacks_text = any(token is not None for token in vocabulary.tokens[width:])
        lacks_end = any(token >= width for token in vocabulary.end_token_ids)
        if lacks_text or lacks_end or width > widest(size):
            raise UsageError(
                f"the model scores {width:,} tokens, but the vocabulary has {size:,}",
                hint="Make the index with the vocabulary of this model: Vocabulary.from_pretrained(its directory), or "
                f"Vocabulary.from_tokenizer(its tokenizer, size={width}).",
            )

    def _dead_end(self, input_ids: Tensor, row: BatchRow, number: int, caps: Caps) -> DeadEnd:
        mask = self._rule.mask(row)
        count = caps.width if mask is None else int((caps.cap(mask) > 0).sum())
        tokens, ids = self._rule.vocabulary.tokens, input_ids[number, self._rows.prompt_length :].tolist()
        written = b"".join(tokens[token] or b"" for token in ids if 0 <= token < len(tokens)).decode("utf-8", "replace")
        where = f"after {written[-60:]!r} (row {number})"
        if count:
            return DeadEnd(
                f"nothing may follow {where}: of {count:,} allowed tokens none has a score above minus infinity",
                hint="Another processor or an option of generate() has ruled them out.",
            )
        return DeadEnd(
            f"nothing may follow {where}: {self._rule.dead_end(row.guide)}",
            hint="sfgen.generate can take tokens back, and ends a text without an end token.",
        )


class GuidedLogitsProcessor(_Processor):
    """A logits processor that allows only the tokens of a constraint.

    Args:
        index: The constraint of the text after the prompt, for the model's vocabulary: an ``sfgen.Index``, or another
            source of guides (``sfgen.index.Chain``, an engine of ``sfgen.reference``).
        banned: The words that it must not contain, read by itself or after the prompt: a ``BannedWords``, or a list of
            words.
        max_tokens: The most tokens of the text, without the end token: ``generate``'s ``max_new_tokens``.
        heal: True is refused: no processor can heal the end of a prompt (``sfgen.decoding.healing``).

    Raises:
        LimitTooSmall: No match can be written with ``max_tokens`` tokens.
        UsageError: An argument of a wrong type.

    Besides the errors of ``_Processor.__call__``, a call raises ``BannedWordsError`` if every match has a banned word,
    ``UsageError`` if too many words are banned to be taken out of the strings of a schema, and ``GenerationError`` if
    an engine that does not look ahead comes to the limit before the text is a match.

    No text has a banned word, whatever the constraint. A token after which only banned text could follow is excluded if
    that is known: always for patterns, choices and other regular constraints; for others unless it depends on the depth
    of nested rules or on counts. If it was not known, a later position may have no allowed token, which is a
    ``DeadEnd``.

    >>> import sfgen
    >>> from sfgen.models.tiny import DIRECTORY
    >>> from transformers import AutoTokenizer
    >>> model = sfgen.load_model(DIRECTORY, device="cpu")
    >>> tokenizer = AutoTokenizer.from_pretrained(DIRECTORY)
    >>> index = sfgen.Index(sfgen.Dfa.from_regex("[0-9]{4}-(0[1-9]|1[0-2])"), model.vocabulary)
    >>> inputs = tokenizer(["Date: ", "The letter is from "], return_tensors="pt", padding=True, padding_side="left")
    >>> ids = model.model.generate(
    ...     **inputs, max_new_tokens=8, do_sample=False, logits_processor=[GuidedLogitsProcessor(index, max_tokens=8)]
    ... )
    >>> texts = tokenizer.batch_decode(ids[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    >>> [index.accepts(text.encode()) for text in texts]
    [True, True]
    """

    def __init__(
        self,
        index: GuideSource,
        *,
        banned: BannedWords | Iterable[str] | None = None,
        max_tokens: int | None = None,
        heal: bool | None = None,
    ) -> None:
        refuse_healing(heal)
        hint = "Make one: sfgen.Index(dfa, vocabulary)."
        arguments.given("index", index, "an sfgen.Index", "vocabulary", "guide", "refusal", hint=hint)
        super().__init__(Guided(index, banned_of(banned), _limit(max_tokens)))


class BannedWordsLogitsProcessor(_Processor):
    """A logits processor that keeps banned words out of the text.

    No token that completes a banned match is allowed, however the word is divided into tokens: the ``mask`` strategy of
    ``sfgen.generate``. As tokens cannot be taken back here, dead tokens are excluded, too: tokens that begin a
    character of which every ending completes a match. The text is read by itself and after the prompt; a match inside
    the prompt is ignored. Special tokens of the prompt, padding among them, are boundaries; in the text they count as
    empty.

    It only masks: ``generate`` of transformers cannot take tokens back. So texts with the beginning of a banned word
    are likelier than in the model's own distribution of clean texts: over many small models the mean total variation
    between both is 0.152, and 0.011 if tokens are taken back, as ``sfgen.generate`` does by default. It can use the
    same model::

        model = sfgen.from_transformers(model, tokenizer)
        text = sfgen.generate(model, "Can we talk?", banned=["talk", "listen"], temperature=1).text

    Args:
        banned: The banned words: a ``BannedWords``, or a list of words.
        vocabulary: The model's tokens.
        max_tokens: ``generate``'s ``max_new_tokens``: a banned word must not end there either.
        heal: True is refused: no processor can heal the end of a prompt (``sfgen.decoding.healing``).

    Raises:
        UsageError: An argument of a wrong type, or ``heal`` is true.

    >>> import sfgen
    >>> from sfgen.models.tiny import DIRECTORY
    >>> from transformers import AutoTokenizer
    >>> model = sfgen.load_model(DIRECTORY, device="cpu")
    >>> tokenizer = AutoTokenizer.from_pretrained(DIRECTORY)
    >>> banned = sfgen.BannedWords(["talk", "listen"])
    >>> inputs = tokenizer("Can we talk?", return_tensors="pt")
    >>> ids = model.model.generate(
    ...     **inputs, max_new_tokens=20, num_beams=4, do_sample=False,
    ...     logits_processor=[BannedWordsLogitsProcessor(banned, model.vocabulary, max_tokens=20)],
    ... )
    >>> text = tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    >>> sfgen.ban.scan(text, banned, prompt="Can we talk?")
    []
    """

    def __init__(
        self,
        banned: BannedWords | Iterable[str],
        vocabulary: Vocabulary,
        *,
        max_tokens: int | None = None,
        heal: bool | None = None,
    ) -> None:
        refuse_healing(heal)
        arguments.instance("vocabulary", vocabulary, Vocabulary, hint="A model has one: model.vocabulary.")
        banned, max_tokens = BannedWords.of(banned), _limit(max_tokens)
        super().__init__(Banned(banned, vocabulary, max_tokens))


def _limit(max_tokens: int | None) -> int | None:
    return None if max_tokens is None else arguments.whole_number("max_tokens", max_tokens, least=0)


_Key = tuple[int, bytes]
"""The number of the prompt, and the ids written after it."""


class RowTracker:
    """A tracker of each row's position, from call to call.

    A call belongs to the same texts as the call before if each of its rows is one of those rows with one more token.
    Else new texts begin, and all ids are prompts. Two cases are ambiguous:

    * Rows that begin with an earlier prompt, but are not longer than the rows of the last call: either texts that begin
      anew in the middle of the old ones, or rejected candidates (assisted generation). That is an error.
    * Prompts that are exactly what the last call of ``generate`` returned: they count as the same texts.
    """

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._end_tokens = frozenset(rule.vocabulary.end_token_ids)
        self.reset()

    def reset(self) -> None:
        """Forget everything: new texts begin with the next call."""
        self._prompts: Tensor | None = None  # int64 [rows, length]
        self._groups: list[int] = []  # for each row, the number of the first one with the same prompt
        self._length = 0  # number of ids of a row at the last call
        self._rows: dict[_Key, BatchRow] = {}  # the rows of the last call

    def rows(self, input_ids: Tensor) -> list[BatchRow]:
        """Return the state of each row of ids, int ``[rows, length]``; equal rows are one object."""
        keys = self._continued(input_ids)
        if keys is None:
            return self._begin(input_ids)
        parents = dict(zip(keys, self._before(keys, input_ids), strict=True))
        children = Counter(parents.values())
        tokens = dict(zip(keys, input_ids[:, -1].tolist(), strict=True))
        rows: dict[_Key, BatchRow] = {}
        went_on = False
        for key, before in parents.items():
            parent = self._rows[before]
            children[before] -= 1
            # The last child takes the guide of its parent.
            rows[key] = self._after(parent, tokens[key], fork=children[before] > 0)
            went_on |= parent.stage is not Stage.OPEN or rows[key].stage is not Stage.STRAYED
        if not went_on:  # no row has got an allowed token: these are new prompts, one token longer than the rows
            return self._begin(input_ids)
        self._rows, self._length = rows, input_ids.shape[1]
        return [rows[key] for key in keys]

    @property
    def prompt_length(self) -> int:
        """The length of the prompts, in tokens with padding."""
        return 0 if self._prompts is None else self._prompts.shape[1]

    def _after(self, parent: BatchRow, token_id: int, *, fork: bool) -> BatchRow:
        """A row one token later; without ``fork`` it takes the guide of its parent."""
        if fork and parent.stage is not Stage.STRAYED:
            parent = BatchRow(parent.guide.fork(), parent.stage)
        return parent.after(token_id, self._end_tokens)

    def _begin(self, input_ids: Tensor) -> list[BatchRow]:
        self._rule.new_texts()
        prompts = input_ids.tolist()
        first: dict[tuple[int, ...], int] = {}
        self._groups = [first.setdefault(tuple(prompt), number) for number, prompt in enumerate(prompts)]
        self._prompts = input_ids.detach().clone()  # its owner may change it
        self._length = input_ids.shape[1]
        rows = {number: BatchRow(self._rule.guide(prompts[number])) for number in first.values()}
        self._rows = {(number, b""): row for number, row in rows.items()}
        return [rows[number] for number in self._groups]

    def _continued(self, input_ids: Tensor) -> list[_Key] | None:
        """The keys of the rows if they continue the texts of the last call; ``None``: new texts begin."""
        prompts, (count, length) = self._prompts, input_ids.shape
        if prompts is None or count != len(prompts):
            return None
        start = prompts.shape[1]
        if not start < length <= self._length + 1 or prompts.dtype != input_ids.dtype:
            return None
        if not torch.equal(input_ids[:, :start], prompts.to(input_ids.device)):
            return None
        written = input_ids[:, start:].cpu().numpy()
        keys = [(group, row.tobytes()) for group, row in zip(self._groups, written, strict=True)]
        before = self._before(keys, input_ids)
        if length == self._length + 1:
            return keys if all(key in self._rows for key in before) else None
        if all(self._is_prefix(key) for key in before):
            raise UsageError(
                "it cannot be determined whether a new text begins: these ids continue the last prompt, "
                "and are not longer than the last text",
                hint="Call reset() before a generate() whose prompt is a part of the text before. "
                "Assisted generation (assistant_model, prompt_lookup_num_tokens) is not supported.",
            )
        return None

    @staticmethod
    def _before(keys: Sequence[_Key], input_ids: Tensor) -> list[_Key]:
        """The keys without their last token."""
        size = input_ids.element_size()
        return [(group, written[:-size]) for group, written in keys]

    def _is_prefix(self, key: _Key) -> bool:
        group, written = key
        return any(other == group and longer.startswith(written) for other, longer in self._rows)
