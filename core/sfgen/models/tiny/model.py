"""The embedded model, without torch and without transformers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from sfgen import arguments
from sfgen.errors import ModelError, UsageError
from sfgen.models.messages import ChatPrompt, Message, TemplateVariables, Tools, checked_messages
from sfgen.models.prompt import WITHOUT_CHAT
from sfgen.models.sessions import SeparateRows
from sfgen.models.tiny import DIRECTORY
from sfgen.models.tiny.batch import TinyBatch
from sfgen.models.tiny.network import Network
from sfgen.models.tiny.session import TinySession
from sfgen.protocols import Batch
from sfgen.vocabulary import Vocabulary
from sfgen.vocabulary.tokenizer_files import read_directory


class TinyModel:
    """The embedded model in float32 on the CPU.

    Another model of its architecture can be loaded from a directory. Its scores are those that transformers gives for
    its directory, ``sfgen.models.tiny.DIRECTORY``, but for the last digits. The weights are read at the first session.

    Args:
        directory: The directory of tokenizer and weights.

    Attributes:
        name: What messages and records call it.
        vocabulary: The bytes of each token.
        context_length: The most tokens that it can read.

    Raises:
        ModelError: The directory has no weights, or no tokenizer of a known kind.
    """

    name = "tiny"

    def __init__(self, directory: str | Path = DIRECTORY) -> None:
        directory = arguments.path("directory", directory, error=ModelError)
        read = _read_embedded() if directory == DIRECTORY else _read(directory)
        self._directory = directory
        self._tokenizer, self._begin = read.tokenizer, read.begin
        self.vocabulary, self.context_length = read.vocabulary, read.context_length

    def __repr__(self) -> str:
        return "TinyModel()"

    def __reduce__(self) -> tuple[type[TinyModel], tuple[Path, ...]]:
        # A pickle needs no path: each process has the files of the package.
        return TinyModel, () if self._directory == DIRECTORY else (self._directory,)

    def encode(self, text: str) -> list[int]:
        """Tokenize a prompt, beginning with exactly one begin token."""
        ids = self.encode_inside(text)
        return ids if ids[:1] == [self._begin] else [self._begin, *ids]

    def encode_inside(self, text: str) -> list[int]:
        """Tokenize a text inside another one, adding nothing around it.

        Half characters, which no tokenizer takes, become question marks.
        """
        text = arguments.text("text", text).encode("utf-8", "replace").decode()
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def chat(
        self,
        messages: str | Sequence[Message],
        tools: Tools | None = None,
        variables: TemplateVariables | None = None,
    ) -> ChatPrompt:
        """Refuse a conversation.

        Args:
            messages: A conversation.
            tools: The tools that the model may call.
            variables: Variables of the template.

        Raises:
            UsageError: Always: the model was not trained on instructions.
        """
        if not isinstance(messages, str):
            checked_messages(messages)
        raise UsageError("tiny has no chat template", hint=WITHOUT_CHAT)

    def session(self) -> TinySession:
        """Return a new, empty session, reading the weights the first time."""
        return TinySession(self.network, self.context_length, name=self.name)

    def batch(self, rows: int) -> Batch:
        """Return a new batch of empty rows, which share forward passes.

        The weights are read at the first one.

        Args:
            rows: The number of rows.

        Raises:
            UsageError: It is not a whole number of at least 1.
        """
        rows = arguments.whole_number("rows", rows, least=1)
        if rows == 1:  # as a session, to the last bit
            return SeparateRows(self, rows)
        return TinyBatch(lambda: self.network, rows, self.context_length, name=self.name)

    @cached_property
    def network(self) -> Network:
        """The weights, read when they are first asked for."""
        return _embedded_network() if self._directory == DIRECTORY else Network.from_directory(self._directory)


class _Read(NamedTuple):
    """The content of a directory beside the weights."""

    tokenizer: Any
    vocabulary: Vocabulary
    begin: int
    context_length: int


def _read(directory: Path) -> _Read:
    has_weights = (directory / "config.json").is_file() and (directory / "model.safetensors").is_file()
    files = read_directory(directory) if has_weights else None
    if files is None:
        raise ModelError(
            f"{directory} has no model of the embedded model's architecture",
            hint="Name a directory with the files of sfgen.models.tiny.DIRECTORY, or use sfgen.load_model.",
        )
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    return _Read(
        files.tokenizer.backend_tokenizer,
        Vocabulary.from_tokenizer(files.tokenizer, end_token_ids=files.end_token_ids, size=files.rows),
        config["bos_token_id"],
        config["max_position_embeddings"],
    )


# The files of the package stay as they are: a process reads them once, for all models that it loads.


@cache
def _read_embedded() -> _Read:
    return _read(DIRECTORY)


@cache
def _embedded_network() -> Network:
    return Network.from_directory(DIRECTORY)
