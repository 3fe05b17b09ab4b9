"""A tokenizer of transformers, as prompts ask for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfgen.models.messages import Tools
from sfgen.vocabulary.pretrained import quiet_transformers


class TransformersTokenizer:
    """A transformers tokenizer as a ``sfgen.models.prompt.PromptTokenizer``.

    Args:
        tokenizer: The tokenizer of transformers.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    @property
    def begin_token(self) -> int | None:
        """The token that begins a text; ``None`` if there is none."""
        token: int | None = self._tokenizer.bos_token_id
        return token

    @property
    def end_token(self) -> int | None:
        """The token that ends a text; ``None`` if there is none."""
        token: int | None = self._tokenizer.eos_token_id
        return token

    @property
    def has_chat_template(self) -> bool:
        """Whether there is a chat template."""
        return bool(self._tokenizer.chat_template)

    def before(self) -> list[int]:
        """Return the tokens that the tokenizer writes before each text."""
        with quiet_transformers():
            whole = list(self._tokenizer("a")["input_ids"])
        plain = self.inside("a")
        starts = range(len(whole) - len(plain) + 1)
        return next((whole[:start] for start in starts if whole[start : start + len(plain)] == plain), [])

    def inside(self, text: str) -> list[int]:
        """Tokenize a text alone, reading the names of special tokens."""
        if (backend := self._backend) is not None:
            return list(backend.encode(text, add_special_tokens=False).ids)
        with quiet_transformers():  # it warns of long texts; we count for ourselves
            return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def rendered(self, messages: Sequence[Mapping[str, Any]], tools: Tools | None, *, begins_answer: bool) -> str:
        """Render a conversation.

        Raises:
            Exception: Whatever the template raises; ``ImportError`` without jinja2.
        """
        with quiet_transformers():
            return str(
                self._tokenizer.apply_chat_template(
                    list(messages),
                    tools=None if tools is None else list(tools),
                    tokenize=False,
                    add_generation_prompt=begins_answer,
                )
            )

    @property
    def _backend(self) -> Any:
        """What does the tokenizer's work, asked directly in a third of the time; ``None`` where that is not the same.

        It is the same where transformers adds nothing of its own: nothing is cut off, filled up or left as text. That
        is looked at each time: the tokenizer may be that of a caller, who sets it to cut texts off.
        """
        tokenizer = self._tokenizer
        backend = getattr(tokenizer, "backend_tokenizer", None)
        is_bare = getattr(backend, "truncation", 0) is None and getattr(backend, "padding", 0) is None
        return backend if is_bare and not getattr(tokenizer, "split_special_tokens", False) else None
