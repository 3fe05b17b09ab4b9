"""The models that whole generations are measured with, each with the tokenizer it came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfgen import from_transformers, load_model
from sfgen.models.tiny import DIRECTORY
from sfgen.vocabulary.pretrained import load_tokenizer

from .vocabularies import find

PROMPT = "Here it is, as was asked for:\n"


@dataclass(frozen=True)
class Subject:
    """A model to generate with.

    Args:
        name: What the report calls it.
        model: As sfgen loads it; ``model.model`` is the transformers model, which all engines share.
        tokenizer: As transformers loads it.
        sketch: A model of one small layer with random weights and the same vocabulary, for what does not depend on the
            model and is asked for often.
    """

    name: str
    model: Any
    tokenizer: Any
    sketch: Any

    @property
    def json(self) -> str:
        """The tokenizer as JSON."""
        text: str = self.tokenizer.backend_tokenizer.to_str()
        return text

    def prompt_ids(self) -> list[int]:
        """The tokens of the prompt; the same for all engines."""
        ids: list[int] = self.model.encode(PROMPT)
        return ids

    def canonical(self, text: str) -> list[int]:
        """The tokens that the tokenizer writes a text with."""
        ids: list[int] = self.tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
        return ids


def tiny() -> Subject:
    """The embedded model in transformers, where all engines run."""
    return _subject("tiny", load_model(DIRECTORY), DIRECTORY)


def random_gpt2() -> Subject:
    """A model of 12 layers and 768 units with random weights, and GPT-2's tokenizer where there is one."""
    from transformers import GPT2Config

    source = next(iter(find(("gpt2",)).values()))
    tokenizer = load_tokenizer(source)
    end = tokenizer.eos_token_id
    config = GPT2Config(vocab_size=len(tokenizer), eos_token_id=end, bos_token_id=end)
    return _subject("random GPT-2", from_transformers(_network(config), tokenizer), source)


def _subject(name: str, model: Any, source: Path) -> Subject:
    """The model with its tokenizer and its sketch."""
    from transformers import GPT2Config

    tokenizer, end = load_tokenizer(source), model.vocabulary.end_token_ids[0]
    config = GPT2Config(vocab_size=len(model.vocabulary), n_layer=1, n_embd=32, n_head=2, eos_token_id=end,
                        bos_token_id=end)  # fmt: skip
    return Subject(name, model, tokenizer, from_transformers(_network(config), tokenizer))


def _network(config: Any) -> Any:
    """A GPT-2 with random weights, the same in every run."""
    import torch
    from transformers import GPT2LMHeadModel

    torch.manual_seed(0)
    network: Any = GPT2LMHeadModel(config)
    return network.eval()
