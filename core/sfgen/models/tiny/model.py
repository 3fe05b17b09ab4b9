"""The embedded model, without torch and without transformers."""

from __future__ import annotations

import json
from functools import cached_property

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.models.chat_template import WITHOUT_CHAT
from sfgen.models.tiny import DIRECTORY
from sfgen.models.tiny.network import Network
from sfgen.models.tiny.session import TinySession
from sfgen.vocabulary import Vocabulary
from sfgen.vocabulary.tokenizer_files import read_directory


class TinyModel:
    """The model that comes with the package, in float32 on the CPU.

    Its scores are those that transformers gives for its directory, ``sfgen.models.tiny.DIRECTORY``, but for the last
    digits. The weights are read at the first session.

    Attributes:
        name: What messages and records call it.
        vocabulary: The bytes of each token.
        context_length: The most tokens that it can read.
    """

    name = "tiny"

    def __init__(self) -> None:
        files = read_directory(DIRECTORY)
        assert files is not None, "the tokenizer that comes with the package is of a known kind"
        self._tokenizer = files.tokenizer.backend_tokenizer
        self.vocabulary = Vocabulary.from_tokenizer(files.tokenizer, end_token_ids=files.end_token_ids, size=files.rows)
        config = json.loads((DIRECTORY / "config.json").read_text(encoding="utf-8"))
        self._begin: int = config["bos_token_id"]
        self.context_length: int = config["max_position_embeddings"]

    def __repr__(self) -> str:
        return "TinyModel()"

    def __reduce__(self) -> tuple[type[TinyModel], tuple[()]]:
        return TinyModel, ()  # the package has its files in each process

    def encode(self, text: str) -> list[int]:
        """The token ids of a prompt: the begin token, unless the text itself begins with it, and the text's."""
        ids = self.encode_inside(text)
        return ids if ids[:1] == [self._begin] else [self._begin, *ids]

    def encode_inside(self, text: str) -> list[int]:
        """The token ids of a text that stands in another one: nothing is added around it.

        Half characters, which no tokenizer takes, become question marks.
        """
        text = arguments.text("text", text).encode("utf-8", "replace").decode()
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def chat(self, text: str) -> list[int]:
        """The token ids of a user's message.

        Raises:
            UsageError: Always: the model was not trained on instructions.
        """
        arguments.text("text", text)
        raise UsageError("tiny has no chat template", hint=WITHOUT_CHAT)

    def session(self) -> TinySession:
        """A new, empty session with a cache of its own; reads the weights the first time."""
        return TinySession(self._network, self.context_length, name=self.name)

    @cached_property
    def _network(self) -> Network:
        return Network.from_directory(DIRECTORY)
