"""The tokenizer: byte-level BPE in which a word is spelled alike wherever it stands.

A space, a digit, a punctuation mark and a line break are tokens by themselves, and never part of a word's tokens. So
the name in a record has the tokens that it has in the sentence before, whether a space, a quote or nothing comes first;
to copy it is to write the same tokens again. The price is a token for each space.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

BEGIN, END = "<|begin|>", "<|end|>"
VOCABULARY_SIZE = 2048
_PIECES = r"\p{L}\p{M}*(?:\p{L}|\p{M})*| +|\n+|\p{N}|[^\p{L}\p{N} \n]"


def train_tokenizer(texts: Iterable[str]) -> Any:
    """Train a byte-level BPE tokenizer (Sennrich et al. 2016)."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        special_tokens=[BEGIN, END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A",
        pair=f"{BEGIN} $A {BEGIN} $B",
        special_tokens=[(BEGIN, tokenizer.token_to_id(BEGIN))],
    )
    return tokenizer


def save_tokenizer(tokenizer: Any, directory: Path, *, length: int) -> None:
    """Write the tokenizer for transformers."""
    from transformers import PreTrainedTokenizerFast

    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        bos_token=BEGIN,
        eos_token=END,
        pad_token=END,
        clean_up_tokenization_spaces=False,
        model_max_length=length,
    ).save_pretrained(directory)


def load_tokenizer(directory: Path) -> Any:
    """Load the tokenizer of a directory, as a ``tokenizers.Tokenizer``."""
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(directory / "tokenizer.json"))
