"""From a prompt to token ids: what the tokenizer puts around it, and what its chat template makes of it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from sfgen.errors import ModelError, UsageError, first_line
from sfgen.vocabulary.pretrained import quiet_transformers


class Prompts:
    """Encodes the prompts of one model.

    Args:
        tokenizer: The tokenizer of transformers.
        name: What messages call the model.
    """

    def __init__(self, tokenizer: Any, name: str) -> None:
        self._tokenizer = tokenizer
        self._name = name

    def encode(self, text: str) -> list[int]:
        """The token ids of a text that a model is to continue.

        What the tokenizer writes before each text (a begin token) comes first, once; what it writes after each text (an
        end token) is left out, since it would end the text before its continuation. The empty text is what comes
        first; else the begin token, else the end token.

        Raises:
            ModelError: The empty text, and there is nothing to start from.
        """
        ids, before = self.inside(text), self._before
        if ids and ids[0] in before:  # from there on it is written in the text itself
            before = before[: before.index(ids[0])]
        ids = [*before, *ids]
        if not ids:
            first = next((token for token in (self._tokenizer.bos_token_id, self._tokenizer.eos_token_id)
                          if token is not None), None)  # fmt: skip
            if first is None:
                raise ModelError(
                    f"{self._name} has no begin token and no end token to start an empty prompt from",
                    hint="Give a prompt.",
                )
            ids = [first]
        return ids

    def chat(self, text: str) -> list[int]:
        """The token ids of a message from a user, up to where the answer begins.

        The chat template writes all special tokens that it wants; the tokenizer adds none.

        Raises:
            UsageError: The tokenizer has no chat template.
            ModelError: The template cannot be used.
        """
        if not self._tokenizer.chat_template:
            raise UsageError(
                f"{self._name} has no chat template",
                hint="Leave --chat out, or use a model that was trained on instructions.",
            )
        rendered = self._rendered(text)
        if text.strip() not in rendered:
            # Templates of models that see pictures go through a message part by part, and find no text in a string.
            rendered = self._rendered([{"type": "text", "text": text}])
        if text.strip() not in rendered:
            raise ModelError(f"the chat template of {self._name} leaves the message out", hint="Leave --chat out.")
        ids = self.inside(rendered)
        if not ids:
            raise ModelError(f"the chat template of {self._name} writes nothing", hint="Leave --chat out.")
        begin = self._tokenizer.bos_token_id
        return ids[1:] if begin is not None and ids[:2] == [begin, begin] else ids

    def _rendered(self, content: Any) -> str:
        with quiet_transformers():
            try:
                return str(
                    self._tokenizer.apply_chat_template(
                        [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
                    )
                )
            except ImportError as error:
                raise ModelError(
                    "chat templates need the package jinja2", hint="Install it: pip install jinja2"
                ) from error
            except Exception as error:  # a template is a program of its own: it raises whatever it likes
                raise ModelError(
                    f"the chat template of {self._name} fails: {first_line(error)}", hint="Leave --chat out."
                ) from error

    @cached_property
    def _before(self) -> list[int]:
        """What the tokenizer writes before each text."""
        with quiet_transformers():
            whole = list(self._tokenizer("a")["input_ids"])
        plain = self.inside("a")
        starts = range(len(whole) - len(plain) + 1)
        return next((whole[:start] for start in starts if whole[start : start + len(plain)] == plain), [])

    @cached_property
    def _backend(self) -> Any:
        """What does the tokenizer's work, asked directly in a third of the time; ``None`` where that is not the same.

        It is the same where transformers adds nothing of its own: nothing is cut off, filled up or left as text.
        """
        tokenizer = self._tokenizer
        backend = getattr(tokenizer, "backend_tokenizer", None)
        is_bare = getattr(backend, "truncation", 0) is None and getattr(backend, "padding", 0) is None
        return backend if is_bare and not getattr(tokenizer, "split_special_tokens", False) else None

    def inside(self, text: str) -> list[int]:
        """The token ids of the text alone, as it stands in another one: nothing is added around it.

        Half characters, which no tokenizer takes, become question marks.
        """
        text = text.encode("utf-8", "replace").decode()
        if self._backend is not None:
            return list(self._backend.encode(text, add_special_tokens=False).ids)
        with quiet_transformers():  # it warns of long texts; we count for ourselves
            return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])
